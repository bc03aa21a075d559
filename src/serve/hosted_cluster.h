// SPDX-License-Identifier: Apache-2.0
// One cluster of the server: its objects, its scheduler with a thread of its own, and the one
// client that it has at a time.
#ifndef BERTH_SRC_SERVE_HOSTED_CLUSTER_H_
#define BERTH_SRC_SERVE_HOSTED_CLUSTER_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/clock.h"
#include "berth/cluster_server.h"
#include "berth/executor.h"
#include "berth/mutex.h"
#include "berth/scheduler.h"
#include "berth/v1/cluster.pb.h"
#include "serve/event_log.h"
#include "serve/object_decoder.h"
#include "serve/rate_limit.h"
#include "serve/served_cluster.h"

namespace berth {

// The other end. Called without any lock of the cluster, from any thread; must not block.
class ClusterClient {
 public:
  virtual ~ClusterClient() = default;
  // There may be something new to be told, or room for changes again.
  virtual void OnReady() = 0;
  // It is the client no more.
  virtual void OnEnd(absl::Status why) = 0;
};

// Memory is bounded: changes that the scheduler has not taken in yet, and what the client has not
// been told, have a limit each. At the first no more changes are taken, at the second nothing more
// is scheduled. Threads: any.
class HostedCluster {
 public:
  using Message = std::shared_ptr<const v1::FromScheduler>;

  // `options` outlive the cluster. `incarnation` tells it from others of its name.
  HostedCluster(const ClusterServerOptions& options, std::string incarnation);
  ~HostedCluster();

  // --- Of a client; from the second on, nothing happens if `client` is the client no more ---

  static absl::Status CheckVersion(const v1::Hello& hello);
  // Makes it the client. AlreadyExists: there is another one, which may be taken over.
  absl::StatusOr<v1::Welcome> Attach(const v1::Hello& hello,
                                     const std::shared_ptr<ClusterClient>& client);
  void Detach(const ClusterClient& client);
  // Takes changes in, if has_room(). InvalidArgument ends the stream.
  absl::Status Submit(const ClusterClient& client, const v1::Changes& changes);
  absl::Status Acknowledge(const ClusterClient& client, uint64_t revision);
  bool HasRoom(const ClusterClient& client);
  // What is to be told next; null: nothing now. Each message once.
  Message Next(const ClusterClient& client);
  // The client has been told, or its connection has it at least.
  void Told(const ClusterClient& client, const v1::FromScheduler& message);

  // --- ---

  // Ends: the client hears `why`, and nothing is scheduled any more.
  void End(const absl::Status& why);
  // Since when it has no client; InfiniteFuture if it has one.
  absl::Time alone_since();
  bool has_ended();
  // All of them, oldest first.
  std::vector<Object> Objects() const { return cluster_.Objects(); }

 private:
  struct Batch {
    uint64_t era = 0;
    bool begins_anew = false;  // and nothing else
    std::vector<ClientChange> changes;
    size_t size = 0;
    bool synced = false;
    std::shared_ptr<v1::FromScheduler> applied;
  };
  enum class Waiting { kNo, kInScheduler, kForRoom };

  void Run();
  absl::Status Start();
  bool TakeBatch();
  bool Publish();
  void Wait();
  bool MaySchedule() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool IsClient(const ClusterClient& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WakeThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellReady();

  const ClusterServerOptions& options_;
  const std::string incarnation_;
  const RealClock clock_;
  ServedCluster cluster_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Scheduler> scheduler_;  // of the thread
  bool complete_ = false;                 // of the thread: everything was sent, once at least

  Mutex decoder_mutex_;  // before mutex_
  ObjectDecoder decoder_ ABSL_GUARDED_BY(decoder_mutex_);

  Mutex mutex_;
  CondVar room_;  // the thread waits for it when it must not schedule
  Waiting waiting_ ABSL_GUARDED_BY(mutex_) = Waiting::kNo;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ended_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<ClusterClient> client_ ABSL_GUARDED_BY(mutex_);
  bool acknowledges_ ABSL_GUARDED_BY(mutex_) = false;
  bool resumable_ ABSL_GUARDED_BY(mutex_) = false;  // everything was sent
  absl::Time alone_since_ ABSL_GUARDED_BY(mutex_);
  // Changes on their way to the scheduler.
  std::deque<Batch> batches_ ABSL_GUARDED_BY(mutex_);
  uint64_t era_ ABSL_GUARDED_BY(mutex_) = 0;  // grows when everything is sent again
  size_t pending_changes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t accepted_ ABSL_GUARDED_BY(mutex_) = 0;  // sequence of the latest
  RateLimit rate_ ABSL_GUARDED_BY(mutex_);
  absl::Time read_again_ ABSL_GUARDED_BY(mutex_);  // no changes before
  // HasRoom() said no for that reason: the client is to be told when the time has come.
  bool tell_at_read_again_ ABSL_GUARDED_BY(mutex_) = false;
  // What is on its way to the client.
  std::deque<Message> applied_ ABSL_GUARDED_BY(mutex_);
  EventLog log_ ABSL_GUARDED_BY(mutex_);
  uint64_t given_ ABSL_GUARDED_BY(mutex_) = 0;  // revision of the latest event that Next() gave out

  std::thread thread_;  // last: it uses the rest
};

}  // namespace berth

#endif  // BERTH_SRC_SERVE_HOSTED_CLUSTER_H_
