// SPDX-License-Identifier: Apache-2.0
#include "harness/report/document.h"

#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <limits>
#include <string_view>
#include <type_traits>
#include <unordered_set>

#include "harness/core/text.h"
#include "harness/report/document_fields.h"
#include "harness/report/document_text.h"

namespace gdrbench::report {
namespace {

namespace json = boost::json;

using evidence::name;

std::string_view name(OutcomeKind kind) {
  constexpr std::array<std::string_view, 3> kNames = {"ok", "skipped", "failed"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// The last enumerator: the words of an enum are the names of those up to it.
template <class T>
constexpr T kLast = T{};
template <>
constexpr OutcomeKind kLast<OutcomeKind> = OutcomeKind::kFailed;
template <>
constexpr ErrorCode kLast<ErrorCode> = ErrorCode::kInternal;
template <>
constexpr evidence::WitnessClass kLast<evidence::WitnessClass> =
    evidence::WitnessClass::kCapability;
template <>
constexpr evidence::Bearing kLast<evidence::Bearing> = evidence::Bearing::kFuse;
template <>
constexpr evidence::Way kLast<evidence::Way> = evidence::Way::kBoth;
template <>
constexpr evidence::Side kLast<evidence::Side> = evidence::Side::kBoth;
template <>
constexpr evidence::Outcome kLast<evidence::Outcome> = evidence::Outcome::kInsensitive;
template <>
constexpr evidence::Strength kLast<evidence::Strength> = evidence::Strength::kWeak;
template <>
constexpr evidence::PathKind kLast<evidence::PathKind> = evidence::PathKind::kSameGpu;

template <class T>
std::vector<std::pair<T, std::string_view>> wordsOf() {
  static_assert(kLast<T> != T{}, "the last enumerator is not known");
  std::vector<std::pair<T, std::string_view>> words;
  for (int i = 0; i <= static_cast<int>(kLast<T>); ++i) {
    words.emplace_back(static_cast<T>(i), name(static_cast<T>(i)));
  }
  return words;
}

/// Stands in a document beside its fields, and has been looked at before they are read.
constexpr const char* kVersionKey = "schema_version";
template <class T>
constexpr bool kVersioned = std::is_same_v<T, Document>;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

template <class T>
bool isEmpty(const T& value) {
  if constexpr (IsOptional<T>::value) {
    return !value.has_value();
  } else {
    return value.empty();
  }
}

// --- writing -------------------------------------------------------------------------------------

template <class T>
json::value write(const T& value);

/// Lists of `Skipped` are written empty.
template <class Skipped>
struct Writer {
  json::object& object;
  template <class T>
  void operator()(const char* key, const T& value, const char*) {
    if constexpr (std::is_same_v<T, std::vector<Skipped>>) {
      object.emplace(key, json::array());
    } else {
      object.emplace(key, write(value));
    }
  }
  template <class T>
  void late(const char* key, const T& value, const char* text) {
    if (!isEmpty(value)) (*this)(key, value, text);
  }
};

struct Nothing {};

template <class Skipped, class T>
json::object writeFields(const T& value) {
  json::object object;
  Writer<Skipped> writer{object};
  describe(writer, const_cast<T&>(value));  // the writer only reads
  return object;
}

json::value writeFacts(const Facts& facts) {
  json::object object;
  for (const auto& [key, value] : facts) {
    const std::string name = asUtf8(key);
    std::string unique = name;
    for (int n = 2; object.contains(unique); ++n) unique = fmt::format("{} ({})", name, n);
    object.emplace(unique, asUtf8(value));
  }
  return object;
}

template <class T>
json::value write(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return json::string(asUtf8(value));
  } else if constexpr (std::is_enum_v<T>) {
    return json::string(name(value));
  } else if constexpr (std::is_same_v<T, Facts>) {
    return writeFacts(value);
  } else if constexpr (std::is_same_v<T, std::array<double, 2>>) {
    return json::array{value[0], value[1]};
  } else if constexpr (IsOptional<T>::value) {
    return value ? write(*value) : json::value(nullptr);
  } else if constexpr (IsList<T>::value) {
    json::array array;
    array.reserve(value.size());
    for (const auto& item : value) array.push_back(write(item));
    return array;
  } else {
    return writeFields<Nothing>(value);
  }
}

// --- reading -------------------------------------------------------------------------------------

/// Where in the document: a chain on the stack, put into words only when something is wrong there.
struct Place {
  const Place* parent = nullptr;
  std::string_view key;
  std::optional<std::size_t> index = {};

  [[nodiscard]] std::string text() const {
    if (parent == nullptr) return {};
    const std::string before = parent->text();
    if (index) return fmt::format("{}[{}]", before, *index);
    return before.empty() ? std::string(key) : fmt::format("{}.{}", before, key);
  }
};

/// Thrown inside this file only.
struct Misfit {
  std::string place, what;
  Misfit(const Place& where, std::string problem) : place(where.text()), what(std::move(problem)) {}
};

template <class T>
void read(const json::value& value, T& into, const Place& place);

struct Reader {
  const json::object& object;
  const Place& place;
  std::size_t known = 0;
  template <class T>
  void operator()(const char* key, T& into, const char*) {
    const Place here{&place, key};
    const json::value* value = object.if_contains(key);
    if (value == nullptr) throw Misfit(here, "is missing");
    read(*value, into, here);
    ++known;
  }
  template <class T>
  void late(const char* key, T& into, const char* text) {
    if (object.contains(key)) (*this)(key, into, text);
  }
};

/// Names of all fields of a struct: to say which key of an object is not one.
struct NameCheck {
  std::string_view key;
  bool known = false;
  template <class T>
  void operator()(const char* field, T&, const char*) {
    known = known || key == field;
  }
  template <class T>
  void late(const char* field, T& into, const char* text) {
    (*this)(field, into, text);
  }
};

template <class T>
void refuseUnknown(const json::object& object, T& into, const Place& place) {
  for (const auto& member : object) {
    NameCheck check{member.key(), kVersioned<T> && member.key() == kVersionKey};
    describe(check, into);
    if (!check.known) throw Misfit({&place, member.key()}, "is not a known key");
  }
}

void readFacts(const json::value& value, Facts& into, const Place& place) {
  if (!value.is_object()) throw Misfit(place, "is not an object");
  into.clear();
  for (const auto& member : value.get_object()) {
    if (!member.value().is_string()) throw Misfit({&place, member.key()}, "is not a string");
    into.emplace_back(member.key(), member.value().get_string());
  }
}

template <class T>
void readNumber(const json::value& value, T& into, const Place& place) {
  json::error_code wrong;
  into = value.to_number<T>(wrong);
  if (wrong || !value.is_number()) throw Misfit(place, "is not a number of the right kind");
}

template <class T>
void readWord(const json::value& value, T& into, const Place& place) {
  if (!value.is_string()) throw Misfit(place, "is not a string");
  const std::string_view word = value.get_string();
  std::string known;
  for (const auto& [each, text] : wordsOf<T>()) {
    if (text == word) {
      into = each;
      return;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", text);
  }
  throw Misfit(place, "is none of " + known);
}

template <class T>
void readList(const json::value& value, T& into, const Place& place) {
  const json::array* array = value.if_array();
  if (array == nullptr) throw Misfit(place, "is not a list");
  into.clear();
  into.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    into.emplace_back();
    read((*array)[i], into.back(), Place{&place, {}, i});
  }
}

template <class T>
void read(const json::value& value, T& into, const Place& place) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_bool()) throw Misfit(place, "is not true or false");
    into = value.get_bool();
  } else if constexpr (std::is_arithmetic_v<T>) {
    readNumber(value, into, place);
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string()) throw Misfit(place, "is not a string");
    into = value.get_string();
  } else if constexpr (std::is_enum_v<T>) {
    readWord(value, into, place);
  } else if constexpr (std::is_same_v<T, Facts>) {
    readFacts(value, into, place);
  } else if constexpr (std::is_same_v<T, std::array<double, 2>>) {
    std::vector<double> two;
    readList(value, two, place);
    if (two.size() != 2) throw Misfit(place, "does not have two values");
    into = {two[0], two[1]};
  } else if constexpr (IsOptional<T>::value) {
    into.reset();
    if (!value.is_null()) read(value, into.emplace(), place);
  } else if constexpr (IsList<T>::value) {
    readList(value, into, place);
  } else {
    const json::object* object = value.if_object();
    if (object == nullptr) throw Misfit(place, "is not an object");
    Reader reader{*object, place, kVersioned<T> ? 1u : 0u};
    describe(reader, into);
    if (reader.known != object->size()) refuseUnknown(*object, into, place);
  }
}

