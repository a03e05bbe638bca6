// SPDX-License-Identifier: Apache-2.0
// Any bytes are a counter's file or not, and a list of mappings: what is found was there.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "harness/witness/copy_mappings.h"
#include "harness/witness/counter.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gdrbench::witness;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto count = parseCount(text)) {
    // The digits as they were, but for zeros in front and white space behind.
    const std::string digits = std::to_string(*count);
    const std::size_t at = text.find(digits);
    if (at == text.npos || text.find_first_not_of('0') < at) std::abort();
    if (parseCount(digits) != count) std::abort();
  }
  const auto found = copyMappingsIn(text);
  if (std::set<std::string>(found.begin(), found.end()).size() != found.size()) std::abort();
  for (const std::string& file : found) {
    if (file.find('\n') != file.npos || text.find(file) == text.npos) std::abort();
  }
  return 0;
}
