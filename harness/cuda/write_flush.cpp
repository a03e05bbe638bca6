// SPDX-License-Identifier: Apache-2.0
#include "harness/cuda/write_flush.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace gdrbench::cuda {
namespace {

// CUGPUDirectRDMAWritesOrdering, CUflushGPUDirectRDMAWritesOptions, ...Target and ...Scope.
constexpr int kOrderedForOwner = 100;
constexpr int kHostCanFlush = 1;
constexpr int kCurrentContext = 0;
constexpr int kToOwner = 100;

}  // namespace

WriteFlush::WriteFlush(std::shared_ptr<const Device> device) : device_(std::move(device)) {
  if (device_->attribute(kGpuDirectRdmaWritesOrdering) >= kOrderedForOwner) return;
  const bool able = (device_->attribute(kGpuDirectRdmaFlushOptions) & kHostCanFlush) != 0 &&
                    device_->cuda().flushWrites != nullptr;
  need_ = able ? Need::kFlush : Need::kNoWay;
}

Status WriteFlush::run() {
  if (need_ != Need::kFlush) return Done{};
  if (Status current = device_->makeCurrent(); !current) return current;
  const auto start = std::chrono::steady_clock::now();
  if (const Code code = device_->cuda().flushWrites(kCurrentContext, kToOwner); code != kSuccess) {
    return error("flush what was written to GPU " + device_->identity().pci, code);
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  ++flushes_;
  totalUs_ += took.count();
  longestUs_ = std::max(longestUs_, took.count());
  return Done{};
}

std::string WriteFlush::describe() const {
  switch (need_) {
    case Need::kNone:
      return "ordered for the GPU that owns the memory: no flush";
    case Need::kNoWay:
      return "not ordered, and the host cannot flush them: what is checked may be read too early";
    case Need::kFlush:
      break;
  }
  if (flushes_ == 0) return "not ordered: to be flushed before each check";
  return fmt::format(
      "not ordered: flushed before each check, {} times, {:.2f} us each in the mean, at most "
      "{:.2f} "
      "us, outside the timed part",
      flushes_, totalUs_ / static_cast<double>(flushes_), longestUs_);
}

}  // namespace gdrbench::cuda
