// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/link_check.h"

#include <fmt/format.h>

#include "harness/core/units.h"
#include "harness/environment/known.h"

namespace gdrbench::doctor {

Check linkCheck(const About& about, const std::string& subject, const std::optional<PcieLink>& link,
                Idle idle) {
  if (!link) {
    return report(about, subject, Level::kUnknown,
                  unknownText("neither sysfs nor the driver tells its speed"));
  }
  const std::string what = text(*link);
  if (link->width < link->maxWidth) {
    return report(about, subject, Level::kFail, what + ": lanes are missing",
                  "seat the card again, look at the slot, the riser and the firmware");
  }
  if (link->speedGTs >= link->maxSpeedGTs) {
    return report(about, subject, Level::kOk,
                  fmt::format("{}, {} at most", what, formatByteRate(link->maxBytesPerSecond())));
  }
  if (idle == Idle::kSlowsDown) {
    Check check =
        report(about, subject, Level::kWarn, what + ": slow now, as the link of an idle GPU is",
               "look again while the GPU works: nvidia-smi -q, 'GPU Link Info'");
    check.effect = Effect::kNone;  // an idle link wakes up; only one that stays slow is at fault
    return check;
  }
  return report(about, subject, Level::kFail, what + ": the link was trained at a lower speed",
                "seat the card again, look at the slot, the riser and the firmware");
}

}  // namespace gdrbench::doctor
