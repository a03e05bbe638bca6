// SPDX-License-Identifier: Apache-2.0
// A communicator of two ranks: made, asked and ended within deadlines, whether NCCL blocks or not.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "harness/cuda/device.h"
#include "transports/nccl/api.h"
#include "transports/nccl/side_thread.h"
#include "transports/transport.h"

namespace gdrbench::nccl {

class Communicator {
 public:
  struct Place {
    UniqueId id;
    int rank = 0;
    bool blocking = true;
  };
  /// A collective phase of both ranks. In a thread of its own, which is left behind when the other
  /// rank does not come in time.
  static Result<std::unique_ptr<Communicator>> init(const Library& library,
                                                    std::shared_ptr<const cuda::Device> device,
                                                    const Place& place, Deadline deadline);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  /// Ends it: by the book when all is well, by force after abandon(). Either runs in a thread of
  /// its own, because both can hang when the peer is gone; past two seconds it is left to the end
  /// of the process.
  ~Communicator();

  [[nodiscard]] Comm get() const noexcept { return comm_; }
  [[nodiscard]] int peer() const noexcept { return 1 - rank_; }

  /// kSuccess, kInProgress, or what went wrong in the background.
  [[nodiscard]] Code state() const noexcept;
  /// Until it is no longer in progress.
  Status settle(std::string_view doing, Deadline deadline) const;
  void abandon() noexcept { abandoned_ = true; }
  /// Begins to end it: both ranks have to, so of several all begin before one is waited for.
  void startEnding();

  /// ncclCommRegister; undone before the communicator ends.
  Status registerBuffer(void* data, std::size_t bytes);

 private:
  Communicator(const Library& library, std::shared_ptr<const cuda::Device> device, int rank)
      : api_(library.api), device_(std::move(device)), rank_(rank) {}

  const Api& api_;
  std::shared_ptr<const cuda::Device> device_;
  int rank_;
  Comm comm_ = nullptr;
  bool abandoned_ = false;
  std::vector<void*> registered_;
  std::optional<SideThread> ending_;
};

}  // namespace gdrbench::nccl
