// SPDX-License-Identifier: Apache-2.0
// The flags of `berth run`: those of kube-scheduler v1.35.
#ifndef BERTH_SRC_PROCESS_RUN_OPTIONS_H_
#define BERTH_SRC_PROCESS_RUN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "berth/configuration.h"
#include "process/log.h"

namespace berth {

// A flag that is absent was not given, and the configuration's value stands.
struct RunOptions {
  std::string write_config_to;  // empty: the scheduler runs
  std::string master;           // the server's URL, in place of the kubeconfig's
  uint64_t seed = 0;

  // Those that a configuration file has too. As kube-scheduler: a file goes before them. Only a
  // kubeconfig counts beside a file that names none.
  struct ClientConnection {
    std::optional<std::string> kubeconfig, content_type;
    std::optional<double> qps;
    std::optional<int32_t> burst;
  } client_connection;
  // Those go before a file.
  struct LeaderElection {
    std::optional<bool> leader_elect;
    std::optional<absl::Duration> lease_duration, renew_deadline, retry_period;
    std::optional<std::string> resource_lock, resource_name, resource_namespace;
  } leader_election;

  struct Serving {
    std::string bind_address = "0.0.0.0";
    int secure_port = 10259;  // 0: none
    std::string tls_cert_file, tls_private_key_file;
    bool only_tls13 = false;
    std::string authentication_kubeconfig, authorization_kubeconfig, client_ca_file;
    bool skip_lookup = false;
    bool tolerate_lookup_failure = true;
    std::vector<std::string> always_allow_paths = {"/healthz", "/readyz", "/livez"};
    absl::Duration token_cache_life = absl::Seconds(10);
    absl::Duration allowed_cache_life = absl::Seconds(10);
    absl::Duration denied_cache_life = absl::Seconds(10);
  } serving;

  LogFormat log_format = LogFormat::kText;
  int verbosity = 0;

  // Sentences about flags of kube-scheduler that were given and have no effect here.
  std::vector<std::string> warnings;
};

enum class ConfigurationSource { kDefaults, kFile };
// Puts what the flags say into `configuration`, of a file or kube-scheduler's defaults, and adds to
// `options.warnings` which flags it goes before. What is then wrong with it is a problem.
void ApplyFlags(ConfigurationSource source, RunOptions& options,
                KubeSchedulerConfiguration& configuration, Problems& problems);

}  // namespace berth

#endif  // BERTH_SRC_PROCESS_RUN_OPTIONS_H_
