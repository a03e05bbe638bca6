// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace gdrbench {

/// fnv1a-64, hexadecimal: finds differences and damage, not malice.
std::string fnv1a(std::string_view bytes);

}  // namespace gdrbench
