// SPDX-License-Identifier: Apache-2.0
// The first byte says in how large pieces the others are fed to a FrameReader. Every way to cut a
// stream has to give the same messages, and each message has to encode to the bytes it came from.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/bootstrap/message.h"

namespace {

using namespace gdrbench;

// The bytes of all messages that come out, encoded again.
std::string throughReader(std::string_view stream, std::size_t piece) {
  FrameReader reader;
  ControlMessage message;
  std::string again;
  while (!stream.empty()) {
    const std::size_t size = std::min(piece, stream.size());
    const bool sound = reader.feed(stream.substr(0, size)).ok();
    while (reader.next(message)) {
      const auto frame = encodeFrame(message);
      if (!frame) std::abort();
      again += *frame;
    }
    if (!sound) break;
    stream.remove_prefix(size);
  }
  return again;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = throughReader(stream, stream.size() + 1);
  const std::string cut = throughReader(stream, std::size_t{1} + data[0]);
  if (whole != cut || !stream.starts_with(whole)) std::abort();
  return 0;
}
