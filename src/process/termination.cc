// SPDX-License-Identifier: Apache-2.0
// Implementation of termination.h.
#include "process/termination.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <utility>

#include "berth/check.h"

namespace berth {
namespace {

constexpr int kSignals[] = {SIGTERM, SIGINT};
constexpr char kCame = 's', kEnd = 'e';

std::atomic<int> write_end = -1;
std::atomic<bool> has_come = false;
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler uses them");

void OnSignal(int) {
  if (has_come.exchange(true)) _exit(1);
  const int error = errno;
  (void)!write(write_end.load(), &kCame, 1);
  errno = error;
}

void SetHandlers(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

}  // namespace

TerminationSignals::TerminationSignals(std::function<void()> on_first) {
  int ends[2];
  BERTH_CHECK(pipe2(ends, O_CLOEXEC) == 0) << "no pipe for signals";
  write_end = ends[1];
  has_come = false;
  thread_ = std::thread([from = ends[0], on_first = std::move(on_first)] {
    char what = 0;
    while (true) {
      const ssize_t n = read(from, &what, 1);
      if (n < 0 && errno == EINTR) continue;
      if (n != 1 || what == kEnd) break;
      on_first();
    }
    close(from);
  });
  SetHandlers(&OnSignal);
}

TerminationSignals::~TerminationSignals() {
  SetHandlers(SIG_DFL);
  (void)!write(write_end.load(), &kEnd, 1);
  thread_.join();
  close(write_end.exchange(-1));
}

}  // namespace berth
