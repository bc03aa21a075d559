// SPDX-License-Identifier: Apache-2.0
// Schedules clusters that clients describe over gRPC: what `berth serve` runs. docs/serve.md; the
// contract is berth/v1/cluster.proto. Needs berth::serve, which is no part of berth::berth.
#ifndef BERTH_CLUSTER_SERVER_H_
#define BERTH_CLUSTER_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "berth/configuration.h"
#include "berth/extensions/extender.h"
#include "berth/framework/registry.h"

namespace berth {

struct ClusterServerOptions {
  KubeSchedulerConfiguration configuration;  // of every cluster
  const Registry* registry = nullptr;        // must outlive the server
  ExtenderList extenders;                    // as SchedulerOptions

  // unix:/PATH or HOST:PORT; port 0 takes any. Without mutual TLS, HOST has to be the loopback
  // interface. A Unix socket is for this user alone.
  std::string address;
  std::string client_ca_file, cert_file, key_file;  // PEM files of mutual TLS, or none

  // Where PreBind, Bind and PostBind plugins run: on so many threads a cluster, or, with 0, on that
  // of the scheduler, which waits for them. 0 is faster, if none of them waits for anything.
  int binding_threads = 0;

  // Limits. What is beyond them is refused, or waits, and is never kept.
  size_t max_clusters = 64;
  size_t max_objects = 1'000'000;               // of a cluster
  size_t max_message_bytes = size_t{64} << 20;  // of one message of a client
  // What is told to a client and that it may not have. Nothing more is scheduled in its cluster
  // then. So many events that it has are kept, too, for a stream that broke.
  size_t max_events = 65'536;
  double changes_per_second = 0;    // of a cluster; a client that is faster is read later. 0: any
  double questions_per_second = 0;  // Explain, WhatIf and Validate together; 0: any
  int max_questions = 4;            // at once
  absl::Duration idle_timeout =
      absl::Minutes(10);  // after that, a cluster without client is forgotten
};

// Serves as long as it lives. Each cluster has a scheduler and a thread of its own. Threads: any.
class ClusterServer {
 public:
  // InvalidArgument: an option makes no sense, or the address cannot be trusted. Unavailable: it
  // cannot be listened on.
  static absl::StatusOr<std::unique_ptr<ClusterServer>> Start(ClusterServerOptions options);
  virtual ~ClusterServer() = default;

  // As it was given, with the port that was taken.
  virtual std::string address() const = 0;
  // Ends: streams are told, and questions under way may finish within `grace`. Wait() returns then.
  virtual void Shutdown(absl::Duration grace) = 0;
  // Until Shutdown(), from another thread.
  virtual void Wait() = 0;
};

}  // namespace berth

#endif  // BERTH_CLUSTER_SERVER_H_
