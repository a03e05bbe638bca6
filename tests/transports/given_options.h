// SPDX-License-Identifier: Apache-2.0
// A transport's options as a test gives them: words over the defaults of the table.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/option.h"

namespace gdrbench {

using GivenOptions = std::vector<std::pair<std::string, std::string>>;

inline OptionSet optionsWith(std::span<const Option> table, const GivenOptions& given) {
  OptionSet set = OptionSet::defaults(table);
  for (const auto& entry : given) {
    const auto option = std::find_if(
        table.begin(), table.end(), [&](const Option& known) { return known.name == entry.first; });
    REQUIRE_MESSAGE(option != table.end(), "no such option: " << entry.first);
    const Result<OptionValue> value = parseOption(*option, entry.second);
    REQUIRE_MESSAGE(value.ok(), entry.first << ": " << entry.second);
    set.set(entry.first, {*value});
  }
  return set;
}

}  // namespace gdrbench
