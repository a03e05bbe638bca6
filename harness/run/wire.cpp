// SPDX-License-Identifier: Apache-2.0
#include "harness/run/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstring>

#include "harness/core/json.h"
#include "harness/core/text.h"

namespace gdrbench::wire {
namespace {

namespace json = boost::json;

ControlMessage make(MessageType type, const json::value& body) {
  return {type, writeJson(body)};
}

/// What a reader of a body throws when a member is missing or of the wrong kind; caught in
/// decode().
struct Misfit {
  std::string what;
};

const json::value& member(const json::value& value, std::string_view key) {
  const json::object* object = value.if_object();
  const json::value* found = object == nullptr ? nullptr : object->if_contains(key);
  if (found == nullptr) throw Misfit{fmt::format("'{}' is missing", key)};
  return *found;
}

std::string text(const json::value& value, std::string_view key) {
  const json::string* found = member(value, key).if_string();
  if (found == nullptr) throw Misfit{fmt::format("'{}' is not a string", key)};
  return std::string(*found);
}

template <class T>
T number(const json::value& value, std::string_view key) {
  json::error_code wrong;
  const T found = member(value, key).to_number<T>(wrong);
  if (wrong) throw Misfit{fmt::format("'{}' is not a number of the right kind", key)};
  return found;
}

bool flag(const json::value& value, std::string_view key) {
  const bool* found = member(value, key).if_bool();
  if (found == nullptr) throw Misfit{fmt::format("'{}' is not true or false", key)};
  return *found;
}

template <class T>
T orThrow(Result<T> result) {
  if (!result) throw Misfit{result.error().what()};
  return *std::move(result);
}

/// Parses a body and reads it with `read`; a Misfit becomes an Error that names the message.
template <class Read>
auto decode(const ControlMessage& message, MessageType type, Read&& read)
    -> Result<decltype(read(std::declval<const json::value&>()))> {
  const auto failed = [&](std::string what) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = fmt::format("read the control message '{}'", name(type)),
                 .nativeText = std::move(what)};
  };
  if (message.type != type) return failed(fmt::format("'{}' came instead", name(message.type)));
  auto body = parseJson(message.body, name(type));
  if (!body) return failed(body.error().what());
  try {
    return read(*body);
  } catch (const Misfit& misfit) {
    return failed(misfit.what);
  }
}

std::string toHex(const Bytes& bytes) {
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) hex += fmt::format("{:02x}", static_cast<unsigned>(b));
  return hex;
}

Bytes fromHex(std::string_view hex) {
  const auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    throw Misfit{"an address is not in hexadecimal"};
  };
  if (hex.size() % 2 != 0) throw Misfit{"an address has half a byte"};
  Bytes bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(hex[i]) * 16 + digit(hex[i + 1])));
  }
  return bytes;
}

json::value errorToJson(const Error& error) {
  return json::object{{"code", name(error.code)},
                      {"tried", error.tried},
                      {"native_code", error.nativeCode},
                      {"native_text", error.nativeText},
                      {"next", error.next}};
}

Error errorFromJson(const json::value& value) {
  return {.code = errorCodeNamed(text(value, "code")),
          .tried = text(value, "tried"),
          .nativeCode = number<long>(value, "native_code"),
          .nativeText = text(value, "native_text"),
          .next = text(value, "next")};
}

}  // namespace

ControlMessage empty(MessageType type) {
  return {type, "{}"};
}

ControlMessage encode(const Hello& hello) {
  return make(MessageType::kHello,
              json::object{{"build", hello.build}, {"pid", hello.pid}, {"host", hello.host}});
}

Result<Hello> decodeHello(const ControlMessage& message) {
  return decode(message, MessageType::kHello, [](const json::value& v) {
    return Hello{text(v, "build"), number<int>(v, "pid"), text(v, "host")};
  });
}

ControlMessage encode(const Assign& assign, const Registry& registry) {
  return make(MessageType::kAssign, json::object{{"digest", assign.digest},
                                                 {"case", toJson(assign.testCase, registry)},
                                                 {"role", name(assign.role)},
                                                 {"seed", assign.seed},
                                                 {"name_prefix", assign.namePrefix},
                                                 {"peer_on_this_host", assign.peerOnThisHost},
                                                 {"clock", assign.clockKind},
                                                 {"ticks_per_ns", assign.ticksPerNanosecond}});
}

Result<Assign> decodeAssign(const ControlMessage& message, const Registry& registry) {
  return decode(message, MessageType::kAssign, [&](const json::value& v) {
    Assign assign{.digest = text(v, "digest"),
                  .testCase = orThrow(caseFromJson(member(v, "case"), registry)),
                  .role = text(v, "role") == "initiator" ? Role::kInitiator : Role::kResponder,
                  .seed = number<std::uint64_t>(v, "seed"),
                  .namePrefix = text(v, "name_prefix"),
                  .peerOnThisHost = flag(v, "peer_on_this_host"),
                  .clockKind = text(v, "clock"),
                  .ticksPerNanosecond = number<double>(v, "ticks_per_ns")};
    if (!(assign.ticksPerNanosecond > 0)) throw Misfit{"'ticks_per_ns' is not above zero"};
    return assign;
  });
}

