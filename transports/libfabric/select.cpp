// SPDX-License-Identifier: Apache-2.0
#include "transports/libfabric/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "harness/core/text.h"

namespace gdrbench::libfabric {
namespace {

/// fi_freeinfo releases these strings, so they come from malloc.
char* copied(const std::string& text) {
  return text.empty() ? nullptr : strdup(text.c_str());
}

std::string coreOf(std::string_view provider) {
  return std::string(provider.substr(0, provider.find(';')));
}

std::string domainOf(const fi_info& info) {
  return info.domain_attr->name == nullptr ? "?" : info.domain_attr->name;
}

void addOnce(std::vector<std::string>& names, std::string name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
}

std::vector<std::string_view> splitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// FI_PROVIDER is a filter that libfabric applies before it looks at anything else: a list of
/// names, or "^" and a list of names to leave out. Empty: it does not keep `provider` out.
std::string environmentConflict(const std::string& provider) {
  const char* filter = std::getenv("FI_PROVIDER");
  if (filter == nullptr || *filter == '\0') return {};
  std::string_view names(filter);
  const bool excludes = names.front() == '^';
  if (excludes) names.remove_prefix(1);
  const auto listed = splitAt(names, ',');
  for (const std::string_view layer : splitAt(provider, ';')) {
    const bool named = std::any_of(listed.begin(), listed.end(), [&](std::string_view each) {
      const auto layers = splitAt(each, ';');
      return std::find(layers.begin(), layers.end(), layer) != layers.end();
    });
    if (named == excludes) {
      return fmt::format("FI_PROVIDER={} in the environment leaves out '{}'", filter, layer);
    }
  }
  return {};
}

constexpr std::pair<std::string_view, const char*> kNeedHardware[] = {{"FI_VERBS_", "verbs"},
                                                                      {"FI_EFA_", "efa"},
                                                                      {"FI_CXI_", "cxi"},
                                                                      {"FI_OPX_", "opx"},
                                                                      {"FI_PSM3_", "psm3"}};

/// What this transport does when a provider asks for it.
constexpr int kMrMode =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
/// Everything but the two values, not flags, of the time before 1.5 (basic, scalable).
constexpr int kAnyMrMode = ~3;

Info hintsFor(const Wanted& wanted) {
  Info hints(fi_allocinfo());
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | (wanted.op == "send" ? 0 : FI_RMA) | (wanted.hmem ? FI_HMEM : 0);
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_RX_CQ_DATA;
  hints->domain_attr->mr_mode =
      wanted.anyMrMode ? kAnyMrMode : kMrMode | (wanted.hmem ? FI_MR_HMEM : 0);
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->name = copied(wanted.domain);
  hints->fabric_attr->prov_name = copied(wanted.provider);
  if (wanted.progress == "auto") hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
  if (wanted.progress == "manual") hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  // Receives are matched in the order in which they were posted: the sends must keep theirs.
  if (wanted.ordered) hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->tx_attr->op_flags = deliveryFlag(wanted.delivery);
  hints->tx_attr->size = wanted.txDepth;
  hints->rx_attr->size = wanted.rxDepth;
  return hints;
}

struct Found {
  int code = 0;
  Info list;
};

Found ask(const fi_info* hints, const std::string& node) {
  fi_info* list = nullptr;
  const int code = fi_getinfo(apiVersion(), node.empty() ? nullptr : node.c_str(), nullptr,
                              node.empty() ? 0 : FI_SOURCE, hints, &list);
  return {code, Info(list)};
}

/// The first entry with exactly this provider, else the first with a utility layer over it. Of the
/// domain that was asked for: layered providers of 1.17 offer the others too.
const fi_info* pick(const fi_info* list, const Wanted& wanted) {
  const std::string& provider = wanted.provider;
  const bool plain = provider.find(';') == std::string::npos;
  const fi_info* layered = nullptr;
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    if (!wanted.domain.empty() && domainOf(*info) != wanted.domain) continue;
    const std::string name = info->fabric_attr->prov_name;
    if (name == provider) return info;
    if (layered == nullptr && plain && coreOf(name) == provider) layered = info;
  }
  return layered;
}

bool hasSocketAddress(const fi_info& info) {
  return info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN ||
         info.addr_format == FI_SOCKADDR_IN6;
}

/// The source address to bind, in the form that fi_getinfo takes; empty: the provider's choice.
std::string nodeFor(const fi_info& info, const Wanted& wanted) {
  if (info.addr_format == FI_ADDR_STR) return wanted.ownName;
  if (!hasSocketAddress(info)) return {};
  if (!wanted.address.empty()) return wanted.address;
  // A domain is an interface: naming one rules out an address on another.
  return wanted.peerOnThisHost && wanted.domain.empty() ? "127.0.0.1" : "";
}

std::string domainsOf(const fi_info* list, const std::string& provider) {
  std::vector<std::string> names;
  for (const fi_info* info = list; info != nullptr; info = info->next) {
    if (coreOf(info->fabric_attr->prov_name) != coreOf(provider)) continue;
    addOnce(names, domainOf(*info));
  }
  return names.empty() ? "none" : listed(names);
}

Error noProvider(const Wanted& wanted) {
  const std::vector<std::string> there = rdmProviders(), built = builtProviders();
  std::vector<std::string_view> names(there.begin(), there.end());
  names.insert(names.end(), built.begin(), built.end());
  // Built in, and without anything to work on: not this machine's, whatever the layer over it.
  const auto sameCore = [&](const std::string& name) {
    return coreOf(name) == coreOf(wanted.provider);
  };
  const bool idle = std::any_of(built.begin(), built.end(), sameCore) &&
                    std::none_of(there.begin(), there.end(), sameCore);
  return {.code = idle ? ErrorCode::kUnsupported : ErrorCode::kNotFound,
          .tried = fmt::format("find the libfabric provider '{}'{}", wanted.provider,
                               idle || nearestName(wanted.provider, names).empty()
                                   ? ""
                                   : suggestion(wanted.provider, names)),
          .nativeText = idle
                            ? "it is part of this libfabric, but finds nothing that it can use here"
                            : "no provider of that name has reliable datagram (RDM) endpoints here",
          .next = "there are: " + listed(there)};
}

std::string hmemHint() {
  return builtWithCuda()
             ? "this libfabric knows CUDA, but the provider does not take GPU memory: use paths: "
               "[staged]"
             : "this libfabric was built without CUDA: give another as library:, or use paths: "
               "[staged]";
}

/// fi_getinfo answers FI_ENODATA and nothing else. Ask again with one wish less at a time: the wish
/// without which something is found is the one that cannot be met.
Error explainNothing(const Wanted& wanted, int code) {
  if (const std::string conflict = environmentConflict(wanted.provider); !conflict.empty()) {
    return {.code = ErrorCode::kNotFound,
            .tried = fmt::format("find the libfabric provider '{}'", wanted.provider),
            .nativeCode = code,
            .nativeText = conflict,
            .next = "unset FI_PROVIDER, or set it with env: in the configuration"};
  }
  struct Wish {
    std::string name;
    void (*drop)(Wanted&);
  };
  const Wish wishes[] = {
      {fmt::format("domain '{}'", wanted.domain), [](Wanted& w) { w.domain.clear(); }},
      {fmt::format("delivery '{}'", wanted.delivery), [](Wanted& w) { w.delivery = "default"; }},
      {fmt::format("progress '{}'", wanted.progress), [](Wanted& w) { w.progress = "default"; }},
      {fmt::format("tx_depth {} and rx_depth {}", wanted.txDepth, wanted.rxDepth),
       [](Wanted& w) { w.txDepth = w.rxDepth = 0; }},
      {"FI_HMEM (GPU memory)", [](Wanted& w) { w.hmem = false; }},
      {fmt::format("op '{}' (RMA)", wanted.op), [](Wanted& w) { w.op = "send"; }},
      {"the order of sends (FI_ORDER_SAS)", [](Wanted& w) { w.ordered = false; }},
      {"a way to register memory that this transport knows (it may need FI_MR_RAW)",
       [](Wanted& w) { w.anyMrMode = true; }},
  };
  Wanted less = wanted;
  for (const Wish& wish : wishes) {
    wish.drop(less);
    const Found found = ask(hintsFor(less).get(), {});
    if (pick(found.list.get(), less) == nullptr) continue;
    // Without FI_HMEM the combination is one that cannot be; everything else was asked for by name.
    const bool noHmem = wanted.hmem && !less.hmem;
    Error error = fabricError(fmt::format("find {} with provider '{}'", wish.name, wanted.provider),
                              code, noHmem ? hmemHint() : "",
                              noHmem ? ErrorCode::kUnsupported : ErrorCode::kNotFound);
    if (!wanted.domain.empty()) {
      error.next = "its domains: " + domainsOf(found.list.get(), wanted.provider);
    }
    return error;
  }
  return noProvider(wanted);
}

}  // namespace

