// SPDX-License-Identifier: Apache-2.0
// The plugins of one profile: the instances, where each of them is called, and what else they can
// do.
#ifndef BERTH_SRC_FRAMEWORK_PROFILE_PLUGINS_H_
#define BERTH_SRC_FRAMEWORK_PROFILE_PLUGINS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/config/profile.h"
#include "berth/extensions/explain.h"
#include "berth/extensions/group.h"
#include "berth/extensions/nomination_rules.h"
#include "berth/extensions/observer.h"
#include "berth/extensions/queue_order.h"
#include "berth/extensions/quota_report.h"
#include "berth/extensions/usage.h"
#include "berth/extensions/waiting.h"
#include "berth/framework/bind.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/handle.h"
#include "berth/framework/permit.h"
#include "berth/framework/placement.h"
#include "berth/framework/plugin.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/queue_sort.h"
#include "berth/framework/registry.h"
#include "berth/framework/reserve.h"
#include "berth/framework/score.h"
#include "berth/incremental/domain_filter.h"
#include "berth/incremental/domain_scorer.h"
#include "berth/incremental/indexed_hints.h"
#include "berth/incremental/object_filter.h"
#include "berth/incremental/resource_filter.h"
#include "berth/incremental/selective_filter.h"
#include "berth/incremental/sign.h"
#include "berth/incremental/uniform_score.h"
#include "framework/fault_log.h"
#include "framework/hook.h"
#include "framework/plugin_calls.h"
#include "framework/point_metrics.h"

namespace berth {

constexpr ExtensionPoint PointAt(int i) { return static_cast<ExtensionPoint>(i); }

// What a plugin that can reject registered; one without EnqueueExtensions has one entry that
// matches everything.
struct PluginEvents {
  Symbol plugin;
  std::vector<ClusterEventWithHint> events;
  bool hints_read_spec_only = false;  // EnqueueExtensions::HintsReadSpecOnly()
  // Null: every change is put to all pods. Shared, since a profile's events are copied.
  std::shared_ptr<const IndexedHints> index = nullptr;
};

// A Filter or Score plugin, and what its verdicts and scores depend on. `plugin` is null if it does
// not sign.
struct Signer : Hook<const SignPlugin> {
  Aspects depends_on = Aspect::kEverything;
  bool signs_spec_only = false;
  bool node_by_node() const {
    return plugin != nullptr && (depends_on & (Aspect::kOtherNodes | Aspect::kObjects)) == 0;
  }
};

// Filled by FrameworkBuilder (instances and points) and CapabilityFinder (the rest), and constant
// afterwards. Belongs to the Framework, whose parts call what is listed here.
struct ProfilePlugins {
  ProfilePlugins(const Profile& profile, Handle& handle) : profile(profile), handle(handle) {}
  ProfilePlugins(const ProfilePlugins&) = delete;
  ProfilePlugins& operator=(const ProfilePlugins&) = delete;

  struct Instance {
    std::unique_ptr<Plugin> plugin;
    Symbol name;
    PluginArgs args;       // defaults included
    SourceLocation where;  // its first entry in the configuration
  };

  // The plugin of that index as a T, or null.
  template <class T>
  T* As(int index) const {
    return dynamic_cast<T*>(instances[index].plugin.get());
  }
  int count() const { return static_cast<int>(instances.size()); }
  bool Implements(int index, ExtensionPoint point) const {
    return (implemented[static_cast<size_t>(point)] >> index & 1) != 0;
  }
  bool IsEnabled(int index, ExtensionPoint point) const {
    return (EnabledAt(point) >> index & 1) != 0;
  }
  PluginMask EnabledAt(ExtensionPoint point) const { return enabled[static_cast<size_t>(point)]; }
  // Whether one of `plugins` is enabled there.
  bool TakesPart(ExtensionPoint point, PluginMask plugins) const {
    return (EnabledAt(point) & plugins) != 0;
  }
  Symbol queue_sort_name() const { return queue_sort.front().name; }
  // The arguments the plugin runs with.
  const PluginArgs& args(absl::string_view plugin) const;
  // Enabled names at a point, in order.
  std::vector<std::string> Names(ExtensionPoint point) const;
  // NodeVerdicts::rejector() of rows that `plugin` rejects: its position in `filter`. kNotFiltered
  // if it is no Filter plugin.
  uint8_t FilterIndex(Symbol plugin) const;
  // The verdict on `row` is what its filters returned, one by one.
  void SetVerdict(NodeRow row, const Status& status, NodeVerdicts& verdicts) const;

