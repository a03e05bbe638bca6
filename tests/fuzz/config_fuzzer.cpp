// SPDX-License-Identifier: Apache-2.0
// Any bytes are a configuration or an error with a place; what loads also loads after toYaml.
// A line "%set key=value" at the start is taken off and applied as --set.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "harness/config/config.h"

namespace {

using namespace gdrbench;
using namespace gdrbench::config;

constexpr std::string_view kWords[] = {"direct", "staged", "off"};
constexpr Option kOptions[] = {
    {.name = "name", .type = OptionType::kText},
    {.name = "rounds", .type = OptionType::kInteger, .fallback = "3", .min = 1, .max = 1000},
    {.name = "number", .type = OptionType::kNumber, .min = 0},
    {.name = "size", .type = OptionType::kSize, .fallback = "64KiB"},
    {.name = "time", .type = OptionType::kDuration, .fallback = "5s"},
    {.name = "share", .type = OptionType::kPercent, .fallback = "1%"},
    {.name = "flag", .type = OptionType::kBool, .fallback = "true"},
    {.name = "word", .type = OptionType::kChoice, .choices = kWords, .list = true},
};

const Catalogue& catalogue() {
  static const Catalogue kCatalogue{
      kOptions,
      {{"stop", "", kOptions}},
      {},
      {{"wire", "", kOptions}, {"nothing", "", {}}},
      {{"ping-pong", "", {}}, {"stream", "", kOptions}},
  };
  return kCatalogue;
}

/// Takes the leading "%set" lines off `text`.
std::vector<std::string> takeSets(std::string_view& text) {
  constexpr std::string_view kMark = "%set ";
  std::vector<std::string> sets;
  while (text.starts_with(kMark)) {
    const std::size_t end = text.find('\n');
    sets.emplace_back(text.substr(kMark.size(), end - kMark.size()));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return sets;
}

void fail(const char* what, const std::string& detail) {
  std::fprintf(stderr, "%s\n%s\n", what, detail.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> sets = takeSets(text);
  const Result<RunConfig> config = loadText(catalogue(), text, "fuzz.yaml", sets);
  if (!config) {
    if (config.error().code != ErrorCode::kConfig) fail("wrong code", config.error().what());
    return 0;
  }
  const std::string written = toYaml(catalogue(), *config);
  const Result<RunConfig> again = loadText(catalogue(), written, "written.yaml", {});
  if (!again) fail("toYaml does not load", again.error().what() + "\n" + written);
  if (toYaml(catalogue(), *again) != written) fail("toYaml changes", written);
  return 0;
}
