// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "harness/report/document.h"

namespace gdrbench::report {

/// A header and one line for each row, quoted as in RFC 4180; raw numbers, units in the header,
/// empty where there is no value. Lines end with \n (none after the last). The columns are part of
/// the schema version. p50_ns and the others are of whole samples, see `sample`; latency_p50_ns is
/// half of a round trip.
std::string renderCsv(const Document& document);

}  // namespace gdrbench::report
