// SPDX-License-Identifier: Apache-2.0
// Result<T>: a T or an Error. Status: success or an Error.
//
//   Result<Buffer> buffer = space.allocate(bytes);
//   if (!buffer) return buffer.error();
//   use(*buffer);
#pragma once

#include <utility>
#include <variant>

#include "harness/core/error.h"

namespace gdrbench {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const noexcept { return held_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// Only when ok().
  T& operator*() & { return std::get<0>(held_); }
  const T& operator*() const& { return std::get<0>(held_); }
  T&& operator*() && { return std::get<0>(std::move(held_)); }
  T* operator->() { return &std::get<0>(held_); }
  const T* operator->() const { return &std::get<0>(held_); }

  /// Only when !ok().
  [[nodiscard]] Error& error() & { return std::get<1>(held_); }
  [[nodiscard]] const Error& error() const& { return std::get<1>(held_); }
  [[nodiscard]] Error&& error() && { return std::get<1>(std::move(held_)); }

 private:
  std::variant<T, Error> held_;
};

using Done = std::monostate;

/// A Result with no value: `return Done{};` on success.
using Status = Result<Done>;

}  // namespace gdrbench
