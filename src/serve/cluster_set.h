// SPDX-License-Identifier: Apache-2.0
// The clusters of a server, by name.
#ifndef BERTH_SRC_SERVE_CLUSTER_SET_H_
#define BERTH_SRC_SERVE_CLUSTER_SET_H_

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/clock.h"
#include "berth/cluster_server.h"
#include "berth/mutex.h"
#include "serve/hosted_cluster.h"

namespace berth {

// Makes a cluster when its first client comes, and forgets it when it is told to, or when no client
// came back for long. Threads: any.
class ClusterSet {
 public:
  explicit ClusterSet(const ClusterServerOptions& options);
  ~ClusterSet();

  struct Attached {
    std::shared_ptr<HostedCluster> cluster;
    v1::Welcome welcome;
  };
  // As HostedCluster::Attach(). ResourceExhausted: there are as many clusters as may be.
  absl::StatusOr<Attached> Attach(const v1::Hello& hello,
                                  const std::shared_ptr<ClusterClient>& client);
  // Null if there is none.
  std::shared_ptr<HostedCluster> Find(const std::string& name);
  // If it is there still. Does not wait for what it is doing.
  void Forget(const HostedCluster& cluster);
  // Gives back what Attach() gave, from any thread: the last one waits for the cluster's thread.
  void Return(std::shared_ptr<HostedCluster> cluster);
  // Ends them all; none is made any more.
  void End(const absl::Status& why);

 private:
  using Clusters = std::map<std::string, std::shared_ptr<HostedCluster>>;

  void Run();
  std::string NewIncarnation() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ClusterServerOptions& options_;
  const RealClock clock_;
  Mutex mutex_;
  CondVar changed_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  Clusters clusters_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<HostedCluster>> forgotten_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<HostedCluster>> returned_ ABSL_GUARDED_BY(mutex_);
  uint64_t made_ ABSL_GUARDED_BY(mutex_) = 0;
  std::thread thread_;  // last; forgets clusters, whose threads it waits for
};

}  // namespace berth

#endif  // BERTH_SRC_SERVE_CLUSTER_SET_H_
