// SPDX-License-Identifier: Apache-2.0
// What went wrong, as a value. Every fallible call off the hot path answers a Result<T>
// (result.h) that carries one of these; nothing throws across an interface.
#pragma once

#include <string>
#include <string_view>

namespace gdrbench {

/// What kind of thing failed. The words (see name()) are part of the result schema.
enum class ErrorCode {
  kUsage,        ///< the command line
  kConfig,       ///< the configuration file, or a value set over it
  kNotBuilt,     ///< this build was made without it
  kUnsupported,  ///< this library, device or combination cannot do it
  kNotFound,     ///< no such device, provider, file
  kNoMemory,     ///< more memory than there is
  kPermission,
  kTimeout,    ///< a deadline passed
  kPeerLost,   ///< the other side ended or closed the connection
  kCancelled,  ///< told to stop: by the user, or because the other side failed
  kTransport,  ///< the transport reported a failure
  kData,       ///< bytes arrived that were not the bytes sent
  kMismatch,   ///< the two sides do not agree (version, plan, library)
  kProtocol,   ///< a message on the control channel that makes no sense
  kSystem,     ///< a system call failed
  kCrash,      ///< a worker process ended by a signal or with an unexpected status
  kInternal,   ///< a fault of gdrbench itself
};

/// The stable word for `code`: "config", "timeout", ...
std::string_view name(ErrorCode code);

/// Inverse of name(); kInternal for a word that is none.
ErrorCode errorCodeNamed(std::string_view word);

/// One failure: what was tried, what the library underneath said, and what to do next.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string tried;       ///< "bind 127.0.0.1:7471": a phrase that reads after "could not"
  long nativeCode = 0;     ///< errno, or the library's own code; 0: none
  std::string nativeText;  ///< the library's own words
  std::string next;        ///< what the user can do about it; may be empty

  /// One line: "could not bind 127.0.0.1:7471: Address already in use (98); choose another port".
  [[nodiscard]] std::string what() const;
};

/// An Error for a failed system call: code kSystem (kPermission for EACCES and EPERM, kNoMemory
/// for ENOMEM), with errno's number and text.
Error systemError(std::string tried, int errnoValue, std::string next = {});

/// What a stop flag may hold beside the number of a signal: the other side, which runs in the same
/// process, has failed.
inline constexpr int kStopOtherSide = -1;

/// An Error for a wait that a stop flag ended: kCancelled with the signal's number, or kPeerLost
/// for kStopOtherSide.
Error stoppedError(std::string tried, int stop);

}  // namespace gdrbench
