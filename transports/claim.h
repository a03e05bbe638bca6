// SPDX-License-Identifier: Apache-2.0
// What a transport says about itself once it is set up. A claim is reported, compared between the
// two sides, and never believed as evidence of a path.
#pragma once

#include <string>

namespace gdrbench {

struct Claim {
  std::string key;         ///< "provider", "domain", "library", "registration", "inject_bytes"
  std::string value;       ///< as the library reports it, not as it was asked for
  bool mustAgree = false;  ///< both sides must report the same value (provider, library version)
};

}  // namespace gdrbench
