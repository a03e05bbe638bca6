// SPDX-License-Identifier: Apache-2.0
// Text from libraries, hosts and files on its way to a screen or a file: what cannot be shown there
// is made visible, and widths are counted in characters. For harness/report and harness/doctor.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gdrbench::report {

/// One line that does nothing to a terminal: control characters become spaces.
std::string oneLine(std::string_view text);

/// Characters of well-formed UTF-8; a wide character counts as one.
std::size_t displayWidth(std::string_view text);

/// At most `width` characters; what is cut off is shown as "...".
std::string shortened(std::string_view text, std::size_t width);

/// Breaks at spaces into lines of at most `width` characters (0: one line), each after the first
/// indented. A word longer than a line stays whole.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace gdrbench::report
