// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "harness/environment/files.h"
#include "harness/environment/topology.h"

namespace gdrbench {
namespace fs = std::filesystem;
namespace {

struct Generation {
  double speedGTs;
  double coded;  ///< share of the raw bits that is left after line coding
};
constexpr std::array kGenerations = {Generation{2.5, 8.0 / 10},   Generation{5, 8.0 / 10},
                                     Generation{8, 128.0 / 130},  Generation{16, 128.0 / 130},
                                     Generation{32, 128.0 / 130}, Generation{64, 242.0 / 256},
                                     Generation{128, 242.0 / 256}};

double rate(double speedGTs, int width) {
  const auto known =
      std::find_if(kGenerations.begin(), kGenerations.end(),
                   [&](const Generation& each) { return each.speedGTs >= speedGTs; });
  const double coded = known == kGenerations.end() ? 1 : known->coded;
  return speedGTs * 1e9 / 8 * coded * width;
}

std::string oneSide(double speedGTs, int width) {
  for (std::size_t i = 0; i < kGenerations.size(); ++i) {
    if (kGenerations[i].speedGTs == speedGTs) return fmt::format("Gen{} x{}", i + 1, width);
  }
  return fmt::format("{} GT/s x{}", speedGTs, width);
}

/// "32.0 GT/s PCIe"; nothing for "Unknown", which virtual ports say.
std::optional<double> speedIn(const fs::path& path) {
  const std::string line = firstLine(path).value_or("");
  double speed = 0;
  const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), speed);
  if (failed != std::errc() || speed <= 0) return std::nullopt;
  return speed;
}

/// Nothing for 0 and for all bits set, which ports without a link say.
std::optional<int> widthIn(const fs::path& path) {
  const long width = numberIn(path).value_or(0);
  if (width < 1 || width > 32) return std::nullopt;
  return static_cast<int>(width);
}

}  // namespace

double PcieLink::bytesPerSecond() const {
  return rate(speedGTs, width);
}
double PcieLink::maxBytesPerSecond() const {
  return rate(maxSpeedGTs, maxWidth);
}

std::string text(const PcieLink& link) {
  std::string now = oneSide(link.speedGTs, link.width);
  if (!link.belowMax()) return now;
  return now + " of " + oneSide(link.maxSpeedGTs, link.maxWidth);
}

std::optional<PcieLink> Topology::link(std::string_view pci) const {
  const fs::path here = folder(pci);
  const auto speed = speedIn(here / "current_link_speed");
  const auto width = widthIn(here / "current_link_width");
  if (!speed || !width) return std::nullopt;
  PcieLink link{*speed, *width, speedIn(here / "max_link_speed").value_or(*speed),
                widthIn(here / "max_link_width").value_or(*width)};
  // A fast card in a slow slot is not a broken link: the other end bounds it as well.
  if (const auto bridges = bridgesAbove(pci); !bridges.empty()) {
    const fs::path port = folder(bridges.front());
    const auto portSpeed = speedIn(port / "max_link_speed");
    const auto portWidth = widthIn(port / "max_link_width");
    if (portSpeed && portWidth) {
      link.maxSpeedGTs = std::max(link.speedGTs, std::min(link.maxSpeedGTs, *portSpeed));
      link.maxWidth = std::max(link.width, std::min(link.maxWidth, *portWidth));
    }
  }
  return link;
}

}  // namespace gdrbench
