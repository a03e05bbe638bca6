// SPDX-License-Identifier: Apache-2.0
#include "harness/core/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace gdrbench {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024;
constexpr std::array kSizeUnits = {
    Unit{"B", 1},
    Unit{"K", kKi},
    Unit{"M", kKi* kKi},
    Unit{"G", kKi* kKi* kKi},
    Unit{"T", kKi* kKi* kKi* kKi},
    Unit{"KiB", kKi},
    Unit{"MiB", kKi* kKi},
    Unit{"GiB", kKi* kKi* kKi},
    Unit{"TiB", kKi* kKi* kKi* kKi},
    Unit{"kB", 1e3},
    Unit{"MB", 1e6},
    Unit{"GB", 1e9},
    Unit{"TB", 1e12},
};
constexpr std::string_view kSizeHelp =
    "write a whole number of bytes with B, K, M, G, T, KiB, MiB, GiB, TiB (powers of 1024) or kB, "
    "MB, GB, TB (powers of 1000)";

constexpr std::array kTimeUnits = {
    Unit{"ns", 1},  Unit{"us", 1e3},   Unit{"ms", 1e6},
    Unit{"s", 1e9}, Unit{"min", 60e9}, Unit{"h", 3600e9},
};
constexpr std::string_view kTimeHelp = "write a number with ns, us, ms, s, min or h";

Error refuse(std::string_view text, std::string_view what, std::string_view help) {
  return {.code = ErrorCode::kUsage,
          .tried = fmt::format("'{}' is not {}", text, what),
          .next = std::string(help)};
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// More than one digit before the point, the first a zero: octal to some readers, decimal to
/// others.
bool looksOctal(std::string_view text) {
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && isDigit(text[1]);
}

/// Decimal digits, optionally a sign, a point and an exponent: what from_chars takes, less "inf",
/// "nan" and hexadecimal.
std::optional<double> decimal(std::string_view text) {
  if (text.empty() || looksOctal(text)) return {};
  if (!isDigit(text.back())) return {};
  const char first = text.front() == '-' && text.size() > 1 ? text[1] : text.front();
  if (!isDigit(first)) return {};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return {};
  return value;
}

struct Quantity {
  std::string_view number, unit;
};

/// "1 MiB": digits and a point, at most one space, letters.
Quantity split(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && (isDigit(text[n]) || text[n] == '.' || (n == 0 && text[n] == '-'))) ++n;
  Quantity parts{text.substr(0, n), text.substr(n)};
  if (!parts.unit.empty() && parts.unit.front() == ' ') parts.unit.remove_prefix(1);
  return parts;
}

template <std::size_t N>
const Unit* find(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

/// value in the first unit (largest first) that it reaches; at least four significant digits.
template <std::size_t N>
std::string scaled(double value, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (std::abs(value) < unit.factor && &unit != &units.back()) continue;
    const double shown = value / unit.factor;
    const int decimals = shown >= 1000 ? 0 : shown >= 100 ? 1 : shown >= 10 ? 2 : 3;
    return fmt::format("{:.{}f} {}", shown, decimals, unit.name);
  }
  return "?";
}

}  // namespace

Result<std::int64_t> parseInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) {
    return refuse(text, "a whole number", "write decimal digits only");
  }
  if (looksOctal(text)) {
    return refuse(text, "a whole number", "leading zeros are refused: they mean octal to some");
  }
  return value;
}

Result<double> parseNumber(std::string_view text) {
  if (const auto value = decimal(text)) return *value;
  return refuse(text, "a number", "write a decimal number such as 0.5");
}

Result<std::uint64_t> parseSize(std::string_view text) {
  const Quantity parts = split(text);
  const auto number = decimal(parts.number);
  const Unit* unit = find(kSizeUnits, parts.unit.empty() ? "B" : parts.unit);
  if (unit == nullptr && (parts.unit == "k" || parts.unit == "m" || parts.unit == "g")) {
    return refuse(text, "a size",
                  fmt::format("'{}' could mean 1000 or 1024: {}", parts.unit, kSizeHelp));
  }
  if (!number || unit == nullptr || *number < 0) return refuse(text, "a size", kSizeHelp);
  const double bytes = *number * unit->factor;
  if (bytes != std::floor(bytes)) return refuse(text, "a whole number of bytes", kSizeHelp);
  if (bytes >= 9223372036854775808.0) return refuse(text, "a size below 8 EiB", kSizeHelp);
  // Whole numbers stay exact beyond 2^53.
  if (parts.number.find('.') == std::string_view::npos) {
    const auto whole = parseInteger(parts.number);
    if (!whole) return refuse(text, "a size", kSizeHelp);
    return static_cast<std::uint64_t>(*whole) * static_cast<std::uint64_t>(unit->factor);
  }
  return static_cast<std::uint64_t>(bytes);
}

