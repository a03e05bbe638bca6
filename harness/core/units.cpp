// SPDX-License-Identifier: Apache-2.0
#include "harness/core/units.h"

#include <fmt/format.h>

#include <algorithm>
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
  while (n < text.size() && (isDigit(text[n]) || text[n] == '.')) ++n;
  Quantity parts{text.substr(0, n), text.substr(n)};
  if (parts.unit.size() > 1 && parts.unit.front() == ' ') parts.unit.remove_prefix(1);
  return parts;
}

/// Digits, optionally followed by a point and digits.
bool isPlainDecimal(std::string_view text) {
  if (text.empty() || looksOctal(text) || !isDigit(text.front()) || !isDigit(text.back())) {
    return false;
  }
  return std::count(text.begin(), text.end(), '.') <= 1;
}

enum class Product { kWhole, kFraction, kTooLarge };

/// number * factor without rounding: a double is off by one from 2^53 on, and would take
/// 9007199254740993.5 for a whole number.
Product multiply(std::string_view number, std::uint64_t factor, std::int64_t& product) {
  const std::size_t point = std::min(number.find('.'), number.size());
  std::int64_t whole = 0;
  for (const char digit : number.substr(0, point)) {
    if (__builtin_mul_overflow(whole, 10, &whole) ||
        __builtin_add_overflow(whole, digit - '0', &whole)) {
      return Product::kTooLarge;
    }
  }
  // From the last digit on: what a digit leaves over can not become whole any more.
  std::uint64_t fraction = 0;
  for (std::size_t i = number.size(); i-- > point + 1;) {
    fraction += static_cast<std::uint64_t>(number[i] - '0') * factor;
    if (fraction % 10 != 0) return Product::kFraction;
    fraction /= 10;
  }
  if (__builtin_mul_overflow(whole, factor, &product) ||
      __builtin_add_overflow(product, fraction, &product)) {
    return Product::kTooLarge;
  }
  return Product::kWhole;
}

template <std::size_t N>
const Unit* find(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

/// value in the first unit (largest first) that it reaches, with four significant digits. The
/// bounds lie where rounding carries into a further digit: 999.96 MB/s is 1.000 GB/s.
template <std::size_t N>
std::string scaled(double value, const std::array<Unit, N>& units) {
  if (!std::isfinite(value)) return "?";
  for (const Unit& unit : units) {
    const double shown = std::abs(value) / unit.factor;
    if (shown < 0.99995 && &unit != &units.back()) continue;
    const int decimals = shown >= 999.95 ? 0 : shown >= 99.995 ? 1 : shown >= 9.9995 ? 2 : 3;
    return fmt::format("{:.{}f} {}", value / unit.factor, decimals, unit.name);
  }
  return "?";
}

/// Why a size with the unknown unit `parts.unit` is refused, and what may have been meant.
std::string sizeHint(const Quantity& parts) {
  const auto prefix = parts.unit.size() == 1 ? std::string_view("kmgt").find(parts.unit.front())
                                             : std::string_view::npos;
  if (prefix == std::string_view::npos) return std::string(kSizeHelp);
  return fmt::format("'{0}' could mean 1000 or 1024: {1}{2}iB or {1}{3}B; {4}", parts.unit,
                     parts.number, "KMGT"[prefix], "kMGT"[prefix], kSizeHelp);
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
  const Unit* unit = find(kSizeUnits, parts.unit.empty() ? "B" : parts.unit);
  if (!isPlainDecimal(parts.number)) return refuse(text, "a size", kSizeHelp);
  if (unit == nullptr) return refuse(text, "a size", sizeHint(parts));
  std::int64_t bytes = 0;
  switch (multiply(parts.number, static_cast<std::uint64_t>(unit->factor), bytes)) {
    case Product::kFraction:
      return refuse(text, "a whole number of bytes", kSizeHelp);
    case Product::kTooLarge:
      return refuse(text, "a size below 8 EiB", kSizeHelp);
    case Product::kWhole:
      break;
  }
  return static_cast<std::uint64_t>(bytes);
}

Result<std::int64_t> parseDuration(std::string_view text) {
  if (text == "0") return std::int64_t{0};
  const Quantity parts = split(text);
  const Unit* unit = find(kTimeUnits, parts.unit);
  if (!isPlainDecimal(parts.number)) return refuse(text, "a duration", kTimeHelp);
  if (unit == nullptr && parts.unit == "m") {
    return refuse(text, "a duration",
                  fmt::format("'m' could mean minutes or milliseconds: {0}min or {0}ms; {1}",
                              parts.number, kTimeHelp));
  }
  if (unit == nullptr) return refuse(text, "a duration", kTimeHelp);
  std::int64_t ns = 0;
  switch (multiply(parts.number, static_cast<std::uint64_t>(unit->factor), ns)) {
    case Product::kFraction:
      return refuse(text, "a whole number of nanoseconds", kTimeHelp);
    case Product::kTooLarge:
      return refuse(text, "a duration below 292 years", kTimeHelp);
    case Product::kWhole:
      break;
  }
  return ns;
}

Result<double> parsePercent(std::string_view text) {
  const std::string_view number = text.substr(0, text.empty() ? 0 : text.size() - 1);
  const bool negative = number.starts_with('-');
  if (text.ends_with('%') && isPlainDecimal(number.substr(negative ? 1 : 0))) {
    // The point is moved in the text: a division by 100 would round a second time, and what
    // percentLiteral() writes would not read back as the same fraction.
    if (const auto value = decimal(std::string(number) + "e-2")) return *value;
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

std::string percentLiteral(double fraction) {
  if (!std::isfinite(fraction)) return "?";
  // The shortest digits, "-1.25e-02", with the point moved by two places.
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                                          std::abs(fraction), std::chars_format::scientific);
  const std::string text(buffer.data(), end);
  const std::size_t e = text.find('e');
  std::string digits = text.substr(0, 1) + (e > 1 ? text.substr(2, e - 2) : "");
  const int point = 1 + 2 + (digits == "0" ? -2 : std::stoi(text.substr(e + 1)));
  if (point <= 0) digits.insert(0, static_cast<std::size_t>(1 - point), '0');
  const auto whole = static_cast<std::size_t>(std::max(1, point));
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  if (digits.size() > whole) digits.insert(whole, 1, '.');
  return fmt::format("{}{}%", fraction < 0 ? "-" : "", digits);
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