ControlMessage encodeAddress(const Address& address, MessageType type) {
  return make(type, json::object{{"digest", address.digest}, {"bytes", toHex(address.bytes)}});
}

Result<Address> decodeAddress(const ControlMessage& message) {
  const MessageType type =
      message.type == MessageType::kPeer ? MessageType::kPeer : MessageType::kAddress;
  return decode(message, type, [](const json::value& v) {
    return Address{text(v, "digest"), fromHex(text(v, "bytes"))};
  });
}

ControlMessage encode(const Ready& ready) {
  json::array claims;
  for (const Claim& claim : ready.claims) {
    claims.push_back(
        json::object{{"key", claim.key}, {"value", claim.value}, {"must_agree", claim.mustAgree}});
  }
  return make(MessageType::kReady, json::object{{"claims", std::move(claims)}});
}

Result<Ready> decodeReady(const ControlMessage& message) {
  return decode(message, MessageType::kReady, [](const json::value& v) {
    Ready ready;
    const json::array* claims = member(v, "claims").if_array();
    if (claims == nullptr) throw Misfit{"'claims' is not a list"};
    for (const json::value& claim : *claims) {
      ready.claims.push_back({text(claim, "key"), text(claim, "value"), flag(claim, "must_agree")});
    }
    return ready;
  });
}

ControlMessage encode(const ChunkOrder& order) {
  return make(MessageType::kChunk, json::object{{"phase", name(order.chunk.phase)},
                                                {"blocks", order.chunk.blocks},
                                                {"messages", order.chunk.messages},
                                                {"lead_in", order.chunk.leadIn}});
}

Result<ChunkOrder> decodeChunk(const ControlMessage& message) {
  return decode(message, MessageType::kChunk, [](const json::value& v) {
    return ChunkOrder{{text(v, "phase") == name(MeasurePhase::kWarmup) ? MeasurePhase::kWarmup
                                                                       : MeasurePhase::kMeasure,
                       number<std::uint64_t>(v, "blocks"), number<std::uint32_t>(v, "messages"),
                       number<std::uint32_t>(v, "lead_in")}};
  });
}

ControlMessage encode(const Failure& failure) {
  return make(MessageType::kFailure, json::object{{"phase", failure.phase},
                                                  {"error", errorToJson(failure.error)},
                                                  {"partial", report::toJson(failure.partial)}});
}

Result<Failure> decodeFailure(const ControlMessage& message) {
  return decode(message, MessageType::kFailure, [](const json::value& v) {
    return Failure{text(v, "phase"), errorFromJson(member(v, "error")),
                   orThrow(report::runFromJson(member(v, "partial")))};
  });
}

ControlMessage encode(const FrozenStep& step) {
  return make(MessageType::kFrozen,
              json::object{
                  {"step", name(step.kind)}, {"good", step.good}, {"detail", asUtf8(step.detail)}});
}

Result<FrozenStep> decodeFrozen(const ControlMessage& message) {
  return decode(message, MessageType::kFrozen, [](const json::value& v) {
    const std::string word = text(v, "step");
    using Kind = FrozenStep::Kind;
    for (const Kind kind :
         {Kind::kReady, Kind::kProbe, Kind::kProbed, Kind::kLook, Kind::kLooked}) {
      if (name(kind) == word) return FrozenStep{kind, flag(v, "good"), text(v, "detail")};
    }
    throw Misfit{"'step' is none of this test"};
  });
}

ControlMessage encodePhase(std::string_view phase) {
  return make(MessageType::kPhase, json::object{{"phase", phase}});
}

Result<std::string> decodePhase(const ControlMessage& message) {
  return decode(message, MessageType::kPhase,
                [](const json::value& v) { return text(v, "phase"); });
}

ControlMessage encodeResult(const report::Run& run) {
  return make(MessageType::kResult, report::toJson(run));
}

Result<report::Run> decodeResult(const ControlMessage& message) {
  return decode(message, MessageType::kResult,
                [](const json::value& v) { return orThrow(report::runFromJson(v)); });
}

std::vector<ControlMessage> encodeSamples(const std::vector<double>& nanoseconds) {
  constexpr std::size_t kInFrame = kMaxBody / sizeof(double);
  std::vector<ControlMessage> frames;
  for (std::size_t from = 0; from < nanoseconds.size(); from += kInFrame) {
    const std::size_t n = std::min(kInFrame, nanoseconds.size() - from);
    std::string body(n * sizeof(double), '\0');
    std::memcpy(body.data(), nanoseconds.data() + from, body.size());
    frames.push_back({MessageType::kSamples, std::move(body)});
  }
  return frames;
}

Status appendSamples(const ControlMessage& message, std::vector<double>& nanoseconds) {
  const std::size_t n = message.body.size() / sizeof(double);
  if (n * sizeof(double) != message.body.size()) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = "read raw samples",
                 .nativeText = "the body is not a whole number of samples"};
  }
  const std::size_t before = nanoseconds.size();
  nanoseconds.resize(before + n);
  std::memcpy(nanoseconds.data() + before, message.body.data(), message.body.size());
  return Done{};
}

}  // namespace gdrbench::wire
