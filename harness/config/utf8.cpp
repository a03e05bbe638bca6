// SPDX-License-Identifier: Apache-2.0
#include "harness/config/utf8.h"

#include <array>

namespace gdrbench::config {
namespace {

/// First bytes of a range, and what its second byte may be: the bounds of the second byte are what
/// keeps overlong forms, surrogates and values above U+10FFFF out.
struct LeadRange {
  unsigned char first, last;
  unsigned char secondLow, secondHigh;
  std::size_t length;
};

constexpr std::array<LeadRange, 8> kLeads{{{0xC2, 0xDF, 0x80, 0xBF, 2},
                                           {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                           {0xE1, 0xEC, 0x80, 0xBF, 3},
                                           {0xED, 0xED, 0x80, 0x9F, 3},
                                           {0xEE, 0xEF, 0x80, 0xBF, 3},
                                           {0xF0, 0xF0, 0x90, 0xBF, 4},
                                           {0xF1, 0xF3, 0x80, 0xBF, 4},
                                           {0xF4, 0xF4, 0x80, 0x8F, 4}}};

unsigned char byteAt(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

bool isControl(unsigned char byte) {
  return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
}

}  // namespace

std::size_t characterLength(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned char lead = byteAt(text, 0);
  if (lead < 0x80) return 1;
  for (const LeadRange& range : kLeads) {
    if (lead < range.first || lead > range.last) continue;
    if (text.size() < range.length) return 0;
    if (byteAt(text, 1) < range.secondLow || byteAt(text, 1) > range.secondHigh) return 0;
    for (std::size_t i = 2; i < range.length; ++i) {
      if ((byteAt(text, i) & 0xC0) != 0x80) return 0;
    }
    return range.length;
  }
  return 0;
}

TextFault checkText(std::string_view text) {
  TextFault at{{}, 1, 1};
  while (!text.empty()) {
    const std::size_t length = characterLength(text);
    if (length == 0) return {"not valid UTF-8", at.line, at.column};
    if (text[0] == '\0') return {"a NUL byte", at.line, at.column};
    if (isControl(byteAt(text, 0))) return {"a control character", at.line, at.column};
    if (text[0] == '\n') {
      ++at.line;
      at.column = 1;
    } else {
      ++at.column;
    }
    text.remove_prefix(length);
  }
  return {};
}

}  // namespace gdrbench::config
