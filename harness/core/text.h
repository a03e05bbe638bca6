// SPDX-License-Identifier: Apache-2.0
// Small helpers for text that people read.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gdrbench {

/// The candidate nearest to `word` by edit distance (case-insensitive), or empty when none is near
/// enough to be meant (distance above a third of the longer word, at least 1).
std::string_view nearestName(std::string_view word, std::span<const std::string_view> candidates);

/// "; did you mean 'rounds'?" or, when nothing is near, "; one of: a, b, c".
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

/// "a, b and c".
std::string listed(std::span<const std::string> words);

/// Well-formed UTF-8: each byte that is not part of a character becomes U+FFFD. Texts of libraries
/// may hold anything; JSON cannot.
std::string asUtf8(std::string_view text);

/// Lower-case letters, digits, '.', '_' and '-'; everything else becomes '-'. For file names.
std::string fileNameOf(std::string_view text);

}  // namespace gdrbench
