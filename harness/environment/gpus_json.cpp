// SPDX-License-Identifier: Apache-2.0
#include "harness/environment/gpus_json.h"

#include <boost/json.hpp>
#include <type_traits>

#include "harness/core/json.h"
#include "harness/core/text.h"

namespace gdrbench {
namespace {

namespace json = boost::json;

// --- the fields, once for both directions

template <class V>
void fields(V& v, Gpu& x) {
  v("index", x.index);
  v("pci", x.pci);
  v("problem", x.problem);
  v("name", x.name);
  v("uuid", x.uuid);
  v("memory", x.memoryBytes);
  v("bar1", x.bar1Bytes);
  v("sm_mhz", x.smMHz);
  v("sm_max_mhz", x.smMaxMHz);
  v("memory_mhz", x.memoryMHz);
  v("memory_max_mhz", x.memoryMaxMHz);
  v("ecc", x.ecc);
  v("persistence", x.persistence);
  v("mig", x.mig);
  v("mig_uuids", x.migUuids);
  v("pcie_generation", x.pcieGeneration);
  v("pcie_width", x.pcieWidth);
  v("pcie_max_generation", x.pcieMaxGeneration);
  v("pcie_max_width", x.pcieMaxWidth);
  v("nvlinks", x.nvlinks);
}

template <class V>
void fields(V& v, GpuPair& x) {
  v("a", x.a);
  v("b", x.b);
  v("nvlinks", x.nvlinks);
  v("route", x.route);
  v("path", x.path);
  v("p2p", x.p2p);
}

template <class V>
void fields(V& v, Error& x) {
  v("code", x.code);
  v("tried", x.tried);
  v("native_code", x.nativeCode);
  v("native_text", x.nativeText);
  v("next", x.next);
}

template <class V>
void fields(V& v, GpuInventory& x) {
  v("driver", x.driver);
  v("cuda_driver", x.cudaDriver);
  v("gpus", x.gpus);
  v("pairs", x.pairs);
}

// --- out

json::value written(const std::string& x) {
  return json::string(asUtf8(x));
}

template <class T>
requires std::is_arithmetic_v<T> json::value written(const T& x) {
  return x;
}

template <class T>
requires std::is_enum_v<T> json::value written(const T& x) {
  return static_cast<int>(x);
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

// --- in: throws what Boost.JSON throws; caught below

template <class T>
T read(const json::value& value);

template <class T>
struct Reads {
  static T from(const json::value& value) {
    if constexpr (std::is_same_v<T, std::string>) {
      return std::string(value.as_string());
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(value.to_number<int>());
    } else if constexpr (std::is_same_v<T, bool>) {
      return value.as_bool();
    } else if constexpr (std::is_arithmetic_v<T>) {
      return value.to_number<T>();
    } else {
      T x;
      const auto reader = [&](const char* key, auto& field) {
        field = read<std::remove_reference_t<decltype(field)>>(value.as_object().at(key));
      };
      fields(reader, x);
      return x;
    }
  }
};

template <class T>
struct Reads<Known<T>> {
  static Known<T> from(const json::value& value) {
    const json::object& object = value.as_object();
    if (const json::value* is = object.if_contains("is")) return read<T>(*is);
    return Known<T>::unknown(read<std::string>(object.at("why")));
  }
};

template <class T>
struct Reads<std::vector<T>> {
  static std::vector<T> from(const json::value& value) {
    std::vector<T> all;
    for (const json::value& each : value.as_array()) all.push_back(read<T>(each));
    return all;
  }
};

template <class T>
T read(const json::value& value) {
  return Reads<T>::from(value);
}

}  // namespace

std::string toJson(const Result<GpuInventory>& gpus) {
  json::object object;
  if (gpus) {
    object["gpus"] = written(*gpus);
  } else {
    object["error"] = written(gpus.error());
  }
  return writeJson(object);
}

Result<GpuInventory> gpusFromJson(std::string_view text) {
  auto parsed = parseJson(text, "the GPU query's answer");
  if (!parsed) return parsed.error();
  try {
    const json::object& object = parsed->as_object();
    if (const json::value* error = object.if_contains("error")) return read<Error>(*error);
    return read<GpuInventory>(object.at("gpus"));
  } catch (const std::exception& wrong) {
    return Error{.code = ErrorCode::kProtocol,
                 .tried = "read the GPU query's answer",
                 .nativeText = wrong.what()};
  }
}

}  // namespace gdrbench