template <class T>
Result<T> readWhole(const json::value& value, const char* what) {
  try {
    T into;
    read(value, into, Place{});
    return into;
  } catch (const Misfit& misfit) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = fmt::format("read {}", what),
                 .nativeText =
                     fmt::format("{} {}", misfit.place.empty() ? "it" : misfit.place, misfit.what)};
  }
}

// --- schema --------------------------------------------------------------------------------------

template <class T>
json::object schemaOf();

struct SchemaMaker {
  json::object& properties;
  json::array& required;
  template <class T>
  void operator()(const char* key, T&, const char* text) {
    json::object schema = schemaOf<T>();
    if (*text != '\0') schema.emplace("description", text);
    properties.emplace(key, std::move(schema));
    required.emplace_back(key);
  }
  template <class T>
  void late(const char* key, T& member, const char* text) {
    (*this)(key, member, text);
    required.pop_back();
  }
};

template <class T>
json::object schemaOfStruct() {
  json::object properties;
  json::array required;
  SchemaMaker maker{properties, required};
  T any{};
  describe(maker, any);
  return {{"type", "object"},
          {"additionalProperties", false},
          {"required", std::move(required)},
          {"properties", std::move(properties)}};
}

template <class T>
json::array words() {
  json::array all;
  for (const auto& known : wordsOf<T>()) all.emplace_back(known.second);
  return all;
}

