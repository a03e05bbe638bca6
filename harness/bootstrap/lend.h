// SPDX-License-Identifier: Apache-2.0
// Both sides of a case in one process: the process of one side lends its channel to that of the
// other, where a thread then speaks for it. Whoever started the two still sees two processes, two
// channels and two ends.
#pragma once

#include <memory>
#include <string>

#include "harness/bootstrap/channel.h"

namespace gdrbench {

/// Hands the channel to the process that borrows under `name` and waits for as long as it has it.
/// Answers the status with which to exit. kPeerLost when the borrower ended without giving it back.
Result<int> lendChannel(Channel channel, const std::string& name, TimePoint deadline);

/// A channel on loan. The lender is told the status, and ends, when giveBack is called or this
/// goes.
class BorrowedChannel {
 public:
  /// Waits for the lender under `name`: a name that nobody else has.
  static Result<BorrowedChannel> await(const std::string& name, TimePoint deadline);
  BorrowedChannel(BorrowedChannel&&) noexcept;
  BorrowedChannel& operator=(BorrowedChannel&&) = delete;
  ~BorrowedChannel();

  Channel& channel();
  void giveBack(int status);

 private:
  struct Loan;
  explicit BorrowedChannel(std::unique_ptr<Loan> loan);
  std::unique_ptr<Loan> loan_;
};

}  // namespace gdrbench
