// SPDX-License-Identifier: Apache-2.0
// Options, declared once beside their owner as a table of plain data. YAML, --set, --help,
// configs/README.md and the JSON schema are all made from these tables (harness/config).
//
//   constexpr Option kTcpOptions[] = {
//       {.name = "port", .type = OptionType::kInteger, .fallback = "0", .min = 0, .max = 65535,
//        .help = "port that the responder listens on; 0 lets the kernel choose"},
//   };
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/core/result.h"

namespace gdrbench {

enum class OptionType {
  kBool,      ///< true | false
  kInteger,   ///< whole number
  kNumber,    ///< decimal number
  kSize,      ///< bytes, with a unit (units.h)
  kDuration,  ///< nanoseconds, with a unit
  kPercent,   ///< fraction, written "1%"
  kText,      ///< any string
  kChoice,    ///< one of `choices`
};

/// One option. All views point to static storage.
struct Option {
  std::string_view name;
  OptionType type = OptionType::kText;
  std::string_view fallback = {};  ///< default, as it would be written in YAML; empty: no default
  double min = -std::numeric_limits<double>::infinity();  ///< in base units (bytes, ns, fraction)
  double max = std::numeric_limits<double>::infinity();
  std::span<const std::string_view> choices = {};  ///< kChoice only
  bool list = false;      ///< a list of values is accepted, and a single one means a list of one
  bool required = false;  ///< no default, and must be given
  std::string_view help = {};
};

using OptionTable = std::span<const Option>;

/// One value in base units: bool; bytes, nanoseconds and integers as int64; fractions and numbers
/// as double; text and choices as string.
using OptionValue = std::variant<bool, std::int64_t, double, std::string>;

/// Reads one scalar of `option`'s type and checks its range or choices. The error's `tried` quotes
/// the text and says what is accepted; it has no position: the caller knows it.
Result<OptionValue> parseOption(const Option& option, std::string_view text);

/// The value as YAML would write it: parseOption of it gives the same value.
std::string literal(const Option& option, const OptionValue& value);

/// "64B .. 16MiB", "tcp | shm", "1 .. 65535": what is accepted, for help and errors.
std::string acceptedValues(const Option& option);

/// The values of one table's options, complete: every option with a default is present.
class OptionSet {
 public:
  OptionSet() = default;
  /// Every option of `table` at its default; those without a default stay unset.
  static OptionSet defaults(OptionTable table);

  /// `explicitly`: given by the user, not a default; the report tells them apart.
  void set(std::string_view name, std::vector<OptionValue> values, bool explicitly = true);

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] bool given(std::string_view name) const;  ///< set by the user

  /// Value of an option that is set; asking for one that is not, or for the wrong type, is a bug
  /// and aborts with the name.
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;  ///< also sizes and durations
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] const std::vector<OptionValue>& list(std::string_view name) const;

  struct Entry {
    std::vector<OptionValue> values;
    bool given = false;
    bool operator==(const Entry&) const = default;
  };
  [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }

 private:
  const Entry& at(std::string_view name) const;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace gdrbench
