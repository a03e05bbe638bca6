// SPDX-License-Identifier: Apache-2.0
// To be preloaded: ibv_poll_cq waits inside of gdrbenchBlockingPoll until something has completed.
// Waiting is then one function, which a counter of instructions can leave out, for any program. It
// does not wait for ever: who empties a queue awaits nothing.
//
// Where the completion of number GDRBENCH_COUNT_FROM, and later that of GDRBENCH_COUNT_TO, has
// come, a function is called that does nothing: there a counter begins and ends. Between them are
// messages and nothing else; a program's start and what it makes of its samples stay outside.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#define GDRBENCH_SEEN extern "C" __attribute__((noinline, visibility("default")))

namespace {

using Poll = int(ibv_cq*, int, ibv_wc*);
constexpr auto kPatience = std::chrono::seconds(5);
Poll* gPoll = nullptr;
long gFrom = 0, gTo = 0;
std::atomic<long> gCompletions = 0;

long number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atol(text);
}

}  // namespace

// With a body that differs, or one of them would do for both.
GDRBENCH_SEEN void gdrbenchCountFrom() {
  asm volatile("# from");
}
GDRBENCH_SEEN void gdrbenchCountTo() {
  asm volatile("# to");
}

GDRBENCH_SEEN int gdrbenchBlockingPoll(ibv_cq* cq, int room, ibv_wc* completions) {
  using Time = std::chrono::steady_clock;
  int count = gPoll(cq, room, completions);
  for (const auto start = Time::now(); count == 0 && Time::now() - start < kPatience;) {
    sched_yield();
    count = gPoll(cq, room, completions);
  }
  if (count <= 0) return count;
  const long before = gCompletions.fetch_add(count), after = before + count;
  if (before < gFrom && after >= gFrom) gdrbenchCountFrom();
  if (before < gTo && after >= gTo) gdrbenchCountTo();
  return count;
}

GDRBENCH_SEEN ibv_context* ibv_open_device(ibv_device* device) {
  using Open = ibv_context*(ibv_device*);
  auto* open = reinterpret_cast<Open*>(dlsym(RTLD_NEXT, "ibv_open_device"));
  if (open == nullptr) return nullptr;
  ibv_context* context = open(device);
  if (context == nullptr) return nullptr;
  gFrom = number("GDRBENCH_COUNT_FROM");
  gTo = number("GDRBENCH_COUNT_TO");
  gPoll = context->ops.poll_cq;
  context->ops.poll_cq = gdrbenchBlockingPoll;
  return context;
}
