// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "harness/app/commands.h"
#include "harness/doctor/ask_library.h"
#include "harness/doctor/examination.h"
#include "harness/run/build_info.h"

namespace gdrbench {
namespace {

/// One of `values`, which stand between commas and in lower case.
bool isAmong(std::string value, std::string_view values) {
  if (values == "*") return true;
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  while (!values.empty()) {
    const std::size_t comma = std::min(values.find(','), values.size());
    if (values.substr(0, comma) == value) return true;
    values.remove_prefix(std::min(comma + 1, values.size()));
  }
  return false;
}

std::vector<doctor::Variable> setVariables(const Registry& registry) {
  std::vector<doctor::Variable> found;
  for (const TransportEntry& entry : registry.entries()) {
    for (const PathVariable& each : entry.pathVariables) {
      const char* value = std::getenv(std::string(each.name).c_str());
      if (value == nullptr) continue;
      found.push_back({.name = std::string(each.name),
                       .value = value,
                       .harmful = isAmong(value, each.harmful),
                       .effect = std::string(each.effect)});
    }
  }
  return found;
}

/// In the child: loads the library and opens what it has.
Result<doctor::Library> libraryOf(const Registry& registry, const TransportEntry& entry) {
  auto transport = registry.make(entry.name);
  if (!transport) return transport.error();
  auto info = (*transport)->vendorLibrary();
  if (!info) return info.error();
  doctor::Library library;
  library.version = Known<std::string>::unknown("the transport does not say");
  if (!*info) return library;
  library.name = (*info)->name;
  library.version = (*info)->version;
  library.headers = (*info)->headers;
  library.path = (*info)->path;
  if ((*info)->cuda) library.cuda = *(*info)->cuda;
  auto devices = (*transport)->probe();
  if (!devices) {
    library.unusable.push_back(devices.error().what());
    return library;
  }
  for (const Device& each : *devices) {
    if (each.problem) {
      library.unusable.push_back(each.name);
    } else {
      library.usable.push_back(each.name);
    }
  }
  return library;
}

std::vector<doctor::Library> libraries(const Registry& registry) {
  std::vector<doctor::Library> found;
  for (const TransportEntry& entry : registry.entries()) {
    const bool uses =
        !entry.module.empty() || !entry.vendorLibrary.empty() || !entry.notBuilt.empty();
    if (!uses) continue;
    found.push_back(
        doctor::askLibrary(std::string(entry.name), [&] { return libraryOf(registry, entry); }));
  }
  return found;
}

}  // namespace

int doctorCommand(const Registry& registry, const DoctorWords& words) {
  std::optional<doctor::Examination> peer;
  if (!words.peer.empty()) {
    auto read = doctor::readExamination(words.peer);
    if (!read) return complain(read.error());
    peer = *std::move(read);
  }
  doctor::Inputs inputs = doctor::readInputs(Roots(), findGpus(), doctor::askCuda());
  inputs.program = buildId();
  inputs.libraries = libraries(registry);
  inputs.variables = setVariables(registry);
  const auto found = doctor::examine(inputs, {.gpu = words.gpu, .nic = words.nic});
  if (!found) return complain(found.error());
  if (words.json) {
    fmt::print("{}\n", doctor::toJson(*found));
    return doctor::exitStatus(*found);
  }
  constexpr std::size_t kWidthOfFiles = 120;
  const report::Style style = styleOfOutput();
  const std::size_t width = style.width > 0 ? static_cast<std::size_t>(style.width) : kWidthOfFiles;
  fmt::print("{}", doctor::show(*found, width));
  if (peer) fmt::print("{}", doctor::show(doctor::differences(*found, *peer), *peer, width));
  return doctor::exitStatus(*found);
}

}  // namespace gdrbench
