// SPDX-License-Identifier: Apache-2.0
// To be preloaded: ibv_poll_cq waits inside of gdrbenchBlockingPoll until something has completed.
// Waiting is then one function, which a counter of instructions can leave out, for any program.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <sched.h>

namespace {

using Poll = int(ibv_cq*, int, ibv_wc*);
Poll* gPoll = nullptr;

}  // namespace

extern "C" __attribute__((noinline, visibility("default"))) int gdrbenchBlockingPoll(
    ibv_cq* cq, int room, ibv_wc* completions) {
  int count = 0;
  while ((count = gPoll(cq, room, completions)) == 0) sched_yield();
  return count;
}

extern "C" __attribute__((visibility("default"))) ibv_context* ibv_open_device(ibv_device* device) {
  using Open = ibv_context*(ibv_device*);
  auto* open = reinterpret_cast<Open*>(dlsym(RTLD_NEXT, "ibv_open_device"));
  if (open == nullptr) return nullptr;
  ibv_context* context = open(device);
  if (context == nullptr) return nullptr;
  gPoll = context->ops.poll_cq;
  context->ops.poll_cq = gdrbenchBlockingPoll;
  return context;
}
