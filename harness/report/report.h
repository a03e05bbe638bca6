// SPDX-License-Identifier: Apache-2.0
// Printing a result document. Functions from data to text: no clock, no files, no terminal.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/result.h"
#include "harness/report/document.h"

namespace gdrbench::report {

enum class Format { kTable, kMarkdown, kCsv, kJson };
Result<Format> parseFormat(std::string_view text);

struct Style {
  int width = 0;  ///< columns of the terminal; 0: unlimited
  bool colour = false;
  bool unicode = true;
};

/// The whole report: environment line, overhead, one table for each pattern, notes, summary line.
/// No newline at the end.
std::string render(const Document& document, Format format, const Style& style);

/// The last line, stable for scripts:
/// "gdrbench: 28 ok, 1 failed, 1 skipped; 123456 messages checked, 0 bad".
std::string summaryLine(const Document& document);

/// The failed and skipped rows with both sides' views and the next step; empty when all are ok.
std::string renderFailures(const Document& document);

/// Several documents side by side: labels and ids are made unique with the document's name; the
/// base is the first document's. Ratios are gone until the result is summarised again.
Document merge(std::span<const Document> documents);

/// From results.json, or from the row-by-row journal (results.jsonl) of a run that did not end
/// (status "aborted"; what cannot be read of it is left out with a note, and its headlines are
/// empty until it is summarised). The folder of a run stands for the file that it holds.
Result<Document> readDocument(const std::string& path);

}  // namespace gdrbench::report
