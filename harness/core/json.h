// SPDX-License-Identifier: Apache-2.0
// JSON text in and out, over Boost.JSON. Include <boost/json.hpp> only in .cpp files: it costs
// seconds in each translation unit; headers take boost/json/fwd.hpp.
//
// Boost.JSON 1.81 writes NaN and Infinity as bare words (which is not JSON), doubles as 1.5E0, and
// keeps the last of two equal keys. This writer turns what is not finite into null, writes
// numbers in their shortest form, and the reader refuses equal keys.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "harness/core/result.h"

namespace gdrbench {

/// One line, no spaces.
std::string writeJson(const boost::json::value& value);

/// Indented by two spaces; arrays of plain numbers stay on one line.
std::string writeJsonPretty(const boost::json::value& value);

/// Parses a whole text. `source` names it in the error ("results.json", "control message"). Depth
/// is bounded (64); trailing text, equal keys and numbers beyond a double are errors.
Result<boost::json::value> parseJson(std::string_view text, std::string_view source);

}  // namespace gdrbench