  // Calls visit(point, hooks) for every extension point of `plugins`.
  template <class Plugins, class Visit>
  static void ForEachPoint(Plugins& plugins, const Visit& visit) {
    visit(ExtensionPoint::kPreEnqueue, plugins.pre_enqueue);
    visit(ExtensionPoint::kQueueSort, plugins.queue_sort);
    visit(ExtensionPoint::kPreFilter, plugins.pre_filter);
    visit(ExtensionPoint::kFilter, plugins.filter);
    visit(ExtensionPoint::kPostFilter, plugins.post_filter);
    visit(ExtensionPoint::kPreScore, plugins.pre_score);
    visit(ExtensionPoint::kScore, plugins.score);
    visit(ExtensionPoint::kReserve, plugins.reserve);
    visit(ExtensionPoint::kPermit, plugins.permit);
    visit(ExtensionPoint::kPreBind, plugins.pre_bind);
    visit(ExtensionPoint::kBind, plugins.bind);
    visit(ExtensionPoint::kPostBind, plugins.post_bind);
    visit(ExtensionPoint::kPlacementGenerate, plugins.placement_generate);
    visit(ExtensionPoint::kPlacementFeasible, plugins.placement_feasible);
    visit(ExtensionPoint::kPlacementScore, plugins.placement_score);
  }

  const Profile profile;
  Handle& handle;
  mutable FaultLog fault_log;  // what goes wrong in any of them
  const PluginCalls calls{fault_log};
  mutable PointMetrics point_metrics;  // connected before the first call, or never

  // --- Instances, by Hook::index ---
  std::vector<Instance> instances;
  std::array<PluginMask, kExtensionPointCount> implemented = {};  // by point
  std::array<PluginMask, kExtensionPointCount> enabled = {};      // by point

  // --- Extension points, each in order ---
  std::vector<Hook<PreEnqueuePlugin>> pre_enqueue;
  std::vector<Hook<QueueSortPlugin>> queue_sort;  // one, behind a guard
  std::vector<Hook<PreFilterPlugin>> pre_filter;
  std::vector<Hook<FilterPlugin>> filter;
  std::vector<Hook<PostFilterPlugin>> post_filter;
  std::vector<Hook<PreScorePlugin>> pre_score;
  std::vector<Hook<ScorePlugin>> score;
  std::vector<Hook<ReservePlugin>> reserve;
  std::vector<Hook<PermitPlugin>> permit;
  std::vector<Hook<PreBindPlugin>> pre_bind;
  std::vector<Hook<BindPlugin>> bind;
  std::vector<Hook<PostBindPlugin>> post_bind;
  std::vector<Hook<PlacementGeneratePlugin>> placement_generate;
  std::vector<Hook<PlacementFeasiblePlugin>> placement_feasible;
  std::vector<Hook<PlacementScorePlugin>> placement_score;

  // --- What else the plugins can do ---
  std::vector<Hook<PreFilterExtensions>> pre_filter_extensions;
  // As `filter`; null if it is none.
  std::vector<const DomainFilter*> domain_filters;
  std::vector<const ObjectFilter*> object_filters;
  std::vector<const ResourceFilter*> resource_filters;
  std::vector<Hook<SelectiveFilter>> selective_filters;
  std::vector<DomainScorer*> domain_scorers;  // as `pre_score`; null if it is none
  PluginMask domain_pre_scorers = 0;          // of `pre_score`, those that are one
  // The finest ScoreResolution() of the score plugins: steps a point of their totals.
  int64_t score_resolution = 1;
  std::vector<Signer> signers;  // of the Filter plugins, then of the other Score plugins
  // The plugin that defines groups, or null. A guard in front of it catches what it throws; so with
  // queue_sort and observers.
  GroupPlugin* group = nullptr;
  Symbol group_name;
  std::vector<PluginEvents> events;
  std::vector<AssignmentObserver*> observers;
  std::vector<Hook<SyncObserver>> sync_observers;
  std::vector<Symbol> answered_outside;  // Permit plugins that are AnsweredOutside
  std::vector<Hook<const ExplainPlugin>> node_explainers;
  std::vector<Hook<const WaitingExplainer>> waiting_explainers;
  std::vector<Hook<UsageReporter>> usage_reporters;
  std::vector<Hook<const NominationRules>> nomination_rules;
  QueueOrder* queue_order = nullptr;  // the first that is one, or null
  std::vector<Hook<QuotaReporter>> quota_reporters;

  // --- The guards that the pointers above lead to ---
  std::unique_ptr<QueueSortPlugin> queue_sort_guard;
  std::unique_ptr<GroupPlugin> group_guard;
  std::unique_ptr<QueueOrder> queue_order_guard;
  std::vector<std::unique_ptr<AssignmentObserver>> observer_guards;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_PROFILE_PLUGINS_H_
