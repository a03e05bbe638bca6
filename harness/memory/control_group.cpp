// SPDX-License-Identifier: Apache-2.0
#include "harness/memory/control_group.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace gdrbench {
namespace {

/// The names of one version's files.
struct Files {
  const char* limit;
  const char* used;
  const char* reclaimable;  ///< key in memory.stat
};

constexpr Files kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr Files kVersion2{"memory.max", "memory.current", "inactive_file"};

/// First number of a file; `otherwise` when there is none ("max", or no such file).
std::uint64_t numberIn(const std::string& path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : otherwise;
}

std::uint64_t numberAfter(const std::string& key, const std::string& path) {
  std::ifstream file(path);
  std::string word;
  std::uint64_t value = 0;
  while (file >> word >> value) {
    if (word == key) return value;
  }
  return 0;
}

std::uint64_t leftIn(const std::string& folder, const Files& files) {
  const std::uint64_t limit = numberIn(folder + "/" + files.limit, kUnlimited);
  if (limit == kUnlimited) return kUnlimited;
  // Cached file pages count as used, and make room as soon as a process asks for memory.
  const std::uint64_t charged = numberIn(folder + "/" + files.used, 0);
  const std::uint64_t cached = numberAfter(files.reclaimable, folder + "/memory.stat");
  const std::uint64_t used = charged - std::min(charged, cached);
  return limit > used ? limit - used : 0;
}

/// The group and all its parents: a limit of any of them holds. In a container the path may be the
/// host's, where only the last step, the root of the mount, is there to be read.
std::uint64_t leftUpTo(const std::string& root, std::string_view group, const Files& files) {
  std::uint64_t left = leftIn(root, files);
  while (group.size() > 1) {
    left = std::min(left, leftIn(root + std::string(group), files));
    group = group.substr(0, group.rfind('/'));
  }
  return left;
}

bool hasMemory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::string_view one = controllers.substr(0, controllers.find(','));
    if (one == "memory") return true;
    controllers.remove_prefix(std::min(controllers.size(), one.size() + 1));
  }
  return false;
}

/// One line, "4:memory:/user.slice": number, controllers (none in version 2), path.
std::uint64_t leftByLine(const std::string& mount, std::string_view line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
  if (second == line.npos) return kUnlimited;
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  std::string_view group = line.substr(second + 1);
  // "/../x": outside of what this process may see.
  if (!group.starts_with('/') || group.find("/..") != group.npos) group = "/";
  if (hasMemory(controllers)) return leftUpTo(mount + "/memory", group, kVersion1);
  if (controllers.empty()) return leftUpTo(mount, group, kVersion2);
  return kUnlimited;
}

}  // namespace

std::uint64_t leftInControlGroups(const std::string& mount, std::string_view groups) {
  std::uint64_t left = kUnlimited;
  while (!groups.empty()) {
    const std::string_view line = groups.substr(0, groups.find('\n'));
    left = std::min(left, leftByLine(mount, line));
    groups.remove_prefix(std::min(groups.size(), line.size() + 1));
  }
  return left;
}

}  // namespace gdrbench
