// SPDX-License-Identifier: Apache-2.0
// A fabric in memory behind the seam of the verbs transport: devices, queue pairs that deliver to
// each other at once, and everything that can go wrong, on request. It keeps the rules that a
// device keeps: queues have their depth, keys have their range, a send needs a receive.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "transports/verbs/calls.h"

namespace gdrbench::verbs {

/// Fixed room, so that the fake allocates nothing while messages move.
template <class T>
class Ring {
 public:
  explicit Ring(std::size_t room) : items_(room) {}
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool full() const { return count_ == items_.size(); }
  [[nodiscard]] T& front() { return items_[first_]; }
  void push(const T& item) {
    items_[(first_ + count_) % items_.size()] = item;
    ++count_;
  }
  T pop() {
    T item = items_[first_];
    first_ = (first_ + 1) % items_.size();
    --count_;
    return item;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0, count_ = 0;
};

class FakeVerbs final : public Calls {
 public:
  struct DeviceSpec {
    std::string name;
    ibv_device_attr limits{};
    std::vector<ibv_port_attr> ports;
    std::vector<ibv_gid_entry> gids;
  };

  FakeVerbs();
  ~FakeVerbs() override;

  /// An Ethernet device with one port that is up and one IPv4 GID. To be changed before it is used.
  DeviceSpec& add(const std::string& name);
  static ibv_gid_entry gid(std::uint32_t index, std::uint32_t type, const std::string& address,
                           std::uint32_t interface = 0);

  // --- what goes wrong ---
  std::map<std::string, int> failing;  ///< call -> errno; "registerHost", "createQp" ...
  std::uint32_t inlineLimit = 256;
  int postSendError = 0, postReceiveError = 0;  ///< at the next call
  /// The send of this number (see nextSend) completes with this status.
  std::map<std::uint64_t, ibv_wc_status> badSends;
  [[nodiscard]] std::uint64_t nextSend() const { return nextSend_; }
  bool flushesFirst = false;  ///< what waited is told of before what failed
  bool dropArrivals = false;  ///< nothing gets through: everything is sent again in vain
  std::uint32_t wrongLengthBy = 0;
  void raise(ibv_event_type type, int port = 1);

  // --- what happened ---
  std::uint64_t sends = 0, doorbells = 0, receiveDoorbells = 0, inlined = 0, signalled = 0;
  DmaBufRequest lastDmaBuf;
  unsigned lastAccess = 0;
  int live = 0;  ///< objects that were made and not released
  bool overrun = false;
  std::map<std::uint32_t, std::string> interfaces = {{2, "eth0"}, {3, "eth1"}, {4, "eth0.100"}};

  // --- Calls ---
  ibv_device** deviceList(int* count) override;
  int freeDeviceList(ibv_device** list) override;
  std::string deviceName(ibv_device* device) override;
  ibv_context* open(ibv_device* device) override;
  int close(ibv_context* context) override;
  int queryDevice(ibv_context* context, ibv_device_attr* attributes) override;
  int queryPort(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) override;
  ssize_t queryGidTable(ibv_context* context, ibv_gid_entry* entries, std::size_t room) override;
  std::string interfaceName(std::uint32_t index) override;
  ibv_pd* allocatePd(ibv_context* context) override;
  int deallocatePd(ibv_pd* pd) override;
  ibv_mr* registerHost(ibv_pd* pd, void* data, std::size_t bytes, unsigned access) override;
  ibv_mr* registerDmaBuf(ibv_pd* pd, const DmaBufRequest& request, unsigned access) override;
  int deregister(ibv_mr* mr) override;
  ibv_cq* createCq(ibv_context* context, int entries) override;
  int destroyCq(ibv_cq* cq) override;
  ibv_qp* createQp(ibv_pd* pd, ibv_qp_init_attr* attributes) override;
  int modifyQp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) override;
  int destroyQp(ibv_qp* qp) override;
  int asyncEvent(ibv_context* context, ibv_async_event* event) override;
  void acknowledge(ibv_async_event* event) override;

 private:
  struct FakeDevice;
  struct Context;
  struct Cq;
  struct Qp;
  struct Work {
    ibv_send_wr request;
    ibv_sge piece;
    std::array<std::byte, 512> inlined;
    std::uint64_t number;
  };
  struct Receive {
    std::uint64_t id;
    ibv_sge piece;
    bool blank;
  };

  static int postSend(ibv_qp* qp, ibv_send_wr* work, ibv_send_wr** bad);
  static int postReceive(ibv_qp* qp, ibv_recv_wr* work, ibv_recv_wr** bad);
  static int pollCq(ibv_cq* cq, int room, ibv_wc* completions);

  bool fails(const std::string& call);
  Qp* peerOf(const Qp& qp);
  void progress(Qp& qp);
  ibv_wc_status deliver(Qp& qp, const Work& work);
  ibv_wc_status moveBytes(const Work& work, const std::byte* from, std::uint64_t to,
                          std::uint32_t key, bool write);
  void complete(Qp& qp, const Work& work, ibv_wc_status status);
  void push(Cq& cq, const ibv_wc& completion);
  void fail(Qp& qp);
  ibv_mr* registered(std::uint64_t address, std::size_t bytes);
  template <class T, class Base>
  int release(std::vector<std::unique_ptr<T>>& owners, Base* object);

  std::recursive_mutex mutex_;
  std::vector<std::unique_ptr<FakeDevice>> devices_;
  std::vector<ibv_device*> list_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<std::unique_ptr<ibv_pd>> pds_;
  std::vector<std::unique_ptr<ibv_mr>> mrs_;
  std::vector<std::unique_ptr<Cq>> cqs_;
  std::vector<std::unique_ptr<Qp>> qps_;
  std::uint32_t nextKey_ = 100, nextQp_ = 0x11;
  std::uint64_t nextSend_ = 0;
};

}  // namespace gdrbench::verbs
