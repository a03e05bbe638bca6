// SPDX-License-Identifier: Apache-2.0
#include "harness/app/program.h"

int main(int argc, char** argv) {
  return gdrbench::runProgram(argc, argv, gdrbench::builtinTransports());
}
