// SPDX-License-Identifier: Apache-2.0
// Words about options that help, reference and schema share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/core/option.h"

namespace gdrbench::config {

/// "size", "whole number", with ", or a list" where one is accepted.
std::string typeText(const Option& option);

/// "64B .. 16MiB"; the type where the table sets no limits.
std::string acceptedText(const Option& option);

/// The values that `option` has when it is not given; empty when it has none.
std::vector<OptionValue> defaultValues(const Option& option);

/// "64KiB", "[uni, bi]"; "required" or "-" when there is no default.
std::string defaultText(const Option& option);

/// A value as it stands in a YAML file: text is quoted where a reader could take it for another
/// thing.
std::string yamlScalar(const Option& option, const OptionValue& value);
std::string yamlText(std::string_view text);

/// "[a, b]"; lines after the first begin with `indent` blanks when it does not fit on one.
std::string yamlList(const std::vector<std::string>& items, std::size_t indent);

}  // namespace gdrbench::config
