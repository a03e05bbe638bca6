// SPDX-License-Identifier: Apache-2.0
#include "harness/core/option.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "harness/core/text.h"
#include "harness/core/units.h"

namespace gdrbench {
namespace {

/// A limit in the option's own unit, as a person would write it.
std::string limit(const Option& option, double value) {
  switch (option.type) {
    case OptionType::kSize:
      return sizeLiteral(static_cast<std::uint64_t>(value));
    case OptionType::kDuration:
      return durationLiteral(static_cast<std::int64_t>(value));
    case OptionType::kPercent:
      return percentLiteral(value);
    default:
      // Limits of whole numbers are written out: 9007199254740992, not 9e15.
      return value == std::floor(value) && std::abs(value) < 1e16 ? fmt::format("{:.0f}", value)
                                                                  : formatNumber(value);
  }
}

std::string range(const Option& option) {
  const bool low = std::isfinite(option.min);
  const bool high = std::isfinite(option.max);
  if (low && high)
    return fmt::format("{} .. {}", limit(option, option.min), limit(option, option.max));
  if (low) return "at least " + limit(option, option.min);
  if (high) return "at most " + limit(option, option.max);
  return {};
}

bool within(const Option& option, double value) {
  return value >= option.min && value <= option.max;
}

/// As a double, 2^53 + 1 is 2^53, and would pass a limit of 2^53.
bool within(const Option& option, std::int64_t value) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  const bool belowMax =
      option.max >= kTwoTo63 ||
      (option.max >= -kTwoTo63 && value <= static_cast<std::int64_t>(std::floor(option.max)));
  const bool aboveMin =
      option.min <= -kTwoTo63 ||
      (option.min < kTwoTo63 && value >= static_cast<std::int64_t>(std::ceil(option.min)));
  return belowMax && aboveMin;
}

template <class T>
Result<OptionValue> inRange(const Option& option, std::string_view text, T value) {
  if (within(option, value)) return OptionValue(value);
  return Error{.code = ErrorCode::kUsage,
               .tried = fmt::format("'{}' is out of range: {}", text, range(option))};
}

Result<OptionValue> parseChoice(const Option& option, std::string_view text) {
  for (const std::string_view choice : option.choices) {
    if (choice == text) return OptionValue(std::string(text));
  }
  return Error{
      .code = ErrorCode::kUsage,
      .tried = fmt::format(
          "'{}' is none of {}{}", text, acceptedValues(option),
          nearestName(text, option.choices).empty() ? "" : suggestion(text, option.choices))};
}

[[noreturn]] void bug(std::string_view name, const char* what) {
  fmt::print(stderr, "gdrbench: internal error: option '{}' {}\n", name, what);
  std::abort();
}

template <class T>
const T& single(std::string_view name, const OptionSet::Entry& entry) {
  const T* value = entry.values.size() == 1 ? std::get_if<T>(&entry.values.front()) : nullptr;
  if (value == nullptr) bug(name, "is not a single value of the type that was asked for");
  return *value;
}

}  // namespace

Result<OptionValue> parseOption(const Option& option, std::string_view text) {
  const auto number = [&](auto parsed) -> Result<OptionValue> {
    if (!parsed) return parsed.error();
    // Sizes are below 2^63.
    using T = std::decay_t<decltype(*parsed)>;
    using Held = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
    return inRange(option, text, static_cast<Held>(*parsed));
  };
  switch (option.type) {
    case OptionType::kBool:
      if (text == "true") return OptionValue(true);
      if (text == "false") return OptionValue(false);
      return Error{.code = ErrorCode::kUsage,
                   .tried = fmt::format("'{}' is neither true nor false", text)};
    case OptionType::kInteger:
      return number(parseInteger(text));
    case OptionType::kNumber:
      return number(parseNumber(text));
    case OptionType::kSize:
      return number(parseSize(text));
    case OptionType::kDuration:
      return number(parseDuration(text));
    case OptionType::kPercent:
      return number(parsePercent(text));
    case OptionType::kChoice:
      return parseChoice(option, text);
    case OptionType::kText:
      break;
  }
  return OptionValue(std::string(text));
}

std::string literal(const Option& option, const OptionValue& value) {
  switch (option.type) {
    case OptionType::kBool:
      return std::get<bool>(value) ? "true" : "false";
    case OptionType::kInteger:
      return std::to_string(std::get<std::int64_t>(value));
    case OptionType::kNumber:
      return formatNumber(std::get<double>(value));
    case OptionType::kSize:
      return sizeLiteral(static_cast<std::uint64_t>(std::get<std::int64_t>(value)));
    case OptionType::kDuration:
      return durationLiteral(std::get<std::int64_t>(value));
    case OptionType::kPercent:
      return percentLiteral(std::get<double>(value));
    case OptionType::kText:
    case OptionType::kChoice:
      break;
  }
  return std::get<std::string>(value);
}

std::string acceptedValues(const Option& option) {
  switch (option.type) {
    case OptionType::kBool:
      return "true | false";
    case OptionType::kChoice: {
      std::string text;
      for (const std::string_view choice : option.choices) {
        text += fmt::format("{}{}", text.empty() ? "" : " | ", choice);
      }
      return text;
    }
    case OptionType::kText:
      return "text";
    default:
      return range(option);
  }
}

OptionSet OptionSet::defaults(OptionTable table) {
  OptionSet set;
  for (const Option& option : table) {
    const bool empty = option.fallback.empty() && option.type != OptionType::kText;
    // A text option without a word for its default is unset when it must be given.
    if (empty || option.required) continue;
    auto value = parseOption(option, option.fallback);
    if (!value) bug(option.name, "has a default that it does not accept");
    set.set(option.name, {*std::move(value)}, false);
  }
  return set;
}

void OptionSet::set(std::string_view name, std::vector<OptionValue> values, bool explicitly) {
  entries_.insert_or_assign(std::string(name), Entry{std::move(values), explicitly});
}

bool OptionSet::has(std::string_view name) const {
  return entries_.contains(name);
}

bool OptionSet::given(std::string_view name) const {
  const auto found = entries_.find(name);
  return found != entries_.end() && found->second.given;
}

const OptionSet::Entry& OptionSet::at(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) bug(name, "is not set");
  return found->second;
}

bool OptionSet::flag(std::string_view name) const {
  return single<bool>(name, at(name));
}
std::int64_t OptionSet::integer(std::string_view name) const {
  return single<std::int64_t>(name, at(name));
}
double OptionSet::number(std::string_view name) const {
  return single<double>(name, at(name));
}
const std::string& OptionSet::text(std::string_view name) const {
  return single<std::string>(name, at(name));
}
const std::vector<OptionValue>& OptionSet::list(std::string_view name) const {
  return at(name).values;
}

}  // namespace gdrbench
