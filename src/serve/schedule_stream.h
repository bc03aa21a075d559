// SPDX-License-Identifier: Apache-2.0
// One stream of a client: what comes goes to its cluster, and back.
#ifndef BERTH_SRC_SERVE_SCHEDULE_STREAM_H_
#define BERTH_SRC_SERVE_SCHEDULE_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "berth/mutex.h"
#include "berth/v1/cluster.pb.h"
#include "serve/cluster_set.h"

namespace berth {

grpc::Status ToGrpc(const absl::Status& status);

// One read and one write are under way at most: a client that does not read is not written to, and
// one whose cluster has no room is not read. Takes bytes and parses them itself: to gRPC a message
// that is none looks like the end of the stream. Owns itself until gRPC is done with it.
class ScheduleStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                             public ClusterClient,
                             public std::enable_shared_from_this<ScheduleStream> {
 public:
  // `clusters` outlive it.
  static ScheduleStream* Start(ClusterSet& clusters);

  // --- gRPC ---
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // --- ClusterClient ---
  void OnReady() override { Pump(); }
  void OnEnd(absl::Status why) override { End(std::move(why)); }

 private:
  explicit ScheduleStream(ClusterSet& clusters) : clusters_(clusters) {}
  absl::Status HandleBytes();
  absl::Status Handle(const v1::ToScheduler& message);
  absl::Status Greet(const v1::Hello& hello);
  void End(absl::Status why);
  // Starts what can be started now.
  void Pump();

  ClusterSet& clusters_;
  std::shared_ptr<ScheduleStream> self_;
  grpc::ByteBuffer in_, out_bytes_;  // of the read and the write that are under way

  Mutex mutex_;
  std::shared_ptr<HostedCluster> cluster_ ABSL_GUARDED_BY(mutex_);  // null before Hello
  bool reading_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Threads that start something without the mutex, as gRPC may call back from there. Nothing may
  // be started after Finish().
  int starting_ ABSL_GUARDED_BY(mutex_) = 0;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  HostedCluster::Message welcome_ ABSL_GUARDED_BY(mutex_);
  HostedCluster::Message out_ ABSL_GUARDED_BY(mutex_);  // being written
};

}  // namespace berth

#endif  // BERTH_SRC_SERVE_SCHEDULE_STREAM_H_
