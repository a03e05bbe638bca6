// SPDX-License-Identifier: Apache-2.0
// parseYaml over the events of libfyaml, not over its documents: a document resolves aliases
// without bound, hides a second document and checks duplicate keys in quadratic time.
#include <fmt/format.h>
#include <libfyaml.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <unordered_set>

#include "harness/config/quoted.h"
#include "harness/config/utf8.h"
#include "harness/config/yaml_node.h"

namespace gdrbench::config {
namespace {

constexpr std::size_t kDeepest = 64;

struct ParserCloser {
  void operator()(fy_parser* parser) const { fy_parser_destroy(parser); }
};
struct DiagCloser {
  void operator()(fy_diag* diag) const { fy_diag_destroy(diag); }
};

/// libfyaml's parser with its complaints kept as data; by default it prints them.
class Events {
 public:
  explicit Events(std::string_view text) {
    fy_diag_cfg collect{};
    fy_diag_cfg_default(&collect);
    collect.fp = nullptr;
    diag_.reset(fy_diag_create(&collect));
    if (!diag_) return;
    fy_diag_set_collect_errors(diag_.get(), true);
    fy_parse_cfg config{};
    config.flags = static_cast<fy_parse_cfg_flags>(static_cast<unsigned>(FYPCF_QUIET) |
                                                   static_cast<unsigned>(FYPCF_JSON_NONE));
    config.diag = diag_.get();
    parser_.reset(fy_parser_create(&config));
    if (parser_ && fy_parser_set_string(parser_.get(), text.data(), text.size()) != 0) {
      parser_.reset();
    }
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() { release(); }

  /// The next event, valid until the next call; nullptr at the end and after an error.
  fy_event* next() {
    release();
    if (parser_) event_ = fy_parser_parse(parser_.get());
    return event_;
  }

  /// Empty at a proper end.
  struct Complaint {
    std::string text;
    int line = 0, column = 0;
  };
  [[nodiscard]] Complaint complaint() const {
    if (!parser_) return {"the YAML parser did not start", 1, 1};
    if (!fy_parser_get_stream_error(parser_.get())) return {};
    void* iterator = nullptr;
    while (const fy_diag_error* error = fy_diag_errors_iterate(diag_.get(), &iterator)) {
      if (error->type == FYET_ERROR && error->msg != nullptr) {
        return {error->msg, error->line, error->column};
      }
    }
    return {"not valid YAML", 1, 1};
  }

 private:
  void release() {
    if (event_ != nullptr) fy_parser_event_free(parser_.get(), event_);
    event_ = nullptr;
  }
  // The parser goes first: it uses the diagnostics.
  std::unique_ptr<fy_diag, DiagCloser> diag_;
  std::unique_ptr<fy_parser, ParserCloser> parser_;
  fy_event* event_ = nullptr;
};

struct IteratorCloser {
  void operator()(fy_token_iter* iterator) const { fy_token_iter_destroy(iterator); }
};

/// Piece by piece: libfyaml's own way to the whole text leaks memory when the text has many pieces
/// (escapes, lines).
bool readText(fy_token* token, std::string& text) {
  if (token == nullptr) return true;
  const std::unique_ptr<fy_token_iter, IteratorCloser> iterator(fy_token_iter_create(token));
  if (!iterator) return false;
  int failed = 0;
  const fy_iter_chunk* piece = fy_token_iter_chunk_next(iterator.get(), nullptr, &failed);
  while (piece != nullptr) {
    text.append(piece->str, piece->len);
    piece = fy_token_iter_chunk_next(iterator.get(), piece, &failed);
  }
  return failed == 0;
}

/// Of an anchor; without one, or when it cannot be read, empty: an alias to it then finds nothing.
std::string nameOf(fy_token* anchor) {
  std::string name;
  return readText(anchor, name) ? name : std::string();
}

/// A finished node with its cost: how many nodes it is, and how many levels.
struct Built {
  Node node;
  std::size_t size = 1;
  std::size_t height = 1;
};

/// A list or a map that is still open.
struct Frame {
  Built built;
  std::string anchor;
  std::optional<Member> pending;  ///< a key that waits for its value
  bool pendingMerges = false;     ///< that key is a plain `<<`
  std::optional<Node> merge;      ///< the value of `<<`
  std::unordered_set<std::string> keys;
};

class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const Source& source, Budget& budget)
      : text_(text), source_(source), budget_(budget) {}

  Status take(fy_event& event);
  Result<Node> finish();
  [[nodiscard]] Error fail(const Mark& mark, std::string text, std::string next = {}) const {
    return errorAt(mark.place(), std::move(text), std::move(next));
  }
  [[nodiscard]] Mark markAt(int line, int column) const {
    return source_.hasLines ? Mark{source_.name, line, column} : Mark{source_.name, 0, 0};
  }

