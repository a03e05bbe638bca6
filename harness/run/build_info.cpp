// SPDX-License-Identifier: Apache-2.0
#include "harness/run/build_info.h"

namespace gdrbench {

std::string version() {
  return GDRBENCH_VERSION;
}

std::string buildId() {
  return std::string(GDRBENCH_VERSION "+" GDRBENCH_REVISION ", g++ ") + __VERSION__ +
#ifdef NDEBUG
         ", optimised";
#else
         ", debug";
#endif
}

}  // namespace gdrbench
