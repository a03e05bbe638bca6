// SPDX-License-Identifier: Apache-2.0
// CUPTI made up: records as data, behind the names of its functions.
#include "harness/witness/copy_records.h"

#include <cstring>
#include <map>
#include <set>

#include "harness/witness/copy_log.h"
#include "tests/harness/witness/seen.h"

using namespace gdrbench;
using namespace gdrbench::test;
namespace cupti = gdrbench::witness::cupti;

namespace {

constexpr std::uint64_t kCopied = std::uint64_t{1} << 20;
constexpr const char* kId = "copy.records";
constexpr std::size_t kRecordBytes = 88;  // what follows the known part is for newer readers

struct FakeCupti;
FakeCupti* library = nullptr;  // C functions have no other way to what they answer from

struct FakeCupti {
  std::uint32_t number = 130001;
  std::set<std::string> missing;
  std::map<std::uint32_t, cupti::Code> enableCodes;
  cupti::Code flushCode = cupti::kOk;
  std::uint64_t now = 100;
  std::size_t dropped = 0;
  cupti::Code lastCode = cupti::kMaxLimitReached;
  std::vector<cupti::CopyRecord> records;
  std::set<std::uint32_t> enabled;
  cupti::Request request = nullptr;
  cupti::Complete complete = nullptr;

  FakeCupti() { library = this; }
  FakeCupti(const FakeCupti&) = delete;
  FakeCupti& operator=(const FakeCupti&) = delete;
  ~FakeCupti() { library = nullptr; }

