// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace gdrbench {
namespace {

constexpr std::string_view kMagic = "GDRB";
constexpr std::size_t kHeader = 16;

constexpr std::array<std::string_view, 15> kTypeNames = {
    "Hello",  "Assign",  "Phase",   "Address", "Peer",  "Ready",  "Begin",  "Chunk",
    "Result", "Samples", "Failure", "Cancel",  "Close", "Closed", "Frozen",
};
static_assert(kTypeNames.size() == static_cast<std::size_t>(MessageType::kFrozen));

bool knownType(std::uint64_t type) {
  return type >= 1 && type <= kTypeNames.size();
}

void appendLittle(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

std::uint64_t readLittle(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

struct Header {
  std::uint64_t version = 0;
  std::uint64_t type = 0;
  std::uint64_t length = 0;
};

// Layout: magic 4, version 2, type 2, length of the body 8.
Header readHeader(std::string_view bytes) {
  return {.version = readLittle(bytes.substr(4, 2)),
          .type = readLittle(bytes.substr(6, 2)),
          .length = readLittle(bytes.substr(8, 8))};
}

std::string hexText(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    text += fmt::format("{}{:02x}", text.empty() ? "" : " ", static_cast<unsigned char>(c));
  }
  return text;
}

// Empty when the bytes look like nothing known.
std::string_view likelyClient(std::string_view bytes) {
  constexpr std::array<std::string_view, 7> kHttp = {"GET ", "POST", "HEAD", "PUT ",
                                                     "OPTI", "CONN", "HTTP"};
  for (const std::string_view verb : kHttp) {
    if (bytes.starts_with(verb)) return "an HTTP client?";
  }
  if (bytes.starts_with("\x16\x03")) return "a TLS client?";
  if (bytes.starts_with("SSH-")) return "an SSH client?";
  return {};
}

Error notOurs(std::string_view bytes) {
  const std::string_view seen = bytes.substr(0, kMagic.size());
  const std::string_view client = likelyClient(seen);
  return {
      .code = ErrorCode::kProtocol,
      .tried = "read a control message",
      .nativeText = fmt::format("it begins with the bytes {} instead of \"{}\"{}", hexText(seen),
                                kMagic, client.empty() ? "" : fmt::format(" ({})", client)),
      .next = "only gdrbench may connect to this port"};
}

Error otherVersion(std::uint64_t version) {
  return {.code = ErrorCode::kMismatch,
          .tried = "read a control message",
          .nativeText = fmt::format("the other side speaks control protocol {}, this side {}",
                                    version, kProtocolVersion),
          .next = "run the same version of gdrbench on both sides"};
}

Error tooLong(std::string_view verb, std::uint64_t length) {
  return {.code = ErrorCode::kProtocol,
          .tried = fmt::format("{} a control message", verb),
          .nativeText =
              fmt::format("its body is {} bytes long, at most {} are allowed", length, kMaxBody)};
}

Error unknownType(std::uint64_t type) {
  return {
      .code = ErrorCode::kProtocol,
      .tried = "read a control message",
      .nativeText = fmt::format("its type {} is unknown to protocol {}", type, kProtocolVersion)};
}

// What can be said of a header from the bytes that are there, as early as possible: a client that
// sends four bytes of something else and then waits must not keep us waiting as well.
Status checkStart(std::string_view bytes) {
  const std::size_t seen = std::min(bytes.size(), kMagic.size());
  if (bytes.substr(0, seen) != kMagic.substr(0, seen) &&
      (bytes.size() >= kMagic.size() || !likelyClient(bytes).empty())) {
    return notOurs(bytes);
  }
  if (bytes.size() < kHeader) return Done{};
  const Header header = readHeader(bytes);
  if (header.version != kProtocolVersion) return otherVersion(header.version);
  if (!knownType(header.type)) return unknownType(header.type);
  if (header.length > kMaxBody) return tooLong("read", header.length);
  return Done{};
}

}  // namespace

std::string_view name(MessageType type) {
  const auto value = static_cast<std::uint64_t>(type);
  return knownType(value) ? kTypeNames[value - 1] : "unknown";
}

Result<std::string> encodeFrame(const ControlMessage& message) {
  if (message.body.size() > kMaxBody) return tooLong("send", message.body.size());
  std::string frame;
  frame.reserve(kHeader + message.body.size());
  frame += kMagic;
  appendLittle(frame, kProtocolVersion, 2);
  appendLittle(frame, static_cast<std::uint64_t>(message.type), 2);
  appendLittle(frame, message.body.size(), 8);
  frame += message.body;
  return frame;
}

Status FrameReader::feed(std::string_view bytes) {
  pending_.erase(0, consumed_);
  consumed_ = 0;
  pending_ += bytes;
  std::size_t at = 0;
  while (at < pending_.size()) {
    const std::string_view rest = std::string_view(pending_).substr(at);
    if (Status start = checkStart(rest); !start) {
      // What came before stays readable; of the rest, enough that every later feed fails alike.
      pending_.resize(at + std::min(rest.size(), kHeader));
      return start;
    }
    if (rest.size() < kHeader) break;
    at += kHeader + readHeader(rest).length;
  }
  return Done{};
}

bool FrameReader::next(ControlMessage& message) {
  const std::string_view rest = std::string_view(pending_).substr(consumed_);
  if (rest.size() < kHeader || !checkStart(rest)) return false;
  const Header header = readHeader(rest);
  if (rest.size() - kHeader < header.length) return false;
  message.type = static_cast<MessageType>(header.type);
  message.body = rest.substr(kHeader, header.length);
  consumed_ += kHeader + header.length;
  return true;
}

bool FrameReader::midFrame() const {
  return consumed_ < pending_.size();
}

}  // namespace gdrbench
