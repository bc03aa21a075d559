// SPDX-License-Identifier: Apache-2.0
// Implementation of scheduler_options.h.
#include "engine/scheduler_options.h"

#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/time.h"

namespace berth {
namespace {

class Wrong {
 public:
  template <class... Text>
  void AddIf(bool wrong, const Text&... text) {
    if (wrong) sentences_.push_back(absl::StrCat("SchedulerOptions::", text...));
  }
  absl::Status ToStatus() const {
    return sentences_.empty() ? absl::OkStatus()
                              : absl::InvalidArgumentError(absl::StrJoin(sentences_, "\n"));
  }

 private:
  std::vector<std::string> sentences_;
};

// What a configuration made in code may have that one read from a file cannot.
void CheckConfiguration(const KubeSchedulerConfiguration& configuration, Wrong& wrong) {
  const auto check_percentage = [&](const std::optional<int32_t>& percentage,
                                    const std::string& of) {
    wrong.AddIf(percentage.has_value() && (*percentage < 0 || *percentage > 100), "configuration",
                of, ".percentage_of_nodes_to_score is ", percentage.value_or(0),
                "; it must be in 0..100");
  };
  check_percentage(configuration.percentage_of_nodes_to_score, "");
  const int64_t initial = configuration.pod_initial_backoff_seconds;
  wrong.AddIf(initial <= 0, "configuration.pod_initial_backoff_seconds is ", initial,
              "; it must be positive");
  wrong.AddIf(configuration.pod_max_backoff_seconds < initial,
              "configuration.pod_max_backoff_seconds is ", configuration.pod_max_backoff_seconds,
              ", less than pod_initial_backoff_seconds, which is ", initial);
  wrong.AddIf(configuration.profiles.empty(),
              "configuration has no profile; start from DefaultConfiguration(), or read one with "
              "LoadConfigurationFile()");
  std::set<std::string> names;
  for (size_t i = 0; i < configuration.profiles.size(); ++i) {
    const Profile& profile = configuration.profiles[i];
    const std::string at = absl::StrCat(".profiles[", i, "]");
    wrong.AddIf(profile.scheduler_name.empty(), "configuration", at, " has no scheduler_name");
    wrong.AddIf(!names.insert(profile.scheduler_name).second, "configuration", at,
                " has the scheduler_name \"", profile.scheduler_name,
                "\", as a profile before it has");
    check_percentage(profile.percentage_of_nodes_to_score, at);
  }
}

}  // namespace

absl::Status CheckOptions(const SchedulerOptions& options) {
  Wrong wrong;
  wrong.AddIf(options.registry == nullptr,
              "registry is null; it must point to the plugins, as of BuiltinRegistry()");
  wrong.AddIf(options.cluster == nullptr,
              "cluster is null; it must point to the cluster backend, an InMemoryCluster say");
  wrong.AddIf(options.clock == nullptr, "clock is null; it must point to a clock, a RealClock say");
  wrong.AddIf(options.executor == nullptr,
              "executor is null; it must point to where bindings run, as of MakeThreadPool()");
  wrong.AddIf(options.filter_block_size < 0, "filter_block_size is ", options.filter_block_size,
              "; it must not be negative, and 0 is all of them");
  wrong.AddIf(options.work_budget_steps < 0, "work_budget_steps is ", options.work_budget_steps,
              "; it must not be negative, and 0 is without end");
  wrong.AddIf(options.group_search_steps < 0, "group_search_steps is ", options.group_search_steps,
              "; it must not be negative, and 0 is no search");
  wrong.AddIf(options.slow_plugin_call < absl::ZeroDuration(), "slow_plugin_call is ",
              DurationToString(options.slow_plugin_call), "; it must not be negative");
  CheckConfiguration(options.configuration, wrong);
  wrong.AddIf(!options.configuration.extenders.empty() && options.extenders.empty(),
              "extenders is empty, and configuration names ",
              options.configuration.extenders.size(),
              "; fill it with NewHttpExtenders(configuration.extenders) of "
              "berth/http_extender.h, or empty configuration.extenders");
  wrong.AddIf(absl::c_linear_search(options.extenders, nullptr), "extenders has a null pointer");
  return wrong.ToStatus();
}

}  // namespace berth
