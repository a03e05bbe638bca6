// SPDX-License-Identifier: Apache-2.0
#include "harness/config/include.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace gdrbench::config {
namespace fs = std::filesystem;
namespace {

class TreeReader {
 public:
  explicit TreeReader(Budget& budget) : budget_(budget) {}

  /// `from`: where the include stands; nullptr for the file that the user named.
  Result<Node> file(const fs::path& path, const Mark* from);
  Result<Node> text(std::string_view content, const std::string& name, const fs::path& folder);

 private:
  [[nodiscard]] static Error fail(const fs::path& path, const Mark* from, std::string problem);
  Result<std::string> content(const fs::path& path, const Mark* from);
  Status enter(const fs::path& path, const Mark* from);
  Result<Node> resolved(Node root, const fs::path& folder);
  Result<Node> includedBy(const Node& include, const fs::path& folder);

  struct OpenFile {
    fs::path canonical;
    std::string shown;
  };
  Budget& budget_;
  std::vector<OpenFile> open_;  ///< from the user's file to the one being read
};

Error TreeReader::fail(const fs::path& path, const Mark* from, std::string problem) {
  if (from == nullptr) return errorAt({path.string(), 0, 0}, std::move(problem));
  return errorAt(from->place(),
                 fmt::format("cannot include '{}': {}", shown(path.string()), problem));
}

/// Also takes a pipe from the user, but an include only reads files: nothing that waits or has no
/// end can be reached from inside a configuration.
Result<std::string> TreeReader::content(const fs::path& path, const Mark* from) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (!fs::exists(status)) return fail(path, from, "there is no such file");
  if (fs::is_directory(status)) return fail(path, from, "this is a folder, not a file");
  if (from != nullptr && !fs::is_regular_file(status)) {
    return fail(path, from, "this is not a regular file");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(path, from, "the file cannot be opened");
  std::string text;
  std::vector<char> piece(std::size_t{64} << 10);
  while (in && text.size() <= budget_.bytes) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) return fail(path, from, "the file cannot be read");
  return text;
}

Status TreeReader::enter(const fs::path& path, const Mark* from) {
  if (budget_.files == 0) return fail(path, from, "more than 64 files");
  --budget_.files;
  std::error_code failed;
  fs::path canonical = fs::canonical(path, failed);
  if (failed) canonical = path;
  const bool isOpen = std::any_of(open_.begin(), open_.end(), [&](const OpenFile& file) {
    return file.canonical == canonical;
  });
  if (isOpen) {
    std::string chain;
    for (const OpenFile& file : open_) chain += file.shown + " -> ";
    return fail(path, from, "the files include each other: " + chain + path.string());
  }
  open_.push_back({std::move(canonical), path.string()});
  return Done{};
}

Result<Node> TreeReader::file(const fs::path& path, const Mark* from) {
  Result<std::string> text = content(path, from);
  if (!text) return text.error();
  if (Status ok = enter(path, from); !ok) return ok.error();
  Result<Node> root = this->text(*text, path.string(), path.parent_path());
  open_.pop_back();
  return root;
}

Result<Node> TreeReader::text(std::string_view content, const std::string& name,
                              const fs::path& folder) {
  const Source source{std::make_shared<const std::string>(name)};
  Result<Node> root = parseYaml(content, source, budget_);
  if (!root) return root;
  if (root->isNull()) {
    return errorAt({name, 0, 0}, "is empty: there is no configuration in it");
  }
  if (root->kind != Node::Kind::kMap) {
    return errorAt(root->mark.place(), "a configuration is a map of keys ('key: value' lines)");
  }
  return resolved(std::move(*root), folder);
}

Result<Node> TreeReader::resolved(Node root, const fs::path& folder) {
  const auto include = std::find_if(root.members.begin(), root.members.end(),
                                    [](const Member& member) { return member.key == "include"; });
  if (include == root.members.end()) return root;
  const Node files = std::move(include->value);
  root.members.erase(include);
  Result<Node> base = includedBy(files, folder);
  if (!base) return base;
  return mergeDeep(std::move(*base), std::move(root));
}

Result<Node> TreeReader::includedBy(const Node& include, const fs::path& folder) {
  Node base;
  base.kind = Node::Kind::kMap;
  const bool isList = include.kind == Node::Kind::kList;
  const std::size_t count = isList ? include.items.size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& name = isList ? include.items[i] : include;
    if (name.kind != Node::Kind::kScalar) {
      return errorAt(name.mark.place(), "'include' takes a file name or a list of file names");
    }
    if (name.isNull() || name.text.empty()) {
      return errorAt(name.mark.place(), "key 'include' has no value");
    }
    Result<Node> part = file((folder / name.text).lexically_normal(), &name.mark);
    if (!part) return part;
    base = mergeDeep(std::move(base), std::move(*part));
  }
  return base;
}

}  // namespace

Result<Node> readTree(const std::string& path, Budget& budget) {
  return TreeReader(budget).file(path, nullptr);
}

Result<Node> treeFromText(std::string_view text, const std::string& nameOfText, Budget& budget) {
  return TreeReader(budget).text(text, nameOfText, {});
}

}  // namespace gdrbench::config