std::string versionText(std::uint32_t version) {
  return fmt::format("{}.{}", FI_MAJOR(version), FI_MINOR(version));
}

std::uint32_t apiVersion() {
  // 1.17 is the oldest that is supported, and all that host memory needs.
  constexpr std::uint32_t kWritten = FI_VERSION(1, 20);
  const std::uint32_t compiled = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
  return std::min({kWritten, compiled, fi_version()});
}

std::uint64_t deliveryFlag(std::string_view delivery) {
  if (delivery == "transmit") return FI_TRANSMIT_COMPLETE;
  return delivery == "delivery" ? FI_DELIVERY_COMPLETE : 0;
}

Wanted Wanted::from(const OpenRequest& request) {
  const OptionSet& options = request.options;
  const std::string& ofResponder = options.text("responder_domain");
  const bool other = request.role == Role::kResponder && !ofResponder.empty();
  return {.provider = options.text("provider"),
          .domain = other ? ofResponder : options.text("domain"),
          .address = options.text("address"),
          .op = options.text("op"),
          .progress = options.text("progress"),
          .delivery = options.text("delivery"),
          .txDepth = static_cast<std::size_t>(options.integer("tx_depth")),
          .rxDepth = static_cast<std::size_t>(options.integer("rx_depth")),
          .peerOnThisHost = request.lane.peerOnThisHost,
          // Arrivals of writes are told apart by their tickets.
          .ordered = options.text("op") != "write",
          .hmem = request.memory.kind == MemoryKind::kCuda ||
                  request.peerMemory.kind == MemoryKind::kCuda,
          .ownName = request.namePrefix + (request.role == Role::kInitiator ? "i" : "r")};
}

