// SPDX-License-Identifier: Apache-2.0
// KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) as the scheduler uses it.
#ifndef BERTH_CONFIGURATION_H_
#define BERTH_CONFIGURATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/problem.h"
#include "berth/config/profile.h"
#include "berth/framework/registry.h"

namespace berth {

struct LeaderElectionConfiguration {
  bool leader_elect = true;
  absl::Duration lease_duration = absl::Seconds(15);
  absl::Duration renew_deadline = absl::Seconds(10);
  absl::Duration retry_period = absl::Seconds(2);
  std::string resource_lock = "leases";
  std::string resource_name = "kube-scheduler";
  std::string resource_namespace = "kube-system";
};

struct ClientConnectionConfiguration {
  std::string kubeconfig;
  std::string accept_content_types;
  std::string content_type = "application/vnd.kubernetes.protobuf";
  double qps = 50;
  int32_t burst = 100;
};

struct ExtenderManagedResource {
  std::string name;
  bool ignored_by_scheduler = false;
};

struct ExtenderTlsConfig {
  bool insecure = false;
  std::string server_name, cert_file, key_file, ca_file;
  std::string cert_data, key_data, ca_data;  // base64 decoded
};

struct Extender {
  std::string url_prefix, filter_verb, preempt_verb, prioritize_verb, bind_verb;
  int64_t weight = 0;
  bool enable_https = false;
  std::optional<ExtenderTlsConfig> tls_config;
  absl::Duration http_timeout = absl::Seconds(5);
  bool node_cache_capable = false;
  std::vector<ExtenderManagedResource> managed_resources;
  bool ignorable = false;
};

struct KubeSchedulerConfiguration {
  int32_t parallelism = 16;
  LeaderElectionConfiguration leader_election;
  ClientConnectionConfiguration client_connection;
  bool enable_profiling = true;
  bool enable_contention_profiling = true;
  // 0: Berth evaluates every node. 1..100 as kube-scheduler. Set by every configuration that is
  // read.
  std::optional<int32_t> percentage_of_nodes_to_score;
  int64_t pod_initial_backoff_seconds = 1;
  int64_t pod_max_backoff_seconds = 10;
  bool delay_cache_until_active = false;
  std::vector<Profile> profiles;
  std::vector<Extender> extenders;
};

// A configuration and everything that is wrong with it. Use it only if `problems.ok()`; otherwise
// it holds what could be made of the file, for finding further problems in it.
struct LoadedConfiguration {
  KubeSchedulerConfiguration configuration;
  Problems problems;
};

// Reads, defaults, merges and validates a configuration in YAML or JSON. Strict: every unknown or
// duplicate field, wrong type or bad value is a problem with file, line and column, in file order.
// `registry` gives the plugins' names and argument tables. `file` is only for messages in the
// second form.
LoadedConfiguration LoadConfigurationFile(const std::string& path, const Registry& registry);
LoadedConfiguration ParseConfiguration(absl::string_view text, const std::string& file,
                                       const Registry& registry);

// The configuration with one profile, "default-scheduler", and every default. Default plugins that
// the registry does not have are left out.
KubeSchedulerConfiguration DefaultConfiguration(const Registry& registry);

// The configuration in full, defaults and merged plugin lists included, as YAML. Reads back as the
// same configuration, and equal configurations give equal texts.
std::string ConfigurationToYaml(const KubeSchedulerConfiguration& configuration);

}  // namespace berth

#endif  // BERTH_CONFIGURATION_H_
