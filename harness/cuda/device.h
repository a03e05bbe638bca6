// SPDX-License-Identifier: Apache-2.0
// GPUs by name, and owners for what the driver hands out.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/cuda/api.h"

namespace gdrbench::cuda {

/// What identifies a GPU: the same in every process, whatever CUDA_VISIBLE_DEVICES says.
struct Identity {
  int ordinal = 0;    ///< in this process
  std::string name;   ///< "NVIDIA H200"
  std::string uuid;   ///< "GPU-8f6a3b1c-..."
  std::string pci;    ///< "0000:3b:00.0"
  int numaNode = -1;  ///< as the kernel has it; -1: unknown, or only one
};

/// One GPU, its primary context retained: the one that every library of this process uses.
/// Threads that work with it call makeCurrent() once.
class Device {
 public:
  Device(const Api& cuda, DeviceHandle handle, Context context, Identity identity)
      : cuda_(cuda), handle_(handle), context_(context), identity_(std::move(identity)) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  [[nodiscard]] const Api& cuda() const noexcept { return cuda_; }
  [[nodiscard]] DeviceHandle handle() const noexcept { return handle_; }
  [[nodiscard]] Context context() const noexcept { return context_; }
  [[nodiscard]] const Identity& identity() const noexcept { return identity_; }
  [[nodiscard]] Status makeCurrent() const;
  /// A CUdevice_attribute; 0 where the driver does not know it.
  [[nodiscard]] int attribute(int which) const;
  /// Lets work of this device use the other's memory; fine if it already may. kUnsupported, with
  /// both PCI addresses, where the two cannot.
  Status enablePeer(const Device& peer) const;

 private:
  const Api& cuda_;
  DeviceHandle handle_;
  Context context_;
  Identity identity_;
};

/// All GPUs that this process may use; empty only with an error.
Result<std::vector<Identity>> identities();

/// One of them by its name: see openDevice(). Opens nothing.
Result<Identity> identify(std::string_view name);

/// `name`: index, UUID (or its beginning) or PCI address, as in "cuda:<name>". Makes it current on
/// the calling thread. Errors list what there is and quote CUDA_VISIBLE_DEVICES; MIG slices are
/// kUnsupported.
Result<std::shared_ptr<const Device>> openDevice(std::string_view name);

/// The GPU that owns the memory at an address.
Result<std::shared_ptr<const Device>> deviceOf(DevicePointer pointer);

/// A stream of its own, not synchronised with the default stream.
class Stream {
 public:
  static Result<Stream> make(std::shared_ptr<const Device> device);
  Stream(Stream&& other) noexcept
      : device_(std::move(other.device_)), handle_(std::exchange(other.handle_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;
  ~Stream();
  [[nodiscard]] StreamHandle get() const noexcept { return handle_; }

 private:
  Stream(std::shared_ptr<const Device> device, StreamHandle handle)
      : device_(std::move(device)), handle_(handle) {}
  std::shared_ptr<const Device> device_;
  StreamHandle handle_;
};

/// Events of one kind, made once and used again and again.
class Events {
 public:
  /// `timed`: they can be subtracted. Without, they are cheaper to record.
  static Result<Events> make(std::shared_ptr<const Device> device, std::size_t count, bool timed);
  Events(Events&& other) noexcept
      : device_(std::move(other.device_)), handles_(std::exchange(other.handles_, {})) {}
  Events& operator=(Events&&) = delete;
  ~Events();
  [[nodiscard]] EventHandle operator[](std::size_t i) const noexcept { return handles_[i]; }
  [[nodiscard]] std::size_t size() const noexcept { return handles_.size(); }

 private:
  explicit Events(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  std::shared_ptr<const Device> device_;
  std::vector<EventHandle> handles_;
};

inline DevicePointer pointer(const std::byte* data) noexcept {
  return reinterpret_cast<DevicePointer>(data);
}

}  // namespace gdrbench::cuda
