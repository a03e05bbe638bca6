// SPDX-License-Identifier: Apache-2.0
// The text of results.json: one member of the document on a line, and each row on one. Lines can be
// compared, searched and counted, and large results are written and read row by row: the tree of a
// whole document takes ten times the room of its text. Private to harness/report.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "harness/core/result.h"
#include "harness/report/document.h"

namespace gdrbench::report {

/// No newline at the end.
std::string writeDocument(const Document& document);

/// Any JSON text of a document, in this layout or another; `source` names it in errors.
Result<Document> parseDocument(std::string_view text, const std::string& source);

/// In document.cpp: `rows` is an empty list.
boost::json::value toJsonWithoutRows(const Document& document);

/// In document.cpp: documentFromJson's check, for rows that were read one by one.
Status checkUniqueIds(const Document& document);

}  // namespace gdrbench::report
