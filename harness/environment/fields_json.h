// SPDX-License-Identifier: Apache-2.0
// Structs as JSON by one list of their fields for both directions:
//
//   template <class V> void fields(V& v, Point& p) { v("x", p.x); v("y", p.y); }
//
// in the namespace of the struct. Costs seconds to compile: .cpp files only.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <concepts>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/core/json.h"
#include "harness/core/result.h"
#include "harness/core/text.h"
#include "harness/environment/known.h"

namespace gdrbench {

template <class V>
void fields(V& v, Error& x) {
  v("code", x.code);
  v("tried", x.tried);
  v("native_code", x.nativeCode);
  v("native_text", x.nativeText);
  v("next", x.next);
}

}  // namespace gdrbench

namespace gdrbench::fields_json {

namespace json = boost::json;

/// What does not fit, and where: "checks[3].level". read() throws it; who calls read() catches.
class Misfit : public std::exception {
 public:
  Misfit(std::string place, std::string wrong)
      : place_(std::move(place)), wrong_(std::move(wrong)) {}
  [[nodiscard]] Misfit inside(const std::string& outer) const {
    const bool joined = place_.empty() || place_.front() == '[';
    return {outer + (joined ? "" : ".") + place_, wrong_};
  }
  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] const char* what() const noexcept override { return wrong_.c_str(); }

 private:
  std::string place_, wrong_;
};

/// An enumeration with a `wordsOf(E)` that answers its words in order is written as a word, and a
/// word that is none of them is refused; without, it is a number and only for our own processes.
template <class E>
concept Worded = std::is_enum_v<E> && requires(E e) {
  { wordsOf(e) } -> std::convertible_to<std::span<const std::string_view>>;
};

// --- out

inline json::value written(const std::string& x) {
  return json::string(asUtf8(x));
}

template <class T>
requires std::is_arithmetic_v<T> json::value written(const T& x) {
  return x;
}

template <class T>
requires std::is_enum_v<T> json::value written(const T& x) {
  if constexpr (Worded<T>) {
    const std::span<const std::string_view> words = wordsOf(x);
    return json::string(words[static_cast<std::size_t>(x)]);
  } else {
    return static_cast<int>(x);
  }
}

/// {"is": value} or {"why": text}.
template <class T>
json::value written(const Known<T>& x) {
  json::object object;
  if (x) {
    object["is"] = written(*x);
  } else {
    object["why"] = written(x.why);
  }
  return object;
}

template <class T>
json::value written(const std::vector<T>& x);

struct Writer {
  json::object object;
  template <class T>
  void operator()(const char* key, const T& x) {
    object[key] = written(x);
  }
};

template <class T>
requires requires(Writer& v, T& x) {
  fields(v, x);
}
json::value written(const T& x) {
  Writer writer;
  T copy = x;  // the list of fields serves readers too, and so takes what it may change
  fields(writer, copy);
  return writer.object;
}

template <class T>
json::value written(const std::vector<T>& x) {
  json::array array;
  for (const T& each : x) array.push_back(written(each));
  return array;
}

// --- in: throws Misfit

template <class T>
T read(const json::value& value);

/// read(), its Misfit placed inside `place`.
template <class T>
T readAt(const std::string& place, const json::value& value) {
  try {
    return read<T>(value);
  } catch (const Misfit& misfit) {
    throw misfit.inside(place);
  }
}

inline const json::object& objectIn(const json::value& value) {
  if (!value.is_object()) throw Misfit("", "is no object");
  return value.get_object();
}

inline const json::value& memberOf(const json::object& object, const char* key) {
  const json::value* member = object.if_contains(key);
  if (member == nullptr) throw Misfit(key, "is missing");
  return *member;
}

template <class T>
T wordIn(const json::value& value) {
  if (!value.is_string()) throw Misfit("", "is no text");
  const std::span<const std::string_view> words = wordsOf(T{});
  const auto found = std::find(words.begin(), words.end(), std::string_view(value.get_string()));
  if (found == words.end()) {
    throw Misfit("", "is no known word: '" + std::string(value.get_string()) + "'");
  }
  return static_cast<T>(found - words.begin());
}

template <class T>
T numberIn(const json::value& value) {
  json::error_code wrong;
  const T number = value.to_number<T>(wrong);
  if (wrong) throw Misfit("", "is no number that fits");
  return number;
}

template <class T>
struct Reads {
  static T from(const json::value& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (!value.is_string()) throw Misfit("", "is no text");
      return std::string(value.get_string());
    } else if constexpr (Worded<T>) {
      return wordIn<T>(value);
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(numberIn<int>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      if (!value.is_bool()) throw Misfit("", "is neither true nor false");
      return value.get_bool();
    } else if constexpr (std::is_arithmetic_v<T>) {
      return numberIn<T>(value);
    } else {
      T x;
      const json::object& object = objectIn(value);
      const auto reader = [&](const char* key, auto& field) {
        field = readAt<std::remove_reference_t<decltype(field)>>(key, memberOf(object, key));
      };
      fields(reader, x);
      return x;
    }
  }
};

template <class T>
struct Reads<Known<T>> {
  static Known<T> from(const json::value& value) {
    const json::object& object = objectIn(value);
    if (const json::value* is = object.if_contains("is")) return readAt<T>("is", *is);
    return Known<T>::unknown(readAt<std::string>("why", memberOf(object, "why")));
  }
};

template <class T>
struct Reads<std::vector<T>> {
  static std::vector<T> from(const json::value& value) {
    if (!value.is_array()) throw Misfit("", "is no list");
    std::vector<T> all;
    for (const json::value& each : value.get_array()) {
      all.push_back(readAt<T>("[" + std::to_string(all.size()) + "]", each));
    }
    return all;
  }
};

template <class T>
T read(const json::value& value) {
  return Reads<T>::from(value);
}

// --- the answer of a process of our own

template <class T>
std::string answerText(const Result<T>& answer) {
  json::object object;
  if (answer) {
    object["is"] = written(*answer);
  } else {
    object["error"] = written(answer.error());
  }
  return writeJson(object);
}

template <class T>
Result<T> answerFrom(std::string_view text, const std::string& source) {
  auto parsed = parseJson(text, source);
  if (!parsed) return parsed.error();
  try {
    const json::object& object = objectIn(*parsed);
    if (const json::value* error = object.if_contains("error")) return read<Error>(*error);
    return readAt<T>("is", memberOf(object, "is"));
  } catch (const Misfit& misfit) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = "read " + source,
                 .nativeText = misfit.place() + " " + misfit.what()};
  }
}

}  // namespace gdrbench::fields_json
