// SPDX-License-Identifier: Apache-2.0
#include "harness/config/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "harness/config/describe.h"
#include "harness/core/text.h"

namespace gdrbench::config {
namespace {

const Option* findOption(OptionTable table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Group* findGroup(const std::vector<Group>& groups, std::string_view name) {
  const auto found = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& group) { return group.name == name; });
  return found == groups.end() ? nullptr : &*found;
}

std::vector<std::string_view> namesOf(OptionTable table) {
  std::vector<std::string_view> names;
  for (const Option& option : table) names.push_back(option.name);
  return names;
}

std::vector<std::string_view> namesOf(const std::vector<Group>& groups) {
  std::vector<std::string_view> names;
  for (const Group& group : groups) names.push_back(group.name);
  return names;
}

/// A word that names things on one line of a table: not empty, no line breaks.
Result<std::string> readWord(const Node& node, const std::string& path) {
  Result<std::string_view> text = scalarText(node, path);
  if (!text) return text.error();
  if (text->empty() || text->find_first_of("\n\t\r") != std::string_view::npos) {
    return errorAt(node.mark.place(),
                   fmt::format("key '{}': '{}' must be a text on one line that is not empty", path,
                               shown(*text)));
  }
  return std::string(*text);
}

Status checkMap(const Node& node, std::string_view path) {
  if (node.isNull()) {
    return errorAt(node.mark.place(), fmt::format("key '{}' has no value", path),
                   "write {} for no options");
  }
  if (node.kind == Node::Kind::kMap) return Done{};
  return errorAt(node.mark.place(), fmt::format("'{}' takes a map of keys", path));
}

Status checkRequired(OptionTable table, const OptionSet& options, std::string_view where,
                     const Place& place) {
  for (const Option& option : table) {
    if (!option.required || options.has(option.name)) continue;
    const std::string in = where.empty() ? std::string() : fmt::format(" in '{}'", where);
    return errorAt(place, fmt::format("key '{}' is missing{}; accepted: {}", option.name, in,
                                      acceptedText(option)));
  }
  return Done{};
}

/// An entry of `transports` or `patterns`: "name", or {name: {options}}.
struct Entry {
  const Group* group = nullptr;
  const Node* body = nullptr;  ///< nullptr: a plain name
  Mark mark;
};

class ConfigReader {
 public:
  ConfigReader(const Catalogue& catalogue, const std::string& name)
      : catalogue_(catalogue), name_(name) {}

  Result<RunConfig> read(const Node& root);

 private:
  Status readKey(const Member& member);
  Status readGroup(const Group& group, const Node& node);
  Status readTransports(const Node& node);
  Status readPatterns(const Node& node);
  Status readMemory(const Node& node);
  Status finish();

  Result<TransportConfig> readTransport(const Node& node);
  Status readTransportKey(const Member& member, const Group& group, TransportConfig& into);
  Status checkLabel(const TransportConfig& transport, const Entry& entry);
  Status readEnv(const Node& node, const std::string& path, TransportConfig& into);
  Result<PatternConfig> readPattern(const Node& node);
  Status readPatternKey(const Member& member, const Group& group, PatternConfig& into);
  Result<MemoryConfig> readMemoryEntry(const Node& node);
  Result<MemoryConfig> readMemoryPair(const Node& node);
  Status checkList(const Node& node, std::string_view key);
  Result<Entry> readEntry(const Node& node, const std::vector<Group>& groups,
                          std::string_view kind);
  Result<Entry> readNamedMap(const Node& node, const std::vector<Group>& groups,
                             std::string_view kind);
  Result<Entry> named(std::string_view name, const Mark& mark, const std::vector<Group>& groups,
                      std::string_view kind);

