// SPDX-License-Identifier: Apache-2.0
#include "harness/report/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "harness/core/digest.h"
#include "harness/core/json.h"
#include "harness/core/text.h"
#include "harness/report/document_text.h"
#include "harness/report/report.h"

namespace gdrbench::report {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kRoom =
    "what is finished is kept; make room or choose another folder with --out";

/// What a run writes into its folder.
constexpr const char* kFiles[] = {"results.json", "results.jsonl", "results.csv",
                                  "report.md",    "config.yaml",   "samples"};

/// A descriptor that closes itself.
class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

Status writeAll(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return systemError("write " + path, errno, kRoom);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return Done{};
}

/// EINVAL: this kind of file has nothing to sync.
Status sync(int fd, const std::string& path) {
  if (::fsync(fd) != 0 && errno != EINVAL) return systemError("sync " + path, errno, kRoom);
  return Done{};
}

Status writeAndSync(int fd, std::string_view text, const std::string& path) {
  if (Status written = writeAll(fd, text, path); !written) return written;
  return sync(fd, path);
}

/// The name of a new file survives a power cut only when its folder is synced too.
void syncFolder(const std::string& folder) {
  const File handle(folder, O_RDONLY | O_DIRECTORY);
  if (handle.fd() >= 0) (void)::fsync(handle.fd());
}

/// A reader sees no file or the whole file, never a part.
Status placeFile(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  {
    const File file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (file.fd() < 0) return systemError("create " + fresh, errno, kRoom);
    if (Status written = writeAndSync(file.fd(), text, fresh); !written) {
      ::unlink(fresh.c_str());
      return written;
    }
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    const int why = errno;
    ::unlink(fresh.c_str());
    return systemError(fmt::format("rename {} to {}", fresh, path), why, kRoom);
  }
  return Done{};
}

/// A line that did not fit is taken back, so that the next one does not continue a torn one.
Status appendLine(int fd, std::string_view text, const std::string& path) {
  const off_t before = ::lseek(fd, 0, SEEK_END);
  Status written = writeAll(fd, text, path);
  if (!written && before >= 0) (void)!::ftruncate(fd, before);
  return written;
}

std::string line(json::object object) {
  return writeJson(std::move(object)) + "\n";
}

std::string littleEndian(std::span<const double> values) {
  std::string bytes;
  bytes.reserve(values.size() * sizeof(double));
  for (const double value : values) {
    auto bits = std::bit_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof bits; ++i, bits >>= 8) {
      bytes += static_cast<char>(bits & 0xffu);
    }
  }
  return bytes;
}

/// Different rows can come to the same name: the later one is numbered.
std::string sampleFileName(const std::string& folder, const std::string& rowId, int round) {
  constexpr std::size_t kLongest = 200;  // a name may have 255 bytes
  const std::string stem = fileNameOf(rowId).substr(0, kLongest);
  std::string name = fmt::format("{}-r{}.f64", stem, round);
  std::error_code unreadable;
  for (int n = 2; fs::exists(fs::path(folder) / name, unreadable); ++n) {
    name = fmt::format("{}-r{}-{}.f64", stem, round, n);
  }
  return name;
}

}  // namespace

Journal::Journal(std::string folder, int fd) : folder_(std::move(folder)), fd_(fd) {}
Journal::Journal(Journal&& other) noexcept
    : folder_(std::move(other.folder_)), fd_(std::exchange(other.fd_, -1)) {}
Journal::~Journal() {
  if (fd_ >= 0) ::close(fd_);
}

Result<Journal> Journal::open(const std::string& folder, const Document& header) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed || !fs::is_directory(folder, failed)) {
    return systemError("make the folder " + folder, failed ? failed.value() : ENOTDIR,
                       "choose another one with --out");
  }
  for (const char* name : kFiles) {
    if (!fs::exists(fs::path(folder) / name, failed)) continue;
    return Error{.code = ErrorCode::kUsage,
                 .tried = fmt::format("{} already holds {}: nothing is overwritten", folder, name),
                 .next = "choose another folder with --out"};
  }
  const std::string path = folder + "/results.jsonl";
  File file(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
  if (file.fd() < 0)
    return systemError("create " + path, errno, "choose another folder with --out");
  const std::string first = line({{"document", toJsonWithoutRows(header)}});
  if (Status written = writeAndSync(file.fd(), first, path); !written) {
    ::unlink(path.c_str());
    return std::move(written).error();
  }
  syncFolder(folder);
  return Journal(folder, file.release());
}

Status Journal::addRow(const Row& row) {
  // Synced with the first run of the row.
  return appendLine(fd_, line({{"row", toJson(row, false)}}), folder_ + "/results.jsonl");
}

Status Journal::append(json::object body) {
  const std::string path = folder_ + "/results.jsonl";
  if (Status written = appendLine(fd_, line(std::move(body)), path); !written) return written;
  return sync(fd_, path);
}

Status Journal::addRun(const std::string& rowId, const Run& run) {
  return append({{"run", json::object{{"row", asUtf8(rowId)}, {"result", toJson(run)}}}});
}

Status Journal::addWitness(const std::string& rowId, const Run& run) {
  return append({{"witness", json::object{{"row", asUtf8(rowId)}, {"result", toJson(run)}}}});
}

Status Journal::addControl(const Control& control) {
  return append({{"control", toJson(control)}});
}

Status Journal::writeSamples(const std::string& rowId, Run& run,
                             std::span<const double> nanoseconds) {
  std::error_code failed;
  const std::string samples = folder_ + "/samples";
  fs::create_directories(samples, failed);
  if (failed) return systemError("make the folder " + samples, failed.value(), kRoom);
  const std::string name = "samples/" + sampleFileName(samples, rowId, run.round);
  const std::string bytes = littleEndian(nanoseconds);
  if (Status written = placeFile(folder_ + "/" + name, bytes); !written) return written;
  run.samplesFile = name;
  run.samples = nanoseconds.size();
  run.samplesDigest = fnv1a(bytes);
  return Done{};
}

Status Journal::finish(const Document& document) {
  const std::pair<const char*, std::string> files[] = {
      {"results.json", render(document, Format::kJson, {})},
      {"results.csv", render(document, Format::kCsv, {})},
      {"report.md", render(document, Format::kMarkdown, {})},
      {"config.yaml", document.config},
  };
  for (const auto& [name, text] : files) {
    const bool closed = text.empty() || text.back() == '\n';
    const std::string path = folder_ + "/" + name;
    if (Status written = placeFile(path, closed ? text : text + "\n"); !written) return written;
  }
  syncFolder(folder_);
  return Done{};
}

}  // namespace gdrbench::report
