// SPDX-License-Identifier: Apache-2.0
// markdownReference: configs/README.md. Its examples are made from the catalogue too, so that they
// name nothing that does not exist.
#include <fmt/format.h>

#include <algorithm>

#include "harness/config/describe.h"
#include "harness/config/reader.h"

namespace gdrbench::config {
namespace {

/// Text inside a table's cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out.empty() ? "-" : out;
}

std::string code(std::string_view text) {
  return text == "-" || text == "required" ? std::string(text) : fmt::format("`{}`", cell(text));
}

constexpr std::string_view kTableHead =
    "| key | type | default | accepted | meaning |\n|---|---|---|---|---|\n";

void addRow(std::string& out, const Option& option) {
  out += fmt::format("| `{}` | {} | {} | {} | {} |\n", option.name, typeText(option),
                     code(defaultText(option)), cell(acceptedText(option)), cell(option.help));
}

void addTable(std::string& out, OptionTable options) {
  if (options.empty()) {
    out += "No options.\n\n";
    return;
  }
  out += kTableHead;
  for (const Option& option : options) addRow(out, option);
  out += "\n";
}

void addGroups(std::string& out, const std::vector<Group>& groups) {
  for (const Group& group : groups) {
    out += fmt::format("### {}\n\n", group.name);
    if (!group.help.empty()) out += fmt::format("{}\n\n", group.help);
    addTable(out, group.options);
  }
}

/// "rounds: 3" of an option that has a default to show; empty when none has.
std::string firstLine(OptionTable table) {
  for (const Option& option : table) {
    if (!option.required && !defaultValues(option).empty()) {
      return fmt::format("{}: {}", option.name, defaultText(option));
    }
  }
  return {};
}

/// "stop.precision=1%".
std::string setExample(const Catalogue& catalogue) {
  for (const Group& group : catalogue.groups) {
    for (const Option& option : group.options) {
      if (option.required || defaultValues(option).empty()) continue;
      return fmt::format("{}.{}={}", group.name, option.name, defaultText(option));
    }
  }
  return "key=value";
}

/// An entry that is complete without options, for the examples.
std::string nameOfFirst(const std::vector<Group>& groups) {
  const auto first = std::find_if(groups.begin(), groups.end(), [](const Group& group) {
    return std::none_of(group.options.begin(), group.options.end(),
                        [](const Option& option) { return option.required; });
  });
  return first == groups.end() ? std::string("NAME") : yamlText(first->name);
}

std::string example(const Catalogue& catalogue) {
  std::string out = "```yaml\n";
  if (const std::string line = firstLine(catalogue.run); !line.empty()) out += line + "\n";
  out += fmt::format(
      "transports:\n  - {0}\n  - {0}: {{label: again, env: {{NAME: value}}}}\nmemory: [host]\n"
      "patterns:\n  - {1}:\n      sizes: {{min: 1, max: 8MiB, factor: 2}}\n",
      nameOfFirst(catalogue.transports), nameOfFirst(catalogue.patterns));
  for (const Group& group : catalogue.groups) {
    const std::string line = firstLine(group.options);
    if (!line.empty()) out += fmt::format("{}: {{{}}}\n", group.name, line);
  }
  return out + "```\n\n";
}

void addUnits(std::string& out) {
  out +=
      "### Values\n\n"
      "- A **size** is a whole number of bytes or has a unit: `K`, `M`, `G`, `T` and `KiB`, `MiB`, "
      "`GiB`, `TiB` are powers of 1024; `kB`, `MB`, `GB`, `TB` are powers of 1000; `B` is bytes.\n"
      "- A **duration** has a unit: `ns`, `us`, `ms`, `s`, `min` or `h`. Only `0` may stand "
      "without one.\n"
      "- A **percentage** has its sign: `1%`.\n"
      "- **Numbers** are decimal and taken whole or refused: no `010`, `0x10` or `1_000`. They are "
      "written without quotes.\n"
      "- **true** and **false** are the only words for yes and no.\n"
      "- A key without a value is an error; an empty text is `\"\"`.\n\n";
}

void addSizes(std::string& out) {
  out +=
      "### Message sizes\n\n"
      "`sizes` is one size, a list of sizes, or a range. `{min: 8, max: 1KiB, factor: 2}` is `min` "
      "and each product with `factor` (a whole number, 2 when it is not given) up to `max`; "
      "`{min: 8, max: 1KiB, step: 8}` adds instead. `max` itself runs when the range hits it. "
      "Nothing is rounded or clipped: `min` above `max`, 0 and more than 10,000 sizes are "
      "errors.\n\n";
}

void addFiles(std::string& out) {
  out +=
      "### include\n\n"
      "`include: FILE`, or a list of files, relative to the file in which it stands. Later files "
      "stand over earlier ones, and the including file over all of them: maps are merged key by "
      "key, lists and single values are replaced.\n\n"
      "### Anchors and merge keys\n\n"
      "`&name` marks a value of the same file, `*name` repeats it, and `<<: *name` (or a list of "
      "such) takes over the keys of a map that the own map does not have. Top-level keys that "
      "begin with `x-` are not read: a place for anchors.\n\n"
      "```yaml\nx-common: &common {NAME: value}\n```\n\n";
}

void addSet(std::string& out, const Catalogue& catalogue) {
  out += fmt::format(
      "### --set\n\n"
      "`--set {0}` writes one value over the files, after all includes and before anything is "
      "checked. Dots lead inwards, numbers count the entries of a list from 0, and a list or map "
      "is written as in YAML's flow style:\n\n"
      "```sh\n--set {0}\n--set 'transports=[{1}]'\n--set 'patterns.0.{2}.sizes=[64, 1MiB]'\n"
      "```\n\n"
      "Of two that set the same key, the last counts.\n\n",
      setExample(catalogue), nameOfFirst(catalogue.transports), nameOfFirst(catalogue.patterns));
}

void addSyntax(std::string& out, const Catalogue& catalogue) {
  out += "## Syntax\n\n" + example(catalogue);
  out +=
      "One YAML file serves both sides. The order of keys never matters. An unknown key, a key "
      "that "
      "stands twice, a bad value or a second document is an error with file, line and column.\n\n";
  addUnits(out);
  addSizes(out);
  addFiles(out);
  addSet(out, catalogue);
}

void addTopLevel(std::string& out, const Catalogue& catalogue) {
  out += fmt::format("## Top level\n\n{}", kTableHead);
  out +=
      "| `include` | file name, or a list | - | - | files that this one completes |\n"
      "| `transports` | list | required | names below, or `{name: {options}}` | what is compared: "
      "each entry is one group of rows |\n"
      "| `patterns` | list | required | `{name: {sizes, options}}`, names below | what is "
      "measured |\n"
      "| `memory` | name, or a list | `host` | names, or `{src: name, dst: name}` | memory of the "
      "initiator (`src`) and the responder (`dst`) |\n";
  for (const Option& option : catalogue.run) addRow(out, option);
  out += "\n";
}

}  // namespace

std::string markdownReference(const Catalogue& catalogue) {
  std::string out =
      "# Configuration reference\n\n"
      "<!-- Made from the option tables of the program; edit those instead. -->\n\n";
  addSyntax(out, catalogue);
  addTopLevel(out, catalogue);
  if (!catalogue.groups.empty()) out += "## Maps at the top level\n\n";
  addGroups(out, catalogue.groups);
  out += fmt::format("## Transports\n\nEvery transport has these keys besides its own:\n\n{}",
                     kTableHead);
  out +=
      "| `label` | text | - | one line, each label once | name in the report |\n"
      "| `env` | map | - | names to values | environment of its processes |\n"
      "| `library` | text | - | a path | the vendor's library to load |\n";
  for (const Option& option : catalogue.everyTransport) addRow(out, option);
  out += "\n";
  addGroups(out, catalogue.transports);
  out +=
      fmt::format("## Patterns\n\nEvery pattern has this key besides its own:\n\n{}", kTableHead);
  out +=
      "| `sizes` | size, list, or range | required | at least `1B`; see Syntax | bytes of a "
      "message |\n\n";
  addGroups(out, catalogue.patterns);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace gdrbench::config
