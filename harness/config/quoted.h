// SPDX-License-Identifier: Apache-2.0
// Quoted texts that libfyaml 0.7.12 reads wrongly, without an error:
// - '' inside single quotes where two stand side by side: 'a''''b' becomes a'''. That style is read
//   here.
// - double quotes over several lines, where an escape stands before a line end. Those are refused.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gdrbench::config {

/// `text` begins behind the opening quote; what follows the closing one is not looked at. Nothing
/// when there is no closing quote.
std::optional<std::string> readSingleQuoted(std::string_view text);

/// Is there a backslash as well as a line end in the double-quoted text? `text` begins behind the
/// opening quote.
bool hasEscapeAndLineEnd(std::string_view text);

}  // namespace gdrbench::config
