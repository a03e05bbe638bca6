// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/copy_stream.h"

#include <utility>

namespace gdrbench::staged {
namespace {

/// More than are ever needed for large chunks; when small copies run out of them, the next event
/// covers more copies.
constexpr std::size_t kEvents = 64;

/// Copies of which each is worth an event. Smaller ones share one: recording costs as much as
/// enqueueing such a copy.
constexpr std::uint64_t kBytesOfAnEvent = 64u << 10;

/// A stream that has failed counts no further: after so many looks the driver is asked. Those of
/// who waits follow each other at once: all of them take 33 to 40 us on an AMD EPYC, and such a
/// copy takes 6 to 8.
constexpr unsigned kQuietLooks = 256, kQuietLooksOfAWait = 1u << 14;

}  // namespace

Result<CopyStream> CopyStream::make(const std::shared_ptr<const cuda::Device>& device,
                                    std::uint64_t patience) {
  auto stream = cuda::Stream::make(device);
  if (!stream) return stream.error();
  auto events = cuda::Events::make(device, kEvents, false);
  if (!events) return events.error();
  auto counter = cuda::StreamCounter::make(device, stream->get());
  return CopyStream(*std::move(stream), *std::move(events), std::move(counter), device->cuda(),
                    patience);
}

CopyStream::CopyStream(cuda::Stream stream, cuda::Events events,
                       Result<cuda::StreamCounter> counter, const cuda::Api& cuda,
                       std::uint64_t patience)
    : cuda_(cuda),
      stream_(std::move(stream)),
      events_(std::move(events)),
      covers_(kEvents),
      patience_(patience) {
  if (counter) {
    counter_.emplace(*std::move(counter));
  } else {
    noCounter_ = counter.error().what();
  }
}

CopyStream::~CopyStream() {
  if (stream_.get() != nullptr) cuda_.streamSynchronize(stream_.get());
}

bool CopyStream::copy(cuda::DevicePointer to, cuda::DevicePointer from,
                      std::uint64_t bytes) noexcept {
  if (bytes != 0 && !good(cuda_.copyAsync(to, from, bytes, stream_.get()), "cuMemcpyAsync")) {
    return false;
  }
  ++enqueued_;
  onTheWay_ += bytes;
  unmarked_ += bytes;
  if (worthWaiting()) return !counter_ || mark();
  return unmarked_ < kBytesOfAnEvent || mark();
}

bool CopyStream::settle() noexcept {
  if (failure_ != cuda::kSuccess) return false;
  if (enqueued_ == finished_) return true;
  return worthWaiting() && !counter_ ? wait() : mark() && look();
}

/// Something behind all copies that tells when they are done.
bool CopyStream::mark() noexcept {
  if (marked_ == enqueued_) return true;
  return counter_ ? count() : record();
}

bool CopyStream::count() noexcept {
  if (!good(counter_->write(stream_.get(), static_cast<std::uint32_t>(enqueued_)),
            "cuStreamWriteValue32")) {
    return false;
  }
  marked_ = enqueued_;
  unmarked_ = 0;
  return true;
}

/// If an event is free; otherwise later.
bool CopyStream::record() noexcept {
  if (recorded_ - passed_ == events_.size()) return true;
  const std::size_t at = recorded_ % events_.size();
  if (!good(cuda_.eventRecord(events_[at], stream_.get()), "cuEventRecord")) return false;
  covers_[at] = marked_ = enqueued_;
  unmarked_ = 0;
  ++recorded_;
  return true;
}

bool CopyStream::wait() noexcept {
  if (!good(cuda_.streamSynchronize(stream_.get()), "cuStreamSynchronize")) return false;
  finished_ = marked_ = enqueued_;
  passed_ = recorded_;
  onTheWay_ = unmarked_ = 0;
  return true;
}

bool CopyStream::look() noexcept {
  const bool looked = !counter_        ? askEvents()
                      : worthWaiting() ? awaitCounter()
                                       : readCounter(kQuietLooks);
  if (finished_ == enqueued_) onTheWay_ = unmarked_ = 0;
  return looked;
}

/// Until it moves, or for so long that the driver was asked: not for ever.
bool CopyStream::awaitCounter() noexcept {
  do {
    if (!readCounter(kQuietLooksOfAWait)) return false;
  } while (quietLooks_ != 0);
  return true;
}

bool CopyStream::readCounter(unsigned quietLooks) noexcept {
  // The counter has 32 bits, and there are never so many copies on their way.
  const auto moved = counter_->read() - static_cast<std::uint32_t>(finished_);
  finished_ += moved;
  quietLooks_ = moved == 0 ? quietLooks_ + 1 : 0;
  if (quietLooks_ < quietLooks) return true;
  quietLooks_ = 0;
  const cuda::Code code = cuda_.streamQuery(stream_.get());
  return code == cuda::kNotReady || good(code, "cuStreamQuery");
}

/// Asks for the oldest event, and for the next one only when that has passed.
bool CopyStream::askEvents() noexcept {
  while (passed_ != recorded_) {
    const std::size_t oldest = passed_ % events_.size();
    const cuda::Code code = cuda_.eventQuery(events_[oldest]);
    if (code == cuda::kNotReady) return true;
    if (!good(code, "cuEventQuery")) return false;
    finished_ = covers_[oldest];
    ++passed_;
  }
  return true;
}

std::string CopyStream::follows() const {
  if (counter_) return "a counter that the stream writes to pinned memory";
  return (patience_ == 0 ? "events: " : "waiting for the stream, events for large copies: ") +
         noCounter_;
}

bool CopyStream::good(cuda::Code code, const char* call) noexcept {
  if (code == cuda::kSuccess) return true;
  failure_ = code;
  failedCall_ = call;
  return false;
}

}  // namespace gdrbench::staged
