// SPDX-License-Identifier: Apache-2.0
#include "harness/core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "harness/core/text.h"

namespace gdrbench {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostDepth = 64;

// --- writing -------------------------------------------------------------------------------------

void writeString(std::string& out, std::string_view raw) {
  const bool ascii = std::all_of(raw.begin(), raw.end(), [](char c) { return (c & 0x80) == 0; });
  const std::string repaired = ascii ? std::string() : asUtf8(raw);
  const std::string_view text = ascii ? raw : repaired;
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

void writeDouble(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end);
}

bool isPlainNumbers(const json::array& array) {
  return std::all_of(array.begin(), array.end(),
                     [](const json::value& v) { return v.is_number() || v.is_null(); });
}

class Writer {
 public:
  explicit Writer(bool pretty) : pretty_(pretty) {}

  void write(const json::value& value) {
    switch (value.kind()) {
      case json::kind::null:
        out += "null";
        break;
      case json::kind::bool_:
        out += value.get_bool() ? "true" : "false";
        break;
      case json::kind::int64:
        out += std::to_string(value.get_int64());
        break;
      case json::kind::uint64:
        out += std::to_string(value.get_uint64());
        break;
      case json::kind::double_:
        writeDouble(out, value.get_double());
        break;
      case json::kind::string:
        writeString(out, value.get_string());
        break;
      case json::kind::array:
        writeArray(value.get_array());
        break;
      case json::kind::object:
        writeObject(value.get_object());
        break;
    }
  }

  std::string out;

 private:
  void writeArray(const json::array& array) {
    const bool broken = pretty_ && !array.empty() && !isPlainNumbers(array);
    out += '[';
    ++depth_;
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i != 0) out += broken || !pretty_ ? "," : ", ";
      if (broken) newLine();
      write(array[i]);
    }
    --depth_;
    if (broken) newLine();
    out += ']';
  }

  void writeObject(const json::object& object) {
    out += '{';
    ++depth_;
    bool first = true;
    for (const auto& [key, value] : object) {
      if (!first) out += ',';
      first = false;
      if (pretty_) newLine();
      writeString(out, key);
      out += pretty_ ? ": " : ":";
      write(value);
    }
    --depth_;
    if (pretty_ && !first) newLine();
    out += '}';
  }

  void newLine() {
    out += '\n';
    out.append(depth_ * 2, ' ');
  }

  bool pretty_;
  std::size_t depth_ = 0;
};

// --- reading -------------------------------------------------------------------------------------

/// Sees every key of a text and finds the first that stands twice in one object.
struct KeyCheck {
  static constexpr std::size_t max_object_size = ~std::size_t{0};
  static constexpr std::size_t max_array_size = ~std::size_t{0};
  static constexpr std::size_t max_key_size = 1u << 20;
  static constexpr std::size_t max_string_size = ~std::size_t{0};

  using View = json::string_view;
  using Code = json::error_code;

  std::vector<std::set<std::string, std::less<>>> objects;
  std::string key;
  std::optional<std::string> twice;

  bool on_object_begin(Code&) {
    objects.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, Code&) {
    objects.pop_back();
    return true;
  }
  bool on_key_part(View part, std::size_t, Code&) {
    key.append(part.data(), part.size());
    return true;
  }
  bool on_key(View part, std::size_t, Code&) {
    key.append(part.data(), part.size());
    if (!objects.back().insert(key).second && !twice) twice = key;
    key.clear();
    return !twice;
  }
  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_array_end(std::size_t, Code&) { return true; }
  bool on_string_part(View, std::size_t, Code&) { return true; }
  bool on_string(View, std::size_t, Code&) { return true; }
  bool on_number_part(View, Code&) { return true; }
  bool on_int64(std::int64_t, View, Code&) { return true; }
  bool on_uint64(std::uint64_t, View, Code&) { return true; }
  bool on_double(double, View, Code&) { return true; }
  bool on_bool(bool, Code&) { return true; }
  bool on_null(Code&) { return true; }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }
};

/// Builds the value. Boost's own parser makes doubles that are off by an ulp or so in one case of
/// five; here each is read again from its text. Equal keys are noticed by their hashes only:
/// KeyCheck looks closer.
struct Builder {
  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();

