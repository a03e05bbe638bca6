// SPDX-License-Identifier: Apache-2.0
// Small reads of sysfs and procfs, for harness/environment, harness/doctor and harness/witness.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gdrbench {

/// Where the kernel's files are; tests put a folder in their place.
struct Roots {
  std::filesystem::path sys = "/sys";
  std::filesystem::path proc = "/proc";
  std::filesystem::path dev = "/dev";
};

std::optional<std::string> firstLine(const std::filesystem::path& path);

/// The first line, or "unknown (path cannot be read)".
std::string lineText(const std::filesystem::path& path);

/// The whole number at the start of the file.
std::optional<long> numberIn(const std::filesystem::path& path);

/// The value of the first line "key : value", as in /proc/cpuinfo; keys are whole.
std::optional<std::string> keyedValue(const std::filesystem::path& path, std::string_view key);

/// keyedValue(), or "unknown (no 'key' in path)".
std::string keyedText(const std::filesystem::path& path, std::string_view key);

/// Names in a folder, sorted as people sort ("cpu2" before "cpu10"); none when it cannot be read.
std::vector<std::string> namesIn(const std::filesystem::path& folder);

/// N of "<prefix>N", as in "node0"; nothing for other names.
std::optional<int> numberAfter(std::string_view prefix, std::string_view name);

}  // namespace gdrbench
