// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/driver_state.h"

#include <sys/resource.h>

#include <fstream>
#include <string_view>

namespace gdrbench {

std::optional<NvidiaModule> nvidiaModule(const Roots& roots) {
  const auto line = firstLine(roots.proc / "driver/nvidia/version");
  if (!line) return std::nullopt;
  NvidiaModule found{.version = {}, .open = line->find("Open Kernel Module") != line->npos};
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build ..."
  const std::size_t module = line->find("Kernel Module");
  const std::size_t digit = module == line->npos ? line->npos : line->find("  ", module);
  if (digit == line->npos) return found;
  const std::size_t start = line->find_first_not_of(' ', digit);
  if (start != line->npos) found.version = line->substr(start, line->find(' ', start) - start);
  return found;
}

Known<std::set<std::string>> loadedModules(const Roots& roots) {
  using Names = std::set<std::string>;
  std::ifstream file(roots.proc / "modules");
  if (!file) return Known<Names>::unknown((roots.proc / "modules").string() + " cannot be read");
  Names loaded;
  for (std::string line; std::getline(file, line);) loaded.insert(line.substr(0, line.find(' ')));
  return loaded;
}

Known<std::uint64_t> memlockLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) {
    return Known<std::uint64_t>::unknown("getrlimit failed");
  }
  if (limit.rlim_cur == RLIM_INFINITY) return kNoLimit;
  return std::uint64_t{limit.rlim_cur};
}

}  // namespace gdrbench
