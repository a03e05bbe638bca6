// SPDX-License-Identifier: Apache-2.0
// What NCCL decided by itself, from its debug log and its configuration files. Facts for the
// report: the log is not an interface, and a line that is not understood is not guessed at.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "transports/claim.h"

namespace gdrbench::nccl {

struct LogFile {
  std::string path;
  std::string missing;  ///< why there is none; empty: there is one
};

/// Has NCCL write its log to a file that is named with `prefix`, as far as the user has not said
/// what is to be logged and where. Before the library reads its environment; once for the process.
const LogFile& logToFile(const std::string& prefix);

/// Whether NCCL logs the buffers that it registers.
bool logsRegistrations();

/// As much of the log as is ever looked at, and a byte more where there is more.
std::string logText(const LogFile& file);

/// "24 x P2P/CUMEM": the channels of a log, by what they go through; empty when it names none.
std::string channelsIn(std::string_view log);

/// The settings in ~/.nccl.conf (or NCCL_CONF_FILE) and /etc/nccl.conf, which work like environment
/// variables: "conf ~/.nccl.conf" = "NCCL_X=1, NCCL_Y=2".
std::vector<Claim> configurationFiles();
std::string settingsIn(std::string_view text);

}  // namespace gdrbench::nccl