template <class T>
json::object schemaOf() {
  if constexpr (std::is_same_v<T, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::is_unsigned_v<T>) {
    return {{"type", "integer"}, {"minimum", 0}};
  } else if constexpr (std::is_integral_v<T>) {
    return {{"type", "integer"}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {{"type", "number"}};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::is_enum_v<T>) {
    return {{"enum", words<T>()}};
  } else if constexpr (std::is_same_v<T, Facts>) {
    return {{"type", "object"}, {"additionalProperties", json::object{{"type", "string"}}}};
  } else if constexpr (std::is_same_v<T, std::array<double, 2>>) {
    return {{"type", "array"}, {"items", schemaOf<double>()}, {"minItems", 2}, {"maxItems", 2}};
  } else if constexpr (IsOptional<T>::value) {
    return {
        {"anyOf", json::array{schemaOf<typename T::value_type>(), json::object{{"type", "null"}}}}};
  } else if constexpr (IsList<T>::value) {
    return {{"type", "array"}, {"items", schemaOf<typename T::value_type>()}};
  } else {
    return schemaOfStruct<T>();
  }
}

json::value versioned(json::object fields) {
  json::object object{{kVersionKey, kSchemaVersion}};
  for (auto& member : fields) object.emplace(member.key(), std::move(member.value()));
  return object;
}

}  // namespace

json::value toJson(const Document& document) {
  return versioned(writeFields<Nothing>(document));
}

json::value toJsonWithoutRows(const Document& document) {
  return versioned(writeFields<Row>(document));
}

json::value toJson(const Run& run) {
  return write(run);
}

json::value toJson(const Control& control) {
  return write(control);
}

json::value toJson(const Row& row, bool withRuns) {
  return withRuns ? writeFields<Nothing>(row) : writeFields<Run>(row);
}

Status checkUniqueIds(const Document& document) {
  std::unordered_set<std::string_view> ids;
  for (std::size_t i = 0; i < document.rows.size(); ++i) {
    if (ids.insert(document.rows[i].id).second) continue;
    return Error{.code = ErrorCode::kProtocol,
                 .tried = "read a result document",
                 .nativeText = fmt::format("rows[{}].id '{}' is that of an earlier row", i,
                                           document.rows[i].id)};
  }
  return Done{};
}

Result<Document> documentFromJson(const json::value& value) {
  const json::object* object = value.if_object();
  const json::value* version = object == nullptr ? nullptr : object->if_contains(kVersionKey);
  if (version == nullptr || !version->is_int64() || version->get_int64() < 1) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = "read a result document",
                 .nativeText = "schema_version is missing: not a result of gdrbench?"};
  }
  if (version->get_int64() > kSchemaVersion) {
    return Error{
        .code = ErrorCode::kMismatch,
        .tried = "read a result document",
        .nativeText = fmt::format("schema_version {} is newer than {}, which this gdrbench "
                                  "knows",
                                  version->get_int64(), kSchemaVersion),
        .next = "use a newer gdrbench"};
  }
  Result<Document> document = readWhole<Document>(value, "a result document");
  if (document) {
    if (Status unique = checkUniqueIds(*document); !unique) return std::move(unique).error();
  }
  return document;
}

Result<Control> controlFromJson(const json::value& value) {
  return readWhole<Control>(value, "a control");
}
Result<Run> runFromJson(const json::value& value) {
  return readWhole<Run>(value, "a run");
}
Result<Row> rowFromJson(const json::value& value) {
  return readWhole<Row>(value, "a row");
}

json::value resultsSchema() {
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "gdrbench results"}};
  json::object document = schemaOf<Document>();
  document["properties"].as_object().emplace(kVersionKey, json::object{{"const", kSchemaVersion}});
  document["required"].as_array().emplace_back(kVersionKey);
  for (auto& member : document) schema.emplace(member.key(), std::move(member.value()));
  return schema;
}

}  // namespace gdrbench::report
