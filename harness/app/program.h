// SPDX-License-Identifier: Apache-2.0
// The program: its command line and its exit codes.
//
//   0    all ran and met its expectations
//   1    a case failed (transport, data, time-out), or results could not be written
//   2    usage or configuration
//   3    an expectation was not met
//   4    some cases could not run here and were skipped; the others are good
//   77   nothing could run
//   130  interrupted; partial results are kept
// Of doctor: 0 a direct path is possible, 3 none is, 4 not known.
#pragma once

#include "harness/run/worker.h"
#include "transports/registry.h"

namespace gdrbench {

/// `hook`: see worker.h; fault tests only.
int runProgram(int argc, char** argv, const Registry& registry, PhaseHook hook = nullptr);

}  // namespace gdrbench
