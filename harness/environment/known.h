// SPDX-License-Identifier: Apache-2.0
// A value, or the reason why there is none. Much of a machine may be unreadable to this process; a
// zero or an empty text would then be a lie.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gdrbench {

template <class T>
struct Known {
  std::optional<T> value;
  std::string why;  ///< when there is no value

  Known() = default;
  Known(T known) : value(std::move(known)) {}
  static Known unknown(std::string why) {
    Known none;
    none.why = std::move(why);
    return none;
  }

  explicit operator bool() const noexcept { return value.has_value(); }
  const T& operator*() const { return *value; }
  bool operator==(const Known&) const = default;
};

/// "unknown (why)": how every fact that could not be had is written.
inline std::string unknownText(std::string_view why) {
  return "unknown (" + std::string(why) + ")";
}

}  // namespace gdrbench
