// SPDX-License-Identifier: Apache-2.0
#include "transports/transport.h"

namespace gdrbench {

std::string_view name(Role role) {
  return role == Role::kInitiator ? "initiator" : "responder";
}

std::string_view name(Drive drive) {
  return drive == Drive::kHost ? "host" : "stream";
}

}  // namespace gdrbench