Result<Info> select(const Wanted& wanted) {
  const Info hints = hintsFor(wanted);
  const Found any = ask(hints.get(), {});
  const fi_info* first = pick(any.list.get(), wanted);
  if (first == nullptr) return explainNothing(wanted, any.code == 0 ? -FI_ENODATA : any.code);
  const std::string node = nodeFor(*first, wanted);
  if (node.empty()) return Info(fi_dupinfo(first));

  const Found bound = ask(hints.get(), node);
  if (const fi_info* info = pick(bound.list.get(), wanted); info != nullptr) {
    return Info(fi_dupinfo(info));
  }
  return fabricError(
      fmt::format("use the source address '{}' with provider '{}'", node, wanted.provider),
      bound.code == 0 ? -FI_ENODATA : bound.code,
      "its domains: " + domainsOf(any.list.get(), wanted.provider), ErrorCode::kNotFound);
}

std::vector<std::string> builtProviders() {
  std::vector<std::string> names;
  fi_info* list = nullptr;
  if (fi_getinfo(apiVersion(), nullptr, nullptr, FI_PROV_ATTR_ONLY, nullptr, &list) == 0) {
    const Info owner(list);
    for (const fi_info* info = list; info != nullptr; info = info->next) {
      const char* name = info->fabric_attr->prov_name;
      if (name != nullptr && !std::string_view(name).starts_with("ofi_")) addOnce(names, name);
    }
  }
  // A provider without its hardware takes itself off that list; what it can be told stays.
  fi_param* parameters = nullptr;
  int count = 0;
  if (fi_getparams(&parameters, &count) != 0) return names;
  for (int i = 0; i < count; ++i) {
    for (const auto& [prefix, name] : kNeedHardware) {
      if (std::string_view(parameters[i].name).starts_with(prefix)) addOnce(names, name);
    }
  }
  fi_freeparams(parameters);
  return names;
}

bool builtWithCuda() {
  fi_param* parameters = nullptr;
  int count = 0;
  if (fi_getparams(&parameters, &count) != 0) return false;
  const bool found = std::any_of(parameters, parameters + count, [](const fi_param& each) {
    return std::string_view(each.name).starts_with("FI_HMEM_CUDA");
  });
  fi_freeparams(parameters);
  return found;
}

std::vector<std::string> rdmProviders() {
  Info hints(fi_allocinfo());
  hints->ep_attr->type = FI_EP_RDM;
  hints->mode = ~0ull;
  hints->domain_attr->mode = ~0ull;
  hints->domain_attr->mr_mode = kAnyMrMode;
  const Found found = ask(hints.get(), {});
  std::vector<std::string> names;
  for (const fi_info* info = found.list.get(); info != nullptr; info = info->next) {
    addOnce(names, info->fabric_attr->prov_name);
  }
  return names;
}

}  // namespace gdrbench::libfabric
