// SPDX-License-Identifier: Apache-2.0
// Implementation of input_file.h.
#include "api/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

absl::Status LastError() { return absl::UnavailableError(std::strerror(errno)); }

absl::Status TooLarge() {
  return absl::ResourceExhaustedError(
      absl::StrCat("is larger than ", kMaxInputBytes >> 30, " GiB; split it into several files"));
}

absl::string_view KindOf(fs::file_type type) {
  switch (type) {
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::socket:
      return "a socket";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    default:
      return "something else";
  }
}

void Find(const fs::path& folder, absl::Span<const absl::string_view> extensions,
          std::vector<std::string>& files, Problems& problems) {
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    const fs::path& path = it->path();
    std::error_code why;
    const fs::file_status status = it->status(why);
    if (fs::is_directory(status)) {
      std::error_code ignored;
      if (!it->is_symlink(ignored)) Find(path, extensions, files, problems);  // it may lead back
      continue;
    }
    const std::string extension = path.extension().string();
    if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) continue;
    const SourceLocation where{.file = Symbol::Intern(path.string())};
    if (fs::is_regular_file(status)) {
      files.push_back(path.string());
    } else if (why) {  // a link to nowhere, or to itself
      problems.AddError(where, "", why.message());
    } else if (!fs::exists(status)) {
      problems.AddError(where, "", std::strerror(ENOENT));
    } else {
      problems.AddWarning(where, "",
                          absl::StrCat("is ", KindOf(status.type()), ", not a file; left out"));
    }
  }
  if (error) problems.AddError({.file = Symbol::Intern(folder.string())}, "", error.message());
}

}  // namespace

std::string InputName(const std::string& path) { return path == "-" ? "<stdin>" : path; }

absl::StatusOr<std::string> ReadInputFile(const std::string& path) {
  const int fd = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return LastError();
  const absl::Cleanup close_file = [fd] {
    if (fd != STDIN_FILENO) close(fd);
  };
  struct stat status;
  if (fstat(fd, &status) != 0) return LastError();
  if (S_ISDIR(status.st_mode)) return absl::FailedPreconditionError("is a folder");
  std::string text;
  if (S_ISREG(status.st_mode)) {
    const auto size = static_cast<size_t>(status.st_size);
    if (size > kMaxInputBytes) return TooLarge();
    text.reserve(size);
  }
  char block[1 << 16];
  while (true) {
    const ssize_t size = read(fd, block, sizeof(block));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return LastError();
    if (size == 0) return text;
    text.append(block, static_cast<size_t>(size));
    if (text.size() > kMaxInputBytes) return TooLarge();
    if (std::memchr(block, '\0', static_cast<size_t>(size)) != nullptr) return text;
  }
}

std::vector<std::string> FindInputFiles(const std::string& folder,
                                        absl::Span<const absl::string_view> extensions,
                                        Problems& problems) {
  std::vector<std::string> files;
  Find(folder, extensions, files, problems);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace berth
