// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <unordered_map>

#include "harness/core/json.h"
#include "harness/report/document_text.h"
#include "harness/report/report.h"

namespace gdrbench::report {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// The folder of a run stands for the best that it holds.
std::string fileOf(const std::string& path) {
  std::error_code unreadable;
  if (!fs::is_directory(path, unreadable)) return path;
  for (const char* name : {"results.json", "results.jsonl"}) {
    const fs::path inside = fs::path(path) / name;
    if (fs::exists(inside, unreadable)) return inside.string();
  }
  return (fs::path(path) / "results.json").string();
}

Result<std::string> readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return systemError("open " + path, errno);
  std::string text;
  std::error_code unknown;
  const auto size = fs::file_size(path, unknown);
  if (!unknown) text.reserve(size);
  std::array<char, 1 << 16> piece{};
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return systemError("read " + path, EIO);
  return text;
}

/// Puts the lines of a journal together again.
class Rebuild {
 public:
  explicit Rebuild(const std::string& path) : path_(path) {}

  Status take(const json::value& line) {
    const json::object* object = line.if_object();
    if (object == nullptr || object->size() != 1) return misfit("is no line of a journal");
    const std::string_view kind = object->begin()->key();
    const json::value& body = object->begin()->value();
    if (kind == "document") return takeHeader(body);
    if (kind == "row") return takeRow(body);
    if (kind == "run" || kind == "witness") return takeRun(body, kind == "run");
    if (kind == "control") return takeControl(body);
    return misfit(fmt::format("has a line of unknown kind '{}'", kind));
  }

  Result<Document> finish() && {
    if (!hasHeader_) return misfit("has no header").error();
    document_.status = "aborted";
    note("put together from the journal of a run that did not end");
    return std::move(document_);
  }

  void note(std::string text) { document_.notes.push_back(std::move(text)); }

 private:
  Status takeHeader(const json::value& body) {
    Result<Document> document = documentFromJson(body);
    if (!document) return std::move(document).error();
    document_ = *std::move(document);
    hasHeader_ = true;
    return Done{};
  }
  Status takeRow(const json::value& body) {
    Result<Row> row = rowFromJson(body);
    if (!row) return std::move(row).error();
    const bool fresh = places_.emplace(row->id, document_.rows.size()).second;
    if (!fresh) return misfit(fmt::format("has the row '{}' twice", row->id));
    document_.rows.push_back(*std::move(row));
    return Done{};
  }
  Status takeControl(const json::value& body) {
    Result<Control> control = controlFromJson(body);
    if (!control) return std::move(control).error();
    document_.controls.push_back(*std::move(control));
    return Done{};
  }
  Status takeRun(const json::value& body, bool timed) {
    const json::object* object = body.if_object();
    const json::value* id = object == nullptr ? nullptr : object->if_contains("row");
    const json::value* result = object == nullptr ? nullptr : object->if_contains("result");
    if (id == nullptr || !id->is_string() || result == nullptr)
      return misfit("has a run of no row");
    const auto place = places_.find(std::string(id->get_string()));
    if (place == places_.end()) return misfit("has a run of an unknown row");
    Result<Run> run = runFromJson(*result);
    if (!run) return std::move(run).error();
    Row& row = document_.rows[place->second];
    if (timed) {
      row.runs.push_back(*std::move(run));
    } else {
      row.witness = *std::move(run);
    }
    return Done{};
  }
  [[nodiscard]] Status misfit(const std::string& what) const {
    return Error{
        .code = ErrorCode::kProtocol, .tried = "read " + path_, .nativeText = "it " + what};
  }

  const std::string& path_;
  Document document_;
  bool hasHeader_ = false;
  std::unordered_map<std::string, std::size_t> places_;
};

/// A run that was killed while it wrote leaves a last line without an end. What cannot be read is
/// left out with a note; the rest is what a killed run has to show.
Result<Document> fromJournal(const std::string& text, const std::string& path) {
  Rebuild rebuild(path);
  std::size_t number = 1;
  std::size_t from = 0;
  for (; from < text.size(); ++number) {
    const std::size_t end = text.find('\n', from);
    if (end == std::string::npos) break;
    const std::string_view lineText = std::string_view(text).substr(from, end - from);
    Result<json::value> line = parseJson(lineText, fmt::format("{}, line {}", path, number));
    Status taken = line ? rebuild.take(*line) : Status(std::move(line).error());
    if (!taken && number == 1) return std::move(taken).error();
    if (!taken) rebuild.note(fmt::format("line {} is left out: {}", number, taken.error().what()));
    from = end + 1;
  }
  if (from < text.size()) {
    rebuild.note(fmt::format("the last line ({}) was cut short and is left out", number));
  }
  return std::move(rebuild).finish();
}

}  // namespace

Result<Document> readDocument(const std::string& path) {
  const std::string name = fileOf(path);
  Result<std::string> text = readFile(name);
  if (!text) return std::move(text).error();
  if (text->starts_with("{\"document\":")) return fromJournal(*text, name);
  return parseDocument(*text, name);
}

}  // namespace gdrbench::report