 private:
  Status takeDocument();
  Status takeScalar(fy_event& event);
  [[nodiscard]] Status readValue(fy_event& event, std::string& text) const;
  [[nodiscard]] std::string_view behindQuote(fy_event& event) const;
  Status takeAlias(fy_event& event);
  Status open(Node::Kind kind, fy_token* anchor);
  Status close();
  Status attach(Built built, const std::string& anchor);
  Status attachToMap(Frame& frame, Built built);
  Status takeKey(Frame& frame, Node key);
  Status applyMerge(Frame& frame);
  Status checkNode(fy_token* tag);
  Status remember(const std::string& anchor, const Built& built);
  Status spendOnAliases(std::size_t nodes);
  void advance(fy_event& event);

  std::string_view text_;
  const Source& source_;
  Budget& budget_;
  std::vector<Frame> frames_;
  std::unordered_map<std::string, Built> anchors_;
  std::optional<Node> root_;
  int documents_ = 0;
  Mark here_;
};

/// libfyaml marks a quoted text behind its quote and an alias behind its star.
bool isMarkedLate(const fy_event& event) {
  if (event.type == FYET_ALIAS) return true;
  if (event.type != FYET_SCALAR || event.scalar.value == nullptr) return false;
  const fy_scalar_style style = fy_token_scalar_style(event.scalar.value);
  return style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED;
}

/// A node that is absent has no mark: it stands where the last one did.
void TreeBuilder::advance(fy_event& event) {
  if (const fy_mark* mark = fy_event_start_mark(&event)) {
    here_ = markAt(mark->line + 1, mark->column + (isMarkedLate(event) ? 0 : 1));
  }
}

Status TreeBuilder::take(fy_event& event) {
  advance(event);
  switch (event.type) {
    case FYET_DOCUMENT_START:
      return takeDocument();
    case FYET_SCALAR:
      return takeScalar(event);
    case FYET_ALIAS:
      return takeAlias(event);
    case FYET_MAPPING_START:
      if (Status ok = checkNode(event.mapping_start.tag); !ok) return ok;
      return open(Node::Kind::kMap, event.mapping_start.anchor);
    case FYET_SEQUENCE_START:
      if (Status ok = checkNode(event.sequence_start.tag); !ok) return ok;
      return open(Node::Kind::kList, event.sequence_start.anchor);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
      return close();
    default:
      return Done{};
  }
}

Status TreeBuilder::takeDocument() {
  if (++documents_ == 1) return Done{};
  return fail(here_, "a second YAML document begins here", "put one configuration in one file");
}

Status TreeBuilder::checkNode(fy_token* tag) {
  if (tag != nullptr) return fail(here_, "YAML tags are not supported", "remove the '!...'");
  if (budget_.nodes == 0) return fail(here_, "more than 500,000 values in all files together");
  --budget_.nodes;
  return Done{};
}

Status TreeBuilder::takeScalar(fy_event& event) {
  if (Status ok = checkNode(event.scalar.tag); !ok) return ok;
  Built built;
  built.node.mark = here_;
  if (Status ok = readValue(event, built.node.text); !ok) return ok;
  built.node.plain =
      event.scalar.value == nullptr || fy_token_scalar_style(event.scalar.value) == FYSS_PLAIN;
  // Escapes in double quotes can make what the file itself may not hold.
  if (const TextFault fault = checkText(built.node.text); !fault.problem.empty()) {
    return fail(here_, fmt::format("the value contains {}", fault.problem));
  }
  return attach(std::move(built), nameOf(event.scalar.anchor));
}

/// The text as it stands in the file, from behind the opening quote.
std::string_view TreeBuilder::behindQuote(fy_event& event) const {
  const fy_mark* mark = fy_event_start_mark(&event);
  const bool isInside = mark != nullptr && mark->input_pos <= text_.size();
  return isInside ? text_.substr(mark->input_pos) : std::string_view();
}

Status TreeBuilder::readValue(fy_event& event, std::string& text) const {
  fy_token* token = event.scalar.value;
  const fy_scalar_style style = token == nullptr ? FYSS_PLAIN : fy_token_scalar_style(token);
  if (style == FYSS_SINGLE_QUOTED) {
    std::optional<std::string> value = readSingleQuoted(behindQuote(event));
    if (!value) return fail(here_, "the value cannot be read");
    text = std::move(*value);
    return Done{};
  }
  if (style == FYSS_DOUBLE_QUOTED && hasEscapeAndLineEnd(behindQuote(event))) {
    return fail(here_, "a text in double quotes with '\\' in it must stand on one line",
                "write \\n for a line end");
  }
  if (!readText(token, text)) return fail(here_, "the value cannot be read");
  return Done{};
}

Status TreeBuilder::takeAlias(fy_event& event) {
  if (Status ok = checkNode(nullptr); !ok) return ok;
  const std::string name = nameOf(event.alias.anchor);
  for (const Frame& frame : frames_) {
    if (frame.anchor == name) return fail(here_, fmt::format("'*{}' contains itself", shown(name)));
  }
  const auto found = anchors_.find(name);
  if (found == anchors_.end()) {
    return fail(here_, fmt::format("no anchor '&{}' stands above this alias", shown(name)));
  }
  if (Status ok = spendOnAliases(found->second.size); !ok) return ok;
  return attach(found->second, {});
}

Status TreeBuilder::spendOnAliases(std::size_t nodes) {
  if (nodes > budget_.aliasNodes) {
    return fail(here_, "anchors and aliases unfold to more than 100,000 values");
  }
  budget_.aliasNodes -= nodes;
  return Done{};
}

Status TreeBuilder::open(Node::Kind kind, fy_token* anchor) {
  if (frames_.size() >= kDeepest) return fail(here_, "nested deeper than 64 levels");
  Frame frame;
  frame.built.node.kind = kind;
  frame.built.node.mark = here_;
  frame.anchor = nameOf(anchor);
  frames_.push_back(std::move(frame));
  return Done{};
}

Status TreeBuilder::close() {
  if (frames_.empty()) return fail(here_, "not valid YAML");
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  if (Status ok = applyMerge(frame); !ok) return ok;
  return attach(std::move(frame.built), frame.anchor);
}

Status TreeBuilder::remember(const std::string& anchor, const Built& built) {
  if (anchor.empty()) return Done{};
  // The copy counts too: nested anchors would multiply a large list by their depth.
  if (Status ok = spendOnAliases(built.size); !ok) return ok;
  anchors_.insert_or_assign(anchor, built);
  return Done{};
}

Status TreeBuilder::attach(Built built, const std::string& anchor) {
  // Aliases of aliases get deep without any deep line in the file.
  if (frames_.size() + built.height > kDeepest + 1) {
    return fail(here_, "nested deeper than 64 levels");
  }
  if (Status ok = remember(anchor, built); !ok) return ok;
  if (frames_.empty()) {
    root_ = std::move(built.node);
    return Done{};
  }
  Frame& parent = frames_.back();
  parent.built.size += built.size;
  parent.built.height = std::max(parent.built.height, built.height + 1);
  if (parent.built.node.kind == Node::Kind::kMap) return attachToMap(parent, std::move(built));
  parent.built.node.items.push_back(std::move(built.node));
  return Done{};
}

Status TreeBuilder::attachToMap(Frame& frame, Built built) {
  if (!frame.pending) return takeKey(frame, std::move(built.node));
  if (frame.pendingMerges) {
    frame.merge = std::move(built.node);
  } else {
    frame.pending->value = std::move(built.node);
    frame.built.node.members.push_back(std::move(*frame.pending));
  }
  frame.pending.reset();
  return Done{};
}

Status TreeBuilder::takeKey(Frame& frame, Node key) {
  if (key.kind != Node::Kind::kScalar) return fail(key.mark, "a key must be a plain word");
  if (key.text.empty() || (key.plain && key.text == "~"))
    return fail(key.mark, "a key is missing before ':'");
  frame.pendingMerges = key.plain && key.text == "<<";
  if (!frame.keys.insert(key.text).second) {
    return fail(key.mark, fmt::format("duplicate key '{}'", shown(key.text)));
  }
  frame.pending = Member{std::move(key.text), key.mark, {}};
  return Done{};
}

/// Keys of the map itself win over merged ones, and earlier maps over later ones.
Status TreeBuilder::applyMerge(Frame& frame) {
  if (!frame.merge) return Done{};
  std::vector<Node> maps;
  if (frame.merge->kind == Node::Kind::kList) {
    maps = std::move(frame.merge->items);
  } else {
    maps.push_back(std::move(*frame.merge));
  }
  for (Node& map : maps) {
    if (map.kind != Node::Kind::kMap) {
      return fail(map.mark, "'<<' takes a map or a list of maps", "write '<<: *name'");
    }
    for (Member& member : map.members) {
      if (!frame.keys.insert(member.key).second) continue;
      frame.built.node.members.push_back(std::move(member));
    }
  }
  return Done{};
}

Result<Node> TreeBuilder::finish() {
  if (!root_) return fail({source_.name, 0, 0}, "is empty: there is no configuration in it");
  return std::move(*root_);
}

Status checkBytes(std::string_view text, const Source& source, Budget& budget) {
  const Mark whole{source.name, 0, 0};
  if (text.size() > budget.bytes) {
    return errorAt(whole.place(), "is too large: all files together may have 4 MiB");
  }
  budget.bytes -= text.size();
  const TextFault fault = checkText(text);
  if (fault.problem.empty()) return Done{};
  const Mark at = source.hasLines ? Mark{source.name, fault.line, fault.column} : whole;
  return errorAt(at.place(),
                 fmt::format("the text contains {}", fault.problem == "not valid UTF-8"
                                                         ? "bytes that are not valid UTF-8"
                                                         : fault.problem));
}

}  // namespace

Result<Node> parseYaml(std::string_view text, const Source& source, Budget& budget) {
  if (Status ok = checkBytes(text, source, budget); !ok) return ok.error();
  TreeBuilder builder(text, source, budget);
  Events events(text);
  while (fy_event* event = events.next()) {
    if (Status ok = builder.take(*event); !ok) return ok.error();
  }
  const Events::Complaint complaint = events.complaint();
  if (!complaint.text.empty()) {
    return builder.fail(builder.markAt(complaint.line, complaint.column), complaint.text);
  }
  return builder.finish();
}

}  // namespace gdrbench::config
