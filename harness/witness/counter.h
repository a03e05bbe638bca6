// SPDX-License-Identifier: Apache-2.0
// Counters that only grow: how they are read, how far they moved, and whether that is as much as
// the payload. Pure but for readCount(). Private to harness/witness.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/environment/known.h"

namespace gdrbench::witness {

/// A whole number in decimal digits, with white space behind it at most. The kernel also writes
/// words ("N/A (no PMA)"): they are no number, and not 0.
std::optional<std::uint64_t> parseCount(std::string_view text);

/// Of a file that holds one number; else what it holds, or that it cannot be read.
Known<std::uint64_t> readCount(const std::filesystem::path& path);

/// How far a counter moved. It may wrap once, at 32 bits when it was below them before; one that
/// lost more than half of its range was set back.
Known<std::uint64_t> growth(std::uint64_t before, std::uint64_t after);

/// Three readings of one counter: idle to before nothing of ours ran, before to after all of it.
struct Flow {
  std::string name;  ///< "mlx5_0 port 1 port_xmit_data"
  Known<std::uint64_t> idle, before, after;
  std::uint64_t unit = 1;  ///< bytes that one count stands for
  std::chrono::nanoseconds idleTime{0}, runTime{0};

  [[nodiscard]] std::string text() const;  ///< "name before -> after"
};

/// What a link that carried the payload may have counted.
struct Bounds {
  std::uint64_t payload = 0;  ///< of the way that is looked at: at least this
  std::uint64_t most = 0;     ///< with headers, acknowledgements and the harness's own messages
};

enum class Passed {
  kAll,     ///< the payload and not much else
  kLess,    ///< less than the payload
  kUnclear  ///< cannot be told, see `why`
};

struct Judgement {
  Passed passed = Passed::kUnclear;
  std::uint64_t bytes = 0;  ///< that the counter moved by
  std::string why;          ///< when unclear
};

/// Unclear: a reading is missing, the counter stands at the end of 32 bits (old InfiniBand counters
/// stop there), others' traffic in the idle sample would make more than a tenth of the payload,
/// more was counted than headers explain, or a 32-bit counter may have wrapped unseen.
Judgement judge(const Flow& flow, const Bounds& bounds);

/// a + b, or the greatest number where that is more.
std::uint64_t plus(std::uint64_t a, std::uint64_t b);
std::uint64_t times(std::uint64_t a, std::uint64_t b);

}  // namespace gdrbench::witness
