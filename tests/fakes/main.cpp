// SPDX-License-Identifier: Apache-2.0
// For tests that run on GPUs as well: here on a machine with two that are not there.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/fakes/fake_cuda.h"
#include "tests/fakes/fake_kernels.h"

int main(int argc, char** argv) {
  gdrbench::cuda::fake::install({.gpus = 2});
  gdrbench::cuda::fake::installDataKernels();
  return doctest::Context(argc, argv).run();
}
