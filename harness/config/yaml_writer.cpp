// SPDX-License-Identifier: Apache-2.0
// toYaml: every option that has a value, so that a later default cannot change an old run.
#include <fmt/format.h>

#include "harness/config/describe.h"
#include "harness/config/reader.h"
#include "harness/core/units.h"

namespace gdrbench::config {
namespace {

std::string valueText(const Option& option, const std::vector<OptionValue>& values,
                      std::size_t indent) {
  std::vector<std::string> words;
  for (const OptionValue& value : values) words.push_back(yamlScalar(option, value));
  return words.size() == 1 ? words.front() : yamlList(words, indent + 2);
}

class Writer {
 public:
  explicit Writer(const Catalogue& catalogue) : catalogue_(catalogue) {}

  std::string write(const RunConfig& config) {
    options(catalogue_.run, config.run, 0);
    groups(config);
    memory(config);
    transports(config);
    patterns(config);
    return std::move(out_);
  }

 private:
  void line(std::size_t indent, std::string_view text) {
    out_.append(indent, ' ');
    out_ += text;
    out_ += '\n';
  }

  /// False when no option of the table has a value.
  bool options(OptionTable table, const OptionSet& set, std::size_t indent) {
    bool any = false;
    for (const Option& option : table) {
      if (!set.has(option.name)) continue;
      line(indent,
           fmt::format("{}: {}", option.name, valueText(option, set.list(option.name), indent)));
      any = true;
    }
    return any;
  }

  void groups(const RunConfig& config) {
    for (const Group& group : catalogue_.groups) {
      const auto found = config.groups.find(group.name);
      if (found == config.groups.end()) continue;
      const std::size_t before = out_.size();
      line(0, fmt::format("{}:", group.name));
      if (options(group.options, found->second, 2)) continue;
      // A key without a value would be an error.
      out_.resize(before);
      line(0, fmt::format("{}: {{}}", group.name));
    }
  }

  void memory(const RunConfig& config) {
    line(0, fmt::format("{}:", kMemoryKey));
    for (const MemoryConfig& entry : config.memory) {
      const std::string source = yamlText(entry.source);
      line(2, entry.source == entry.destination
                  ? "- " + source
                  : fmt::format("- {{src: {}, dst: {}}}", source, yamlText(entry.destination)));
    }
  }

  static const Group* find(const std::vector<Group>& groups, std::string_view name) {
    for (const Group& group : groups) {
      if (group.name == name) return &group;
    }
    return nullptr;
  }

  void transports(const RunConfig& config) {
    line(0, fmt::format("{}:", kTransportsKey));
    for (const TransportConfig& transport : config.transports) {
      const std::size_t before = out_.size();
      line(2, fmt::format("- {}:", yamlText(transport.transport)));
      const std::size_t body = out_.size();
      transportBody(transport);
      if (out_.size() != body) continue;
      out_.resize(before);
      line(2, fmt::format("- {}", yamlText(transport.transport)));
    }
  }

  void transportBody(const TransportConfig& transport) {
    if (!transport.label.empty()) {
      line(6, fmt::format("{}: {}", kLabelKey, yamlText(transport.label)));
    }
    if (!transport.library.empty()) {
      line(6, fmt::format("{}: {}", kLibraryKey, yamlText(transport.library)));
    }
    if (!transport.env.empty()) line(6, fmt::format("{}:", kEnvKey));
    for (const auto& [name, value] : transport.env) {
      line(8, fmt::format("{}: {}", yamlText(name), yamlText(value)));
    }
    options(catalogue_.everyTransport, transport.common, 6);
    if (const Group* group = find(catalogue_.transports, transport.transport)) {
      options(group->options, transport.options, 6);
    }
  }

  void patterns(const RunConfig& config) {
    line(0, fmt::format("{}:", kPatternsKey));
    for (const PatternConfig& pattern : config.patterns) {
      line(2, fmt::format("- {}:", yamlText(pattern.pattern)));
      std::vector<std::string> sizes;
      for (const std::uint64_t size : pattern.sizes) sizes.push_back(sizeLiteral(size));
      line(6, fmt::format("{}: {}", kSizesKey, yamlList(sizes, 8)));
      if (const Group* group = find(catalogue_.patterns, pattern.pattern)) {
        options(group->options, pattern.options, 6);
      }
    }
  }

  const Catalogue& catalogue_;
  std::string out_;
};

}  // namespace

std::string toYaml(const Catalogue& catalogue, const RunConfig& config) {
  return Writer(catalogue).write(config);
}

}  // namespace gdrbench::config
