// SPDX-License-Identifier: Apache-2.0
#include "harness/witness/work_meter.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace gdrbench::witness {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

/// What the kernel answers to a read: the format that is asked for below.
struct Answer {
  std::uint64_t value, enabled, running;
};

class PerfWorkMeter final : public WorkMeter {
 public:
  explicit PerfWorkMeter(const Roots& roots) : roots_(roots) {}

  Status start() override {
    counters_.clear();
    for (const std::string& name : namesIn(roots_.proc / "self/task")) {
      const auto thread = numberAfter("", name);
      if (!thread) continue;
      const int fd = open(*thread);
      if (fd >= 0) {
        counters_.emplace_back(fd);
      } else if (errno != ESRCH) {  // that thread has ended since
        return refused(errno);
      }
    }
    if (!counters_.empty()) return Done{};
    return Error{.code = ErrorCode::kNotFound,
                 .tried = "count this process's instructions",
                 .nativeText = (roots_.proc / "self/task").string() + " has no threads"};
  }

  Known<std::uint64_t> instructions() override {
    using Count = Known<std::uint64_t>;
    std::uint64_t total = 0;
    for (const Descriptor& counter : counters_) {
      Answer answer{};
      if (read(counter.get(), &answer, sizeof answer) != sizeof answer) {
        return Count::unknown("a performance counter cannot be read");
      }
      // Shared with others it ran for a part of the time: an estimate is no count.
      if (answer.running < answer.enabled) {
        return Count::unknown("the CPU's counters were shared with others");
      }
      total += answer.value;
    }
    return total;
  }

 private:
  static int open(int thread) {
    perf_event_attr event{};
    event.type = PERF_TYPE_HARDWARE;
    event.size = sizeof event;
    event.config = PERF_COUNT_HW_INSTRUCTIONS;
    event.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    event.inherit = 1;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    return static_cast<int>(
        syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
  }

  Error refused(int code) const {
    const std::string level =
        firstLine(roots_.proc / "sys/kernel/perf_event_paranoid").value_or("unknown");
    std::string next;
    if (code == ENOENT || code == EOPNOTSUPP || code == ENODEV) {
      next = "this CPU, or virtual machine, has no instruction counter";
    } else {
      next = fmt::format(
          "kernel.perf_event_paranoid is {}, at most 2 is needed, and a container "
          "has to allow perf_event_open",
          level);
    }
    return systemError("count this process's instructions", code, std::move(next));
  }

  Roots roots_;
  std::vector<Descriptor> counters_;
};

}  // namespace

std::unique_ptr<WorkMeter> perfWorkMeter(const Roots& roots) {
  return std::make_unique<PerfWorkMeter>(roots);
}

}  // namespace gdrbench::witness
