// SPDX-License-Identifier: Apache-2.0
// What NCCL decided by itself, from its debug log and its configuration files. Facts for the
// report: the log is not an interface, and a line that is not understood is not guessed at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transports/claim.h"

namespace gdrbench::nccl {

/// Has NCCL write its log to a file that is named with `prefix`, and answers its path; empty when
/// the user already has NCCL_DEBUG. Before the library reads its environment.
std::string logToFile(const std::string& prefix);

/// "24 x P2P/CUMEM": the channels between two ranks of a log, by what they go through; empty when
/// the log names none.
std::string channelsIn(std::string_view log);
std::string channelsInFile(const std::string& path);

/// The settings in ~/.nccl.conf (or NCCL_CONF_FILE) and /etc/nccl.conf, which work like environment
/// variables: "conf ~/.nccl.conf" = "NCCL_X=1, NCCL_Y=2".
std::vector<Claim> configurationFiles();
std::string settingsIn(std::string_view text);

}  // namespace gdrbench::nccl
