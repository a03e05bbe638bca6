// SPDX-License-Identifier: Apache-2.0
// From YAML files and --set to a RunConfig: checked, complete, and with the place of everything.
//
// What may be written is not known here: the Catalogue brings the option tables of their owners.
// The same catalogue makes --help, configs/README.md and the JSON schema for editors.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/option.h"
#include "harness/core/result.h"

namespace gdrbench::config {

/// Where something was written: "broken.yaml:3:5", "--set rounds=x". Lines and columns from 1.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  [[nodiscard]] std::string text() const;
};

/// A kConfig error whose text begins with the place.
Error errorAt(const Place& place, std::string text, std::string next = {});

/// A named table: a nested map (stop, warmup, expect, cpus), a transport, or a pattern.
struct Group {
  std::string_view name;
  std::string_view help;
  OptionTable options;
};

struct Catalogue {
  OptionTable run;             ///< top-level scalars and lists: name, rounds, verify, timeout ...
  std::vector<Group> groups;   ///< top-level maps
  OptionTable everyTransport;  ///< what each entry of `transports:` may have besides; no defaults
  std::vector<Group> transports;  ///< what `transports:` may list
  std::vector<Group> patterns;    ///< what `patterns:` may list; each has `sizes` besides
};

/// An entry of `transports:`, with the keys that all of them have: label, env, library.
struct TransportConfig {
  std::string transport;
  std::string label;  ///< empty: not given
  std::vector<std::pair<std::string, std::string>> env;
  std::string library;
  OptionSet common;  ///< of Catalogue::everyTransport: only what was given
  OptionSet options;
  Place place;
};

struct PatternConfig {
  std::string pattern;
  std::vector<std::uint64_t>
      sizes;  ///< bytes, expanded, in the order given, at least one, each >= 1
  OptionSet options;
  Place place;
};

/// `memory:` entries: "host", or {src: cuda:0, dst: cuda:1}.
struct MemoryConfig {
  std::string source, destination;
  Place place;
};

struct RunConfig {
  OptionSet run;
  std::map<std::string, OptionSet, std::less<>> groups;  ///< every group of the catalogue
  std::vector<TransportConfig> transports;               ///< at least one
  std::vector<PatternConfig> patterns;                   ///< at least one
  std::vector<MemoryConfig> memory;                      ///< default: host
  /// Where each top-level key and each group's key was set ("rounds", "stop.precision"); absent
  /// when it was not.
  std::map<std::string, Place, std::less<>> places;
};

/// Reads `path` with its includes, applies `sets` ("key=value", value in YAML flow style; dots
/// and list indexes lead inwards: "stop.max_time=1s", "patterns.0.ping-pong.sizes=[8, 64]") and
/// checks everything against the catalogue. The result does not depend on the order of keys.
///
/// Errors (kConfig): with file, line, column, key and the nearest valid name. Strict: unknown and
/// duplicate keys, wrong types, several documents, empty files, invalid UTF-8, include cycles,
/// nesting deeper than 64, aliases that unfold to more than 100,000 nodes.
Result<RunConfig> load(const Catalogue& catalogue, const std::string& path,
                       std::span<const std::string> sets);

/// The same from a text; `include` is relative to the working folder. For tests and the fuzzer.
Result<RunConfig> loadText(const Catalogue& catalogue, std::string_view text,
                           const std::string& nameOfText, std::span<const std::string> sets);

/// The effective configuration: every option with its value, no include. Loading it gives an equal
/// RunConfig (places aside).
std::string toYaml(const Catalogue& catalogue, const RunConfig& config);

/// For `--help` of run: every key with type, default, range and help. Plain text, 100 columns.
std::string helpText(const Catalogue& catalogue);

/// configs/README.md, complete.
std::string markdownReference(const Catalogue& catalogue);

/// JSON schema (2020-12) of a configuration file.
boost::json::value configSchema(const Catalogue& catalogue);

}  // namespace gdrbench::config
