// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/debug_log.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

namespace gdrbench::nccl {
namespace {

std::string textOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Use>
void forEachLine(std::string_view text, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string environmentText(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string logToFile(const std::string& prefix) {
  // Once for the process: both sides may be in it.
  static const std::string kKept = [&]() -> std::string {
    if (std::getenv("NCCL_DEBUG") != nullptr || std::getenv("NCCL_DEBUG_FILE") != nullptr)
      return {};
    const std::string path = "/dev/shm/" + prefix + "nccl.log";
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT", 1);  // nothing of it is written per message
    setenv("NCCL_DEBUG_FILE", path.c_str(), 1);
    return path;
  }();
  return kKept;
}

std::string channelsIn(std::string_view log) {
  std::map<std::string, int, std::less<>> counts;
  forEachLine(log, [&](std::string_view line) {
    const std::size_t channel = line.find(" Channel ");
    const std::size_t via = line.find(" via ");
    if (channel == std::string_view::npos || via == std::string_view::npos || via < channel) return;
    std::string_view medium = line.substr(via + 5);
    medium = medium.substr(0, medium.find_first_of(" \r"));
    ++counts[std::string(medium)];
  });
  std::string text;
  for (const auto& [medium, count] : counts) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, medium);
  }
  return text;
}

std::string channelsInFile(const std::string& path) {
  return path.empty() ? std::string() : channelsIn(textOf(path));
}

std::string settingsIn(std::string_view text) {
  std::string settings;
  forEachLine(text, [&](std::string_view line) {
    if (!line.starts_with("NCCL_") || line.find('=') == std::string_view::npos) return;
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    settings += settings.empty() ? "" : ", ";
    settings += line;
  });
  return settings;
}

std::vector<Claim> configurationFiles() {
  const std::string named = environmentText("NCCL_CONF_FILE");
  const std::string own = named.empty() ? environmentText("HOME") + "/.nccl.conf" : named;
  std::vector<Claim> claims;
  for (const auto& [path, shown] :
       {std::pair{own, named.empty() ? std::string("~/.nccl.conf") : named},
        std::pair{std::string("/etc/nccl.conf"), std::string("/etc/nccl.conf")}}) {
    std::string settings = settingsIn(textOf(path));
    if (!settings.empty()) claims.push_back({"conf " + shown, std::move(settings), true});
  }
  return claims;
}

}  // namespace gdrbench::nccl
