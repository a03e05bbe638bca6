// SPDX-License-Identifier: Apache-2.0
#include "transports/libfabric/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>

namespace gdrbench::libfabric {
namespace {

constexpr std::array kSignals = {SIGHUP,  SIGINT, SIGTERM, SIGSEGV, SIGBUS,
                                 SIGABRT, SIGFPE, SIGPIPE, SIGCHLD};

/// Both contexts full at once, and no more than a device with short queues can take.
std::size_t cqSize(const fi_info& info) {
  constexpr std::size_t kMost = 16384;
  return std::clamp<std::size_t>(info.tx_attr->size + info.rx_attr->size, 128, kMost);
}

/// Names the step that failed, with the provider.
class Steps {
 public:
  explicit Steps(const fi_info& info) : info_(info) {}
  bool run(const char* what, int code) {
    if (code == 0) return true;
    const char* domain = info_.domain_attr->name == nullptr ? "" : info_.domain_attr->name;
    error_ = fabricError(
        fmt::format("{} of provider {} ({})", what, info_.fabric_attr->prov_name, domain), code);
    return false;
  }
  [[nodiscard]] Error& error() { return error_; }

 private:
  const fi_info& info_;
  Error error_;
};

bool openAll(Objects& o, Steps& steps) {
  fi_info& info = *o.info;
  fid_fabric* fabric = nullptr;
  if (!steps.run("open the fabric", fi_fabric(info.fabric_attr, &fabric, nullptr))) return false;
  o.fabric.reset(fabric);
  fid_domain* domain = nullptr;
  if (!steps.run("open the domain", fi_domain(fabric, &info, &domain, nullptr))) return false;
  o.domain.reset(domain);

  fi_av_attr avAttr{};
  avAttr.type = info.domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info.domain_attr->av_type;
  avAttr.count = 1;
  fid_av* av = nullptr;
  if (!steps.run("open an address vector", fi_av_open(domain, &avAttr, &av, nullptr))) return false;
  o.av.reset(av);

  fi_cq_attr cqAttr{};
  cqAttr.format = FI_CQ_FORMAT_DATA;
  cqAttr.size = cqSize(info);
  cqAttr.wait_obj = FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  if (!steps.run("open a completion queue", fi_cq_open(domain, &cqAttr, &cq, nullptr)))
    return false;
  o.cq.reset(cq);

  fid_ep* ep = nullptr;
  if (!steps.run("open an endpoint", fi_endpoint(domain, &info, &ep, nullptr))) return false;
  o.ep.reset(ep);
  o.path = requirePeerToPeer(*ep, info);
  return steps.run("bind the address vector", fi_ep_bind(ep, &av->fid, 0)) &&
         steps.run("bind the completion queue", fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV)) &&
         steps.run("enable the endpoint", fi_enable(ep));
}

}  // namespace

Result<std::unique_ptr<Objects>> openObjects(Info info) {
  auto objects = std::make_unique<Objects>();
  objects->info = std::move(info);
  Steps steps(*objects->info);
  if (!openAll(*objects, steps)) return std::move(steps.error());
  return objects;
}

struct KeepSignalHandlers::Saved {
  std::array<struct sigaction, kSignals.size()> actions;
};

KeepSignalHandlers::KeepSignalHandlers() : saved_(std::make_unique<Saved>()) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &saved_->actions[i]);
  }
}

KeepSignalHandlers::~KeepSignalHandlers() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &saved_->actions[i], nullptr);
  }
}

}  // namespace gdrbench::libfabric
