// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "harness/doctor/examination.h"
#include "harness/environment/fields_json.h"

namespace gdrbench::doctor {

namespace json = boost::json;

template <class V>
static void fields(V& v, Fact& x) {
  v("key", x.key);
  v("value", x.value);
}

template <class V>
static void fields(V& v, Check& x) {
  v("id", x.id);
  v("group", x.group);
  v("subject", x.subject);
  v("level", x.level);
  v("effect", x.effect);
  v("finding", x.finding);
  v("remedy", x.remedy);
  v("documented", x.documented);
}

template <class V>
static void fields(V& v, Conclusion& x) {
  v("kind", x.kind);
  v("subject", x.subject);
  v("verdict", x.verdict);
  v("why", x.why);
  v("decided_by", x.decidedBy);
}

template <class V>
static void fields(V& v, Examination& x) {
  v("gdrbench", x.program);
  v("host", x.host);
  v("facts", x.facts);
  v("checks", x.checks);
  v("conclusions", x.conclusions);
}

namespace {

constexpr const char* kSchema = "gdrbench-doctor";
constexpr const char* kNext = "give the output of 'gdrbench doctor --json' of the other machine";

/// The schema first: of another one nothing else needs to fit.
void checkSchema(const json::value& value) {
  const json::object& object = fields_json::objectIn(value);
  const auto schema =
      fields_json::readAt<std::string>("schema", fields_json::memberOf(object, "schema"));
  if (schema != kSchema) throw fields_json::Misfit("schema", fmt::format("is not {}", kSchema));
  const auto version =
      fields_json::readAt<int>("schema_version", fields_json::memberOf(object, "schema_version"));
  if (version != kSchemaVersion) {
    throw fields_json::Misfit("schema_version", fmt::format("is {}, and this gdrbench reads {}",
                                                            version, kSchemaVersion));
  }
}

}  // namespace

std::string toJson(const Examination& examination) {
  json::object object;
  object["schema"] = kSchema;
  object["schema_version"] = kSchemaVersion;
  json::value body = fields_json::written(examination);
  for (auto& [key, value] : body.get_object()) object[key] = std::move(value);
  return writeJsonPretty(object);
}

Result<Examination> examinationFromJson(std::string_view text, const std::string& source) {
  auto value = parseJson(text, source);
  if (!value) {
    value.error().next = kNext;
    return value.error();
  }
  try {
    checkSchema(*value);
    return fields_json::read<Examination>(*value);
  } catch (const fields_json::Misfit& misfit) {
    const std::string place = misfit.place().empty() ? "the document" : misfit.place();
    return Error{.code = ErrorCode::kMismatch,
                 .tried = "read " + source,
                 .nativeText = fmt::format("{} {}", place, misfit.what()),
                 .next = kNext};
  }
}

}  // namespace gdrbench::doctor
