// SPDX-License-Identifier: Apache-2.0
// What an endpoint opens, in the order in which it is opened. Private to the module.
#pragma once

#include <memory>
#include <vector>

#include "harness/core/result.h"
#include "transports/libfabric/handles.h"
#include "transports/libfabric/path_options.h"
#include "transports/transport.h"

namespace gdrbench::libfabric {

/// Everything below is closed in reverse: the endpoint before what it is bound to.
struct Objects {
  Info info;
  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  Fid<fid_av> av;
  Fid<fid_cq> cq;
  /// What the provider may still write to until the endpoint is closed: contexts of operations.
  std::vector<std::shared_ptr<void>> borrowed;
  Fid<fid_ep> ep;
  PathAnswers path;
};

/// Opens, binds and enables.
Result<std::unique_ptr<Objects>> openObjects(Info info);

/// Providers install signal handlers of their own when they are first used (shm does). Whoever
/// holds one of these around such calls gets his own back.
class KeepSignalHandlers {
 public:
  KeepSignalHandlers();
  ~KeepSignalHandlers();
  KeepSignalHandlers(const KeepSignalHandlers&) = delete;
  KeepSignalHandlers& operator=(const KeepSignalHandlers&) = delete;

 private:
  struct Saved;
  std::unique_ptr<Saved> saved_;
};

}  // namespace gdrbench::libfabric
