// SPDX-License-Identifier: Apache-2.0
// Implementation of run_options.h. As kube-scheduler v1.35 app/options/options.go ApplyTo.
#include "process/run_options.h"

#include "absl/strings/str_cat.h"
#include "config/configuration_file.h"

namespace berth {
namespace {

template <class T, class U>
void Set(const std::optional<T>& flag, U& field) {
  if (flag.has_value()) field = *flag;
}

}  // namespace

void ApplyFlags(ConfigurationSource source, RunOptions& options,
                KubeSchedulerConfiguration& configuration, Problems& problems) {
  const RunOptions::ClientConnection& client = options.client_connection;
  if (source == ConfigurationSource::kFile) {
    const auto warn = [&](bool is_given, absl::string_view flag, absl::string_view field) {
      if (!is_given) return;
      options.warnings.push_back(absl::StrCat(
          "--", flag, " has no effect beside --config, as with kube-scheduler; the file's ",
          "clientConnection.", field, " stands"));
    };
    std::string& kubeconfig = configuration.client_connection.kubeconfig;
    if (kubeconfig.empty()) {
      Set(client.kubeconfig, kubeconfig);
    } else {
      warn(client.kubeconfig.has_value(), "kubeconfig", "kubeconfig");
    }
    warn(client.content_type.has_value(), "kube-api-content-type", "contentType");
    warn(client.qps.has_value(), "kube-api-qps", "qps");
    warn(client.burst.has_value(), "kube-api-burst", "burst");
  } else {
    Set(client.kubeconfig, configuration.client_connection.kubeconfig);
    Set(client.content_type, configuration.client_connection.content_type);
    Set(client.qps, configuration.client_connection.qps);
    Set(client.burst, configuration.client_connection.burst);
  }
  const RunOptions::LeaderElection& flags = options.leader_election;
  LeaderElectionConfiguration& election = configuration.leader_election;
  Set(flags.leader_elect, election.leader_elect);
  Set(flags.lease_duration, election.lease_duration);
  Set(flags.renew_deadline, election.renew_deadline);
  Set(flags.retry_period, election.retry_period);
  Set(flags.resource_lock, election.resource_lock);
  Set(flags.resource_name, election.resource_name);
  Set(flags.resource_namespace, election.resource_namespace);
  // With a file alone that is known to be right.
  FieldProblems of_election(Value(), "leaderElection", problems);
  FieldProblems of_client(Value(), "clientConnection", problems);
  if (!problems.ok()) return;
  CheckLeaderElection(election, of_election);
  CheckClientConnection(configuration.client_connection, of_client);
}

}  // namespace berth
