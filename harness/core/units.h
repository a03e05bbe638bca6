// SPDX-License-Identifier: Apache-2.0
// Numbers with units, read from text and written to text. Text is taken whole or refused: no
// octal, no hexadecimal, no thousands separators, no trailing words, no locale.
//
// Sizes: K, M, G, T and KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB powers of 1000; B or
// nothing is bytes. Durations: ns, us, ms, s, min, h; a bare number is refused, except 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/core/result.h"

namespace gdrbench {

/// A whole number, "-12" or "1000". "010", "1_000", "0x10", "1e3", "" are errors.
Result<std::int64_t> parseInteger(std::string_view text);

/// A finite decimal number: "2", "0.5", "1e-3".
Result<double> parseNumber(std::string_view text);

/// A byte count: "64", "64KiB", "1 MiB", "2.5M" (only when it comes out as whole bytes).
Result<std::uint64_t> parseSize(std::string_view text);

/// Nanoseconds: "500ms", "0.5s", "1h", "0" (only when it comes out as whole nanoseconds).
Result<std::int64_t> parseDuration(std::string_view text);

/// A fraction from a percentage: "1%" is 0.01. The sign is required.
Result<double> parsePercent(std::string_view text);

/// "64 B", "64 KiB", "1.5 MiB": exact, in the largest binary unit with at most two decimals that
/// loses nothing; plain bytes otherwise ("1001 B").
std::string formatSize(std::uint64_t bytes);

/// "64KiB": like formatSize but readable by parseSize as one YAML scalar.
std::string sizeLiteral(std::uint64_t bytes);

/// "1.234 us": four significant digits in the unit that fits. Input in nanoseconds.
std::string formatDuration(double nanoseconds);

/// "500ms": exact, readable by parseDuration.
std::string durationLiteral(std::int64_t nanoseconds);

/// "1%" for 0.01: reads back as the same fraction.
std::string percentLiteral(double fraction);

/// "12.34 GB/s": four significant digits (10^9 bytes per second; MB/s or kB/s when smaller).
std::string formatByteRate(double bytesPerSecond);

/// "98.72 Gb/s" (10^9 bits per second).
std::string formatBitRate(double bytesPerSecond);

/// "1.234 M/s", "456.7 k/s".
std::string formatMessageRate(double messagesPerSecond);

/// Shortest text that reads back as the same double. Never "nan" or "inf": an internal error ("?").
std::string formatNumber(double value);

}  // namespace gdrbench
