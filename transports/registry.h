// SPDX-License-Identifier: Apache-2.0
// The only list of transports. Everything that must be known without loading a vendor library
// (name, options, capabilities) is here as data; the transport itself is made on demand, in a
// worker, from this binary or from a module beside it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/option.h"
#include "harness/core/result.h"
#include "transports/path_variable.h"
#include "transports/transport.h"

namespace gdrbench {

using EnvironmentSetting = std::pair<std::string, std::string>;

struct TransportEntry {
  std::string_view name;
  std::string_view summary;  ///< one line, for list and README
  OptionTable options;
  /// What it can do with these options; vendor-free.
  Capabilities (*capabilities)(const OptionSet& options) = nullptr;
  /// Checks between options, after each is valid by itself; vendor-free; may be null.
  Status (*validate)(const OptionSet& options) = nullptr;
  /// A row's default name from its options ("libfabric:tcp"); may be null: the transport's name.
  std::string (*label)(const OptionSet& options) = nullptr;
  /// Made in this binary; null when it comes from `module` or is not built.
  std::unique_ptr<Transport> (*make)() = nullptr;
  /// File name of the loadable module, "gdrbench-libfabric.so"; empty when linked in.
  std::string_view module = {};
  /// Opened by name in the worker ("libnccl.so.2"): `library:` may put another build in its place.
  std::string_view vendorLibrary = {};
  /// When neither: the CMake option that would build it.
  std::string_view notBuilt = {};
  /// It moves nothing and completes at once: running a pattern over it prices the harness.
  bool overheadReference = false;
  /// Between GPUs, with default options, nothing but the copy engine can move its bytes: a control
  /// whose path is known to be direct.
  bool directControl = false;
  /// Moves host memory anywhere: the staged path over it is a control that is known to be staged.
  bool stagedControl = false;
  /// Environment variables that change what it does, by prefix ("FI_"): recorded in every result.
  std::span<const std::string_view> environment = {};
  /// Those of them that decide which path GPU memory takes.
  std::span<const PathVariable> pathVariables = {};
  /// What tells the library to copy through host memory by itself (path: library-staged); null: it
  /// cannot be told.
  std::vector<EnvironmentSetting> (*libraryStaged)(const OptionSet& options) = nullptr;
};

/// The path `staged`: a decorator over any transport that pushes host memory.
struct Staging {
  OptionTable options;
  Capabilities (*capabilities)(const Capabilities& inner) = nullptr;
  std::unique_ptr<Transport> (*make)(std::unique_ptr<Transport> inner,
                                     const OptionSet& options) = nullptr;
};

class Registry {
 public:
  explicit Registry(std::vector<TransportEntry> entries, Staging staging = {})
      : entries_(std::move(entries)), staging_(staging) {}

  [[nodiscard]] std::span<const TransportEntry> entries() const { return entries_; }
  /// Null when there is none of that name.
  [[nodiscard]] const TransportEntry* find(std::string_view name) const;
  /// Opens the module if need be. `library`: path of a vendor library to load before the module, so
  /// that the module binds to it; empty for the system's. kNotBuilt, kNotFound (with the dynamic
  /// linker's text) or kUsage (with the nearest name).
  [[nodiscard]] Result<std::unique_ptr<Transport>> make(std::string_view name,
                                                        const std::string& library = {}) const;
  /// Its functions are null where there is none.
  [[nodiscard]] const Staging& staging() const { return staging_; }

 private:
  std::vector<TransportEntry> entries_;
  Staging staging_;
};

/// All transports of this build and those that it could have.
Registry builtinTransports();

/// The symbol that a module exports: `extern "C" gdrbench::Transport* gdrbenchMakeTransport()`; the
/// object is made with new and belongs to the caller.
inline constexpr const char* kModuleEntry = "gdrbenchMakeTransport";

}  // namespace gdrbench
