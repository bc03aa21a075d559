// SPDX-License-Identifier: Apache-2.0
// A plugin at most extension points that does what a test tells it, and profiles with such plugins.
#ifndef BERTH_TESTS_ENGINE_SCRIPTED_PLUGIN_H_
#define BERTH_TESTS_ENGINE_SCRIPTED_PLUGIN_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/builtin_plugins.h"
#include "berth/columns/node_table.h"
#include "berth/configuration.h"
#include "berth/extensions/pods_to_activate.h"
#include "berth/framework/bind.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/queue_sort.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "gtest/gtest.h"

namespace berth {

// What one scripted plugin does; an empty function succeeds. Shared with the test.
struct Script {
  std::function<Status(const PodInfo&)> pre_enqueue, pre_filter, pre_score, reserve, pre_bind,
      poll_pre_bind;
  std::function<Status(const PodInfo&, const NodeInfo&)> filter;
  std::function<Status(const PodInfo&)> post_filter;
  std::function<absl::StatusOr<int64_t>(const PodInfo&)> score;
  std::function<Status(CycleState&, const PodInfo&, absl::Duration& timeout)> permit;
  std::function<void(const PodInfo&)> unreserve;
  std::function<void(CycleState&, const PodInfo&)> post_bind;
  std::function<absl::StatusOr<QueueingHint>(const PodInfo&, const ObjectChange&)> hint;
  std::string polled_namespace;  // pre_bind waits for it
  Handle* handle = nullptr;
  std::vector<std::string> log;  // "Reserve p", in order
};

class ScriptedPlugin final : public Plugin,
                             public PreEnqueuePlugin,
                             public PreFilterPlugin,
                             public FilterPlugin,
                             public PostFilterPlugin,
                             public PreScorePlugin,
                             public ScorePlugin,
                             public ReservePlugin,
                             public PermitPlugin,
                             public PreBindPlugin,
                             public PostBindPlugin,
                             public EnqueueExtensions {
 public:
  ScriptedPlugin(std::string name, Script& script, Handle& handle)
      : name_(std::move(name)), script_(script) {
    script_.handle = &handle;
  }

  absl::string_view Name() const override { return name_; }
  Status PreEnqueue(const PodInfo& pod) override { return Call(script_.pre_enqueue, pod); }
  Status PreFilter(CycleState&, const PodInfo& pod, const NodeTable&, PreFilterResult&) override {
    return Call(script_.pre_filter, pod);
  }
  Status Filter(const CycleState&, const PodInfo& pod, const NodeInfo& node) const override {
    return script_.filter ? script_.filter(pod, node) : Status::Success();
  }
  Status PostFilter(CycleState&, const PodInfo& pod, const NodeStatuses&,
                    PostFilterResult&) override {
    return script_.post_filter ? script_.post_filter(pod) : Status::Unschedulable("");
  }
  Status PreScore(CycleState&, const PodInfo& pod, const NodeTable&,
                  absl::Span<const NodeRow>) override {
    return Call(script_.pre_score, pod);
  }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo& pod,
                                const NodeInfo&) const override {
    return script_.score ? script_.score(pod) : 0;
  }
  Status Reserve(CycleState&, const PodInfo& pod, absl::string_view) override {
    script_.log.push_back(absl::StrCat("Reserve ", pod.name()));
    return Call(script_.reserve, pod);
  }
  void Unreserve(CycleState&, const PodInfo& pod, absl::string_view) override {
    script_.log.push_back(absl::StrCat("Unreserve ", pod.name()));
    if (script_.unreserve) script_.unreserve(pod);
  }
  Status Permit(CycleState& state, const PodInfo& pod, absl::string_view,
                absl::Duration& timeout) override {
    return script_.permit ? script_.permit(state, pod, timeout) : Status::Success();
  }
  Status PreBind(CycleState& state, const PodInfo& pod, absl::string_view) override {
    if (!script_.polled_namespace.empty()) {
      PollWhenChanged(state, Kind::kNamespace, script_.polled_namespace);
    }
    return Call(script_.pre_bind, pod);
  }
  Status PollPreBind(CycleState&, const PodInfo& pod, absl::string_view) override {
    return Call(script_.poll_pre_bind, pod);
  }
  void PostBind(CycleState& state, const PodInfo& pod, absl::string_view) override {
    if (script_.post_bind) script_.post_bind(state, pod);
  }
  std::vector<ClusterEventWithHint> EventsToRegister() const override {
    return {{{EventResource::Wildcard(), action::kAll},
             [this](const PodInfo& pod, const ObjectChange& change) {
               return script_.hint ? script_.hint(pod, change) : QueueingHint::kSkip;
             }}};
  }

 private:
  static Status Call(const std::function<Status(const PodInfo&)>& function, const PodInfo& pod) {
    return function ? function(pod) : Status::Success();
  }

  const std::string name_;
  Script& script_;
};

// The built-in plugins and scripted ones, and the default configuration with these at multiPoint.
class ScriptedPlugins {
 public:
  explicit ScriptedPlugins(std::vector<std::string> names) {
    std::vector<PluginRegistration> extra;
    std::string enabled;
    for (const std::string& name : names) {
      Script& script = scripts_[name];
      extra.push_back(berth::WithPlugin(
          name,
          [name, &script](const PluginArgs&,
                          Handle& handle) -> absl::StatusOr<std::unique_ptr<Plugin>> {
            return std::make_unique<ScriptedPlugin>(name, script, handle);
          }));
      absl::StrAppend(&enabled, enabled.empty() ? "" : ", ", "{name: ", name, "}");
    }
    registry_ = std::make_unique<Registry>(BuiltinRegistry(std::move(extra)).value());
    LoadedConfiguration loaded =
        ParseConfiguration(absl::StrCat("apiVersion: kubescheduler.config.k8s.io/v1\n"
                                        "kind: KubeSchedulerConfiguration\n"
                                        "profiles:\n"
                                        "- plugins:\n"
                                        "    multiPoint:\n"
                                        "      enabled: [",
                                        enabled, "]\n"),
                           "scripted", *registry_);
    EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
    configuration_ = loaded.configuration;
  }

  Script& operator[](const std::string& name) { return scripts_.at(name); }
  const Registry& registry() const { return *registry_; }
  const KubeSchedulerConfiguration& configuration() const { return configuration_; }

 private:
  std::map<std::string, Script> scripts_;
  std::unique_ptr<Registry> registry_;
  KubeSchedulerConfiguration configuration_;
};

}  // namespace berth

#endif  // BERTH_TESTS_ENGINE_SCRIPTED_PLUGIN_H_
