// SPDX-License-Identifier: Apache-2.0
#include "harness/doctor/ask_library.h"

#include <chrono>

#include "harness/environment/child.h"
#include "harness/environment/fields_json.h"

namespace gdrbench::doctor {

template <class V>
static void fields(V& v, Library& x) {
  v("user", x.user);
  v("name", x.name);
  v("version", x.version);
  v("headers", x.headers);
  v("path", x.path);
  v("cuda", x.cuda);
  v("usable", x.usable);
  v("unusable", x.unusable);
}

Library askLibrary(const std::string& user, const std::function<Result<Library>()>& ask) {
  const auto failed = [&](const Error& error) {
    return Library{.user = user, .version = Known<std::string>::unknown(error.what())};
  };
  const auto text = inChild("ask the library of " + user, std::chrono::seconds(20),
                            [&] { return fields_json::answerText(ask()); });
  if (!text) return failed(text.error());
  auto library = fields_json::answerFrom<Library>(*text, "the answer about " + user);
  if (!library) return failed(library.error());
  library->user = user;
  return *std::move(library);
}

}  // namespace gdrbench::doctor
