// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/copy_mappings.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "harness/core/text.h"
#include "harness/witness/sighting.h"

namespace gdrbench::witness {
namespace {

using evidence::Observation;
using evidence::Outcome;
using evidence::Strength;

/// Address, permissions, offset, device and inode come before the file's name, which may have
/// spaces of its own.
std::string_view fileOf(std::string_view line) {
  constexpr int kFields = 5;
  constexpr std::string_view kBlank = " \t";
  for (int field = 0; field < kFields; ++field) {
    const std::size_t blank = line.find_first_of(kBlank);
    if (blank == line.npos) return {};
    const std::size_t next = line.find_first_not_of(kBlank, blank);
    if (next == line.npos) return {};
    line.remove_prefix(next);
  }
  return line;
}

bool copies(std::string_view file) {
  const std::string_view base = file.substr(file.rfind('/') == file.npos ? 0 : file.rfind('/') + 1);
  return base.starts_with("libgdrapi") || file.starts_with("/dev/gdrdrv") ||
         file.starts_with("/dmabuf") || file.starts_with("anon_inode:dmabuf") ||
         file.starts_with("anon_inode:[dmabuf");
}

class CopyMappings final : public Witness {
 public:
  CopyMappings(const Scene& scene, const Roots& roots)
      : scene_(scene), maps_(roots.proc / "self/maps") {}

  [[nodiscard]] std::string_view id() const override { return "copy.mappings"; }

  void begin() override {}

  /// At the end: libraries load such things when they are first used.
  std::vector<Observation> end(const Payload&) override {
    Observation seen = blank(id(), evidence::WitnessClass::kCapability, scene_);
    seen.bytes = 0;
    seen.ifDirect = "nothing mapped by which a CPU could copy GPU memory";
    seen.ifStaged = "GDRCopy or a mapped dma-buf";
    if (scene_.gpuPci.empty()) {
      return {unavailable(std::move(seen), "this side's memory is in the host")};
    }
    std::ifstream file(maps_, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || text.empty()) {
      return {unavailable(std::move(seen), maps_.string() + " cannot be read")};
    }
    const auto found = copyMappingsIn(text);
    if (found.empty()) {
      seen.observed = "no GDRCopy and no mapped dma-buf in this process";
      seen.reason = "excludes copies by the CPU through a mapping, and nothing else";
      return {concluded(std::move(seen), Outcome::kDirect, Strength::kWeak)};
    }
    seen.artefact = artefact(listed(found));
    seen.observed = "mapped: " + seen.artefact;
    seen.reason = "the CPU can copy GPU memory through it; whether it did is not seen";
    return {concluded(std::move(seen), Outcome::kStaged, Strength::kWeak)};
  }

 private:
  Scene scene_;
  std::filesystem::path maps_;
};

}  // namespace

std::vector<std::string> copyMappingsIn(std::string_view maps) {
  std::vector<std::string> found;
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const std::string_view file = fileOf(maps.substr(0, end));
    if (copies(file) && std::find(found.begin(), found.end(), file) == found.end()) {
      found.emplace_back(file);
    }
    maps.remove_prefix(std::min(end + 1, maps.size()));
  }
  return found;
}

std::unique_ptr<Witness> copyMappings(const Scene& scene, const Roots& roots) {
  return std::make_unique<CopyMappings>(scene, roots);
}

}  // namespace gdrbench::witness