  const Catalogue& catalogue_;
  const std::string& name_;
  RunConfig config_;
  std::unordered_map<std::string, Place> labels_;
};

Result<RunConfig> ConfigReader::read(const Node& root) {
  config_.run = OptionSet::defaults(catalogue_.run);
  for (const Group& group : catalogue_.groups) {
    config_.groups.emplace(group.name, OptionSet::defaults(group.options));
  }
  for (const Member& member : root.members) {
    if (Status ok = readKey(member); !ok) return ok.error();
  }
  if (Status ok = finish(); !ok) return ok.error();
  return std::move(config_);
}

Status ConfigReader::readKey(const Member& member) {
  if (member.key.starts_with(kUnreadPrefix)) return Done{};
  config_.places.insert_or_assign(member.key, member.mark.place());
  if (member.key == kTransportsKey) return readTransports(member.value);
  if (member.key == kPatternsKey) return readPatterns(member.value);
  if (member.key == kMemoryKey) return readMemory(member.value);
  if (const Option* option = findOption(catalogue_.run, member.key)) {
    return readOption(*option, member.value, member.key, config_.run);
  }
  if (const Group* group = findGroup(catalogue_.groups, member.key)) {
    return readGroup(*group, member.value);
  }
  std::vector<std::string_view> known = namesOf(catalogue_.run);
  for (const Group& group : catalogue_.groups) known.push_back(group.name);
  known.insert(known.end(), {kTransportsKey, kPatternsKey, kMemoryKey, kIncludeKey});
  return unknownKey(member, {}, known);
}

Status ConfigReader::readGroup(const Group& group, const Node& node) {
  if (Status ok = checkMap(node, group.name); !ok) return ok;
  OptionSet& options = config_.groups.find(group.name)->second;
  for (const Member& member : node.members) {
    const Option* option = findOption(group.options, member.key);
    if (option == nullptr) return unknownKey(member, group.name, namesOf(group.options));
    const std::string path = fmt::format("{}.{}", group.name, member.key);
    config_.places.insert_or_assign(path, member.mark.place());
    if (Status ok = readOption(*option, member.value, path, options); !ok) return ok;
  }
  return Done{};
}

Status ConfigReader::finish() {
  const Place whole{name_, 0, 0};
  const std::pair<std::string_view, bool> lists[] = {{kTransportsKey, config_.transports.empty()},
                                                     {kPatternsKey, config_.patterns.empty()}};
  for (const auto& [key, missing] : lists) {
    if (missing) return errorAt(whole, fmt::format("key '{}' is missing", key));
  }
  if (config_.memory.empty()) config_.memory.push_back({"host", "host", {}});
  if (Status ok = checkRequired(catalogue_.run, config_.run, {}, whole); !ok) return ok;
  for (const Group& group : catalogue_.groups) {
    const auto place = config_.places.find(group.name);
    const OptionSet& options = config_.groups.find(group.name)->second;
    Status ok = checkRequired(group.options, options, group.name,
                              place == config_.places.end() ? whole : place->second);
    if (!ok) return ok;
  }
  return Done{};
}

Status ConfigReader::checkList(const Node& node, std::string_view key) {
  if (node.isNull()) {
    return errorAt(node.mark.place(), fmt::format("key '{}' has no value", key));
  }
  if (node.kind != Node::Kind::kList) {
    return errorAt(node.mark.place(), fmt::format("'{}' takes a list", key),
                   "begin each entry with '- '");
  }
  if (node.items.empty()) {
    return errorAt(node.mark.place(),
                   fmt::format("key '{}' is an empty list; accepted: at least one entry", key));
  }
  return Done{};
}

Result<Entry> ConfigReader::readEntry(const Node& node, const std::vector<Group>& groups,
                                      std::string_view kind) {
  // A transport may be named "null"; as an entry, the word can mean nothing else.
  if (node.isNull() && findGroup(groups, node.text) == nullptr) {
    return errorAt(node.mark.place(), fmt::format("an entry of '{}s' has no value", kind));
  }
  if (node.kind == Node::Kind::kScalar) return named(node.text, node.mark, groups, kind);
  if (node.kind == Node::Kind::kMap) return readNamedMap(node, groups, kind);
  return errorAt(node.mark.place(), fmt::format("an entry of '{}s' cannot be a list", kind));
}

Result<Entry> ConfigReader::readNamedMap(const Node& node, const std::vector<Group>& groups,
                                         std::string_view kind) {
  if (node.members.empty()) {
    return errorAt(node.mark.place(), fmt::format("an entry of '{}s' is empty", kind),
                   fmt::format("write the name of a {}", kind));
  }
  const Member& first = node.members.front();
  Result<Entry> entry = named(first.key, first.mark, groups, kind);
  if (!entry) return entry;
  if (node.members.size() > 1) {
    const Member& second = node.members[1];
    return errorAt(second.mark.place(),
                   fmt::format("an entry of '{}s' has one name, here '{}'; '{}' is another key",
                               kind, first.key, shown(second.key)),
                   fmt::format("indent the options of '{}' deeper than its name", first.key));
  }
  if (Status ok = checkMap(first.value, first.key); !ok) return ok.error();
  entry->body = &first.value;
  return entry;
}

Result<Entry> ConfigReader::named(std::string_view name, const Mark& mark,
                                  const std::vector<Group>& groups, std::string_view kind) {
  if (const Group* group = findGroup(groups, name)) return Entry{group, nullptr, mark};
  return errorAt(mark.place(), fmt::format("unknown {} '{}'{}", kind, shown(name),
                                           suggestion(name.substr(0, 64), namesOf(groups))));
}

Status ConfigReader::readTransports(const Node& node) {
  if (Status ok = checkList(node, kTransportsKey); !ok) return ok;
  for (const Node& item : node.items) {
    Result<TransportConfig> transport = readTransport(item);
    if (!transport) return transport.error();
    config_.transports.push_back(std::move(*transport));
  }
  return Done{};
}

Result<TransportConfig> ConfigReader::readTransport(const Node& node) {
  Result<Entry> entry = readEntry(node, catalogue_.transports, "transport");
  if (!entry) return entry.error();
  const Group& group = *entry->group;
  TransportConfig transport;
  transport.transport = group.name;
  transport.place = entry->mark.place();
  transport.options = OptionSet::defaults(group.options);
  if (entry->body != nullptr) {
    for (const Member& member : entry->body->members) {
      if (Status ok = readTransportKey(member, group, transport); !ok) return ok.error();
    }
  }
  Status ok = checkRequired(group.options, transport.options, group.name, transport.place);
  if (!ok) return ok.error();
  if (Status unique = checkLabel(transport, *entry); !unique) return unique.error();
  return transport;
}

Status ConfigReader::readTransportKey(const Member& member, const Group& group,
                                      TransportConfig& into) {
  const std::string path = fmt::format("{}.{}", group.name, shown(member.key));
  if (member.key == kEnvKey) return readEnv(member.value, path, into);
  if (member.key == kLabelKey || member.key == kLibraryKey) {
    Result<std::string> word = readWord(member.value, path);
    if (!word) return word.error();
    (member.key == kLabelKey ? into.label : into.library) = std::move(*word);
    return Done{};
  }
  if (const Option* option = findOption(group.options, member.key)) {
    return readOption(*option, member.value, path, into.options);
  }
  if (const Option* option = findOption(catalogue_.everyTransport, member.key)) {
    return readOption(*option, member.value, path, into.common);
  }
  std::vector<std::string_view> known = namesOf(group.options);
  known.insert(known.end(), {kLabelKey, kEnvKey, kLibraryKey});
  for (const Option& option : catalogue_.everyTransport) known.push_back(option.name);
  return unknownKey(member, group.name, known);
}

/// Two rows of one name could not be told apart in a report.
Status ConfigReader::checkLabel(const TransportConfig& transport, const Entry& entry) {
  if (transport.label.empty()) return Done{};
  const Place place = entry.body->find(kLabelKey)->mark.place();
  const auto [first, isNew] = labels_.emplace(transport.label, place);
  if (isNew) return Done{};
  return errorAt(place, fmt::format("label '{}' is already used at {}", shown(transport.label),
                                    first->second.text()));
}

bool isEnvironmentName(std::string_view name) {
  const auto isLetter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  return !name.empty() && isLetter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return isLetter(c) || (c >= '0' && c <= '9'); });
}

