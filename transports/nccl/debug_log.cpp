// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/debug_log.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "transports/nccl/channel_log.h"

namespace gdrbench::nccl {
namespace {

constexpr std::size_t kMostSettings = std::size_t{64} * 1024;

std::string textOf(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(most));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// NCCL_DEBUG_FILE with what NCCL puts in for %h and %p (src/debug.cc).
std::string ownName(std::string_view pattern) {
  std::string name;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      name += pattern[i];
      continue;
    }
    const char what = pattern[++i];
    if (what == 'p') {
      name += std::to_string(getpid());
    } else if (what == 'h') {
      char host[256] = "";
      gethostname(host, sizeof host - 1);
      name += std::string_view(host).substr(0, std::string_view(host).find('.'));
    } else {
      name += what == '%' ? "%" : std::string{'%', what};
    }
  }
  return name;
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

const LogFile& logToFile(const std::string& prefix) {
  // Once for the process: both sides may be in it.
  static const LogFile kKept = [&]() -> LogFile {
    const char* file = std::getenv("NCCL_DEBUG_FILE");
    const char* level = std::getenv("NCCL_DEBUG");
    if (level != nullptr && file == nullptr) {
      return {{},
              "NCCL_DEBUG is the user's, and its lines go to the terminal: set NCCL_DEBUG_FILE"};
    }
    const std::string path = file == nullptr ? "/dev/shm/" + prefix + "nccl.log" : ownName(file);
    // Nothing of these is written per message.
    setenv("NCCL_DEBUG_SUBSYS", "INIT,NET,P2P,SHM,REG,GRAPH,ENV", 0);
    setenv("NCCL_DEBUG", "INFO", 0);
    setenv("NCCL_DEBUG_FILE", path.c_str(), 0);
    return {path, {}};
  }();
  return kKept;
}

bool logsRegistrations() {
  const std::string logged = environmentText("NCCL_DEBUG_SUBSYS");
  return logged == "ALL" || ("," + logged + ",").find(",REG,") != std::string::npos;
}

std::string logText(const LogFile& file) {
  return file.path.empty() ? std::string() : textOf(file.path, kMostLog + 1);
}

std::string channelsIn(std::string_view log) {
  return countsOf(parseChannelLog(log).channels);
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
    std::string settings = settingsIn(textOf(path, kMostSettings));
    if (!settings.empty()) claims.push_back({"conf " + shown, std::move(settings), true});
  }
  return claims;
}

}  // namespace gdrbench::nccl
