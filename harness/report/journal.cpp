// SPDX-License-Identifier: Apache-2.0
#include "harness/report/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "harness/core/json.h"
#include "harness/core/text.h"
#include "harness/report/report.h"

namespace gdrbench::report {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kRoom =
    "what is finished is kept; make room or choose another folder with --out";

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

Status writeAndSync(int fd, std::string_view text, const std::string& path) {
  if (Status written = writeAll(fd, text, path); !written) return written;
  if (::fsync(fd) != 0 && errno != EINVAL) return systemError("sync " + path, errno, kRoom);
  return Done{};
}

/// A reader sees the old file or the whole new one, never a part.
Status replaceFile(const std::string& path, std::string_view text) {
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
    return systemError(fmt::format("rename {} to {}", fresh, path), errno);
  }
  return Done{};
}

std::string line(json::object object) {
  return writeJson(std::move(object)) + "\n";
}

Document withoutRows(const Document& document) {
  Document header = document;
  header.rows.clear();
  return header;
}

std::string fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return fmt::format("{:016x}", hash);
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
  for (const char* name : {"results.json", "results.jsonl"}) {
    if (!fs::exists(fs::path(folder) / name, failed)) continue;
    return Error{
        .code = ErrorCode::kUsage,
        .tried = fmt::format("{} already holds {}: results are never overwritten", folder, name),
        .next = "choose another folder with --out"};
  }
  const std::string path = folder + "/results.jsonl";
  File file(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND);
  if (file.fd() < 0)
    return systemError("create " + path, errno, "choose another folder with --out");
  const std::string first = line({{"document", toJson(withoutRows(header))}});
  if (Status written = writeAndSync(file.fd(), first, path); !written) {
    ::unlink(path.c_str());
    return std::move(written).error();
  }
  return Journal(folder, file.release());
}

Status Journal::addRow(const Row& row) {
  return writeAll(fd_, line({{"row", toJson(row, false)}}), folder_ + "/results.jsonl");
}

Status Journal::addRun(const std::string& rowId, const Run& run) {
  const std::string text = line({{"run", json::object{{"row", rowId}, {"result", toJson(run)}}}});
  return writeAndSync(fd_, text, folder_ + "/results.jsonl");
}

Status Journal::writeSamples(const std::string& rowId, Run& run,
                             std::span<const double> nanoseconds) {
  std::error_code failed;
  fs::create_directories(fs::path(folder_) / "samples", failed);
  const std::string name = fmt::format("samples/{}-r{}.f64", fileNameOf(rowId), run.round);
  std::string bytes(nanoseconds.size() * sizeof(double), '\0');
  std::memcpy(bytes.data(), nanoseconds.data(), bytes.size());
  if (Status written = replaceFile(folder_ + "/" + name, bytes); !written) return written;
  run.samplesFile = name;
  run.samples = nanoseconds.size();
  run.samplesDigest = fnv1a(bytes);
  return Done{};
}

Status Journal::finish(const Document& document) {
  const std::pair<const char*, std::string> files[] = {
      {"results.json", writeJsonPretty(toJson(document)) + "\n"},
      {"results.csv", render(document, Format::kCsv, {})},
      {"report.md", render(document, Format::kMarkdown, {})},
      {"config.yaml", document.config},
  };
  for (const auto& [name, text] : files) {
    if (Status written = replaceFile(folder_ + "/" + name, text); !written) return written;
  }
  return Done{};
}

}  // namespace gdrbench::report
