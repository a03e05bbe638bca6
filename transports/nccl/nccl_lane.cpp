// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/nccl_lane.h"

namespace gdrbench::nccl {
namespace {

/// Far below where a launch has to wait for the GPU.
constexpr std::size_t kGroups = 256;

std::uint32_t queueRoom(const LaneSpec& spec) {
  return std::max(spec.window, spec.marks);  // a block on a stream is enqueued whole
}

}  // namespace

// --- Track -----------------------------------------------------------------------------------

Track::Track(std::unique_ptr<Communicator> communicator, const cuda::Api& cuda, cuda::Stream stream,
             cuda::Events events)
    : communicator_(std::move(communicator)),
      cuda_(&cuda),
      stream_(std::move(stream)),
      events_(std::move(events)),
      groups_(events_.size()) {}

Result<Track> Track::make(std::unique_ptr<Communicator> communicator,
                          std::shared_ptr<const cuda::Device> device) {
  const cuda::Api& cuda = device->cuda();
  auto stream = cuda::Stream::make(device);
  if (!stream) return stream.error();
  auto events = cuda::Events::make(std::move(device), kGroups, false);
  if (!events) return events.error();
  return Track(std::move(communicator), cuda, *std::move(stream), *std::move(events));
}

cuda::Code Track::began(Group group) noexcept {
  const std::size_t place = begun_ % groups_.size();
  groups_[place] = group;
  const cuda::Code code = cuda_->eventRecord(events_[place], stream_.get());
  if (code == cuda::kSuccess) ++begun_;
  return code;
}

std::optional<Track::Group> Track::finished(cuda::Code& failure) noexcept {
  if (begun_ == ended_) return {};
  const std::size_t place = ended_ % groups_.size();
  const cuda::Code code = cuda_->eventQuery(events_[place]);
  if (code == cuda::kSuccess) {
    ++ended_;
    return groups_[place];
  }
  if (code != cuda::kNotReady) failure = code;
  return {};
}

// --- NcclLane --------------------------------------------------------------------------------

NcclLane::NcclLane(LaneParts parts)
    : parts_(std::move(parts)),
      nccl_(parts_.library.api),
      cuda_(parts_.device->cuda()),
      sends_(queueRoom(parts_.spec)),
      expects_(queueRoom(parts_.spec)) {}

NcclLane::~NcclLane() {
  (void)parts_.device->makeCurrent();
  // An operation whose peer is gone never ends by itself, and nothing may be freed under it.
  const bool unfinished = sends_.waiting() != 0 || expects_.waiting() != 0;
  if (unfinished || failure_ != Failure::kNone) {
    for (Track& track : parts_.tracks) track.communicator().abandon();
  }
  dropGraph();
  for (Track& track : parts_.tracks) track.communicator().startEnding();
}

Accepted NcclLane::submit(std::span<const Send> sends, std::span<const Expect> expects) noexcept {
  if (failure_ != Failure::kNone || !settled()) return {};
  if (!collecting_ && (outgoing().full() || incoming().full())) return {};
  const Accepted taken{sends_.accept(sends), expects_.accept(expects)};
  if (taken.sends + taken.expects == 0) return {};
  enqueue(sends.first(taken.sends), expects.first(taken.expects));
  return taken;
}

/// One group where both belong together: on one stream, where they must not wait for each other,
/// and at first, when NCCL connects and both ranks have to be in both communicators. From then on
/// the sends go first and alone: their launch is on the way of the message, that of the receives is
/// not.
void NcclLane::enqueue(std::span<const Send> sends, std::span<const Expect> expects) noexcept {
  if (isStreamDriven() || !connected_) {
    connected_ = true;
    enqueueGroup(sends, expects);
    return;
  }
  if (!sends.empty()) enqueueGroup(sends, {});
  if (expects.empty() || failure_ != Failure::kNone) return;
  while (!settled()) {  // non-blocking: NCCL still works on the sends in a thread of its own
    if (failure_ != Failure::kNone) return;
  }
  enqueueGroup({}, expects);
}

void NcclLane::enqueueGroup(std::span<const Send> sends, std::span<const Expect> expects) noexcept {
  const SlotLayout& layout = parts_.spec.layout;
  Code code = nccl_.groupStart();
  for (const Send& send : sends) {
    const Communicator& comm = outgoing().communicator();
    const Code one = nccl_.send(parts_.source + layout.offsetOf(send.slot), send.bytes, kUint8,
                                comm.peer(), comm.get(), outgoing().stream());
    if (one != kSuccess && one != kInProgress) code = one;
  }
  for (const Expect& expect : expects) {
    const Communicator& comm = incoming().communicator();
    const Code one = nccl_.recv(parts_.target + layout.offsetOf(expect.slot), expect.bytes, kUint8,
                                comm.peer(), comm.get(), incoming().stream());
    if (one != kSuccess && one != kInProgress) code = one;
  }
  const Code ended = nccl_.groupEnd();
  if (code == kSuccess) code = ended;
  const Track::Group group{sends.size(), expects.size()};
  if (code == kInProgress) {
    unsettled_ = group;
  } else if (code != kSuccess) {
    failNccl("send and receive", code);
  } else {
    began(group);
  }
}

/// A group for which NCCL had to connect is launched by a thread of its own; an event recorded
/// before that would be done before the group is.
bool NcclLane::settled() noexcept {
  if (!unsettled_) return true;
  for (Track& track : parts_.tracks) {
    const Code state = track.communicator().state();
    if (state == kInProgress) return false;
    if (state != kSuccess) return failNccl("connect to the other rank", state);
  }
  began(*unsettled_);
  unsettled_.reset();
  return true;
}

void NcclLane::began(Track::Group group) noexcept {
  if (collecting_) {
    collected_.sends += group.sends;
    collected_.expects += group.expects;
    return;
  }
  if (isStreamDriven()) {
    if (const auto code = outgoing().began(group); code != cuda::kSuccess) {
      failCuda("record an event", code);
    }
    return;
  }
  for (const auto& [track, part] : {std::pair{&outgoing(), Track::Group{group.sends, 0}},
                                    std::pair{&incoming(), Track::Group{0, group.expects}}}) {
    if (part.sends + part.expects == 0) continue;
    if (const auto code = track->began(part); code != cuda::kSuccess) {
      failCuda("record an event", code);
    }
  }
}

std::size_t NcclLane::poll(std::span<Event> events) noexcept {
  if (failure_ == Failure::kNone && settled() && !collecting_) {
    for (Track& track : parts_.tracks) harvest(track);
  }
  const std::size_t sent = sends_.report(Event::Kind::kSent, events);
  const std::size_t all = sent + expects_.report(Event::Kind::kArrived, events.subspan(sent));
  if (all == 0 && failure_ == Failure::kNone) lookForAsyncErrors();
  if (failure_ == Failure::kNone || failureReported_ || all == events.size()) return all;
  failureReported_ = true;
  events[all] = {Event::Kind::kFailed, 0};
  return all + 1;
}

void NcclLane::harvest(Track& track) noexcept {
  cuda::Code failure = cuda::kSuccess;
  while (const auto group = track.finished(failure)) {
    sends_.finish(group->sends);
    expects_.finish(group->expects);
  }
  if (failure != cuda::kSuccess) failCuda("move messages", failure);
}

/// Asking takes a lock in NCCL: rarely, and only while nothing else happens.
void NcclLane::lookForAsyncErrors() noexcept {
  if ((++idlePolls_ & 0xffffu) != 0) return;
  for (Track& track : parts_.tracks) {
    const Code state = track.communicator().state();
    if (state != kSuccess && state != kInProgress) failNccl("move messages", state);
  }
}

// --- StreamDrive -----------------------------------------------------------------------------

bool NcclLane::collect() noexcept {
  if (failure_ != Failure::kNone) return false;
  collecting_ = true;
  collected_ = {};
  if (!parts_.graph) return true;
  dropGraph();
  const auto code = cuda_.beginCapture(outgoing().stream(), cuda::kCaptureThreadLocal);
  return code == cuda::kSuccess || failCuda("capture a graph", code);
}

bool NcclLane::launch() noexcept {
  if (failure_ != Failure::kNone) return false;
  if (!settled()) return failNccl("connect in the middle of a block on a stream", kInProgress);
  collecting_ = false;
  if (parts_.graph) {
    cuda::Graph graph = nullptr;
    cuda::Code code = cuda_.endCapture(outgoing().stream(), &graph);
    if (code == cuda::kSuccess) code = cuda_.graphInstantiate(&graph_, graph, 0);
    if (graph != nullptr) cuda_.graphDestroy(graph);
    if (code == cuda::kSuccess) code = cuda_.graphLaunch(graph_, outgoing().stream());
    if (code != cuda::kSuccess) return failCuda("launch a graph", code);
  }
  began(collected_);
  return failure_ == Failure::kNone;
}

bool NcclLane::mark() noexcept {
  if (failure_ != Failure::kNone) return false;
  if (marked_ == parts_.marks->size())
    return failCuda("set more time marks than were asked for", 0);
  cuda::EventHandle event = (*parts_.marks)[marked_++];
  const auto code = parts_.graph ? cuda_.eventRecordWithFlags(event, outgoing().stream(),
                                                              cuda::kEventRecordExternal)
                                 : cuda_.eventRecord(event, outgoing().stream());
  return code == cuda::kSuccess || failCuda("set a time mark", code);
}

Status NcclLane::readMarks(std::span<double> nanoseconds) {
  if (nanoseconds.size() != marked_) {
    return Error{.code = ErrorCode::kInternal, .tried = "read the time marks of a block"};
  }
  marked_ = 0;
  // From mark to mark: milliseconds as float are too coarse for a long block.
  for (std::size_t i = 0; i < nanoseconds.size(); ++i) {
    nanoseconds[i] = 0;
    if (i == 0) continue;
    float milliseconds = 0;
    const auto code = cuda_.eventElapsed(&milliseconds, (*parts_.marks)[i - 1], (*parts_.marks)[i]);
    if (code != cuda::kSuccess) return cuda::error("read a time mark", code);
    nanoseconds[i] = nanoseconds[i - 1] + static_cast<double>(milliseconds) * 1e6;
  }
  return Done{};
}

void NcclLane::dropGraph() noexcept {
  if (graph_ != nullptr) cuda_.graphExecDestroy(std::exchange(graph_, nullptr));
}

// --- failures --------------------------------------------------------------------------------

bool NcclLane::failCuda(const char* what, cuda::Code code) noexcept {
  failure_ = Failure::kCuda;
  failedAt_ = what;
  failureCode_ = code;
  return false;
}

bool NcclLane::failNccl(const char* what, Code code) noexcept {
  failure_ = Failure::kNccl;
  failedAt_ = what;
  failureCode_ = code;
  return false;
}

Error NcclLane::errorDetail() const {
  if (failure_ == Failure::kNccl) {
    return error(nccl_, failedAt_, failureCode_, parts_.tracks.front().communicator().get());
  }
  return cuda::error(failedAt_, failureCode_);
}

}  // namespace gdrbench::nccl
