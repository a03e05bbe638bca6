// SPDX-License-Identifier: Apache-2.0
// The product, with one more transport: "faulty".
#include "harness/app/program.h"
#include "tests/faults/faulty_transport.h"

int main(int argc, char** argv) {
  return gdrbench::runProgram(argc, argv, gdrbench::faulty::withFaulty());
}