Status ConfigReader::readEnv(const Node& node, const std::string& path, TransportConfig& into) {
  if (Status ok = checkMap(node, path); !ok) return ok;
  for (const Member& member : node.members) {
    if (!isEnvironmentName(member.key)) {
      return errorAt(member.mark.place(),
                     fmt::format("key '{}': '{}' is no name of an environment variable; accepted: "
                                 "letters, digits and '_', not beginning with a digit",
                                 path, shown(member.key)));
    }
    Result<std::string_view> text = scalarText(member.value, path + "." + member.key);
    if (!text) return text.error();
    into.env.emplace_back(member.key, *text);
  }
  // Key order never matters: the same variables make the same configuration.
  std::sort(into.env.begin(), into.env.end());
  return Done{};
}

Status ConfigReader::readPatterns(const Node& node) {
  if (Status ok = checkList(node, kPatternsKey); !ok) return ok;
  for (const Node& item : node.items) {
    Result<PatternConfig> pattern = readPattern(item);
    if (!pattern) return pattern.error();
    config_.patterns.push_back(std::move(*pattern));
  }
  return Done{};
}

Result<PatternConfig> ConfigReader::readPattern(const Node& node) {
  Result<Entry> entry = readEntry(node, catalogue_.patterns, "pattern");
  if (!entry) return entry.error();
  const Group& group = *entry->group;
  PatternConfig pattern;
  pattern.pattern = group.name;
  pattern.place = entry->mark.place();
  pattern.options = OptionSet::defaults(group.options);
  if (entry->body != nullptr) {
    for (const Member& member : entry->body->members) {
      if (Status ok = readPatternKey(member, group, pattern); !ok) return ok.error();
    }
  }
  if (pattern.sizes.empty()) {
    return errorAt(pattern.place, fmt::format("key 'sizes' is missing in '{}'", group.name),
                   "give a size, a list of sizes, or {min, max, factor}");
  }
  Status ok = checkRequired(group.options, pattern.options, group.name, pattern.place);
  if (!ok) return ok.error();
  return pattern;
}

