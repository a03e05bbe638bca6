// SPDX-License-Identifier: Apache-2.0
// Environment variables by which a library is told to leave the direct path, kept beside the
// transport that uses the library.
#pragma once

#include <string_view>

namespace gdrbench {

struct PathVariable {
  std::string_view name;
  /// Values that take the direct path away, with commas between them, in lower case; "*": any
  /// value. Empty: none does, but the value belongs into every comparison of two machines.
  std::string_view harmful = {};
  std::string_view effect = {};  ///< of a harmful value
};

}  // namespace gdrbench
