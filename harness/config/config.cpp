// SPDX-License-Identifier: Apache-2.0
#include "harness/config/config.h"

#include <fmt/format.h>

#include "harness/config/include.h"
#include "harness/config/overrides.h"
#include "harness/config/reader.h"

namespace gdrbench::config {
namespace {

/// Overrides come after all files and before any check, whatever their order.
Result<RunConfig> finish(const Catalogue& catalogue, Result<Node> root, const std::string& name,
                         std::span<const std::string> sets, Budget& budget) {
  if (!root) return root.error();
  if (Status ok = applySets(*root, sets, budget); !ok) return ok.error();
  return readConfig(catalogue, *root, name);
}

}  // namespace

std::string Place::text() const {
  return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column);
}

Error errorAt(const Place& place, std::string text, std::string next) {
  Error error;
  error.code = ErrorCode::kConfig;
  error.tried = fmt::format("{}: {}", place.text(), text);
  error.next = std::move(next);
  return error;
}

Result<RunConfig> load(const Catalogue& catalogue, const std::string& path,
                       std::span<const std::string> sets) {
  Budget budget;
  return finish(catalogue, readTree(path, budget), path, sets, budget);
}

Result<RunConfig> loadText(const Catalogue& catalogue, std::string_view text,
                           const std::string& nameOfText, std::span<const std::string> sets) {
  Budget budget;
  return finish(catalogue, treeFromText(text, nameOfText, budget), nameOfText, sets, budget);
}

}  // namespace gdrbench::config
