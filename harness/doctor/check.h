// SPDX-License-Identifier: Apache-2.0
// One thing that was looked at, and what it means for the direct path.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gdrbench::doctor {

enum class Level {
  kOk,
  kWarn,           ///< works, or may, but not as well as it could
  kFail,           ///< stands in the way
  kUnknown,        ///< could not be seen from here; the finding says why
  kNotApplicable,  ///< there is nothing to look at
};

/// What a check that is not ok does to the conclusion about a path it is on.
enum class Effect {
  kNone,     ///< nothing by itself: good to know, or part of what another check decides
  kSlows,    ///< the path is slower than the hardware allows
  kDecides,  ///< the path is not there, or not known to be there
};

/// "ok", "warn", "fail", "unknown", "n/a".
std::string_view name(Level level);
std::string_view name(Effect effect);
std::span<const std::string_view> wordsOf(Level);
std::span<const std::string_view> wordsOf(Effect);

struct Check {
  std::string id;       ///< "gpu.dma-buf": stable, for programs
  std::string group;    ///< heading under which people find it
  std::string subject;  ///< "gpu 0", "mlx5_0", "gpu 0 - mlx5_0"; empty: the whole machine
  Level level = Level::kUnknown;
  Effect effect = Effect::kNone;
  std::string finding;
  std::string remedy;      ///< empty: nothing to do
  std::string documented;  ///< where what it says can be read up

  bool operator==(const Check&) const = default;
};

/// What does not change from one finding of a check to the next.
struct About {
  const char* id;
  const char* group;
  Effect effect;
  const char* documented;
};

Check report(const About& about, std::string subject, Level level, std::string finding,
             std::string remedy = {});

// The groups, in the order in which they are shown.
inline constexpr const char* kDriverGroup = "driver";
inline constexpr const char* kGpuGroup = "GPUs";
inline constexpr const char* kRdmaGroup = "RDMA";
inline constexpr const char* kPathGroup = "paths";
inline constexpr const char* kMachineGroup = "machine";
inline constexpr const char* kSoftwareGroup = "software";

}  // namespace gdrbench::doctor
