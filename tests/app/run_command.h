// SPDX-License-Identifier: Apache-2.0
// Runs programs as their users do, and looks at what they print.
#ifndef BERTH_TESTS_APP_RUN_COMMAND_H_
#define BERTH_TESTS_APP_RUN_COMMAND_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace berth {

inline std::string BerthCommand() {
  const char* command = std::getenv("BERTH_COMMAND");
  return command == nullptr ? "berth" : command;
}

// A temporary file with that text.
inline std::string WriteTemporary(absl::string_view name, absl::string_view text) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/", getpid(), "-", name);
  std::ofstream(path) << text;
  return path;
}

struct Outcome {
  int status;  // -1: ended by a signal
  std::string out, err;
};

inline std::string ReadWhole(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// What `line` comes to in a shell. Redirections in it win over ours.
inline Outcome RunShell(absl::string_view line) {
  const std::string out = WriteTemporary("out", "");
  const std::string err = WriteTemporary("err", "");
  const int status = std::system(absl::StrCat("{ ", line, "\n} >", out, " 2>", err).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadWhole(out), ReadWhole(err)};
}
inline Outcome RunBerth(absl::string_view words) {
  return RunShell(absl::StrCat(BerthCommand(), " ", words));
}

// A program under way.
class Process {
 public:
  explicit Process(std::vector<std::string> words) : out_(WriteTemporary("process-out", "")) {
    pid_ = fork();
    if (pid_ != 0) return;
    const int out = open(out_.c_str(), O_WRONLY | O_TRUNC);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  ~Process() {
    if (!ended_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, &status_, 0);
    }
    unlink(out_.c_str());
  }

  void Interrupt() { kill(pid_, SIGINT); }
  // Waits, a minute at most, until the program catches SIGINT itself, or no longer does.
  bool WaitUntilItCatchesInterrupts(bool catches) {
    const absl::Time deadline = absl::Now() + absl::Minutes(1);
    while (absl::Now() < deadline) {
      if (Catches() == catches) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }
  // What waitpid() says, and what it printed, errors too.
  int Wait() {
    if (!ended_) waitpid(pid_, &status_, 0);
    ended_ = true;
    return status_;
  }
  std::string output() const { return ReadWhole(out_); }

 private:
  bool Catches() const {
    std::ifstream status(absl::StrCat("/proc/", pid_, "/status"));
    for (std::string line; std::getline(status, line);) {
      uint64_t mask = 0;
      if (line.rfind("SigCgt:", 0) != 0) continue;
      std::istringstream(line.substr(7)) >> std::hex >> mask;
      return (mask >> (SIGINT - 1) & 1) != 0;
    }
    return false;
  }

  const std::string out_;
  pid_t pid_;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace berth

#endif  // BERTH_TESTS_APP_RUN_COMMAND_H_
