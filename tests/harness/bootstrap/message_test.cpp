// SPDX-License-Identifier: Apache-2.0
#include "harness/bootstrap/message.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

using namespace gdrbench;

namespace {

std::string frame(MessageType type, std::string body) {
  auto encoded = encodeFrame({type, std::move(body)});
  REQUIRE(encoded.ok());
  return *encoded;
}

// magic, version, type, length, least significant byte first.
std::string header(unsigned version, unsigned type, unsigned long long length) {
  std::string bytes = "GDRB";
  for (int i = 0; i < 2; ++i) bytes += static_cast<char>(version >> (8 * i) & 0xff);
  for (int i = 0; i < 2; ++i) bytes += static_cast<char>(type >> (8 * i) & 0xff);
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes;
}

Error refusal(std::string_view bytes) {
  FrameReader reader;
  const Status fed = reader.feed(bytes);
  REQUIRE_FALSE(fed.ok());
  return fed.error();
}

bool says(const Error& error, std::string_view words) {
  return error.what().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a frame is a header of 16 bytes and the body") {
  CHECK(frame(MessageType::kChunk, "abc") == header(kProtocolVersion, 8, 3) + "abc");
  CHECK(frame(MessageType::kClosed, "") == header(kProtocolVersion, 14, 0));
}

TEST_CASE("each message type has a name, and another number has none") {
  CHECK(name(MessageType::kHello) == "Hello");
  CHECK(name(MessageType::kSamples) == "Samples");
  CHECK(name(MessageType::kClosed) == "Closed");
  CHECK(name(MessageType::kFrozen) == "Frozen");
  CHECK(name(static_cast<MessageType>(0)) == "unknown");
  CHECK(name(static_cast<MessageType>(16)) == "unknown");
}

TEST_CASE("frames come out whole wherever the stream is cut") {
  const std::string stream = frame(MessageType::kHello, "{}") + frame(MessageType::kBegin, "") +
                             frame(MessageType::kSamples, std::string("\0\xff"
                                                                      "GDRB",
                                                                      6));
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    CAPTURE(cut);
    FrameReader reader;
    std::vector<ControlMessage> messages;
    ControlMessage message;
    for (const std::string& part : {stream.substr(0, cut), stream.substr(cut)}) {
      REQUIRE(reader.feed(part).ok());
      while (reader.next(message)) messages.push_back(message);
    }
    REQUIRE(messages.size() == 3);
    CHECK(messages[0].type == MessageType::kHello);
    CHECK(messages[0].body == "{}");
    CHECK(messages[1].type == MessageType::kBegin);
    CHECK(messages[1].body.empty());
    CHECK(messages[2].body == std::string("\0\xffGDRB", 6));
    CHECK_FALSE(reader.midFrame());
  }
}

TEST_CASE("a stream that comes byte by byte gives each message at its last byte") {
  const std::string one = frame(MessageType::kPhase, "setup");
  FrameReader reader;
  ControlMessage message;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < one.size(); ++i) {
      REQUIRE(reader.feed(one.substr(i, 1)).ok());
      CHECK(reader.midFrame());
      CHECK(reader.next(message) == (i + 1 == one.size()));
    }
    CHECK(message.body == "setup");
    CHECK_FALSE(reader.midFrame());
  }
}

TEST_CASE("the largest body passes and a larger one does not") {
  const std::string largest(kMaxBody, 'x');
  FrameReader reader;
  ControlMessage message;
  REQUIRE(reader.feed(frame(MessageType::kSamples, largest)).ok());
  REQUIRE(reader.next(message));
  CHECK(message.body == largest);

  const auto encoded = encodeFrame({MessageType::kSamples, largest + "x"});
  REQUIRE_FALSE(encoded.ok());
  CHECK(encoded.error().code == ErrorCode::kProtocol);
}

TEST_CASE("a length above the limit is refused at the header") {
  const unsigned long long lengths[] = {kMaxBody + 1, 1ull << 32, ~0ull};
  for (const unsigned long long length : lengths) {
    const Error error = refusal(header(kProtocolVersion, 1, length));
    CHECK(error.code == ErrorCode::kProtocol);
    CHECK(says(error, std::to_string(length)));
    CHECK(says(error, "1048576"));
  }
}

TEST_CASE("another version is a mismatch that names both") {
  const Error error = refusal(header(kProtocolVersion + 6, 99, ~0ull));
  CHECK(error.code == ErrorCode::kMismatch);
  CHECK(says(error, "protocol 7"));
  CHECK(says(error, "this side 1"));
}

TEST_CASE("an unknown type is refused with its number") {
  CHECK(says(refusal(header(kProtocolVersion, 0, 0)), "type 0 "));
  const Error error = refusal(header(kProtocolVersion, 16, 0));
  CHECK(error.code == ErrorCode::kProtocol);
  CHECK(says(error, "type 16 "));
}

TEST_CASE("clients of other protocols are recognised from their first bytes") {
  CHECK(says(refusal("GET / HTTP/1.1\r\n"), "an HTTP client?"));
  CHECK(says(refusal("POST"), "an HTTP client?"));
  CHECK(says(refusal("\x16\x03"), "a TLS client?"));
  CHECK(says(refusal("SSH-2.0-OpenSSH_9.2\r\n"), "an SSH client?"));
  const Error other = refusal("abcd");
  CHECK(other.code == ErrorCode::kProtocol);
  CHECK(says(other, "61 62 63 64"));
  CHECK_FALSE(says(other, "client?"));
}

TEST_CASE("messages before a fault are given out and the fault stays") {
  FrameReader reader;
  ControlMessage message;
  CHECK_FALSE(reader.feed(frame(MessageType::kReady, "last words") + "garbage!").ok());
  REQUIRE(reader.next(message));
  CHECK(message.body == "last words");
  CHECK_FALSE(reader.next(message));
  CHECK_FALSE(reader.feed(frame(MessageType::kReady, "")).ok());
  CHECK_FALSE(reader.feed("").ok());
  CHECK_FALSE(reader.next(message));
}

TEST_CASE("random bytes are refused or wait, and never give a message") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    FrameReader reader;
    ControlMessage message;
    const Status fed = reader.feed(bytes);
    CHECK((!fed.ok() || bytes.size() < 4));
    CHECK_FALSE(reader.next(message));
  }
}

TEST_CASE("damage to a header is noticed, save for another type or a shorter body") {
  std::mt19937 random(11);
  const std::string good = frame(MessageType::kResult, "0123456789");
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    const std::size_t place = random() % 16;  // in the header: bodies carry no checksum
    const char before = bytes[place];
    bytes[place] = static_cast<char>(random());
    FrameReader reader;
    ControlMessage message;
    (void)reader.feed(bytes);
    if (!reader.next(message)) continue;
    CAPTURE(place);
    const bool harmless = bytes[place] == before || place == 6 || place == 8;
    CHECK(harmless);
  }
}
