// SPDX-License-Identifier: Apache-2.0
// PCI addresses come in three shapes: the kernel's "0000:3b:00.0", the GPU driver's
// "00000000:3B:00.0" and lspci's "3b:00.0". Here they have the kernel's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gdrbench {

/// "0000:3b:00.0"; nothing for a text that is no PCI address. Domains beyond 16 bits (which the
/// kernel gives to devices behind some storage controllers and hypervisors) keep their digits.
std::optional<std::string> normalisedPciAddress(std::string_view text);

}  // namespace gdrbench
