// SPDX-License-Identifier: Apache-2.0
// Output that may not change unnoticed. The golden files are rewritten by GDR_UPDATE_GOLDEN=1.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "tests/harness/report/sample_document.h"

namespace gdrbench::report {

inline void matchesGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(GDR_SOURCE_DIR) + "/tests/golden/" + name;
  if (std::getenv("GDR_UPDATE_GOLDEN") != nullptr) writeText(path, text + "\n");
  INFO("golden file ", name, "; GDR_UPDATE_GOLDEN=1 rewrites it");
  CHECK(text + "\n" == fileText(path));
}

}  // namespace gdrbench::report
