// SPDX-License-Identifier: Apache-2.0
// Any bytes are an examination of another machine or an error; what is read can be shown and
// compared, and written it reads back to the same.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/doctor/examination.h"

namespace {

void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gdrbench::doctor;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = examinationFromJson(text, "fuzz.json");
  if (!read) return 0;
  for (const std::size_t width : {std::size_t{0}, std::size_t{40}}) {
    if (show(*read, width).empty()) fail("an empty text", "");
    show(differences(*read, Examination{}), *read, width);
  }
  if (exitStatus(*read) < 0) fail("no exit status", "");
  const std::string written = toJson(*read);
  const auto again = examinationFromJson(written, "written.json");
  if (!again) fail("what was written does not read back", again.error().what() + "\n" + written);
  if (toJson(*again) != written) fail("reading and writing changes it", written);
  return 0;
}
