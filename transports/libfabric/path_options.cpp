// SPDX-License-Identifier: Apache-2.0
#include "transports/libfabric/path_options.h"

#include <string>

namespace gdrbench::libfabric {
namespace {

constexpr int kCudaApiPermitted = 10;  ///< FI_OPT_CUDA_API_PERMITTED of rdma/fi_endpoint.h, 1.18
constexpr int kRequired = 1;           ///< FI_HMEM_P2P_REQUIRED

bool libraryKnowsOptions() {
  return FI_VERSION_GE(fi_version(), FI_VERSION(1, 18));
}

Answer answerOf(int code) {
  if (code == 0) return Answer::kAccepted;
  return code == -FI_EOPNOTSUPP ? Answer::kRefused : Answer::kSilent;
}

template <class T>
Answer set(fid_ep& ep, int option, T value) {
  return answerOf(fi_setopt(&ep.fid, FI_OPT_ENDPOINT, option, &value, sizeof value));
}

}  // namespace

bool isProvider(const fi_info& info, std::string_view core) {
  const std::string_view name = info.fabric_attr->prov_name;
  return name.substr(0, name.find(';')) == core;
}

PathAnswers requirePeerToPeer(fid_ep& ep, const fi_info& info) {
  if ((info.caps & FI_HMEM) == 0 || !isProvider(info, "efa") || !libraryKnowsOptions()) return {};
  PathAnswers answers{.peerToPeerRequired = set<int>(ep, FI_OPT_FI_HMEM_P2P, kRequired)};
  answers.cudaCallsForbidden = set<bool>(ep, kCudaApiPermitted, false);
  // It was a question. As a setting it would take copies from those rows that need them.
  if (answers.cudaCallsForbidden == Answer::kAccepted) set<bool>(ep, kCudaApiPermitted, true);
  return answers;
}

std::optional<bool> ask(fid_ep& ep, int option) {
  bool value = false;
  std::size_t length = sizeof value;
  if (!libraryKnowsOptions()) return std::nullopt;
  const int code = fi_getopt(&ep.fid, FI_OPT_ENDPOINT, option, &value, &length);
  return code == 0 && length == sizeof value ? std::optional(value) : std::nullopt;
}

}  // namespace gdrbench::libfabric
