// SPDX-License-Identifier: Apache-2.0
// The product, with one more transport: "faulty". And with GDRBENCH_TEST_HOLD=<side>:<phase> that
// worker stops itself (SIGSTOP) as it enters the phase, so that a test can do to it what it wants
// at that point, and not roughly there. With GDRBENCH_TEST_GPUS="gpus=3 slow=0-1:50" the CUDA
// driver is a fake for that machine.
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/app/program.h"
#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/fake_kernels.h"
#include "tests/faults/faulty_transport.h"

namespace {

void holdWhereAsked(gdrbench::Role role, std::string_view phase) {
  const char* asked = std::getenv("GDRBENCH_TEST_HOLD");
  if (asked == nullptr) return;
  if (std::string(name(role)) + ":" + std::string(phase) == asked) std::raise(SIGSTOP);
}

void installFakeGpus() {
  const char* machine = std::getenv("GDRBENCH_TEST_GPUS");
  if (machine == nullptr) return;
  gdrbench::cuda::fake::install(gdrbench::cuda::fake::machineOf(machine));
  gdrbench::cuda::fake::installDataKernels();
}

}  // namespace

int main(int argc, char** argv) {
  installFakeGpus();
  return gdrbench::runProgram(argc, argv, gdrbench::faulty::withFaulty(), holdWhereAsked);
}