Status ConfigReader::readPatternKey(const Member& member, const Group& group, PatternConfig& into) {
  const std::string path = fmt::format("{}.{}", group.name, shown(member.key));
  if (member.key == kSizesKey) {
    Result<std::vector<std::uint64_t>> sizes = readSizes(member.value, path);
    if (!sizes) return sizes.error();
    into.sizes = std::move(*sizes);
    return Done{};
  }
  if (const Option* option = findOption(group.options, member.key)) {
    return readOption(*option, member.value, path, into.options);
  }
  std::vector<std::string_view> known = namesOf(group.options);
  known.push_back(kSizesKey);
  return unknownKey(member, group.name, known);
}

Status ConfigReader::readMemory(const Node& node) {
  const bool isList = node.kind == Node::Kind::kList;
  if (isList) {
    if (Status ok = checkList(node, kMemoryKey); !ok) return ok;
  }
  const std::size_t count = isList ? node.items.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    Result<MemoryConfig> entry = readMemoryEntry(isList ? node.items[i] : node);
    if (!entry) return entry.error();
    config_.memory.push_back(std::move(*entry));
  }
  return Done{};
}

Result<MemoryConfig> ConfigReader::readMemoryEntry(const Node& node) {
  if (node.kind == Node::Kind::kMap) return readMemoryPair(node);
  if (node.kind == Node::Kind::kList) {
    return errorAt(node.mark.place(), "an entry of 'memory' is a name or {src: name, dst: name}");
  }
  Result<std::string> word = readWord(node, std::string(kMemoryKey));
  if (!word) return word.error();
  return MemoryConfig{*word, *word, node.mark.place()};
}

Result<MemoryConfig> ConfigReader::readMemoryPair(const Node& node) {
  MemoryConfig pair;
  pair.place = node.mark.place();
  for (const Member& member : node.members) {
    if (member.key != "src" && member.key != "dst") {
      return unknownKey(member, kMemoryKey, {"src", "dst"});
    }
    Result<std::string> word = readWord(member.value, fmt::format("memory.{}", member.key));
    if (!word) return word.error();
    (member.key == "src" ? pair.source : pair.destination) = std::move(*word);
  }
  if (!pair.source.empty() && !pair.destination.empty()) return pair;
  return errorAt(pair.place, fmt::format("key '{}' is missing in 'memory'",
                                         pair.source.empty() ? "src" : "dst"));
}

}  // namespace

Result<RunConfig> readConfig(const Catalogue& catalogue, const Node& root,
                             const std::string& name) {
  return ConfigReader(catalogue, name).read(root);
}

}  // namespace gdrbench::config
