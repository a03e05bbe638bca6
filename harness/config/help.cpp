// SPDX-License-Identifier: Apache-2.0
// helpText: the catalogue as plain text of 100 columns.
#include <fmt/format.h>

#include <algorithm>

#include "harness/config/describe.h"
#include "harness/config/reader.h"

namespace gdrbench::config {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kKeyColumn = 2;
constexpr std::size_t kTextColumn = 26;

/// Words broken at blanks; lines after the first begin with `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, blank);
    if (column > indent && column + word.size() + 1 > kWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    text.remove_prefix(std::min(text.size(), blank + 1));
  }
  return out;
}

void addKey(std::string& out, std::string_view key, std::string_view text) {
  std::string head = std::string(kKeyColumn, ' ') + std::string(key);
  if (head.size() + 2 > kTextColumn) {
    out += head + "\n";
    head.clear();
  }
  head.resize(kTextColumn, ' ');
  out += head + wrapped(text, kTextColumn) + "\n";
}

/// "size: 64B .. 1MiB", "direct | staged, or a list".
std::string factsOf(const Option& option) {
  const std::string accepted = acceptedValues(option);
  if (option.type == OptionType::kBool || option.type == OptionType::kChoice) {
    return accepted + (option.list ? ", or a list" : "");
  }
  const bool hasRange = !accepted.empty() && option.type != OptionType::kText;
  return hasRange ? fmt::format("{}: {}", typeText(option), accepted) : typeText(option);
}

void addOption(std::string& out, const Option& option, std::string_view prefix) {
  std::string facts = factsOf(option);
  if (option.required) {
    facts += "; required";
  } else if (!defaultValues(option).empty()) {
    facts += "; default " + defaultText(option);
  }
  addKey(out, fmt::format("{}{}", prefix, option.name), fmt::format("{} [{}]", option.help, facts));
}

void addHeading(std::string& out, std::string_view name, std::string_view help) {
  out += "\n" + wrapped(help.empty() ? std::string(name) : fmt::format("{}: {}", name, help), 0);
  out += "\n";
}

void addGroup(std::string& out, const Group& group, std::string_view prefix) {
  addHeading(out, group.name, group.help);
  for (const Option& option : group.options) addOption(out, option, prefix);
}

}  // namespace

std::string helpText(const Catalogue& catalogue) {
  std::string out = "Keys of a configuration file. --set key=value overrides one.\n\n";
  addKey(out, kIncludeKey, "a file, or a list of files, whose keys this one completes or replaces");
  addKey(out, kTransportsKey, "list of names, or of {name: {options}}; required");
  addKey(out, kPatternsKey, "list of {name: {sizes, options}}; required");
  addKey(out, kMemoryKey, "name, list of names, or of {src: name, dst: name} [default host]");
  for (const Option& option : catalogue.run) addOption(out, option, "");
  for (const Group& group : catalogue.groups) {
    addGroup(out, group, fmt::format("{}.", group.name));
  }
  addHeading(out, "Every transport", "");
  addKey(out, kLabelKey, "name in the report [text]");
  addKey(out, kEnvKey, "environment of its processes [map of names to values]");
  addKey(out, kLibraryKey, "path of the vendor's library to load [text]");
  for (const Option& option : catalogue.everyTransport) addOption(out, option, "");
  for (const Group& group : catalogue.transports) addGroup(out, group, "");
  addHeading(out, "Every pattern", "");
  addKey(out, kSizesKey,
         "bytes of a message [size, list of sizes, {min, max, factor} or {min, max, step}; "
         "at least 1B; required]");
  for (const Group& group : catalogue.patterns) addGroup(out, group, "");
  return out;
}

}  // namespace gdrbench::config
