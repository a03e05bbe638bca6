// SPDX-License-Identifier: Apache-2.0
// Messages as ncclSend and ncclRecv, in groups.
//
// Host drive: a communicator and a stream for each direction, so that a receive that waits for its
// message holds back no send; a group is done when the event behind it is. Stream drive: one
// communicator and one stream, whose order is that of the conversation.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "transports/message_queue.h"
#include "transports/nccl/communicator.h"

namespace gdrbench::nccl {

/// A communicator with the stream on which its operations run, and the groups that are under way.
class Track {
 public:
  static Result<Track> make(std::unique_ptr<Communicator> communicator,
                            std::shared_ptr<const cuda::Device> device);

  struct Group {
    std::size_t sends = 0, expects = 0;
  };
  [[nodiscard]] Communicator& communicator() const noexcept { return *communicator_; }
  [[nodiscard]] cuda::StreamHandle stream() const noexcept { return stream_.get(); }
  [[nodiscard]] bool full() const noexcept { return begun_ - ended_ == groups_.size(); }

  /// A group was enqueued: an event behind it tells when it is done.
  cuda::Code began(Group group) noexcept;
  /// The oldest group if it is done; nothing while it runs or when there is none.
  std::optional<Group> finished(cuda::Code& failure) noexcept;

 private:
  Track(std::unique_ptr<Communicator> communicator, const cuda::Api& cuda, cuda::Stream stream,
        cuda::Events events);

  std::unique_ptr<Communicator> communicator_;
  const cuda::Api* cuda_;
  cuda::Stream stream_;
  cuda::Events events_;
  std::vector<Group> groups_;  // a ring
  std::size_t begun_ = 0, ended_ = 0;
};

struct LaneParts {
  const Library& library;
  std::shared_ptr<const cuda::Device> device;
  std::vector<Track> tracks;          ///< outgoing and incoming; one for both with stream drive
  std::optional<cuda::Events> marks;  ///< stream drive only
  bool graph = false;
  LaneSpec spec;
  std::byte* source = nullptr;
  std::byte* target = nullptr;
};

class NcclLane final : public Lane, private StreamDrive {
 public:
  explicit NcclLane(LaneParts parts);
  ~NcclLane() override;

  Accepted submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept override;
  std::size_t poll(std::span<Event> events) noexcept override;
  [[nodiscard]] Error errorDetail() const override;
  [[nodiscard]] StreamDrive* streamDrive() noexcept override {
    return parts_.marks ? this : nullptr;
  }

 private:
  bool collect() noexcept override;
  bool launch() noexcept override;
  bool mark() noexcept override;
  Status readMarks(std::span<double> nanoseconds) override;

  Track& outgoing() noexcept { return parts_.tracks.front(); }
  Track& incoming() noexcept { return parts_.tracks.back(); }
  [[nodiscard]] bool isStreamDriven() const noexcept { return parts_.tracks.size() == 1; }
  void enqueue(std::span<const Send> sends, std::span<const Expect> expects) noexcept;
  void enqueueGroup(std::span<const Send> sends, std::span<const Expect> expects) noexcept;
  bool settled() noexcept;
  void began(Track::Group group) noexcept;
  void harvest(Track& track) noexcept;
  void lookForAsyncErrors() noexcept;
  bool failCuda(const char* what, cuda::Code code) noexcept;
  bool failNccl(const char* what, Code code) noexcept;
  void dropGraph() noexcept;

  LaneParts parts_;
  const Api& nccl_;
  const cuda::Api& cuda_;
  MessageQueue sends_, expects_;
  std::optional<Track::Group> unsettled_;  ///< NCCL still connects for it in the background
  bool connected_ = false;
  bool collecting_ = false;
  Track::Group collected_;
  cuda::GraphExec graph_ = nullptr;
  std::size_t marked_ = 0;
  std::uint32_t idlePolls_ = 0;

  enum class Failure { kNone, kCuda, kNccl } failure_ = Failure::kNone;
  const char* failedAt_ = "";
  int failureCode_ = 0;
  bool failureReported_ = false;
};

}  // namespace gdrbench::nccl
