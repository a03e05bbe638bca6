// SPDX-License-Identifier: Apache-2.0
// Any bytes are a result document or an error; what is read can be shown in every format, and
// written it reads back to the same.
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/core/json.h"
#include "harness/report/document.h"
#include "harness/report/report.h"

namespace {

using namespace gdrbench;
using namespace gdrbench::report;

void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

void showAll(const Document& document) {
  for (const Format format : {Format::kTable, Format::kMarkdown, Format::kCsv, Format::kJson}) {
    for (const int width : {0, 40}) {
      if (render(document, format, {.width = width}).empty()) fail("an empty report", "");
    }
  }
}

void readBack(const Document& document) {
  const std::string written = writeJson(toJson(document));
  const auto value = parseJson(written, "written.json");
  if (!value) fail("what was written is not JSON", value.error().what() + "\n" + written);
  const auto again = documentFromJson(*value);
  if (!again) fail("what was written does not read back", again.error().what() + "\n" + written);
  if (writeJson(toJson(*again)) != written) fail("reading and writing changes it", written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = parseJson(text, "fuzz.json");
  if (!value) return 0;
  const auto document = documentFromJson(*value);
  if (!document) return 0;
  showAll(*document);
  readBack(*document);
  return 0;
}
