// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/copy_log.h"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <new>

namespace gdrbench::witness {
namespace {

using cupti::CopyRecord;

/// CUPTI asks for buffers and gives them back on threads of its own, and with no word of whose they
/// are. What is needed then is here, for as long as the process lives.
struct Collector {
  std::mutex mutex;
  const CopyLog* owner = nullptr;
  cupti::Api cupti;
  std::uint64_t since = 0;
  std::uint64_t until = ~std::uint64_t{0};
  CopySums sums;
};

Collector& collector() {
  static auto* const kOne = new Collector;  // CUPTI may call back while the process ends
  return *kOne;
}

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
constexpr std::align_val_t kAlignment{8};  // of records, as CUPTI wants it

void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* mostRecords) {
  *buffer = static_cast<std::uint8_t*>(::operator new(kBufferBytes, kAlignment, std::nothrow));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *mostRecords = 0;  // as many as there is room for
}

bool host(std::uint8_t kind) {
  return kind == cupti::kPageable || kind == cupti::kPinned;
}
bool device(std::uint8_t kind) {
  return kind == cupti::kDevice || kind == cupti::kDeviceStatic;
}

/// By the kind of copy; by the memories on its ends where CUPTI does not know the kind.
std::uint64_t& sumOf(CopySums& sums, const CopyRecord& record) {
  if (record.kind == cupti::kPeerCopy) return sums.betweenDevices;
  switch (record.copyKind) {
    case cupti::kHostToDevice:
      return sums.hostToDevice;
    case cupti::kDeviceToHost:
      return sums.deviceToHost;
    case cupti::kDeviceToDevice:
      return sums.withinDevice;
    case cupti::kPeerToPeer:
      return sums.betweenDevices;
    case cupti::kCopyUnknown:
      if (host(record.sourceKind) && device(record.destinationKind)) return sums.hostToDevice;
      if (device(record.sourceKind) && host(record.destinationKind)) return sums.deviceToHost;
      return sums.others;
    default:
      return sums.others;
  }
}

/// A layout that moved would show kinds and times that cannot be.
bool plausible(const CopyRecord& record) {
  constexpr std::uint8_t kLastMemoryKind = 7;
  return record.copyKind <= cupti::kPeerToPeer && record.sourceKind <= kLastMemoryKind &&
         record.destinationKind <= kLastMemoryKind &&
         (record.end == 0 || record.end >= record.start);
}

/// Called with the mutex held.
void count(Collector& all, const void* raw) {
  CopyRecord record{};
  std::memcpy(&record.kind, raw, sizeof record.kind);
  if (record.kind != cupti::kCopy && record.kind != cupti::kPeerCopy) return;
  std::memcpy(&record, raw, sizeof record);
  if (!plausible(record)) {
    ++all.sums.strange;
    return;
  }
  // Time 0: CUPTI could not tell. It was enabled only in between, so it counts.
  const bool dated = record.start != 0;
  if (dated && (record.start < all.since || record.start > all.until)) return;
  ++all.sums.records;
  sumOf(all.sums, record) += record.bytes;
}

void complete(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
              std::size_t validBytes) {
  Collector& all = collector();
  const std::lock_guard lock(all.mutex);
  if (all.owner != nullptr && validBytes > 0) {
    void* record = nullptr;
    cupti::Code code = cupti::kOk;
    while ((code = all.cupti.nextRecord(buffer, validBytes, &record)) == cupti::kOk) {
      count(all, record);
    }
    if (code != cupti::kMaxLimitReached) ++all.sums.strange;
    std::size_t dropped = 0;
    if (all.cupti.droppedRecords(context, stream, &dropped) == cupti::kOk) {
      all.sums.dropped += dropped;
    }
  }
  ::operator delete(buffer, kAlignment);
}

}  // namespace

std::string CopySums::text() const {
  return fmt::format(
      "{} copies: {} bytes host to device, {} device to host, {} within a device, "
      "{} between devices, {} others",
      records, hostToDevice, deviceToHost, withinDevice, betweenDevices, others);
}

CopyLog::~CopyLog() {
  if (running_) (void)stop();
}

Status CopyLog::start() {
  Collector& all = collector();
  {
    const std::lock_guard lock(all.mutex);
    if (all.owner != nullptr) {
      return Error{.tried = "record copies", .nativeText = "another record is being taken"};
    }
    all.owner = this;
    all.cupti = cupti_;
    all.sums = {};
    all.since = 0;
    all.until = ~std::uint64_t{0};
  }
  running_ = true;
  if (Status enabled = enable(); !enabled) {
    disable();
    return enabled;
  }
  std::uint64_t now = 0;
  if (cupti_.timestamp(&now) == cupti::kOk) {
    const std::lock_guard lock(all.mutex);
    all.since = now;
  }
  return Done{};
}

Status CopyLog::enable() {
  if (const auto code = cupti_.registerCallbacks(request, complete); code != cupti::kOk) {
    return cupti_.error("hand buffers to CUPTI", code);
  }
  for (const std::uint32_t kind : {cupti::kCopy, cupti::kPeerCopy}) {
    if (const auto code = cupti_.enable(kind); code != cupti::kOk) {
      return cupti_.error("record copies", code);
    }
  }
  return Done{};
}

void CopyLog::disable() {
  for (const std::uint32_t kind : {cupti::kCopy, cupti::kPeerCopy}) (void)cupti_.disable(kind);
  const std::lock_guard lock(collector().mutex);
  collector().owner = nullptr;
  running_ = false;
}

Result<CopySums> CopyLog::stop() {
  Collector& all = collector();
  std::uint64_t now = 0;
  if (cupti_.timestamp(&now) == cupti::kOk) {
    const std::lock_guard lock(all.mutex);
    all.until = now;
  }
  // Outside the lock: CUPTI calls complete() from here.
  const auto code = cupti_.flushAll(cupti::kForced);
  CopySums sums;
  {
    const std::lock_guard lock(all.mutex);
    sums = all.sums;
  }
  disable();
  if (code != cupti::kOk) return cupti_.error("get the records of copies", code);
  return sums;
}

}  // namespace gdrbench::witness
