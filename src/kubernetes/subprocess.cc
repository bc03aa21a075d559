// SPDX-License-Identifier: Apache-2.0
// Implementation of subprocess.h.
#include "kubernetes/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kubernetes/http_loop.h"

extern char** environ;

namespace berth {
namespace {

constexpr size_t kMaxOutputBytes = 1 << 20;
constexpr size_t kMaxErrorBytes = 1024;
constexpr absl::Duration kLookAgain = absl::Milliseconds(50);  // for `give_up` and a closed end

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    Close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~FileDescriptor() { Close(); }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  FileDescriptor read, write;
  bool Open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = FileDescriptor(ends[0]);
    write = FileDescriptor(ends[1]);
    return true;
  }
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const ProcessRun& run) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    bool replaced = false;
    for (const auto& [name, value] : run.env) {
      replaced |= absl::StartsWith(*variable, absl::StrCat(name, "="));
    }
    if (!replaced) variables.emplace_back(*variable);
  }
  for (const auto& [name, value] : run.env) variables.push_back(absl::StrCat(name, "=", value));
  return variables;
}

// Starts the program in a process group of its own.
absl::StatusOr<pid_t> Start(const ProcessRun& run, const Pipe& out, const Pipe& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const absl::Cleanup destroy = [&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  };

  std::vector<std::string> arguments = {run.command};
  arguments.insert(arguments.end(), run.args.begin(), run.args.end());
  std::vector<std::string> variables = Environment(run);
  pid_t process = 0;
  const int error = posix_spawnp(&process, run.command.c_str(), &actions, &attributes,
                                 Pointers(arguments).data(), Pointers(variables).data());
  if (error == 0) return process;
  const std::string text = absl::StrCat(run.command, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

// Appends what there is to `text`; false at the end.
bool ReadSome(const FileDescriptor& from, std::string& text) {
  char buffer[4096];
  const ssize_t n = read(from.get(), buffer, sizeof(buffer));
  if (n > 0) text.append(buffer, static_cast<size_t>(n));
  return n > 0 || (n < 0 && errno == EINTR);
}

// Reads both ends until the program has closed them. What ends the wait before is an error.
absl::Status ReadAll(const ProcessRun& run, absl::Time until, const Pipe& out, const Pipe& err,
                     std::string& output, std::string& errors) {
  bool out_open = true, err_open = true;
  while (out_open || err_open) {
    pollfd both[2] = {{out_open ? out.read.get() : -1, POLLIN, 0},
                      {err_open ? err.read.get() : -1, POLLIN, 0}};
    poll(both, 2, static_cast<int>(absl::ToInt64Milliseconds(kLookAgain)));
    if (both[0].revents != 0) out_open = ReadSome(out.read, output);
    if (both[1].revents != 0) err_open = ReadSome(err.read, errors);
    if (errors.size() > kMaxErrorBytes) errors.erase(0, errors.size() - kMaxErrorBytes);
    if (output.size() > kMaxOutputBytes) {
      return absl::ResourceExhaustedError(absl::StrCat(run.command, ": prints more than 1 MiB"));
    }
    if (MonotonicNow() > until) {
      return absl::DeadlineExceededError(
          absl::StrCat(run.command, ": did not end within ", absl::FormatDuration(run.timeout)));
    }
    if (run.give_up != nullptr && *run.give_up) {
      return absl::CancelledError(absl::StrCat(run.command, ": was stopped"));
    }
  }
  return absl::OkStatus();
}

// Waits for the end of a program, which may have closed its output and go on. Absent if somebody
// else has waited for it: then its state is not known.
absl::StatusOr<std::optional<int>> AwaitEnd(const ProcessRun& run, pid_t process,
                                            absl::Time until) {
  while (true) {
    int state = 0;
    const pid_t ended = waitpid(process, &state, WNOHANG);
    if (ended > 0) return state;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (MonotonicNow() > until || (run.give_up != nullptr && *run.give_up)) {
      return absl::DeadlineExceededError(absl::StrCat(run.command, ": did not end"));
    }
    absl::SleepFor(absl::Milliseconds(2));
  }
}

void Kill(pid_t process) {
  kill(-process, SIGKILL);
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

absl::StatusOr<std::string> RunProcess(const ProcessRun& run) {
  Pipe out, err;
  if (!out.Open() || !err.Open()) {
    return absl::ResourceExhaustedError(absl::StrCat(run.command, ": ", std::strerror(errno)));
  }
  const absl::StatusOr<pid_t> process = Start(run, out, err);
  if (!process.ok()) return process.status();
  out.write.Close();
  err.write.Close();

  std::string output, errors;
  const absl::Time until = MonotonicNow() + run.timeout;
  const absl::Status read = ReadAll(run, until, out, err, output, errors);
  const absl::StatusOr<std::optional<int>> end =
      read.ok() ? AwaitEnd(run, *process, until) : absl::StatusOr<std::optional<int>>(read);
  if (!end.ok()) {
    Kill(*process);
    return end.status();
  }
  if (!end->has_value()) {
    return absl::UnavailableError(absl::StrCat(run.command, ": its exit status is not known"));
  }
  const int state = **end;
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return output;
  const std::string how = WIFEXITED(state) ? absl::StrCat("exit code ", WEXITSTATUS(state))
                                           : absl::StrCat("signal ", WTERMSIG(state));
  return absl::UnavailableError(
      absl::StrCat(run.command, ": failed with ", how, ": ", absl::StripAsciiWhitespace(errors)));
}

}  // namespace berth
