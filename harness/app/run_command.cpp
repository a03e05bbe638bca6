// SPDX-License-Identifier: Apache-2.0
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "harness/app/commands.h"
#include "harness/bootstrap/channel.h"
#include "harness/config/config.h"
#include "harness/core/text.h"
#include "harness/report/report.h"
#include "harness/run/conductor.h"
#include "harness/run/options.h"
#include "harness/run/plan.h"

namespace gdrbench {
namespace {

/// results/local/<time>_<name>, numbered when it exists.
std::string freshFolder(const std::string& name) {
  const std::string stem = fmt::format("results/local/{:%Y%m%d-%H%M%S}_{}",
                                       fmt::localtime(std::time(nullptr)), fileNameOf(name));
  std::string folder = stem;
  std::error_code unreadable;
  for (int n = 2; std::filesystem::exists(folder, unreadable); ++n) {
    folder = fmt::format("{}-{}", stem, n);
  }
  return folder;
}

void printReport(const ConductResult& result, const std::string& folder) {
  fmt::print("{}\n", report::render(result.document, report::Format::kTable, styleOfOutput()));
  fmt::print("results in {}\n", folder);
}

}  // namespace

std::string ownPath() {
  std::error_code failed;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? "/proc/self/exe" : path.string();
}

report::Style styleOfOutput() {
  report::Style style;
  if (isatty(STDOUT_FILENO) == 0) return style;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) style.width = size.ws_col;
  style.colour = std::getenv("NO_COLOR") == nullptr;
  return style;
}

int runCommand(const Registry& registry, const RunWords& words) {
  const config::Catalogue known = catalogue(registry);
  auto config = config::load(known, words.config, words.sets);
  if (!config) return complain(config.error());
  auto plan = makePlan(*config, registry);
  if (!plan) return complain(plan.error());
  if (words.planOnly) {
    fmt::print("{}", describePlan(*plan));
    return 0;
  }

  const std::string folder = words.out.empty() ? freshFolder(plan->name) : words.out;
  ConsoleProgress progress(words.progress);
  installConductorSignals();
  auto result = conduct({.registry = registry,
                         .plan = *plan,
                         .program = ownPath(),
                         .folder = folder,
                         .effectiveYaml = config::toYaml(known, *config),
                         .progress = progress});
  if (!result) return complain(result.error());
  printReport(*result, folder);
  std::string why;
  const int status = exitStatus(*plan, *result, why);
  if (!why.empty()) fmt::print(stderr, "expectations that were not met:\n{}", why);
  if (result->lost) fmt::print(stderr, "gdrbench: {}\n", result->lost->what());
  return status;
}

}  // namespace gdrbench
