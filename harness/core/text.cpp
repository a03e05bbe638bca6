// SPDX-License-Identifier: Apache-2.0
#include "harness/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace gdrbench {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Levenshtein, case-insensitive, with two neighbours swapped counted as one.
std::size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row[b.size()];
}

/// Length of the well-formed UTF-8 character that `text` starts with; 0 when there is none. The
/// bounds of the second byte keep out overlong forms, surrogates and what is above U+10FFFF.
std::size_t characterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return 0;
  }
  return length;
}

}  // namespace

std::string_view nearestName(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 256;
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t least = std::string_view::npos;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = editDistance(word, candidate);
    const std::size_t most = std::max<std::size_t>(1, std::max(word.size(), candidate.size()) / 3);
    // A word of one letter is at distance 1 from every other: nothing is left of it.
    const bool allDiffers = distance >= std::max(word.size(), candidate.size());
    if (distance > most || distance >= least || allDiffers) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> candidates) {
  if (const std::string_view near = nearestName(word, candidates); !near.empty()) {
    return fmt::format("; did you mean '{}'?", near);
  }
  if (candidates.empty()) return {};
  std::string text = "; one of: ";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", candidates[i]);
  }
  return text;
}

std::string listed(std::span<const std::string> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

std::string asUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = characterLength(text);
    out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out;
}

std::string fileNameOf(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const char l = lower(c);
    const bool fine = (l >= 'a' && l <= 'z') || (l >= '0' && l <= '9') || l == '.' || l == '_';
    name += fine ? l : '-';
  }
  return name;
}

}  // namespace gdrbench
