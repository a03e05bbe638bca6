// SPDX-License-Identifier: Apache-2.0
#include "harness/app/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <iterator>
#include <string>
#include <vector>

#include "harness/app/commands.h"
#include "harness/config/config.h"
#include "harness/core/text.h"
#include "harness/core/units.h"
#include "harness/run/build_info.h"
#include "harness/run/options.h"

namespace gdrbench {
namespace {

namespace po = boost::program_options;
using Words = std::vector<std::string>;

constexpr std::string_view kCommands[] = {"run", "list", "doctor", "report", "schema"};

constexpr const char* kHelp =
    R"(gdrbench: transports side by side, every byte checked.

  gdrbench run CONFIG [--set KEY=VALUE]... [--out DIR] [--require direct|staged] [--plan]
                                          measure what CONFIG says and print the report
  gdrbench list                           transports and devices here, and why one cannot work
  gdrbench doctor [--gpu GPU] [--nic NIC] [--json] [--peer FILE]
                                          whether the direct path can work here, and why not
  gdrbench report RESULT... [--format table|markdown|csv|json] [--base LABEL]
                                          print saved results, side by side
  gdrbench report RESULT --explain ROW    the evidence for the path of one row
  gdrbench schema config|results          JSON schema of configurations, of results.json
  gdrbench COMMAND --help                 more about one command
  gdrbench --version

Exit codes: 0 all ran; 1 a case failed; 2 usage or configuration; 3 an expectation was not met;
4 some cases were skipped; 77 nothing could run; 130 interrupted, partial results kept.
Of doctor: 0 a direct path is possible; 3 none is; 4 not known; 2 usage or a bad FILE.
)";

int usage(const std::string& what) {
  fmt::print(stderr, "gdrbench: {}\ntry 'gdrbench --help'\n", what);
  return kUsage;
}

/// One command's words: options by name, the rest in order. Abbreviated options are refused.
struct Parsed {
  po::variables_map options;
  Words rest;
};

Result<Parsed> parse(const po::options_description& described, const Words& words) {
  using namespace po::command_line_style;
  try {
    po::options_description all;
    all.add(described).add_options()("rest", po::value<Words>());
    po::positional_options_description positions;
    positions.add("rest", -1);
    const auto parsed = po::command_line_parser(words)
                            .options(all)
                            .positional(positions)
                            .style(unix_style & ~allow_guessing)
                            .run();
    Parsed result;
    po::store(parsed, result.options);
    po::notify(result.options);
    if (result.options.count("rest") != 0) result.rest = result.options["rest"].as<Words>();
    return result;
  } catch (const po::error& error) {
    return Error{.code = ErrorCode::kUsage, .tried = error.what()};
  }
}

template <class T>
T valueOr(const Parsed& parsed, const char* name, const T& fallback) {
  return parsed.options.count(name) == 0 ? fallback : parsed.options[name].as<T>();
}

bool wantsHelp(const Parsed& parsed) {
  return parsed.options.count("help") != 0;
}

Result<ProgressStyle> progressStyle(const std::string& word) {
  if (word == "auto") return ProgressStyle::kAuto;
  if (word == "plain") return ProgressStyle::kPlain;
  if (word == "off") return ProgressStyle::kOff;
  return Error{.code = ErrorCode::kUsage,
               .tried = fmt::format("--progress: '{}' is none of auto, plain, off", word)};
}

int runWords(const Registry& registry, const Words& words) {
  po::options_description options("gdrbench run CONFIG");
  options.add_options()("help", "this text, and every key of a configuration")(
      "set", po::value<Words>()->composing(), "KEY=VALUE over the file; dots lead inwards")(
      "out", po::value<std::string>(), "folder for the results; must not hold results yet")(
      "require", po::value<std::string>(), "direct | staged: the verdict that every row must have")(
      "plan", "print the cases and stop")("progress", po::value<std::string>(),
                                          "auto | plain | off; on standard error");
  auto parsed = parse(options, words);
  if (!parsed) return usage(parsed.error().what());
  if (wantsHelp(*parsed)) {
    std::string text;
    for (const auto& option : options.options()) {
      text += fmt::format("  --{:<10} {}\n", option->long_name(), option->description());
    }
    fmt::print("gdrbench run CONFIG\n{}\n{}", text, config::helpText(catalogue(registry)));
    return 0;
  }
  if (parsed->rest.size() != 1) return usage("run takes one configuration file");
  auto style = progressStyle(valueOr<std::string>(*parsed, "progress", "auto"));
  if (!style) return usage(style.error().what());
  Words sets = valueOr<Words>(*parsed, "set", {});
  if (parsed->options.count("require") != 0) {
    sets.push_back("require=" + (*parsed).options["require"].as<std::string>());
  }
  return runCommand(registry, {.config = parsed->rest.front(),
                               .sets = std::move(sets),
                               .out = valueOr<std::string>(*parsed, "out", ""),
                               .planOnly = parsed->options.count("plan") != 0,
                               .progress = *style});
}

int doctorWords(const Registry& registry, const Words& words) {
  po::options_description options("gdrbench doctor");
  options.add_options()("help", "this text")(
      "gpu", po::value<std::string>(), "only this GPU: index of nvidia-smi, UUID or PCI address")(
      "nic", po::value<std::string>(), "only this RDMA device, or network interface of one")(
      "json", "for programs, and for --peer on another machine")(
      "peer", po::value<std::string>(), "FILE with --json of another machine: list differences");
  auto parsed = parse(options, words);
  if (!parsed) return usage(parsed.error().what());
  if (wantsHelp(*parsed)) {
    std::string text;
    for (const auto& option : options.options()) {
      text += fmt::format("  --{:<6} {}\n", option->long_name(), option->description());
    }
    fmt::print(
        "gdrbench doctor: can the direct path work between a GPU and a NIC, or two GPUs?\n{}"
        "Exit codes: 0 for at least one of those asked for; 3 for none; 4 not known; 2 usage or a "
        "bad FILE.\n",
        text);
    return 0;
  }
  if (!parsed->rest.empty()) return usage("doctor takes options only");
  if (parsed->options.count("json") != 0 && parsed->options.count("peer") != 0) {
    return usage("--peer compares for people: without --json");
  }
  return doctorCommand(registry, {.gpu = valueOr<std::string>(*parsed, "gpu", ""),
                                  .nic = valueOr<std::string>(*parsed, "nic", ""),
                                  .peer = valueOr<std::string>(*parsed, "peer", ""),
                                  .json = parsed->options.count("json") != 0});
}

int reportWords(const Words& words) {
  po::options_description options("gdrbench report RESULT...");
  options.add_options()("help", "this text")("format", po::value<std::string>(),
                                             "table | markdown | csv | json")(
      "base", po::value<std::string>(), "label that ratios refer to")(
      "explain", po::value<std::string>(), "id of a row: its verdict and the evidence for it");
  auto parsed = parse(options, words);
  if (!parsed) return usage(parsed.error().what());
  if (wantsHelp(*parsed)) {
    fmt::print(
        "gdrbench report RESULT...   (results.json, or the results.jsonl of a run that did "
        "not end)\n  --format table|markdown|csv|json\n  --base LABEL   ratios refer to it\n"
        "  --explain ROW  instead of the report: the verdict on the path of that row (its id), "
        "judged again\n                 from what was observed\n");
    return 0;
  }
  if (parsed->rest.empty()) return usage("report takes one or more result files");
  if (parsed->options.count("explain") != 0 &&
      parsed->options.count("format") + parsed->options.count("base") != 0) {
    return usage("--explain prints text about one row: no --format, no --base");
  }
  auto format = report::parseFormat(valueOr<std::string>(*parsed, "format", "table"));
  if (!format) return usage(format.error().what());
  return reportCommand({parsed->rest, *format, valueOr<std::string>(*parsed, "base", ""),
                        valueOr<std::string>(*parsed, "explain", "")});
}

int worker(const Registry& registry, const Words& words, PhaseHook hook) {
  const bool good = words.size() == 2 && words[0] == "--fd";
  const auto fd = good ? parseInteger(words[1]) : Result<std::int64_t>(Error{});
  if (!fd || *fd < 3) return usage("worker is started by run, not by hand");
  return runWorker(registry, static_cast<int>(*fd), hook);
}

}  // namespace

