// SPDX-License-Identifier: Apache-2.0
// Streams, events, copies, graphs and kernels of the fake driver.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "tests/fakes/fake_state.h"

namespace gdrbench::cuda::fake {
namespace {

using Kind = FakeStep::Kind;

// --- what a stream does --------------------------------------------------------------------------

void execute(CUstream_st& stream, const FakeStep& step) {
  const Link& road = link(step.fromDevice, step.toDevice);
  Counters& counters = state().counters;
  ++counters.copies;
  if (step.fromDevice >= 0 && step.toDevice >= 0 && step.fromDevice != step.toDevice &&
      !state().peers.contains({step.fromDevice, step.toDevice}) &&
      !state().peers.contains({step.toDevice, step.fromDevice})) {
    ++counters.stagedCopies;
  }
  if (road.failure != kSuccess && step.number >= road.goodCopies) {
    stream.error = road.failure;
    return;
  }
  std::byte* to = hostView(reinterpret_cast<void*>(step.to));
  std::memmove(to, hostView(reinterpret_cast<void*>(step.from)), step.bytes);
  if (road.corruptByte && *road.corruptByte < step.bytes) to[*road.corruptByte] ^= std::byte{0xff};
}

bool advance(CUstream_st& stream);

/// The front step is over; false: not yet.
bool finish(CUstream_st& stream, FakeStep& step) {
  switch (step.kind) {
    case Kind::kCopy:
      if (step.queries != 0) return false;
      execute(stream, step);
      return true;
    case Kind::kRecord:
      step.event->done = std::max(step.event->done, step.serial);
      step.event->at = std::chrono::steady_clock::now();
      return true;
    case Kind::kWrite:
      std::atomic_ref(*reinterpret_cast<std::uint32_t*>(hostView(reinterpret_cast<void*>(step.to))))
          .store(step.value, std::memory_order_release);
      return true;
    case Kind::kWait:
      if (step.event->done < step.serial && step.event->stream != &stream) {
        advance(*step.event->stream);
        stream.error = step.event->stream->error;
      }
      return stream.error != kSuccess || step.event->done >= step.serial;
  }
  return true;
}

/// What one look from outside lets happen; whether anything is left to do. Work behind an error is
/// never done.
bool advance(CUstream_st& stream) {
  if (stream.error != kSuccess || stream.steps.empty()) return false;
  if (stream.steps.front().queries != 0) --stream.steps.front().queries;
  while (!stream.steps.empty() && stream.error == kSuccess) {
    if (!finish(stream, stream.steps.front())) return true;
    stream.steps.pop_front();
  }
  return false;
}

void drain(CUstream_st& stream) {
  while (advance(stream)) {
  }
}

// --- what is asked of it -------------------------------------------------------------------------

void enqueue(CUstream_st& stream, const FakeStep& step) {
  if (stream.capture) {
    stream.capture->steps.push_back(step);
  } else {
    stream.steps.push_back(step);
  }
}

/// Where a range lies: a device, kHost, or nothing for a range that leaves its allocation.
std::optional<int> placeOf(DevicePointer pointer, std::size_t bytes) {
  const Block* block = blockOf(pointer);
  if (block == nullptr) return kHost;
  const auto offset = pointer - reinterpret_cast<DevicePointer>(block->address);
  if (!block->accessible || bytes > block->bytes - offset) return {};
  return block->device;
}

CUstream_st& newStream(int device) {
  state().streams.push_back(std::make_unique<CUstream_st>());
  CUstream_st& made = *state().streams.back();
  made.device = device;
  return made;
}

/// A null handle is the default stream of the current GPU. The real one also waits for all others
/// that were not made to ignore it; those of gdrbench are.
StreamHandle streamOf(StreamHandle stream) {
  if (stream != nullptr || !currentDevice()) return stream;
  StreamHandle& made = state().defaults[*currentDevice()];
  if (made == nullptr) made = &newStream(*currentDevice());
  return made;
}

Code copyAsync(DevicePointer to, DevicePointer from, std::size_t bytes, StreamHandle stream) {
  const Guard guard(state().mutex);
  if (!currentDevice()) return kInvalidContext;
  stream = streamOf(stream);
  if (!stream->alive) return kInvalidHandle;
  if (stream->error != kSuccess) return stream->error;
  const auto toDevice = placeOf(to, bytes), fromDevice = placeOf(from, bytes);
  if (!toDevice || !fromDevice) return kInvalidValue;
  const Link& road = link(*fromDevice, *toDevice);
  const std::uint64_t number = state().enqueued[{*fromDevice, *toDevice}]++;
  if (road.refusal != kSuccess && number >= road.goodCopies) return road.refusal;
  enqueue(*stream, {.to = to,
                    .from = from,
                    .bytes = bytes,
                    .fromDevice = *fromDevice,
                    .toDevice = *toDevice,
                    .queries = road.queries,
                    .number = number});
  // Pageable memory: the driver comes back when it has read or written it.
  const bool pageable = (*toDevice == kHost && !isRegistered(to, bytes)) ||
                        (*fromDevice == kHost && !isRegistered(from, bytes));
  if (pageable && !stream->capture) drain(*stream);
  return kSuccess;
}

Code copyPeerAsync(DevicePointer to, Context toContext, DevicePointer from, Context fromContext,
                   std::size_t bytes, StreamHandle stream) {
  const Guard guard(state().mutex);
  if (toContext == nullptr || fromContext == nullptr) return kInvalidContext;
  if (placeOf(to, bytes) != toContext->device || placeOf(from, bytes) != fromContext->device) {
    return kInvalidValue;
  }
  return copyAsync(to, from, bytes, stream);
}

Code streamCreate(StreamHandle* stream, unsigned) {
  const Guard guard(state().mutex);
  const auto device = currentDevice();
  if (!device) return kInvalidContext;
  *stream = &newStream(*device);
  ++state().counters.streams;
  return kSuccess;
}

/// Streams and events stay as objects, because steps still name them.
Code streamDestroy(StreamHandle stream) {
  const Guard guard(state().mutex);
  if (!stream->alive) return kInvalidHandle;
  drain(*stream);
  stream->alive = false;
  --state().counters.streams;
  return kSuccess;
}

Code streamSynchronize(StreamHandle stream) {
  const Guard guard(state().mutex);
  stream = streamOf(stream);
  if (stream == nullptr) return kInvalidContext;
  if (stream->capture) return kNotSupported;
  drain(*stream);
  return stream->error;
}

Code streamQuery(StreamHandle stream) {
  const Guard guard(state().mutex);
  ++state().counters.queries;
  stream = streamOf(stream);
  if (stream == nullptr) return kInvalidContext;
  advance(*stream);
  if (stream->error != kSuccess) return stream->error;
  return stream->steps.empty() ? kSuccess : kNotReady;
}

Code streamWriteValue32(StreamHandle stream, DevicePointer to, std::uint32_t value, unsigned) {
  const Guard guard(state().mutex);
  if (!state().machine.memoryOperations) return kNotSupported;
  stream = streamOf(stream);
  if (stream == nullptr) return kInvalidContext;
  if (stream->error != kSuccess) return stream->error;
  if (!isRegistered(to, sizeof value)) return kInvalidValue;
  enqueue(*stream, {.kind = Kind::kWrite, .to = to, .value = value});
  return kSuccess;
}

Code streamWaitEvent(StreamHandle stream, EventHandle event, unsigned) {
  const Guard guard(state().mutex);
  stream = streamOf(stream);
  if (stream == nullptr) return kInvalidContext;
  if (event->capture) {  // the stream joins the capture
    stream->capture = event->capture;
    return kSuccess;
  }
  enqueue(*stream, {.kind = Kind::kWait, .event = event, .serial = event->recorded});
  return kSuccess;
}

Code eventCreate(EventHandle* event, unsigned flags) {
  const Guard guard(state().mutex);
  if (!currentDevice()) return kInvalidContext;
  state().events.push_back(std::make_unique<CUevent_st>());
  *event = state().events.back().get();
  (*event)->timed = (flags & kEventDisableTiming) == 0;
  ++state().counters.events;
  return kSuccess;
}

Code record(EventHandle event, StreamHandle stream, bool external) {
  const Guard guard(state().mutex);
  stream = streamOf(stream);
  if (stream == nullptr) return kInvalidContext;
  event->stream = stream;
  if (stream->capture && !external) {
    event->capture = stream->capture;
    return kSuccess;
  }
  event->capture = nullptr;
  // In a graph the serial is given at each launch.
  if (!stream->capture) ++event->recorded;
  enqueue(*stream, {.kind = Kind::kRecord, .event = event, .serial = event->recorded});
  if (!stream->capture && stream->steps.size() == 1) advance(*stream);
  return kSuccess;
}

Code eventQuery(EventHandle event) {
  const Guard guard(state().mutex);
  ++state().counters.queries;
  if (event->stream == nullptr) return kSuccess;
  advance(*event->stream);
  if (event->done >= event->recorded) return kSuccess;
  return event->stream->error != kSuccess ? event->stream->error : kNotReady;
}

Code eventSynchronize(EventHandle event) {
  Code code = eventQuery(event);
  while (code == kNotReady) code = eventQuery(event);
  return code;
}

Code eventElapsed(float* milliseconds, EventHandle start, EventHandle end) {
  const Guard guard(state().mutex);
  if (!start->timed || !end->timed || start->stream == nullptr || end->stream == nullptr) {
    return kInvalidHandle;
  }
  if (start->done < start->recorded || end->done < end->recorded) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return kSuccess;
}

// --- graphs and kernels --------------------------------------------------------------------------

Code beginCapture(StreamHandle stream, int) {
  const Guard guard(state().mutex);
  if (stream->capture) return kInvalidHandle;
  stream->capture = std::make_shared<CUgraph_st>();
  return kSuccess;
}

Code endCapture(StreamHandle stream, Graph* graph) {
  const Guard guard(state().mutex);
  if (!stream->capture) return kInvalidHandle;
  const std::shared_ptr<CUgraph_st> captured = stream->capture;
  *graph = new CUgraph_st(*captured);
  for (const auto& each : state().streams) {
    if (each->capture == captured) each->capture = nullptr;
  }
  for (const auto& each : state().events) {
    if (each->capture == captured) each->capture = nullptr;
  }
  return kSuccess;
}

/// The order of the capture is one of those that the graph allows.
Code graphLaunch(GraphExec graph, StreamHandle stream) {
  const Guard guard(state().mutex);
  for (FakeStep step : graph->steps) {
    if (step.kind == Kind::kRecord) {
      step.event->stream = stream;
      step.serial = ++step.event->recorded;
    }
    enqueue(*stream, step);
  }
  return kSuccess;
}

Code launch(Function function, unsigned gridX, unsigned, unsigned, unsigned blockX, unsigned,
            unsigned, unsigned, StreamHandle stream, void** arguments, void**) {
  const Guard guard(state().mutex);
  if (!currentDevice()) return kInvalidContext;
  stream = streamOf(stream);
  // Arguments have no size here and cannot be kept: a kernel cannot be captured.
  if (stream->capture) return kNotSupported;
  drain(*stream);
  if (stream->error != kSuccess) return stream->error;
  function->kernel(arguments, gridX, blockX);
  return kSuccess;
}

}  // namespace

void drainAll() {
  for (const auto& stream : state().streams) drain(*stream);
}

void fakeKernel(const std::string& name, Kernel kernel) {
  const Guard guard(state().mutex);
  state().kernels[name] = std::make_unique<CUfunc_st>(CUfunc_st{std::move(kernel)});
}

void bindWork(Api& api) {
  api.copyAsync = copyAsync;
  api.copyPeerAsync = copyPeerAsync;
  api.streamCreate = streamCreate;
  api.streamDestroy = streamDestroy;
  api.streamSynchronize = streamSynchronize;
  api.streamQuery = streamQuery;
  api.streamWriteValue32 = streamWriteValue32;
  api.streamWaitEvent = streamWaitEvent;
  api.eventCreate = eventCreate;
  api.eventDestroy = [](EventHandle) {
    const Guard guard(state().mutex);
    --state().counters.events;
    return kSuccess;
  };
  api.eventRecord = [](EventHandle event, StreamHandle stream) {
    return record(event, stream, false);
  };
  api.eventRecordWithFlags = [](EventHandle event, StreamHandle stream, unsigned flags) {
    return record(event, stream, flags == kEventRecordExternal);
  };
  api.eventQuery = eventQuery;
  api.eventSynchronize = eventSynchronize;
  api.eventElapsed = eventElapsed;
}

void bindGraphs(Api& api) {
  api.beginCapture = beginCapture;
  api.endCapture = endCapture;
  api.graphInstantiate = [](GraphExec* exec, Graph graph, unsigned long long) {
    *exec = new CUgraphExec_st{graph->steps};
    return kSuccess;
  };
  api.graphLaunch = graphLaunch;
  api.graphExecDestroy = [](GraphExec exec) {
    delete exec;
    return kSuccess;
  };
  api.graphDestroy = [](Graph graph) {
    delete graph;
    return kSuccess;
  };
  api.moduleLoad = [](Module* module, const void* image) {
    *module = new CUmod_st{image};
    return kSuccess;
  };
  api.moduleUnload = [](Module module) {
    delete module;
    return kSuccess;
  };
  api.moduleFunction = [](Function* function, Module, const char* name) {
    const Guard guard(state().mutex);
    const auto found = state().kernels.find(name);
    if (found == state().kernels.end()) return kNameNotFound;
    *function = found->second.get();
    return kSuccess;
  };
  api.launch = launch;
}

}  // namespace gdrbench::cuda::fake
