// SPDX-License-Identifier: Apache-2.0
#include "transports/nccl/channel_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace gdrbench::nccl {
namespace {

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Reads from the front; once something was not there, nothing is any more.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool atEnd() const { return good_ && rest_.empty(); }
  [[nodiscard]] std::string_view rest() const { return rest_; }

  bool maybe(std::string_view word) {
    if (!good_ || !rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void must(std::string_view word) { good_ = maybe(word) && good_; }

  int number() {
    int value = -1;
    const char* end = rest_.data() + rest_.size();
    const auto [behind, error] = std::from_chars(rest_.data(), end, value);
    good_ = good_ && error == std::errc() && value >= 0;
    if (good_) rest_.remove_prefix(static_cast<std::size_t>(behind - rest_.data()));
    return value;
  }
  /// "[0]", or "[3b000]": the device's index, and in 2.18.1 its address.
  void inBrackets() {
    must("[");
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789abcdefx"), rest_.size());
    good_ = good_ && end > 0 && end <= 18;
    if (good_) rest_.remove_prefix(end);
    must("]");
  }

 private:
  std::string_view rest_;
  bool good_ = true;
};

/// Takes `word` off the end.
bool chop(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  text.remove_suffix(word.size());
  return true;
}

std::optional<int> chopNumber(std::string_view& text) {
  std::size_t begin = text.size();
  while (begin > 0 && isDigit(text[begin - 1])) --begin;
  int value = 0;
  const auto [_, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (begin == text.size() || error != std::errc()) return std::nullopt;
  text.remove_suffix(text.size() - begin);
  return value;
}

/// src/transport/p2p.cc, p2pSendSetup.
bool readP2p(Cursor cursor, Channel& channel) {
  channel.medium = Medium::kP2p;
  if (cursor.maybe("indirect/")) {
    channel.kind = "indirect";
    channel.through = cursor.number();
    cursor.inBrackets();
  } else {
    for (const char* kind : {"direct pointer", "CUMEM", "IPC", "MNNVL"}) {
      if (!channel.kind.empty() || !cursor.maybe(kind)) continue;
      channel.kind = kind;
    }
    if (channel.kind.empty()) return false;
  }
  cursor.maybe("/read");
  const bool copies = channel.kind != "indirect" && channel.kind != "direct pointer";
  channel.copyEngine = copies && cursor.maybe("/CE");
  return cursor.atEnd();
}

/// src/transport/shm.cc, shmSendSetup: who copies on either side; 2.30 has one word only.
bool readShm(Cursor cursor, Channel& channel) {
  channel.medium = Medium::kShm;
  channel.kind = cursor.rest();
  const auto who = [&] { return cursor.maybe("direct") || cursor.maybe("CE"); };
  if (!who()) return false;
  if (cursor.maybe("/") && !who()) return false;
  channel.copyEngine = channel.kind.find("CE") != std::string::npos;
  return cursor.atEnd();
}

/// src/transport/net.cc, sendSetup and recvSetup. Read from the end, for a plugin's name may have
/// anything in it but a slash.
bool readNet(std::string_view text, Channel& channel) {
  channel.medium = Medium::kNet;
  chop(text, "/Shared");
  const bool overPci = chop(text, "(PCI)");
  channel.gpuDirect = chop(text, "/GDRDMA");
  if (overPci && !channel.gpuDirect) return false;
  if (chop(text, ")")) {
    const auto proxy = chopNumber(text);
    if (!proxy || !chop(text, "(")) return false;
    channel.through = *proxy;
  }
  if (!chopNumber(text) || !chop(text, "/")) return false;
  channel.kind = text;
  const auto isOfName = [](char c) { return c >= ' ' && c <= '~' && c != '/'; };
  if (text.empty() || !std::all_of(text.begin(), text.end(), isOfName)) return false;
  // NCCL's own sockets take host pointers only (src/transport/net_socket.cc).
  return !(channel.gpuDirect && text == "Socket");
}

std::optional<Channel> readChannel(std::string_view message) {
  Channel channel{.line = std::string(message)};
  Cursor cursor(message);
  cursor.must("Channel ");
  cursor.number();
  if (cursor.maybe("/")) channel.connection = cursor.number();
  cursor.must(" : ");
  channel.from = cursor.number();
  cursor.inBrackets();
  cursor.must(" -> ");
  channel.to = cursor.number();
  cursor.inBrackets();
  channel.byReceiver = cursor.maybe(" [receive]");
  const bool marked = cursor.maybe(" [send]") || channel.byReceiver;
  cursor.must(" via ");
  channel.via = cursor.rest();
  if (!cursor.good()) return std::nullopt;
  bool known = false;
  if (cursor.maybe("P2P/")) {
    known = !marked && channel.connection >= 0 && readP2p(cursor, channel);
  } else if (cursor.maybe("SHM/")) {
    known = !marked && channel.connection < 0 && readShm(cursor, channel);
  } else if (cursor.maybe("NET/")) {
    known = marked && channel.connection >= 0 && readNet(cursor.rest(), channel);
  }
  return known ? std::optional(std::move(channel)) : std::nullopt;
}

/// "Channel 00/24 :    0   1": the order of a ring (src/graph/rings.cc).
bool isRing(std::string_view message) {
  Cursor cursor(message);
  cursor.must("Channel ");
  cursor.number();
  cursor.must("/");
  cursor.number();
  cursor.must(" :");
  return cursor.good() && cursor.rest().find_first_not_of(" 0123456789") == std::string_view::npos;
}

/// "... comm 0x5581 rank 0 nranks 2 cudaDev 0 ... - Init COMPLETE" (src/init.cc).
std::optional<Joined> readJoined(std::string_view message) {
  if (!message.ends_with("Init COMPLETE")) return std::nullopt;
  const std::size_t at = message.find(" rank ");
  if (at == std::string_view::npos) return std::nullopt;
  Cursor cursor(message.substr(at));
  Joined joined;
  cursor.must(" rank ");
  joined.rank = cursor.number();
  cursor.must(" nranks ");
  joined.ranks = cursor.number();
  return cursor.good() ? std::optional(joined) : std::nullopt;
}

std::string versionIn(std::string_view line) {
  constexpr std::string_view kWords = "NCCL version ";
  const std::size_t at = line.find(kWords);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + kWords.size());
  return std::string(rest.substr(0, std::min(rest.find_first_not_of("0123456789."), rest.size())));
}

std::string shown(std::string_view text) {
  std::string printable(text.substr(0, 160));
  for (char& c : printable) c = c >= ' ' && c <= '~' ? c : '?';
  return printable;
}

class Parser {
 public:
  void line(std::string_view line) {
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::string version = versionIn(line); !version.empty()) return noteVersion(version);
    constexpr std::string_view kInfo = " NCCL INFO ";
    const std::size_t at = line.find(kInfo);
    if (at == std::string_view::npos) return;
    const std::string_view message = line.substr(at + kInfo.size());
    if (message.find(kInfo) != std::string_view::npos) return unknown(line);  // two in one
    if (message.starts_with("Channel ")) return noteChannel(line, message);
    if (const auto joined = readJoined(message)) {
      // As many as that are not ours, and the first of another size says so already.
      if (log.communicators.size() < kMostChannels) log.communicators.push_back(*joined);
    }
    noteRest(message);
  }

  ChannelLog log;

 private:
  void noteVersion(const std::string& version) {
    if (log.version.empty()) log.version = version;
    if (log.version != version) fail(fmt::format("it is of NCCL {} and {}", log.version, version));
  }

  void noteChannel(std::string_view line, std::string_view message) {
    if (isRing(message)) return;
    if (line.size() > kMostLine) return unknown(line);
    auto channel = readChannel(message);
    if (!channel) return unknown(message);
    if (log.channels.size() == kMostChannels) {
      return fail(fmt::format("it has more than {} channels", kMostChannels));
    }
    log.channels.push_back(*std::move(channel));
  }

  /// src/graph/topo.cc and src/transport/net.cc.
  void noteRest(std::string_view message) {
    const bool able = message.find(" GPU Direct RDMA Enabled for HCA ") != std::string_view::npos;
    const bool unable =
        message.find(" GPU Direct RDMA Disabled for HCA ") != std::string_view::npos;
    log.adaptersAble += able ? 1 : 0;
    log.adaptersUnable += unable ? 1 : 0;
    if ((able || unable) && log.ability.empty()) log.ability = shown(message);
    if (message.find(" - NET register userbuff ") != std::string_view::npos) {
      ++log.buffersRegistered;
    }
  }

  void unknown(std::string_view what) {
    fail(fmt::format("line {} is of no grammar that is known: {}", number_, shown(what)));
  }
  void fail(std::string why) {
    if (log.problem.empty()) log.problem = std::move(why);
  }

  std::size_t number_ = 0;
};

}  // namespace

ChannelLog parseChannelLog(std::string_view text) {
  Parser parser;
  if (text.size() > kMostLog) {
    parser.log.problem = fmt::format("it has more than {} bytes", kMostLog);
    return parser.log;
  }
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      // NCCL writes whole lines.
      if (parser.log.problem.empty()) parser.log.problem = "its last line is cut off";
      break;
    }
    parser.line(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return std::move(parser.log);
}

std::string countsOf(const std::vector<Channel>& channels) {
  std::map<std::string, int, std::less<>> counts;
  for (const Channel& channel : channels) ++counts[channel.via];
  std::string text;
  for (const auto& [via, count] : counts) {
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, via);
  }
  return text;
}

}  // namespace gdrbench::nccl
