// SPDX-License-Identifier: Apache-2.0
#include "transports/staged/staged_transport.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "transports/staged/staged_endpoint.h"

namespace gdrbench::staged {
namespace {

constexpr double kKiB = 1024;
constexpr double kMiB = 1024 * kKiB;

// Large enough that starting and following a copy (a few microseconds of the CPU, which also moves
// the wire of some transports) is a small part of moving a chunk; small enough that 64 MiB are many
// chunks, so that filling and draining the pipeline is a small part of them.
constexpr std::string_view kChunk = "2MiB";

constexpr Option kOptions[] = {
    {.name = "chunk",
     .type = OptionType::kSize,
     .fallback = kChunk,
     .min = 4 * kKiB,
     .max = 256 * kMiB,
     .help = "larger messages are cut into chunks of this size, which overlap: one is copied from "
             "the GPU while the one before is on the wire"},
    {.name = "depth",
     .type = OptionType::kInteger,
     .fallback = "8",
     .min = 1,
     .max = 256,
     .help = "chunks on their way in each direction; depth x chunk is the pinned memory of each, "
             "and smaller messages share it in smaller slots"},
    {.name = "low_latency",
     .type = OptionType::kSize,
     .fallback = "64KiB",
     .min = 0,
     .max = 16 * kMiB,
     .help =
         "with a window of 1, copies of messages up to this size are followed one by one; 0: none"},
};

class StagedTransport final : public Transport {
 public:
  StagedTransport(std::unique_ptr<Transport> inner, OptionSet options)
      : inner_(std::move(inner)), options_(std::move(options)) {}

  [[nodiscard]] std::string_view name() const override { return "staged"; }

  Result<std::vector<Device>> probe() override {
    if (auto gpus = cuda::identities(); !gpus) return gpus.error();
    return inner_->probe();
  }

  [[nodiscard]] Capabilities capabilities(const OptionSet& options) const override {
    return staged::capabilities(inner_->capabilities(options));
  }

  Result<std::unique_ptr<Endpoint>> open(const OpenRequest& request) override {
    if (Status good = checkInner(request.options); !good) return good.error();
    return StagedEndpoint::open(*inner_, request, options_);
  }

 private:
  [[nodiscard]] Status checkInner(const OptionSet& options) const {
    const Capabilities can = inner_->capabilities(options);
    const auto refused = [&](std::string_view why) {
      return Error{
          .code = ErrorCode::kUnsupported,
          .tried = fmt::format("stage over {} ({}): {}", inner_->name(), can.operation, why)};
    };
    if (std::count(can.memory.begin(), can.memory.end(), MemoryKind::kPinned) == 0) {
      return refused("it takes no pinned memory");
    }
    if (can.flow != DataFlow::kPush) return refused("its sender does not move the bytes");
    if (can.drive != Drive::kHost) return refused("the host does not drive it");
    return Done{};
  }

  std::unique_ptr<Transport> inner_;
  OptionSet options_;
};

}  // namespace

OptionTable options() {
  return kOptions;
}

Capabilities capabilities(const Capabilities& inner) {
  return {.memory = {MemoryKind::kCuda},
          .flow = DataFlow::kPush,
          .drive = Drive::kHost,
          .oneProcess = inner.oneProcess,
          .operation = "staged " + inner.operation};
}

std::unique_ptr<Transport> makeStaged(std::unique_ptr<Transport> inner,
                                      const OptionSet& stagingOptions) {
  return std::make_unique<StagedTransport>(std::move(inner), stagingOptions);
}

}  // namespace gdrbench::staged
