// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "harness/core/units.h"
#include "harness/doctor/examination.h"

namespace gdrbench::doctor {

Result<Examination> readExamination(const std::string& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (failed) return systemError("read " + path, failed.value());
  // A pipe or a device may never end.
  if (!std::filesystem::is_regular_file(status)) {
    return Error{.code = ErrorCode::kMismatch,
                 .tried = "read " + path,
                 .nativeText = "it is no regular file"};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return systemError("read " + path, errno);
  std::string text(kMostPeerBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return systemError("read " + path, EIO);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostPeerBytes) {
    return Error{.code = ErrorCode::kMismatch,
                 .tried = "read " + path,
                 .nativeText = "it is longer than " + formatSize(kMostPeerBytes)};
  }
  return examinationFromJson(text, path);
}

std::vector<Difference> differences(const Examination& here, const Examination& there) {
  std::map<std::string, std::string> left;
  for (const Fact& fact : there.facts) left.emplace(fact.key, fact.value);
  std::vector<Difference> all;
  for (const Fact& fact : here.facts) {
    const auto found = left.find(fact.key);
    if (found == left.end()) {
      all.push_back({fact.key, fact.value, "-"});
      continue;
    }
    if (found->second != fact.value) all.push_back({fact.key, fact.value, found->second});
    left.erase(found);
  }
  for (const auto& [key, value] : left) all.push_back({key, "-", value});
  return all;
}

}  // namespace gdrbench::doctor
