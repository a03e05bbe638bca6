// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/report/document.h"

namespace gdrbench::report {

/// RFC 4180: a header and one line for each row; raw numbers, units in the header, empty where
/// there is no value. The columns are part of the schema version.
std::string renderCsv(const Document& document);

}  // namespace gdrbench::report
