// SPDX-License-Identifier: Apache-2.0
#include "harness/app/commands.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <chrono>

#include "harness/bootstrap/channel.h"
#include "harness/config/config.h"
#include "harness/core/json.h"
#include "harness/core/text.h"
#include "harness/environment/gpus.h"
#include "harness/report/document.h"
#include "harness/report/path_evidence.h"
#include "harness/run/options.h"
#include "harness/run/summarise.h"

namespace gdrbench {
namespace {

constexpr auto kProbeTime = std::chrono::seconds(20);

std::string oneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

/// Runs `probe` in a child, which prints to standard error by itself; here only its end matters.
void probeInChild(const TransportEntry& entry) {
  Watch watch;
  auto child = watch.spawn({{ownPath(), "probe", std::string(entry.name)}, {}});
  if (!child) {
    fmt::print("    {}\n", child.error().what());
    return;
  }
  const auto deadline = std::chrono::steady_clock::now() + kProbeTime;
  while (true) {
    auto happening = watch.next(deadline);
    if (!happening) {
      fmt::print("    cannot be asked: {}\n", happening.error().what());
      return;
    }
    if (happening->kind == Happening::Kind::kMessage) {
      fmt::print("{}", happening->message.body);
    } else if (happening->kind == Happening::Kind::kEnded) {
      if (happening->end->signal != 0 || happening->end->status != 0) {
        fmt::print("    the probe {}\n", happening->end->text());
      }
      return;
    }
  }
}

std::string describeDevices(const std::vector<Device>& devices) {
  std::string text;
  for (const Device& device : devices) {
    text += fmt::format(
        "    {:<20} {}{}\n", device.name,
        device.problem ? "cannot be used: " + oneLine(device.problem->what()) : "usable",
        device.detail.empty() ? "" : "  [" + device.detail + "]");
  }
  if (devices.empty()) text += "    usable\n";
  return text;
}

}  // namespace

int listCommand(const Registry& registry) {
  for (const TransportEntry& entry : registry.entries()) {
    fmt::print("{:<10} {}\n", entry.name, entry.summary);
    if (entry.make == nullptr && entry.module.empty()) {
      fmt::print("    not built: configure with -D{}=ON\n", entry.notBuilt);
      continue;
    }
    std::fflush(stdout);
    probeInChild(entry);
  }
  fmt::print("GPUs\n{}", gpuLines(findGpus(), Topology()));
  return 0;
}

int probeCommand(const Registry& registry, const std::string& transport) {
  std::string text;
  if (auto made = registry.make(transport); !made) {
    text = fmt::format("    cannot be used: {}\n", oneLine(made.error().what()));
  } else if (auto devices = (*made)->probe(); !devices) {
    text = fmt::format("    cannot be used: {}\n", oneLine(devices.error().what()));
  } else {
    text = describeDevices(*devices);
  }
  Channel channel(3);
  const auto deadline = std::chrono::steady_clock::now() + kProbeTime;
  return channel.send({MessageType::kResult, text}, deadline) ? 0 : 1;
}

namespace {

/// The evidence of one row, in whichever of the documents has it.
int explainRow(const std::vector<report::Document>& documents, const std::string& id) {
  std::vector<std::string_view> ids;
  bool found = false;
  for (const report::Document& document : documents) {
    for (const report::Row& row : document.rows) {
      ids.push_back(row.id);
      if (row.id != id) continue;
      found = true;
      fmt::print("{}\n{}", row.id, report::explainPath(row, document.controls));
    }
  }
  if (found) return 0;
  return complain(
      {.code = ErrorCode::kUsage,
       .tried = fmt::format("--explain: there is no row '{}'{}", id, suggestion(id, ids)),
       .next = "ids stand in results.json and in results.csv"});
}

}  // namespace

int reportCommand(const ReportWords& words) {
  std::vector<report::Document> documents;
  for (const std::string& file : words.files) {
    auto document = report::readDocument(file);
    if (!document) return complain(document.error());
    report::judgePaths(*document);
    documents.push_back(*std::move(document));
  }
  if (!words.explain.empty()) return explainRow(documents, words.explain);
  const bool aborted = documents.front().status == "aborted";
  report::Document shown =
      documents.size() == 1 ? std::move(documents.front()) : report::merge(documents);
  if (!words.base.empty()) {
    std::vector<std::string_view> labels;
    bool known = false;
    for (const report::Row& row : shown.rows) {
      labels.push_back(row.label);
      known = known || row.label == words.base;
    }
    if (!known) {
      return complain({.code = ErrorCode::kUsage,
                       .tried = fmt::format("--base: no row has the label '{}'{}", words.base,
                                            suggestion(words.base, labels))});
    }
    shown.base = words.base;
  }
  // Stored headlines are taken as they are; only what changes them costs a new computation.
  if (aborted || words.files.size() > 1 || !words.base.empty()) summarise(shown);
  fmt::print("{}\n", report::render(shown, words.format, styleOfOutput()));
  return 0;
}

int schemaCommand(const Registry& registry, const std::string& what) {
  if (what == "config") {
    fmt::print("{}\n", writeJsonPretty(config::configSchema(catalogue(registry))));
    return 0;
  }
  if (what == "results") {
    fmt::print("{}\n", writeJsonPretty(report::resultsSchema()));
    return 0;
  }
  constexpr std::string_view kSchemas[] = {"config", "results"};
  return complain(
      {.code = ErrorCode::kUsage,
       .tried = fmt::format("there is no schema '{}'{}", what, suggestion(what, kSchemas))});
}

int configReferenceCommand(const Registry& registry) {
  fmt::print("{}", config::markdownReference(catalogue(registry)));
  return 0;
}

int complain(const Error& error) {
  fmt::print(stderr, "gdrbench: {}\n", error.what());
  return kUsage;
}

}  // namespace gdrbench