Result<std::int64_t> parseDuration(std::string_view text) {
  if (text == "0") return std::int64_t{0};
  const Quantity parts = split(text);
  const auto number = decimal(parts.number);
  const Unit* unit = find(kTimeUnits, parts.unit);
  if (!number || unit == nullptr || *number < 0) return refuse(text, "a duration", kTimeHelp);
  const double ns = std::round(*number * unit->factor);
  if (ns >= 9223372036854775808.0) return refuse(text, "a duration below 292 years", kTimeHelp);
  if (ns == 0 && *number != 0) return refuse(text, "at least a nanosecond", kTimeHelp);
  return static_cast<std::int64_t>(ns);
}

Result<double> parsePercent(std::string_view text) {
  if (!text.empty() && text.back() == '%') {
    if (const auto value = decimal(text.substr(0, text.size() - 1))) return *value / 100;
  }
  return refuse(text, "a percentage", "write a number with %, such as 1%");
}

std::string formatSize(std::uint64_t bytes) {
  constexpr std::array kBinary = {Unit{"TiB", kKi * kKi * kKi * kKi}, Unit{"GiB", kKi * kKi * kKi},
                                  Unit{"MiB", kKi * kKi}, Unit{"KiB", kKi}};
  for (const Unit& unit : kBinary) {
    const auto factor = static_cast<std::uint64_t>(unit.factor);
    if (bytes < factor) continue;
    // At most two decimals, and none that hides a remainder.
    const std::uint64_t hundredths = bytes % factor * 100;
    if (hundredths % factor != 0) continue;
    const std::string number = fmt::format("{:.2f}", static_cast<double>(bytes) / unit.factor);
    std::string_view shown = number;
    while (shown.back() == '0') shown.remove_suffix(1);
    if (shown.back() == '.') shown.remove_suffix(1);
    return fmt::format("{} {}", shown, unit.name);
  }
  return fmt::format("{} B", bytes);
}

std::string sizeLiteral(std::uint64_t bytes) {
  std::string text = formatSize(bytes);
  text.erase(text.find(' '), 1);
  return text;
}

std::string formatDuration(double nanoseconds) {
  constexpr std::array kUnits = {Unit{"s", 1e9}, Unit{"ms", 1e6}, Unit{"us", 1e3}, Unit{"ns", 1}};
  return scaled(nanoseconds, kUnits);
}

std::string durationLiteral(std::int64_t nanoseconds) {
  for (std::size_t i = kTimeUnits.size(); i-- > 0;) {
    const auto factor = static_cast<std::int64_t>(kTimeUnits[i].factor);
    if (nanoseconds % factor == 0 && (nanoseconds != 0 || i == 3)) {
      return fmt::format("{}{}", nanoseconds / factor, kTimeUnits[i].name);
    }
  }
  return "0s";
}

std::string formatByteRate(double bytesPerSecond) {
  constexpr std::array kUnits = {Unit{"GB/s", 1e9}, Unit{"MB/s", 1e6}, Unit{"kB/s", 1e3}};
  return scaled(bytesPerSecond, kUnits);
}

std::string formatBitRate(double bytesPerSecond) {
  constexpr std::array kUnits = {Unit{"Gb/s", 1e9}, Unit{"Mb/s", 1e6}, Unit{"kb/s", 1e3}};
  return scaled(bytesPerSecond * 8, kUnits);
}

std::string formatMessageRate(double messagesPerSecond) {
  constexpr std::array kUnits = {Unit{"M/s", 1e6}, Unit{"k/s", 1e3}, Unit{"/s", 1}};
  return scaled(messagesPerSecond, kUnits);
}

std::string formatNumber(double value) {
  if (!std::isfinite(value)) return "?";
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::string(text.data(), end) : "?";
}

}  // namespace gdrbench
