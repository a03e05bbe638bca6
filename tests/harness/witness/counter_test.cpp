// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/counter.h"

#include <limits>

#include "harness/witness/allowance.h"
#include "harness/witness/copy_mappings.h"
#include "harness/witness/nvlink_bytes.h"
#include "tests/harness/environment/fake_tree.h"
#include "tests/harness/witness/seen.h"

using namespace gdrbench;
using namespace gdrbench::witness;

namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kTurn = std::uint64_t{1} << 32;

Flow flow(std::uint64_t before, std::uint64_t after, std::uint64_t unit = 1) {
  return {.name = "c", .idle = before, .before = before, .after = after, .unit = unit};
}

}  // namespace

TEST_CASE("a count is decimal digits and nothing else") {
  CHECK(parseCount("0") == 0);
  CHECK(parseCount("17\n") == 17);
  CHECK(parseCount("18446744073709551615 \t\r\n") == kMost);
  for (const char* text : {"", " ", "\n", "-1", "+1", " 1", "0x10", "1.5", "1 2", "N/A (no PMA)",
                           "18446744073709551616", "12abc"}) {
    INFO(text);
    CHECK(!parseCount(text));
  }
}

TEST_CASE("a counter file that holds no number is unknown with what it holds") {
  const test::FakeTree tree;
  tree.write("sys/good", "12");
  tree.write("sys/words", "N/A (no PMA)");
  std::filesystem::create_directories(tree.sys() / "folder");
  CHECK(readCount(tree.sys() / "good") == Known<std::uint64_t>(12));
  CHECK(test::has(readCount(tree.sys() / "words").why, "holds 'N/A (no PMA)', no number"));
  CHECK(test::has(readCount(tree.sys() / "absent").why, "absent cannot be read"));
  CHECK(test::has(readCount(tree.sys() / "folder").why, "folder cannot be read"));
}

TEST_CASE("counters wrap once at 32 or 64 bits") {
  CHECK(growth(5, 7) == Known<std::uint64_t>(2));
  CHECK(growth(kTurn - 1, 1) == Known<std::uint64_t>(2));
  CHECK(growth(kMost, 1) == Known<std::uint64_t>(2));
  CHECK(test::has(growth(kTurn * 5, 3).why, "set back"));
}

TEST_CASE("a counter is judged by payload and headers") {
  const Bounds bounds{1000, 1300};
  CHECK(judge(flow(10, 1010), bounds).passed == Passed::kAll);
  CHECK(judge(flow(10, 1310), bounds).passed == Passed::kAll);
  CHECK(judge(flow(10, 1009), bounds).passed == Passed::kLess);
  CHECK(judge(flow(10, 260, 4), bounds).passed == Passed::kAll);
  const Judgement more = judge(flow(10, 1311), bounds);
  CHECK(more.passed == Passed::kUnclear);
  CHECK(test::has(more.why, "others' traffic"));
  const Judgement stuck = judge(flow(kTurn - 1, kTurn - 1), bounds);
  CHECK(stuck.passed == Passed::kUnclear);
  CHECK(test::has(stuck.why, "end of 32 bits"));
  Flow unread = flow(1, 2);
  unread.after = Known<std::uint64_t>::unknown("gone");
  CHECK(judge(unread, bounds).why == "gone");
}

TEST_CASE("a 32-bit counter that may have wrapped unseen says nothing") {
  const std::uint64_t payload = kTurn + 1000;
  const Judgement turned = judge(flow(5, 1010), {payload, payload + 100});
  CHECK(turned.passed == Passed::kUnclear);
  CHECK(test::has(turned.why, "wrapped unseen"));
  CHECK(judge(flow(5, 500), {payload, payload + 100}).passed == Passed::kLess);
  // A counter that has more than 32 bits has not.
  CHECK(judge(flow(kTurn, kTurn + 1005), {payload, payload + 100}).passed == Passed::kLess);
}

TEST_CASE("what others do while nothing runs is counted against the payload") {
  Flow noisy = flow(100, 1100);
  noisy.idleTime = std::chrono::milliseconds(20);
  noisy.runTime = std::chrono::milliseconds(200);
  noisy.idle = 95;  // 5 in 20 ms: 50 in 200 ms
  CHECK(judge(noisy, {1000, 1000}).passed == Passed::kAll);
  noisy.after = 1150;
  CHECK(judge(noisy, {1000, 1000}).passed == Passed::kAll);
  noisy.after = 1151;
  CHECK(judge(noisy, {1000, 1000}).passed == Passed::kUnclear);
  noisy.idle = 80;  // 200 in 200 ms
  noisy.after = 1100;
  CHECK(test::has(judge(noisy, {1000, 1000}).why, "moved while nothing ran"));
  noisy.idle = Known<std::uint64_t>::unknown("gone");
  CHECK(judge(noisy, {1000, 1000}).passed == Passed::kUnclear);
}

TEST_CASE("sums of counts stop at the greatest number") {
  CHECK(plus(kMost, 1) == kMost);
  CHECK(times(kMost, 2) == kMost);
  CHECK(times(0, kMost) == 0);
  CHECK(times(kMost, 0) == 0);
  const Payload huge{kMost, kMost, kMost, kMost};
  CHECK(portBounds({.bytes = kMost}, huge, {}).most == kMost);
}

TEST_CASE("NVLink counters that repeat the GPU's are not summed") {
  const auto growthOf = [](const Flow& one) { return *one.after - *one.before; };
  using Links = std::vector<std::uint64_t>;
  const GpuWide repeated = gpuWide(Links{100, 100, 100}, Links{150, 150, 150});
  CHECK(growthOf(repeated.flow) == 50);
  CHECK(growthOf(repeated.ifSummed) == 150);
  const GpuWide shares = gpuWide(Links{1, 2, 3}, Links{21, 22, 23});
  CHECK(growthOf(shares.flow) == 60);
  CHECK(growthOf(shares.ifSummed) == 60);
  const GpuWide gone = gpuWide(Links{1, 2, 3}, LinkReading::unknown("GPU is lost"));
  CHECK(gone.flow.after.why == "GPU is lost");
}

TEST_CASE("mappings by which a CPU can copy GPU memory") {
  const std::string maps =
      "55e0a0000000-55e0a0021000 r--p 00000000 fe:01 123   /usr/bin/gdrbench\n"
      "7f0000000000-7f0000001000 rw-s 00000000 00:06 99  /dev/nvidia0\n"
      "7f0000002000-7f0000003000 r-xp 00000000 fe:01 5 /opt/my libs/libgdrapi.so.2.6\n"
      "7f0000003000-7f0000004000 r--p 00000000 fe:01 5 /opt/my libs/libgdrapi.so.2.6\n"
      "7f0000004000-7f0000005000 rw-s 00000000 00:06 9 /dev/gdrdrv\n"
      "7f0000005000-7f0000006000 rw-s 00000000 00:0c 9 /dmabuf:\n"
      "7f0000006000-7f0000007000 rw-s 00000000 00:0c 9 anon_inode:dmabuf\n"
      "7f0000007000-7f0000008000 rw-p 00000000 00:00 0\n"
      "7f0000008000-7f0000009000 rw-p 00000000 00:00 0 [heap]";
  CHECK(copyMappingsIn(maps) == std::vector<std::string>{"/opt/my libs/libgdrapi.so.2.6",
                                                         "/dev/gdrdrv",
                                                         "/dmabuf:", "anon_inode:dmabuf"});
  CHECK(copyMappingsIn("").empty());
  CHECK(copyMappingsIn("\n\n/dev/gdrdrv\n1 2 3 4 5").empty());
}
