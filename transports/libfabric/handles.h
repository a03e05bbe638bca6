// SPDX-License-Identifier: Apache-2.0
// Owners of libfabric's objects. Private to the module: includes the vendor's headers.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <memory>
#include <string>

#include "harness/core/error.h"

namespace gdrbench::libfabric {

struct CloseFid {
  template <class T>
  void operator()(T* object) const {
    if (object != nullptr) fi_close(&object->fid);
  }
};
struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};

template <class T>
using Fid = std::unique_ptr<T, CloseFid>;
using Info = std::unique_ptr<fi_info, FreeInfo>;

/// An Error for a call that answered `code` (negative, as libfabric does).
inline Error fabricError(std::string tried, long code, std::string next = {},
                         ErrorCode kind = ErrorCode::kTransport) {
  return {.code = kind,
          .tried = std::move(tried),
          .nativeCode = -code,
          .nativeText = fi_strerror(static_cast<int>(-code)),
          .next = std::move(next)};
}

}  // namespace gdrbench::libfabric
