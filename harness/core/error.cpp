// SPDX-License-Identifier: Apache-2.0
#include "harness/core/error.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace gdrbench {
namespace {

constexpr std::array kNames = {
    std::pair{ErrorCode::kUsage, std::string_view("usage")},
    std::pair{ErrorCode::kConfig, std::string_view("config")},
    std::pair{ErrorCode::kNotBuilt, std::string_view("not_built")},
    std::pair{ErrorCode::kUnsupported, std::string_view("unsupported")},
    std::pair{ErrorCode::kNotFound, std::string_view("not_found")},
    std::pair{ErrorCode::kNoMemory, std::string_view("no_memory")},
    std::pair{ErrorCode::kPermission, std::string_view("permission")},
    std::pair{ErrorCode::kTimeout, std::string_view("timeout")},
    std::pair{ErrorCode::kPeerLost, std::string_view("peer_lost")},
    std::pair{ErrorCode::kCancelled, std::string_view("cancelled")},
    std::pair{ErrorCode::kTransport, std::string_view("transport")},
    std::pair{ErrorCode::kData, std::string_view("data")},
    std::pair{ErrorCode::kMismatch, std::string_view("mismatch")},
    std::pair{ErrorCode::kProtocol, std::string_view("protocol")},
    std::pair{ErrorCode::kSystem, std::string_view("system")},
    std::pair{ErrorCode::kCrash, std::string_view("crash")},
    std::pair{ErrorCode::kInternal, std::string_view("internal")},
};

ErrorCode codeOfErrno(int value) {
  switch (value) {
    case EACCES:
    case EPERM:
      return ErrorCode::kPermission;
    case ENOMEM:
      return ErrorCode::kNoMemory;
    default:
      return ErrorCode::kSystem;
  }
}

}  // namespace

std::string_view name(ErrorCode code) {
  for (const auto& [known, word] : kNames) {
    if (known == code) return word;
  }
  return "internal";
}

ErrorCode errorCodeNamed(std::string_view word) {
  for (const auto& [code, known] : kNames) {
    if (known == word) return code;
  }
  return ErrorCode::kInternal;
}

std::string Error::what() const {
  std::string text;
  if (code == ErrorCode::kUsage || code == ErrorCode::kConfig) {
    text = tried;
  } else {
    text = "could not " + tried;
    if (!nativeText.empty()) text += ": " + nativeText;
    if (nativeCode != 0) text += fmt::format(" ({})", nativeCode);
  }
  if (!next.empty()) text += "; " + next;
  return text;
}

Error systemError(std::string tried, int errnoValue, std::string next) {
  return {.code = codeOfErrno(errnoValue),
          .tried = std::move(tried),
          .nativeCode = errnoValue,
          .nativeText = std::generic_category().message(errnoValue),
          .next = std::move(next)};
}

Error stoppedError(std::string tried, int stop) {
  if (stop == kStopOtherSide) {
    return {.code = ErrorCode::kPeerLost,
            .tried = std::move(tried),
            .nativeText = "the other side, in the same process, has failed"};
  }
  return {.code = ErrorCode::kCancelled,
          .tried = std::move(tried),
          .nativeCode = stop,
          .nativeText = "told to stop by a signal"};
}

}  // namespace gdrbench