  using View = json::string_view;
  using Code = json::error_code;

  json::value_stack stack;
  std::vector<std::size_t> hashes, starts;  ///< of the keys of all open objects
  std::string key, number;                  ///< parts that came so far
  bool equalKeys = false;
  bool tooLarge = false;  ///< a number beyond a double

  bool on_object_begin(Code&) {
    starts.push_back(hashes.size());
    return true;
  }
  bool on_object_end(std::size_t n, Code&) {
    const auto first = hashes.begin() + static_cast<std::ptrdiff_t>(starts.back());
    std::sort(first, hashes.end());
    equalKeys = equalKeys || std::adjacent_find(first, hashes.end()) != hashes.end();
    hashes.erase(first, hashes.end());
    starts.pop_back();
    stack.push_object(n);
    return true;
  }
  bool on_key_part(View part, std::size_t, Code&) {
    key.append(part.data(), part.size());
    stack.push_chars(part);
    return true;
  }
  bool on_key(View part, std::size_t, Code&) {
    key.append(part.data(), part.size());
    hashes.push_back(std::hash<std::string_view>()(key));
    key.clear();
    stack.push_key(part);
    return true;
  }
  bool on_array_end(std::size_t n, Code&) {
    stack.push_array(n);
    return true;
  }
  bool on_string_part(View part, std::size_t, Code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(View part, std::size_t, Code&) {
    stack.push_string(part);
    return true;
  }
  bool on_number_part(View part, Code&) {
    number.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t value, View, Code&) {
    number.clear();
    stack.push_int64(value);
    return true;
  }
  bool on_uint64(std::uint64_t value, View, Code&) {
    number.clear();
    stack.push_uint64(value);
    return true;
  }
  bool on_double(double value, View part, Code&) {
    number.append(part.data(), part.size());
    double exact = value;
    // Out of range leaves what Boost made of it: zero or infinity.
    std::from_chars(number.data(), number.data() + number.size(), exact);
    number.clear();
    tooLarge = !std::isfinite(exact);
    if (tooLarge) return false;
    stack.push_double(exact);
    return true;
  }
  bool on_bool(bool value, Code&) {
    stack.push_bool(value);
    return true;
  }
  bool on_null(Code&) {
    stack.push_null();
    return true;
  }
  bool on_document_begin(Code&) { return true; }
  bool on_document_end(Code&) { return true; }
  bool on_array_begin(Code&) { return true; }
  bool on_comment_part(View, Code&) { return true; }
  bool on_comment(View, Code&) { return true; }
};

Error unreadable(std::string_view text, std::string_view source, std::size_t offset,
                 std::string_view what) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t lineStart =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {.code = ErrorCode::kProtocol,
          .tried = fmt::format("read {} as JSON", source),
          .nativeText =
              fmt::format("line {}, column {}: {}", line, before.size() - lineStart + 1, what)};
}

}  // namespace

std::string writeJson(const json::value& value) {
  Writer writer(false);
  writer.write(value);
  return std::move(writer.out);
}

std::string writeJsonPretty(const json::value& value) {
  Writer writer(true);
  writer.write(value);
  return std::move(writer.out);
}

Result<json::value> parseJson(std::string_view text, std::string_view source) {
  json::parse_options options;
  options.max_depth = kMostDepth;
  options.allow_invalid_utf8 = false;

  json::basic_parser<Builder> parser(options);
  json::error_code wrong;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), wrong);
  if (parser.handler().tooLarge) {
    return unreadable(text, source, read, "a number is beyond what a double can hold");
  }
  if (wrong) return unreadable(text, source, read, wrong.message());
  if (read < text.size() && text.find_first_not_of(" \t\r\n", read) != std::string_view::npos) {
    return unreadable(text, source, read, "text after the end");
  }
  if (parser.handler().equalKeys) {
    json::basic_parser<KeyCheck> keys(options);
    const std::size_t seen = keys.write_some(false, text.data(), text.size(), wrong);
    if (const auto& twice = keys.handler().twice; twice) {
      return unreadable(text, source, seen, fmt::format("the key '{}' stands twice", *twice));
    }
  }

  return parser.handler().stack.release();
}

}  // namespace gdrbench
