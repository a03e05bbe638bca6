// SPDX-License-Identifier: Apache-2.0
#include "transports/verbs/no_device.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "harness/core/text.h"

namespace gdrbench::verbs {
namespace {

namespace fs = std::filesystem;

/// Classes and makers of adapters that have a verbs driver: enough to say "there is one".
bool looksLikeAdapter(const fs::path& device) {
  constexpr std::string_view kInfiniBandClass = "0x0207";
  constexpr std::string_view kNvidiaNetworking = "0x15b3";
  constexpr std::string_view kNetworkClass = "0x02";
  const std::string kind = firstLineOf(device / "class");
  if (kind.starts_with(kInfiniBandClass)) return true;
  return kind.starts_with(kNetworkClass) && firstLineOf(device / "vendor") == kNvidiaNetworking;
}

std::vector<std::string> adaptersOnPci(const fs::path& sys) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(sys / "bus/pci/devices", error)) {
    if (looksLikeAdapter(entry.path())) found.push_back(entry.path().filename().string());
  }
  return found;
}

std::string reasonOf(int code) {
  if (code == 0) return {};
  if (code == ENOSYS) return ": this kernel's RDMA core (ib_uverbs) is not loaded";
  return ": " + std::generic_category().message(code);
}

std::string adviceFor(const Platform& platform) {
  std::error_code error;
  const fs::path listed = platform.sys / "class/infiniband";
  if (fs::exists(listed, error) && !fs::is_empty(listed, error)) {
    return "the kernel has some (/sys/class/infiniband), so the library's drivers are missing: "
           "install ibverbs-providers (or rdma-core)";
  }
  if (const auto adapters = adaptersOnPci(platform.sys); !adapters.empty()) {
    return fmt::format(
        "the adapter at {} has no RDMA driver: load it (mlx5_ib), or in a container "
        "pass /dev/infiniband in",
        gdrbench::listed(adapters));
  }
  return "look for an adapter (lspci), its driver (rdma link), and in a container for "
         "/dev/infiniband; without hardware, soft-RoCE does: rdma link add rxe0 type rxe netdev "
         "eth0";
}

}  // namespace

std::string firstLineOf(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Error noDevice(const Platform& platform, int code) {
  return {.code = ErrorCode::kUnsupported,
          .tried = "use an RDMA device of this machine",
          .nativeCode = code,
          .nativeText = "no RDMA device" + reasonOf(code),
          .next = adviceFor(platform)};
}

}  // namespace gdrbench::verbs
