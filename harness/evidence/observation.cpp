// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/observation.h"

namespace gdrbench::evidence {

Observation mirrored(Observation seen) {
  if (seen.way == Way::kOut) {
    seen.way = Way::kBack;
  } else if (seen.way == Way::kBack) {
    seen.way = Way::kOut;
  }
  return seen;
}

std::string_view name(Way way) {
  switch (way) {
    case Way::kOut:
      return "out";
    case Way::kBack:
      return "back";
    case Way::kBoth:
      return "both";
  }
  return "";
}

std::string_view name(Side side) {
  switch (side) {
    case Side::kSource:
      return "source";
    case Side::kSink:
      return "sink";
    case Side::kBoth:
      return "both";
  }
  return "";
}

std::string_view name(WitnessClass kind) {
  switch (kind) {
    case WitnessClass::kConstruction:
      return "construction";
    case WitnessClass::kLibrary:
      return "library";
    case WitnessClass::kBehaviour:
      return "behaviour";
    case WitnessClass::kCounter:
      return "counter";
    case WitnessClass::kWork:
      return "work";
    case WitnessClass::kCapability:
      return "capability";
  }
  return "";
}

std::string_view name(Bearing bearing) {
  switch (bearing) {
    case Bearing::kPath:
      return "path";
    case Bearing::kConservation:
      return "conservation";
    case Bearing::kFuse:
      return "fuse";
  }
  return "";
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDirect:
      return "direct";
    case Outcome::kStaged:
      return "staged";
    case Outcome::kNeutral:
      return "neutral";
    case Outcome::kUnavailable:
      return "unavailable";
    case Outcome::kInsensitive:
      return "insensitive";
  }
  return "";
}

std::string_view name(Strength strength) {
  switch (strength) {
    case Strength::kDecisive:
      return "decisive";
    case Strength::kStrong:
      return "strong";
    case Strength::kWeak:
      return "weak";
  }
  return "";
}

std::string_view name(PathKind path) {
  switch (path) {
    case PathKind::kNone:
      return "";
    case PathKind::kNvlink:
      return "nvlink";
    case PathKind::kPcieSwitch:
      return "pcie-switch";
    case PathKind::kPcieRoot:
      return "pcie-root";
    case PathKind::kC2c:
      return "c2c";
    case PathKind::kGpuStaged:
      return "gpu-staged";
    case PathKind::kSameGpu:
      return "same-gpu";
  }
  return "";
}

}  // namespace gdrbench::evidence
