// SPDX-License-Identifier: Apache-2.0
// Which bytes a configuration may hold. libfyaml takes any, and stops silently at a NUL.
#pragma once

#include <cstddef>
#include <string_view>

namespace gdrbench::config {

/// Why the text cannot be taken, and where (lines and columns from 1); `problem` is empty when it
/// can.
struct TextFault {
  std::string_view problem;
  int line = 0;
  int column = 0;
};

/// Valid UTF-8 (no overlong forms, no surrogates) without control characters but tab and newline.
TextFault checkText(std::string_view text);

/// Length of the well-formed character at the start of `text`, 0 when there is none.
std::size_t characterLength(std::string_view text);

}  // namespace gdrbench::config