int runProgram(int argc, char** argv, const Registry& registry, PhaseHook hook) {
  const Words words(argv + 1, argv + argc);
  if (words.empty()) {
    fmt::print(stderr, "{}", kHelp);
    return kUsage;
  }
  const std::string& command = words.front();
  const Words rest(words.begin() + 1, words.end());
  if (command == "--help" || command == "-h" || command == "help") {
    fmt::print("{}", kHelp);
    return 0;
  }
  if (command == "--version") {
    fmt::print("gdrbench {}\n", buildId());
    return 0;
  }
  if (command == "run") return runWords(registry, rest);
  if (command == "doctor") return doctorWords(registry, rest);
  if (command == "report") return reportWords(rest);
  if (command == "list") {
    if (!rest.empty() && rest.front() != "--help") return usage("list takes no arguments");
    return listCommand(registry);
  }
  if (command == "schema") {
    if (rest.size() != 1) return usage("schema takes one word: config or results");
    return schemaCommand(registry, rest.front());
  }
  // Not for people: processes that this program starts, and what its tests ask.
  if (command == "worker") return worker(registry, rest, hook);
  if (command == "probe" && rest.size() == 1) return probeCommand(registry, rest.front());
  if (command == "config-reference") return configReferenceCommand(registry);
  return usage(fmt::format("there is no command '{}'{}", command, suggestion(command, kCommands)));
}

}  // namespace gdrbench
