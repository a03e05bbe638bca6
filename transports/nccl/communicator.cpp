// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/communicator.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace gdrbench::nccl {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(2);

Error notInTime(std::string_view doing) {
  return {.code = ErrorCode::kTimeout,
          .tried = std::string(doing),
          .nativeText =
              "NCCL was still in progress at the deadline: the other rank has not come, "
              "or cannot be reached",
          .next = "see what NCCL_DEBUG=INFO prints"};
}

void waitWhileInProgress(const Api& api, Comm comm) {
  Code state = kInProgress;
  while (api.asyncError(comm, &state) == kSuccess && state == kInProgress) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

Result<std::unique_ptr<Communicator>> Communicator::init(const Library& library,
                                                         std::shared_ptr<const cuda::Device> device,
                                                         const Place& place, Deadline deadline) {
  constexpr std::string_view kDoing = "join the communicator";
  struct Joined {
    Comm comm = nullptr;
    Code code = kSuccess;
  };
  const auto joined = std::make_shared<Joined>();
  const SideThread joining([&api = library.api, device, place, joined] {
    (void)device->makeCurrent();
    Config config;
    config.blocking = place.blocking ? 1 : 0;
    joined->code = api.initRank(&joined->comm, 2, place.id, place.rank, &config);
  });
  if (!joining.endedBy(deadline)) return notInTime(kDoing);
  std::unique_ptr<Communicator> made(new Communicator(library, std::move(device), place.rank));
  if (joined->code != kSuccess && joined->code != kInProgress) {
    return error(made->api_, std::string(kDoing), joined->code, nullptr);
  }
  made->comm_ = joined->comm;
  if (Status ready = made->settle(kDoing, deadline); !ready) {
    made->abandon();
    return ready.error();
  }
  return made;
}

Code Communicator::state() const noexcept {
  Code state = kSuccess;
  const Code asked = api_.asyncError(comm_, &state);
  return asked == kSuccess ? state : asked;
}

Status Communicator::settle(std::string_view doing, Deadline deadline) const {
  for (Code now = state();; now = state()) {
    if (now == kSuccess) return Done{};
    if (now != kInProgress) return error(api_, std::string(doing), now, comm_);
    if (steady_clock::now() >= deadline) return notInTime(doing);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Status Communicator::registerBuffer(void* data, std::size_t bytes) {
  if (api_.registerBuffer == nullptr) {
    return Error{.code = ErrorCode::kUnsupported,
                 .tried = "register a buffer: this NCCL has no ncclCommRegister (2.19)"};
  }
  void* handle = nullptr;
  const Code code = api_.registerBuffer(comm_, data, bytes, &handle);
  if (code != kSuccess) return error(api_, "register a buffer", code, comm_);
  registered_.push_back(handle);
  return Done{};
}

void Communicator::startEnding() {
  if (comm_ == nullptr || ending_) return;
  ending_.emplace([&api = api_, device = device_, comm = comm_, abandoned = abandoned_,
                   registered = registered_] {
    (void)device->makeCurrent();
    if (abandoned) {
      api.abort(comm);
      return;
    }
    for (void* handle : registered) api.deregisterBuffer(comm, handle);
    api.finalize(comm);
    waitWhileInProgress(api, comm);
    api.destroy(comm);
  });
}

Communicator::~Communicator() {
  startEnding();
  if (ending_) ending_->endedBy(steady_clock::now() + kPatience);
}

}  // namespace gdrbench::nccl
