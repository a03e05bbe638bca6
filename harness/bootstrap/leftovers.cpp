// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>

#include "harness/bootstrap/channel.h"

namespace gdrbench {
namespace {

constexpr const char* kFolder = "/dev/shm";
constexpr std::string_view kProgram = "gdrbench-";

/// Clock ticks after the boot at which a process started; none when there is no such process. Tells
/// a process from a later one with the same number.
std::optional<std::uint64_t> startTime(long pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The name, field 2, may hold spaces and brackets: fields are counted from its last bracket.
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return std::nullopt;
  constexpr int kFieldsUpToStartTime = 20;
  std::size_t at = bracket;
  for (int i = 0; i < kFieldsUpToStartTime && at != std::string::npos; ++i) {
    at = text.find(' ', at + 1);
  }
  std::uint64_t ticks = 0;
  if (at == std::string::npos) return std::nullopt;
  const auto [end, problem] = std::from_chars(&text[at + 1], text.data() + text.size(), ticks);
  if (problem != std::errc{}) return std::nullopt;
  return ticks;
}

/// What cannot be read about a process that is there counts for it.
bool lives(long pid, std::uint64_t start) {
  if (const std::optional<std::uint64_t> found = startTime(pid)) return *found == start;
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

std::string prefixOf(long pid, std::uint64_t start) {
  return fmt::format("{}{}-{}-", kProgram, pid, start);
}

struct Owner {
  long pid = 0;
  std::uint64_t start = 0;
};

/// Of a name that is exactly what uniqueNamePrefix makes, and something behind it.
std::optional<Owner> ownerOf(std::string_view fileName) {
  if (!fileName.starts_with(kProgram)) return std::nullopt;
  Owner owner;
  const char* const end = fileName.data() + fileName.size();
  const auto pid = std::from_chars(fileName.data() + kProgram.size(), end, owner.pid);
  if (pid.ec != std::errc{} || pid.ptr == end || *pid.ptr != '-') return std::nullopt;
  const auto start = std::from_chars(pid.ptr + 1, end, owner.start);
  if (start.ec != std::errc{}) return std::nullopt;
  // Written again it has to be the same: no signs, no leading zeros.
  const std::string prefix = prefixOf(owner.pid, owner.start);
  if (owner.pid <= 0 || !fileName.starts_with(prefix) || fileName.size() == prefix.size()) {
    return std::nullopt;
  }
  return owner;
}

/// Removes the regular files of this user whose names `wanted` accepts; answers the names.
template <class Wanted>
std::vector<std::string> removeFiles(Wanted wanted) {
  std::vector<std::string> removed;
  DIR* folder = ::opendir(kFolder);
  if (folder == nullptr) return removed;
  while (const dirent* entry = ::readdir(folder)) {
    const std::string name = entry->d_name;
    struct stat found {};
    if (!wanted(name)) continue;
    if (::fstatat(::dirfd(folder), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (!S_ISREG(found.st_mode) || found.st_uid != ::geteuid()) continue;
    if (::unlinkat(::dirfd(folder), name.c_str(), 0) == 0) removed.push_back(name);
  }
  ::closedir(folder);
  std::sort(removed.begin(), removed.end());
  return removed;
}

}  // namespace

std::string uniqueNamePrefix() {
  const long pid = ::getpid();
  return prefixOf(pid, startTime(pid).value_or(0));
}

std::vector<std::string> removeLeftovers(std::string_view prefix) {
  // A prefix that is too short would take in what belongs to others.
  if (!ownerOf(std::string(prefix) + "x")) return {};
  return removeFiles([&](std::string_view name) { return name.starts_with(prefix); });
}

std::vector<std::string> removeStaleLeftovers() {
  return removeFiles([](std::string_view name) {
    const std::optional<Owner> owner = ownerOf(name);
    return owner && !lives(owner->pid, owner->start);
  });
}

}  // namespace gdrbench
