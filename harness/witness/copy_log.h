// SPDX-License-Identifier: Apache-2.0
// Sums of the copies that CUPTI records between start() and stop(). One at a time in a process:
// CUPTI calls back without saying for whom. Private to harness/witness.
#pragma once

#include <cstdint>
#include <string>

#include "harness/witness/cupti.h"

namespace gdrbench::witness {

struct CopySums {
  std::uint64_t hostToDevice = 0, deviceToHost = 0, withinDevice = 0, betweenDevices = 0;
  std::uint64_t others = 0;   ///< host to host, managed memory, arrays
  std::uint64_t records = 0;  ///< of copies that began between start() and stop()
  std::uint64_t strange = 0;  ///< records that are none of the known shape
  std::uint64_t dropped = 0;  ///< that CUPTI had no room for
  [[nodiscard]] std::string text() const;
};

class CopyLog {
 public:
  explicit CopyLog(const cupti::Api& cupti) : cupti_(cupti) {}
  CopyLog(const CopyLog&) = delete;
  CopyLog& operator=(const CopyLog&) = delete;
  ~CopyLog();

  /// kInternal when another one is at it.
  Status start();
  /// Work of the streams has to be over: CUPTI does not wait for it.
  Result<CopySums> stop();

 private:
  Status enable();
  void disable();

  cupti::Api cupti_;
  bool running_ = false;
};

}  // namespace gdrbench::witness
