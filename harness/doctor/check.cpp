// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/check.h"

#include <array>
#include <utility>

namespace gdrbench::doctor {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"ok", "warn", "fail", "unknown", "n/a"};
constexpr std::array<std::string_view, 3> kEffects = {"none", "slows", "decides"};

}  // namespace

std::span<const std::string_view> wordsOf(Level) {
  return kLevels;
}
std::span<const std::string_view> wordsOf(Effect) {
  return kEffects;
}

std::string_view name(Level level) {
  return kLevels.at(static_cast<std::size_t>(level));
}
std::string_view name(Effect effect) {
  return kEffects.at(static_cast<std::size_t>(effect));
}

Check report(const About& about, std::string subject, Level level, std::string finding,
             std::string remedy) {
  return {.id = about.id,
          .group = about.group,
          .subject = std::move(subject),
          .level = level,
          .effect = about.effect,
          .finding = std::move(finding),
          .remedy = std::move(remedy),
          .documented = about.documented};
}

}  // namespace gdrbench::doctor
