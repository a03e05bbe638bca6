// SPDX-License-Identifier: Apache-2.0
// configSchema: what an editor needs to complete and check a file. It is a little wider than the
// reader (a pattern cannot say "whole bytes"), never narrower.
#include <boost/json.hpp>
#include <cmath>

#include "harness/config/config.h"
#include "harness/config/describe.h"
#include "harness/config/reader.h"

namespace gdrbench::config {
namespace {

namespace json = boost::json;

constexpr std::string_view kSizePattern = "^[0-9]+(\\.[0-9]+)? ?(B|[KMGT](iB)?|kB|[MGT]B)?$";
constexpr std::string_view kDurationPattern = "^[0-9]+(\\.[0-9]+)? ?(ns|us|ms|s|min|h)$";
constexpr std::string_view kPercentPattern = "^[0-9]+(\\.[0-9]+)? ?%$";

json::object textSchema(std::string_view pattern) {
  return {{"type", "string"}, {"pattern", pattern}};
}

/// Never written as a braced list: Boost.JSON takes a list of one text for the text.
json::array names(std::initializer_list<std::string_view> words) {
  json::array out;
  for (const std::string_view word : words) out.emplace_back(word);
  return out;
}

json::object anyOf(json::array choices) {
  return {{"anyOf", std::move(choices)}};
}

json::object listOf(json::value items) {
  return {{"type", "array"}, {"items", std::move(items)}, {"minItems", 1}};
}

json::value bound(double value) {
  constexpr double kExact = 9007199254740992.0;
  if (std::trunc(value) == value && std::abs(value) <= kExact) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

void addBounds(json::object& schema, const Option& option) {
  if (std::isfinite(option.min)) schema["minimum"] = bound(option.min);
  if (std::isfinite(option.max)) schema["maximum"] = bound(option.max);
}

json::object boundedNumber(std::string_view type, const Option& option) {
  json::object schema{{"type", type}};
  addBounds(schema, option);
  return schema;
}

json::object choiceSchema(const Option& option) {
  json::array words;
  for (const std::string_view choice : option.choices) words.emplace_back(choice);
  return {{"enum", std::move(words)}};
}

json::object scalarSchema(const Option& option) {
  switch (option.type) {
    case OptionType::kBool:
      return {{"type", "boolean"}};
    case OptionType::kInteger:
      return boundedNumber("integer", option);
    case OptionType::kNumber:
      return boundedNumber("number", option);
    case OptionType::kSize:
      return anyOf({boundedNumber("integer", option), textSchema(kSizePattern)});
    case OptionType::kDuration:
      return anyOf({json::object{{"const", 0}}, textSchema(kDurationPattern)});
    case OptionType::kPercent:
      return textSchema(kPercentPattern);
    case OptionType::kChoice:
      return choiceSchema(option);
    case OptionType::kText:
      break;
  }
  // An editor sees `name: 12` as a number; here it is a text.
  return {{"type", json::array{"string", "number", "boolean"}}};
}

json::value valueJson(const Option& option, const OptionValue& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (option.type == OptionType::kInteger) return std::get<std::int64_t>(value);
  if (option.type == OptionType::kNumber) return std::get<double>(value);
  return json::value(literal(option, value));
}

void addDefault(json::object& schema, const Option& option) {
  const std::vector<OptionValue> values = defaultValues(option);
  if (values.empty()) return;
  if (values.size() == 1) {
    schema["default"] = valueJson(option, values.front());
    return;
  }
  json::array list;
  for (const OptionValue& value : values) list.push_back(valueJson(option, value));
  schema["default"] = std::move(list);
}

json::object optionSchema(const Option& option) {
  json::object schema = scalarSchema(option);
  if (option.list) schema = anyOf({schema, listOf(schema)});
  if (!option.help.empty()) schema["description"] = option.help;
  addDefault(schema, option);
  return schema;
}

/// A map of options; `properties` holds keys that are not in the table.
json::object mapSchema(OptionTable table, json::object properties, std::string_view help,
                       json::array required = {}) {
  for (const Option& option : table) {
    properties[option.name] = optionSchema(option);
    if (option.required) required.emplace_back(option.name);
  }
  json::object schema{{"type", "object"}, {"additionalProperties", false}};
  if (!help.empty()) schema["description"] = help;
  schema["properties"] = std::move(properties);
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

json::object described(json::object schema, std::string_view text) {
  schema["description"] = text;
  return schema;
}

json::object sizesSchema() {
  const json::object size =
      anyOf({json::object{{"type", "integer"}, {"minimum", 1}}, textSchema(kSizePattern)});
  json::object list = listOf(size);
  list["maxItems"] = kMostSizes;
  json::object range{{"type", "object"}, {"additionalProperties", false}};
  range["properties"] = {
      {"min", size},
      {"max", size},
      {"factor", json::object{{"type", "integer"}, {"minimum", 2}, {"default", 2}}},
      {"step", size}};
  range["required"] = json::array{"min", "max"};
  range["not"] = json::object{{"required", json::array{"factor", "step"}}};
  return described(anyOf({size, list, range}),
                   "bytes of a message: a size, a list of sizes, or a range");
}

json::object envSchema() {
  json::object schema{{"type", "object"}, {"additionalProperties", false}};
  schema["patternProperties"] = {
      {"^[A-Za-z_][A-Za-z0-9_]*$",
       json::object{{"type", json::array{"string", "number", "boolean"}}}}};
  return described(std::move(schema), "environment of its processes");
}

json::object transportKeys() {
  return {
      {kLabelKey, {{"type", "string"}, {"minLength", 1}, {"description", "name in the report"}}},
      {kEnvKey, envSchema()},
      {kLibraryKey,
       {{"type", "string"},
        {"minLength", 1},
        {"description", "path of the vendor's library to load"}}}};
}

/// {name: body} and nothing else.
json::object entrySchema(const Group& group, json::object body) {
  json::object schema{{"type", "object"}, {"additionalProperties", false}};
  schema["properties"] = {{group.name, std::move(body)}};
  schema["required"] = names({group.name});
  return schema;
}

json::object transportsSchema(const Catalogue& catalogue) {
  json::array words, entries;
  for (const Group& group : catalogue.transports) {
    words.emplace_back(group.name);
    // Without quotes, an editor takes the word null for no text.
    if (group.name == "null") words.emplace_back(nullptr);
    json::object keys = transportKeys();
    for (const Option& option : catalogue.everyTransport) keys[option.name] = optionSchema(option);
    entries.push_back(entrySchema(group, mapSchema(group.options, std::move(keys), group.help)));
  }
  entries.insert(entries.begin(), json::object{{"enum", std::move(words)}});
  return described(listOf(anyOf(std::move(entries))), "what is compared, in this order");
}

json::object patternsSchema(const Catalogue& catalogue) {
  json::array entries;
  for (const Group& group : catalogue.patterns) {
    entries.push_back(entrySchema(group, mapSchema(group.options, {{kSizesKey, sizesSchema()}},
                                                   group.help, names({kSizesKey}))));
  }
  return described(listOf(anyOf(std::move(entries))), "what is measured");
}

json::object memorySchema() {
  const json::object name{{"type", "string"}, {"minLength", 1}};
  json::object pair{{"type", "object"}, {"additionalProperties", false}};
  pair["properties"] = {{"src", name}, {"dst", name}};
  pair["required"] = json::array{"src", "dst"};
  json::object schema = anyOf({name, pair, listOf(anyOf({name, pair}))});
  schema["default"] = names({"host"});
  return described(std::move(schema),
                   "memory of both sides, or of the initiator (src) and the responder (dst)");
}

json::object includeSchema() {
  const json::object name{{"type", "string"}, {"minLength", 1}};
  return described(anyOf({name, listOf(name)}), "files that this one completes");
}

}  // namespace

json::value configSchema(const Catalogue& catalogue) {
  json::object properties{{kIncludeKey, includeSchema()},
                          {kTransportsKey, transportsSchema(catalogue)},
                          {kPatternsKey, patternsSchema(catalogue)},
                          {kMemoryKey, memorySchema()}};
  for (const Group& group : catalogue.groups) {
    properties[group.name] = mapSchema(group.options, {}, group.help);
  }
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "gdrbench configuration"}};
  json::object body = mapSchema(catalogue.run, std::move(properties), {});
  // What is required may also come from an included file.
  json::array required = body.contains("required") ? body["required"].as_array() : json::array();
  body.erase("required");
  required.emplace_back(kTransportsKey);
  required.emplace_back(kPatternsKey);
  for (auto& [key, value] : body) schema[key] = std::move(value);
  schema["patternProperties"] = {{"^x-", true}};
  schema["anyOf"] = {json::object{{"required", names({kIncludeKey})}},
                     json::object{{"required", std::move(required)}}};
  return schema;
}

}  // namespace gdrbench::config
