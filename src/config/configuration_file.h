// SPDX-License-Identifier: Apache-2.0
// A KubeSchedulerConfiguration as it stands in a file: read and defaulted, plugins not yet merged.
#ifndef BERTH_SRC_CONFIG_CONFIGURATION_FILE_H_
#define BERTH_SRC_CONFIG_CONFIGURATION_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "berth/api/value.h"
#include "berth/config/profile.h"
#include "berth/configuration.h"
#include "berth/framework/args.h"

namespace berth {

inline constexpr absl::string_view kConfigurationVersion = "kubescheduler.config.k8s.io/v1";
inline constexpr absl::string_view kConfigurationKind = "KubeSchedulerConfiguration";

struct PluginFile {
  std::string name;
  int32_t weight = 0;  // 0: not given
  static const FieldTable& Fields();
};

struct PluginSetFile {
  std::vector<PluginFile> enabled;
  std::vector<PluginFile> disabled;
  static const FieldTable& Fields();
};

struct PluginsFile {
  PluginSetFile pre_enqueue, queue_sort, pre_filter, filter, post_filter, pre_score, score, reserve,
      permit, pre_bind, bind, post_bind, placement_generate, placement_feasible, placement_score;
  PluginSetFile multi_point;
  const PluginSetFile& at(ExtensionPoint point) const;
  static const FieldTable& Fields();
};

struct PluginConfigFile {
  std::string name;
  Value args;  // of the document that was read; nothing if there are none
  static const FieldTable& Fields();
};

struct ProfileFile {
  std::optional<std::string> scheduler_name;
  std::optional<int32_t> percentage_of_nodes_to_score;
  PluginsFile plugins;
  std::vector<PluginConfigFile> plugin_config;
  static const FieldTable& Fields();
};

struct ConfigurationFile : KubeSchedulerConfiguration {
  ConfigurationFile() { percentage_of_nodes_to_score = 0; }

  std::string api_version = std::string(kConfigurationVersion);
  std::string kind = std::string(kConfigurationKind);
  std::optional<bool> contention_profiling;
  std::vector<ProfileFile> profile_files;
  static const FieldTable& Fields();
};

// What contradicts itself in what a file or flags say of leader election.
void CheckLeaderElection(const LeaderElectionConfiguration& election, FieldProblems& problems);
// The same, of the connection to the API server.
void CheckClientConnection(const ClientConnectionConfiguration& client, FieldProblems& problems);

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_CONFIGURATION_FILE_H_
