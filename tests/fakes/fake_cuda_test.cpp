// SPDX-License-Identifier: Apache-2.0
// The fake behaves as its header says: what stands on it would otherwise test nothing.
#include "tests/fakes/fake_cuda.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "harness/cuda/device.h"
#include "tests/fakes/fake_buffer.h"

namespace gdrbench::cuda::fake {
namespace {

const Api& start(const Machine& machine = {}) {
  install(machine);
  return **api();
}

std::shared_ptr<const Device> gpu(int ordinal) {
  auto device = openDevice(std::to_string(ordinal));
  REQUIRE(device.ok());
  return *device;
}

DevicePointer memory(const Device& device, std::size_t bytes, int value) {
  REQUIRE(device.makeCurrent().ok());
  DevicePointer pointer = 0;
  REQUIRE(device.cuda().allocate(&pointer, bytes) == kSuccess);
  std::memset(hostView(reinterpret_cast<void*>(pointer)), value, bytes);
  return pointer;
}

int byteAt(DevicePointer pointer, std::size_t offset = 0) {
  return std::to_integer<int>(hostView(reinterpret_cast<void*>(pointer))[offset]);
}

}  // namespace

TEST_CASE("a copy is done when its event has been asked for, and not before") {
  const Api& cuda = start({.links = {{{0, 1}, {.queries = 3}}}});
  auto one = gpu(0), two = gpu(1);
  const DevicePointer from = memory(*one, 64, 7), to = memory(*two, 64, 1);
  {
    auto stream = Stream::make(one);
    auto events = Events::make(one, 1, false);
    REQUIRE(cuda.copyPeerAsync(to, two->context(), from, one->context(), 64, stream->get()) ==
            kSuccess);
    REQUIRE(cuda.eventRecord((*events)[0], stream->get()) == kSuccess);
    CHECK(byteAt(to) == 1);
    CHECK(cuda.eventQuery((*events)[0]) == kNotReady);
    CHECK(cuda.eventQuery((*events)[0]) == kNotReady);
    CHECK(byteAt(to) == 1);
    CHECK(cuda.eventQuery((*events)[0]) == kSuccess);
    CHECK(byteAt(to) == 7);
    CHECK(counters().stagedCopies == 1);
  }
  REQUIRE(one->enablePeer(*two).ok());
  auto stream = Stream::make(one);
  REQUIRE(cuda.copyAsync(to, from, 64, stream->get()) == kSuccess);
  CHECK(cuda.streamSynchronize(stream->get()) == kSuccess);
  CHECK(counters().stagedCopies == 1);
  cuda.free(from);
  cuda.free(to);
}

TEST_CASE("planted faults: refused, failed, corrupt, no peer access, out of memory") {
  const Api& cuda = start({.gpus = 3, .memoryBytes = 4096});
  auto one = gpu(0), two = gpu(1), three = gpu(2);
  const DevicePointer from = memory(*one, 64, 7), to = memory(*two, 64, 1);
  auto stream = Stream::make(one);
  link(0, 1).corruptByte = 5;
  REQUIRE(cuda.copyAsync(to, from, 64, stream->get()) == kSuccess);
  REQUIRE(cuda.streamSynchronize(stream->get()) == kSuccess);
  CHECK(byteAt(to, 4) == 7);
  CHECK(byteAt(to, 5) == (7 ^ 0xff));
  link(0, 1) = {.refusal = 719};
  CHECK(cuda.copyAsync(to, from, 64, stream->get()) == 719);
  link(0, 1) = {.failure = 719};
  REQUIRE(cuda.copyAsync(to, from, 64, stream->get()) == kSuccess);
  CHECK(cuda.streamSynchronize(stream->get()) == 719);
  CHECK(cuda.copyAsync(to, from, 64, stream->get()) == 719);
  link(0, 2).peerAccess = false;
  CHECK(one->enablePeer(*three).error().code == ErrorCode::kUnsupported);
  CHECK(two->enablePeer(*three).ok());
  DevicePointer none = 0;
  CHECK(cuda.allocate(&none, 4096) == kOutOfMemory);
  cuda.free(from);
  cuda.free(to);
}

TEST_CASE("ranges, contexts and virtual memory are taken seriously") {
  const Api& cuda = start();
  auto one = gpu(0);
  const DevicePointer from = memory(*one, 64, 7), to = memory(*one, 64, 1);
  auto stream = Stream::make(one);
  CHECK(cuda.copyAsync(to, from + 1, 64, stream->get()) != kSuccess);
  cuda.setCurrent(nullptr);
  CHECK(cuda.copyAsync(to, from, 64, stream->get()) == 201);
  REQUIRE(one->makeCurrent().ok());

  AllocationHandle handle = 0;
  AllocationProperties properties;
  DevicePointer range = 0;
  constexpr std::size_t kBytes = 2u << 20;
  REQUIRE(cuda.create(&handle, kBytes, &properties, 0) == kSuccess);
  REQUIRE(cuda.reserve(&range, kBytes, 0, 0, 0) == kSuccess);
  REQUIRE(cuda.map(range, kBytes, 0, handle, 0) == kSuccess);
  CHECK(cuda.copyAsync(range, from, 64, stream->get()) != kSuccess);
  const AccessDescriptor access;
  REQUIRE(cuda.setAccess(range, kBytes, &access, 1) == kSuccess);
  REQUIRE(cuda.copyAsync(range + 8, from, 64, stream->get()) == kSuccess);
  REQUIRE(cuda.streamSynchronize(stream->get()) == kSuccess);
  CHECK(byteAt(range, 8) == 7);
  IpcMemoryHandle ipc;
  CHECK(cuda.ipcGet(&ipc, range) != kSuccess);
  CHECK(cuda.unmap(range, kBytes) == kSuccess);
  CHECK(cuda.freeReserved(range, kBytes) == kSuccess);
  CHECK(cuda.releaseHandle(handle) == kSuccess);
  cuda.free(from);
  cuda.free(to);
}

TEST_CASE("a null stream is the default one") {
  const Api& cuda = start();
  auto one = gpu(0);
  const DevicePointer from = memory(*one, 64, 7);
  std::byte here[64] = {};
  REQUIRE(cuda.copyAsync(pointer(here), from, 64, nullptr) == kSuccess);
  REQUIRE(cuda.streamSynchronize(nullptr) == kSuccess);
  CHECK(here[63] == std::byte{7});
  cuda.free(from);
}

TEST_CASE("two processes share memory by a handle") {
  const Api& cuda = start();
  auto one = gpu(0);
  const DevicePointer pointer = memory(*one, 64, 1);
  IpcMemoryHandle handle;
  REQUIRE(cuda.ipcGet(&handle, pointer) == kSuccess);
  const pid_t child = fork();
  if (child == 0) {
    DevicePointer mine = 0;
    if (cuda.ipcOpen(&mine, handle, kIpcLazyPeerAccess) != kSuccess) _exit(1);
    hostView(reinterpret_cast<void*>(mine))[63] = std::byte{9};
    _exit(cuda.ipcClose(mine) == kSuccess ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(byteAt(pointer, 63) == 9);
  cuda.free(pointer);
}

TEST_CASE("graphs, waits, kernels and times") {
  const Api& cuda = start();
  auto one = gpu(0);
  const DevicePointer from = memory(*one, 64, 7), to = memory(*one, 64, 1);
  auto stream = Stream::make(one), other = Stream::make(one);
  auto events = Events::make(one, 3, true);
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  REQUIRE(cuda.beginCapture(stream->get(), kCaptureThreadLocal) == kSuccess);
  REQUIRE(cuda.eventRecordWithFlags((*events)[0], stream->get(), kEventRecordExternal) == kSuccess);
  REQUIRE(cuda.copyAsync(to, from, 64, stream->get()) == kSuccess);
  REQUIRE(cuda.eventRecordWithFlags((*events)[1], stream->get(), kEventRecordExternal) == kSuccess);
  REQUIRE(cuda.endCapture(stream->get(), &graph) == kSuccess);
  REQUIRE(cuda.graphInstantiate(&exec, graph, 0) == kSuccess);
  CHECK(byteAt(to) == 1);
  REQUIRE(cuda.graphLaunch(exec, stream->get()) == kSuccess);
  REQUIRE(cuda.eventRecord((*events)[2], stream->get()) == kSuccess);
  REQUIRE(cuda.streamWaitEvent(other->get(), (*events)[2], 0) == kSuccess);
  REQUIRE(cuda.copyAsync(from, to, 1, other->get()) == kSuccess);
  CHECK(cuda.streamSynchronize(other->get()) == kSuccess);
  CHECK(byteAt(to) == 7);
  float milliseconds = -1;
  CHECK(cuda.eventElapsed(&milliseconds, (*events)[0], (*events)[1]) == kSuccess);
  CHECK(milliseconds >= 0);

  fakeKernel("set", [](void** arguments, unsigned gridX, unsigned) {
    auto* data = *static_cast<std::byte**>(arguments[0]);
    hostView(data)[0] = static_cast<std::byte>(gridX);
  });
  Module module = nullptr;
  Function function = nullptr;
  REQUIRE(cuda.moduleLoad(&module, "") == kSuccess);
  CHECK(cuda.moduleFunction(&function, module, "missing") != kSuccess);
  REQUIRE(cuda.moduleFunction(&function, module, "set") == kSuccess);
  DevicePointer argument = to;
  void* arguments[] = {&argument};
  CHECK(cuda.launch(function, 42, 1, 1, 1, 1, 1, 0, stream->get(), arguments, nullptr) == kSuccess);
  CHECK(byteAt(to) == 42);
  cuda.moduleUnload(module);
  cuda.graphExecDestroy(exec);
  cuda.graphDestroy(graph);
  cuda.free(from);
  cuda.free(to);
}

TEST_CASE("buffers give back what they took, and a machine can be written as text") {
  start();
  for (const char* name : {"", "0", "1"}) {
    const MemoryName memory{*name == 0 ? MemoryKind::kPinned : MemoryKind::kCuda, name};
    const Buffer buffer = allocateBuffer(memory, 100);
    hostView(buffer.data())[99] = std::byte{1};
    CHECK(counters().allocations + counters().registrations == 1);
  }
  const Counters left = counters();
  CHECK(left.allocations + left.registrations + left.streams + left.events == 0);
  CHECK(left.contexts == 0);

  Machine machine = machineOf("gpus=8 memory=1MiB slow=0-1:50 corrupt=2-h:17 nopeer=4-5");
  CHECK(machine.gpus == 8);
  CHECK(machine.memoryBytes == 1u << 20);
  CHECK(machine.links[{0, 1}].queries == 50);
  CHECK(machine.links[{2, kHost}].corruptByte == 17);
  CHECK_FALSE(machine.links[{4, 5}].peerAccess);
  CHECK_THROWS_AS(machineOf("gpus=x"), std::invalid_argument);
  CHECK_THROWS_AS(machineOf("loud=0-1"), std::invalid_argument);
}

}  // namespace gdrbench::cuda::fake
