// SPDX-License-Identifier: Apache-2.0
// A Kubernetes cluster, by its API server. Needs berth::kubernetes, which is no part of
// berth::berth.
#ifndef BERTH_KUBERNETES_CLUSTER_H_
#define BERTH_KUBERNETES_CLUSTER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/cluster.h"

namespace berth {

struct KubernetesClusterOptions {
  // A file. Empty: the service account of the pod that this runs in, as with kube-scheduler;
  // neither KUBECONFIG nor ~/.kube/config is looked at.
  std::string kubeconfig;
  std::string context;  // of the file; empty: its current one

  // clientConnection of a KubeSchedulerConfiguration. Events have as much again for themselves.
  double qps = 50;  // zero or less: no limit
  int burst = 100;
  // What built-in kinds are read and written in; "application/json" is the other one.
  std::string content_type = "application/vnd.kubernetes.protobuf";
  // What the server is asked to answer in, if that is something else: one of the two, or both in a
  // list.
  std::string accept_content_types;

  std::string user_agent = "berth";
  // Asked before each request that changes something: of several replicas only the one that leads
  // may. Unavailable if it says no, and nothing was sent. From any thread; must not wait. Absent:
  // always.
  std::function<bool()> may_write = nullptr;
  // Keep the statuses of PodGroups and ElasticQuotas that the scheduler watches, as the controllers
  // of scheduler-plugins do, which need not run then.
  bool keep_group_statuses = true;
  // Called with a sentence when something goes wrong that no call returns, such as events that
  // cannot be written. From any thread; must not wait.
  std::function<void(absl::string_view text)> warn = [](absl::string_view) {};
};

// The cluster that `options` name, to be given to a Scheduler. Reads files, and asks the server
// nothing yet. The errors name the file and what to do. Needs permissions: see
// src/kubernetes/README.md.
absl::StatusOr<std::unique_ptr<Cluster>> ConnectToCluster(const KubernetesClusterOptions& options);

}  // namespace berth

#endif  // BERTH_KUBERNETES_CLUSTER_H_