  void copy(std::uint8_t kind, std::uint64_t bytes, std::uint32_t record = cupti::kCopy,
            std::uint8_t from = 0, std::uint8_t to = 0) {
    records.push_back({record, kind, from, to, 0, bytes, now + 1, now + 2});
  }
  [[nodiscard]] std::function<Result<SymbolLookup>()> open() const;
};

void deliver() {
  std::uint8_t* buffer = nullptr;
  std::size_t bytes = 0;
  std::size_t most = 1;
  library->request(&buffer, &bytes, &most);
  REQUIRE(bytes >= library->records.size() * kRecordBytes);
  REQUIRE(reinterpret_cast<std::uintptr_t>(buffer) % 8 == 0);
  CHECK(most == 0);
  std::memset(buffer, 0xEE, bytes);
  for (std::size_t i = 0; i < library->records.size(); ++i) {
    std::memcpy(buffer + i * kRecordBytes, &library->records[i], sizeof(cupti::CopyRecord));
  }
  library->complete(nullptr, 0, buffer, bytes, library->records.size() * kRecordBytes);
}

cupti::Code version(std::uint32_t* out) {
  *out = library->number;
  return cupti::kOk;
}
cupti::Code resultString(cupti::Code code, const char** text) {
  *text = code == 39 ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" : "CUPTI_ERROR_UNKNOWN";
  return cupti::kOk;
}
cupti::Code timestamp(std::uint64_t* out) {
  library->now += 1000;
  *out = library->now;
  return cupti::kOk;
}
cupti::Code registerCallbacks(cupti::Request request, cupti::Complete complete) {
  library->request = request;
  library->complete = complete;
  return cupti::kOk;
}
cupti::Code enable(std::uint32_t kind) {
  if (library->enableCodes.contains(kind)) return library->enableCodes[kind];
  library->enabled.insert(kind);
  return cupti::kOk;
}
cupti::Code disable(std::uint32_t kind) {
  library->enabled.erase(kind);
  return cupti::kOk;
}
cupti::Code flushAll(std::uint32_t flag) {
  CHECK(flag == cupti::kForced);
  if (library->flushCode != cupti::kOk) return library->flushCode;
  deliver();
  return cupti::kOk;
}
cupti::Code nextRecord(std::uint8_t* buffer, std::size_t valid, void** record) {
  auto* const at = static_cast<std::uint8_t*>(*record);
  std::uint8_t* const next = at == nullptr ? buffer : at + kRecordBytes;
  if (next >= buffer + valid) return library->lastCode;
  *record = next;
  return cupti::kOk;
}
cupti::Code droppedRecords(void*, std::uint32_t, std::size_t* count) {
  *count = library->dropped;
  return cupti::kOk;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

std::function<Result<SymbolLookup>()> FakeCupti::open() const {
  static const std::map<std::string, void*> kAll = {
      {"cuptiGetVersion", address(version)},
      {"cuptiGetResultString", address(resultString)},
      {"cuptiGetTimestamp", address(timestamp)},
      {"cuptiActivityRegisterCallbacks", address(registerCallbacks)},
      {"cuptiActivityEnable", address(enable)},
      {"cuptiActivityDisable", address(disable)},
      {"cuptiActivityFlushAll", address(flushAll)},
      {"cuptiActivityGetNextRecord", address(nextRecord)},
      {"cuptiActivityGetNumDroppedRecords", address(droppedRecords)},
  };
  return [this] {
    return SymbolLookup([this](const char* name) -> void* {
      const auto found = kAll.find(name);
      return found == kAll.end() || missing.contains(name) ? nullptr : found->second;
    });
  };
}

const Scene kScene{.gpuPci = "0000:1b:00.0", .peerGpuPci = "0000:2b:00.0", .messageBytes = 4096};
const Payload kCopiedOut{.sentBytes = kCopied, .sentMessages = 256};
const Payload kCopiedIn{.receivedBytes = kCopied, .receivedMessages = 256};
const Payload kBothWays{kCopied, kCopied, 256, 256};

/// Begins, lets `copies` happen, ends.
template <class Copies>
std::vector<Observation> watch(FakeCupti& fake, const Scene& scene, const Payload& payload,
                               Copies&& copies) {
  const auto witness = witness::copyRecords(scene, fake.open());
  witness->begin();
  copies();
  auto all = witness->end(payload);
  CHECK(fake.enabled.empty());
  return all;
}

}  // namespace

TEST_CASE("copies of copy engines, by kind") {
  struct Row {
    const char* name;
    std::uint8_t kind;
    std::uint64_t bytes;
    std::uint32_t record;
    Outcome out, back;  ///< of a case with payload both ways
    Strength strength;
    PathKind path = PathKind::kNone;
  };
  const Outcome n = Outcome::kNeutral;
  const Row rows[] = {
      {"to the host", 2, kCopied, 1, Outcome::kStaged, n, Strength::kDecisive},
      {"half of it to the host", 2, kCopied / 2, 1, Outcome::kStaged, n, Strength::kDecisive},
      {"answers of checks", 2, 8, 1, n, n, Strength::kWeak},
      {"less than half", 2, kCopied / 2 - 1, 1, n, n, Strength::kWeak},
      {"from the host", 1, kCopied, 1, n, Outcome::kStaged, Strength::kDecisive},
      {"between devices", 10, kCopied, 22, Outcome::kDirect, Outcome::kDirect, Strength::kStrong},
      {"between devices, plain record", 10, kCopied, 1, Outcome::kDirect, Outcome::kDirect,
       Strength::kStrong},
      {"within the device", 8, kCopied, 1, n, n, Strength::kWeak, PathKind::kGpuStaged},
      {"between places of the host", 9, kCopied, 1, n, n, Strength::kWeak},
      {"a kernel's record", 0, kCopied, 10, n, n, Strength::kWeak},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    FakeCupti fake;
    const auto all = watch(fake, kScene, kBothWays, [&] {
      CHECK(fake.enabled == std::set<std::uint32_t>{cupti::kCopy, cupti::kPeerCopy});
      fake.copy(row.kind, row.bytes, row.record);
    });
    CHECK(all.size() == 2);
    const auto out = only(all, kId, Way::kOut);
    // A copy between devices speaks for both ends.
    const bool between = row.out == Outcome::kDirect;
    checkSeen(out, row.out, row.strength, between ? Side::kBoth : Side::kSource);
    CHECK(out.kind == WitnessClass::kWork);
    CHECK(name(out.path) == name(row.path));
    checkSeen(only(all, kId, Way::kBack), row.back, row.strength,
              between ? Side::kBoth : Side::kSink);
  }
}

TEST_CASE("no copies are no proof") {
  FakeCupti fake;
  const auto seen = only(watch(fake, kScene, kCopiedOut, [] {}), kId, Way::kOut);
  checkSeen(seen, Outcome::kNeutral, Strength::kWeak, Side::kSource, "no copy engine");
  CHECK(has(seen.observed, "0 copies"));
}

TEST_CASE("a copy whose kind CUPTI does not know is told by its ends") {
  FakeCupti fake;
  const auto all = watch(fake, kScene, kCopiedOut, [&] {
    fake.copy(0, kCopied, cupti::kCopy, cupti::kDevice, cupti::kPinned);
  });
  checkSeen(only(all, kId, Way::kOut), Outcome::kStaged, Strength::kDecisive, Side::kSource);
}

TEST_CASE("one process that stages both legs convicts both ends") {
  for (const bool out : {true, false}) {
    FakeCupti fake;
    const auto all = watch(fake, kScene, out ? kCopiedOut : kCopiedIn, [&] {
      fake.copy(cupti::kDeviceToHost, kCopied);
      fake.copy(cupti::kHostToDevice, kCopied);
    });
    REQUIRE(all.size() == 2);
    checkSeen(all[0], Outcome::kStaged, Strength::kDecisive, out ? Side::kSource : Side::kSink);
    checkSeen(all[1], Outcome::kStaged, Strength::kDecisive, out ? Side::kSink : Side::kSource);
    for (const Observation& one : all) CHECK(one.way == (out ? Way::kOut : Way::kBack));
  }
}

TEST_CASE("a copy to the host where the other side's memory is there") {
  for (const bool sameHost : {true, false}) {
    FakeCupti fake;
    Scene scene = kScene;
    scene.peerGpuPci = "";
    scene.peerOnThisHost = sameHost;
    const auto all =
        watch(fake, scene, kCopiedOut, [&] { fake.copy(cupti::kDeviceToHost, kCopied); });
    checkSeen(only(all, kId, Way::kOut), sameHost ? Outcome::kNeutral : Outcome::kStaged,
              Strength::kDecisive, Side::kSource);
  }
}

TEST_CASE("both ends on one GPU") {
  FakeCupti fake;
  Scene scene = kScene;
  scene.peerGpuPci = scene.gpuPci;
  const auto all =
      watch(fake, scene, kCopiedOut, [&] { fake.copy(cupti::kDeviceToDevice, kCopied); });
  const auto seen = only(all, kId, Way::kOut);
  checkSeen(seen, Outcome::kDirect, Strength::kStrong, Side::kBoth);
  CHECK(seen.path == PathKind::kSameGpu);
}

TEST_CASE("copies from before and after do not count") {
  FakeCupti fake;
  const auto all = watch(fake, kScene, kCopiedOut, [&] {
    fake.records.push_back({1, cupti::kDeviceToHost, 0, 0, 0, kCopied, 50, 60});
    fake.records.push_back({1, cupti::kDeviceToHost, 0, 0, 0, kCopied, 1 << 20, 1 << 21});
  });
  checkSeen(only(all, kId, Way::kOut), Outcome::kNeutral, Strength::kWeak, Side::kSource);
}

TEST_CASE("records that are not as known, or were lost") {
  const auto look = [](FakeCupti& fake, std::uint64_t bytes) {
    return only(watch(fake, kScene, kBothWays, [&] { fake.copy(cupti::kDeviceToHost, bytes); }),
                kId, Way::kOut);
  };
  const auto unavailable = [](const Observation& seen, const char* reason) {
    checkSeen(seen, Outcome::kUnavailable, Strength::kWeak, Side::kSource, reason);
  };
  {
    FakeCupti fake;
    fake.copy(200, 8);
    unavailable(look(fake, kCopied), "1 records of a shape");
  }
  {
    FakeCupti fake;
    fake.records.push_back({1, cupti::kDeviceToHost, 0, 0, 0, 8, 300, 200});
    unavailable(look(fake, kCopied), "1 records of a shape");
  }
  {
    FakeCupti fake;
    fake.lastCode = 21;
    unavailable(look(fake, kCopied), "1 records of a shape");
  }
  {
    FakeCupti fake;
    fake.dropped = 3;
    unavailable(look(fake, 8), "3 records were lost");
    checkSeen(look(fake, kCopied), Outcome::kStaged, Strength::kDecisive, Side::kSource);
  }
}

TEST_CASE("why there are no records of copies") {
  const auto reasonOf = [](FakeCupti& fake, const Scene& scene) {
    const auto seen = only(watch(fake, scene, kCopiedOut, [] {}), kId);
    checkSeen(seen, Outcome::kUnavailable, Strength::kWeak, Side::kBoth);
    return seen.reason;
  };
  for (const std::uint32_t number : {1U, 18U, 29U, 120000U, 140000U}) {
    FakeCupti fake;
    fake.number = number;
    CHECK(has(reasonOf(fake, kScene), "version " + std::to_string(number)));
  }
  for (const std::uint32_t number : {19U, 28U, 130000U, 130400U})
    CHECK(cupti::versionKnown(number));
  FakeCupti fake;
  CHECK(has(reasonOf(fake, {}), "in the host"));
  fake.flushCode = 999;
  CHECK(has(reasonOf(fake, kScene), "CUPTI_ERROR_UNKNOWN (999)"));
  fake.enableCodes[cupti::kPeerCopy] = 39;
  CHECK(has(reasonOf(fake, kScene), "MULTIPLE_SUBSCRIBERS"));
  CHECK(has(reasonOf(fake, kScene), "without the other profiler"));
  fake.missing = {"cuptiActivityFlushAll"};
  CHECK(has(reasonOf(fake, kScene), "no cuptiActivityFlushAll"));
  const auto absent = witness::copyRecords(kScene, [] {
    return Result<SymbolLookup>(Error{.tried = "open CUPTI", .nativeText = "not there"});
  });
  absent->begin();
  CHECK(has(only(absent->end(kCopiedOut), kId).reason, "not there"));
}

TEST_CASE("one record of copies at a time, and one given up gives way") {
  FakeCupti fake;
  const auto first = witness::copyRecords(kScene, fake.open());
  first->begin();
  {
    const auto second = witness::copyRecords(kScene, fake.open());
    second->begin();
    CHECK(has(only(second->end(kCopiedOut), kId).reason, "another record"));
  }
  fake.copy(cupti::kDeviceToHost, kCopied);
  CHECK(only(first->end(kCopiedOut), kId, Way::kOut).outcome == Outcome::kStaged);
  {
    const auto givenUp = witness::copyRecords(kScene, fake.open());
    givenUp->begin();
  }
  CHECK(fake.enabled.empty());
  fake.records.clear();
  CHECK(only(watch(fake, kScene, kCopiedOut, [] {}), kId, Way::kOut).outcome == Outcome::kNeutral);
}
