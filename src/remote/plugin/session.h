// SPDX-License-Identifier: Apache-2.0
// The connection to a remote plugin's process: it is kept up, and questions get an answer or an
// error in time.
#ifndef BERTH_SRC_REMOTE_PLUGIN_SESSION_H_
#define BERTH_SRC_REMOTE_PLUGIN_SESSION_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/mutex.h"
#include "remote/plugin/description.h"
#include "remote/plugin/remote_args.h"

namespace berth {

// One Session stream, from Started on. Threads: any.
class Session {
 public:
  virtual ~Session() = default;

  // Another one for each session of the process.
  virtual uint64_t id() const = 0;
  // Sends it after what was sent before. Never blocks; a broken session drops it.
  virtual void Send(v1::ToPlugin message) = 0;
  // A number for a question.
  virtual uint64_t NextId() = 0;
  // The answer to the question of that number, which must have been sent by Ask(). Error:
  // Unavailable if the session breaks, DeadlineExceeded.
  virtual absl::StatusOr<v1::FromPlugin> Ask(v1::ToPlugin message, uint64_t id,
                                             absl::Duration deadline) = 0;
  // Waits until the peer has taken in that revision.
  virtual absl::Status AwaitSynced(uint64_t revision, absl::Duration deadline) = 0;
  virtual uint64_t synced_revision() const = 0;
  // Ends it: the peer is at fault.
  virtual void Break(absl::string_view why) = 0;
  virtual bool is_broken() const = 0;
};

enum class Patience { kWaits, kFailsAtOnce };  // where no process listens
// Asks the process who it is. Blocks for at most `timeout`, and half a second. Error: Unavailable
// if no process is there, InvalidArgument if a file of `args` is at fault, FailedPrecondition for
// the rest.
absl::StatusOr<v1::Description> DescribeRemotePlugin(const RemotePluginArgs& args,
                                                     absl::Duration timeout,
                                                     Patience patience = Patience::kWaits);

// Whether the process refuses the arguments in `start`: begins a session and ends it. Error:
// FailedPrecondition, with what it says. A process that does not answer refuses nothing.
absl::Status CheckStart(const RemotePluginArgs& args, const v1::Start& start,
                        absl::Duration timeout);

// Keeps a session with the process, by a thread of its own: connects, checks that the process is
// the plugin that was described, starts; when a session breaks it waits a little and connects
// again.
class SessionKeeper {
 public:
  struct Options {
    RemotePluginArgs args;
    v1::Description description;  // what the profile was made for
    v1::Start start;
    // Called on threads of this.
    std::function<void()> on_up;
    std::function<void(absl::string_view why)> on_down;
    std::function<void(const v1::FromPlugin&)> on_message;  // that is no answer
  };
  explicit SessionKeeper(Options options);
  ~SessionKeeper();

  // The session, or null; then `why` says why.
  std::shared_ptr<Session> Current(std::string* why) const;
  // The same, after waiting for one.
  std::shared_ptr<Session> Await(absl::Duration timeout, std::string* why) const;

 private:
  class Stream;

  void Run();
  absl::StatusOr<std::shared_ptr<Stream>> Connect();
  void Note(std::shared_ptr<Stream> stream, std::string why);
  bool is_stopping() const;

  const Options options_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::shared_ptr<Stream> current_ ABSL_GUARDED_BY(mutex_);
  std::string why_ ABSL_GUARDED_BY(mutex_) = "not connected yet";
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_SESSION_H_
