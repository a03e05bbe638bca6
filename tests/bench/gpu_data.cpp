// SPDX-License-Identifier: Apache-2.0
// What the data check costs: fill and verify on the GPU against a copy within the GPU's memory,
// interleaved in one run. The bar is half of the memory's bandwidth, as the copy shows it (bytes
// read and written).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "harness/cuda/allocation.h"
#include "harness/cuda/data_kernels.h"

using namespace gdrbench;

namespace {

constexpr int kSkipped = 77;

double secondsOf(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

int run() {
  auto device = cuda::openDevice("0");
  if (!device) {
    fmt::print("skipped: {}\n", device.error().what());
    return kSkipped;
  }
  constexpr std::uint64_t kBytes = std::uint64_t{1} << 30;
  auto from = cuda::Allocation::make(*device, kBytes, false);
  auto to = cuda::Allocation::make(*device, kBytes, false);
  auto kernels = cuda::DataKernels::load(*device);
  auto stream = cuda::Stream::make(*device);
  if (!from || !to || !kernels || !stream) return 1;
  const cuda::Api& cuda = (*device)->cuda();

  bool below = false;
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20, std::uint64_t{64} << 20, kBytes}) {
    const cuda::SlotsOnDevice slots{.slots = from->pointer(),
                                    .stride = bytes,
                                    .bytes = bytes,
                                    .count = static_cast<std::uint32_t>(kBytes / bytes),
                                    .mixedSeed = 42};
    std::vector<double> copy, fill, verify;
    for (int i = 0; i < 12; ++i) {
      copy.push_back(secondsOf([&] {
        cuda.copyAsync(to->pointer(), from->pointer(), kBytes, stream->get());
        cuda.streamSynchronize(stream->get());
      }));
      fill.push_back(secondsOf([&] { (void)kernels->fill(slots, false); }));
      verify.push_back(secondsOf([&] { (void)kernels->verify(slots); }));
    }
    const double gigabytes = static_cast<double>(kBytes) / 1e9;
    const double memory = 2 * gigabytes / median(copy);
    const double filled = gigabytes / median(fill);
    const double verified = gigabytes / median(verify);
    fmt::print(
        "messages of {:>10} B: memory {:.0f} GB/s, fill {:.0f} GB/s ({:.2f}), verify {:.0f} "
        "GB/s ({:.2f})\n",
        bytes, memory, filled, filled / memory, verified, verified / memory);
    below = below || filled < memory / 2 || verified < memory / 2;
  }
  return below ? 1 : 0;
}

}  // namespace

int main() {
  return run();
}
