// SPDX-License-Identifier: Apache-2.0
// Children made of shell words, for tests of Watch.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "harness/bootstrap/channel.h"

namespace gdrbench::testing {

inline TimePoint late() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(30);
}

inline SpawnRequest shell(std::string script) {
  return {{"/bin/sh", "-c", std::move(script)}, {}};
}

/// A shell command that sends `bytes` on descriptor 3.
inline std::string sendBytes(std::string_view bytes) {
  std::string octal;
  for (const char c : bytes) octal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return "printf '" + octal + "' >&3";
}

inline std::string sendMessage(MessageType type, std::string body) {
  return sendBytes(*encodeFrame({type, std::move(body)}));
}

/// The next happening; the test ends here when there is none.
inline Happening nextOf(Watch& watch) {
  auto happening = watch.next(late());
  REQUIRE_MESSAGE(happening.ok(), happening.error().what());
  return *std::move(happening);
}

/// The end of the process; what comes before it is dropped.
inline ProcessEnd endOf(Watch& watch) {
  while (true) {
    Happening happening = nextOf(watch);
    if (happening.end) return *happening.end;
  }
}

/// Whether the process is there and not merely waiting to be reaped by somebody.
inline bool runs(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t bracket = text.rfind(')');
  return bracket != std::string::npos && text[bracket + 2] != 'Z' && text[bracket + 2] != 'X';
}

/// SIGKILL takes effect a little later.
inline bool isGone(pid_t pid) {
  for (int i = 0; i < 2000 && runs(pid); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return !runs(pid);
}

}  // namespace gdrbench::testing
