// SPDX-License-Identifier: Apache-2.0
// Filter, prioritize and bind of the extenders: after the plugins, for the pods that an extender is
// interested in. As kube-scheduler v1.35 schedule_one.go. Preemption asks them by itself.
#ifndef BERTH_SRC_FRAMEWORK_EXTENDER_RUNNER_H_
#define BERTH_SRC_FRAMEWORK_EXTENDER_RUNNER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/extensions/extender.h"
#include "framework/profile_plugins.h"
#include "framework/score_runner.h"

namespace berth {

// Why extenders rejected nodes, by row. Of a row that is not here and that they rejected all the
// same, nothing is known: kube-scheduler counts it as UnschedulableAndUnresolvable.
using ExtenderStatuses = absl::flat_hash_map<NodeRow, Status>;

// Calls that fail are counted as faults of the extender (FaultLog), those of ignorable ones too.
class ExtenderRunner {
 public:
  // `plugins` outlives this.
  explicit ExtenderRunner(const ProfilePlugins& plugins) : plugins_(plugins) {}

  // Whether any extender is to be asked about the pod. Nothing that is known of pods of its class
  // holds for such a pod: extenders do not declare what they depend on.
  bool AnyInterested(const PodInfo& pod) const;
  // The same of those that filter or prioritize: for them one feasible node is not enough.
  bool AnyChooses(const PodInfo& pod) const;

  // findNodesThatPassExtenders: asks one after another, each about the nodes that those before it
  // left, and removes from `feasible` what they reject. Adds reasons to `statuses`; an extender may
  // give one of any node. The Error of the first that fails and is not ignorable.
  Status RunFilter(const PodInfo& pod, const NodeTable& nodes, std::vector<NodeRow>& feasible,
                   ExtenderStatuses& statuses) const;

  // The second half of prioritizeNodes: extenders are asked all at once, while plugins score. One
  // that fails gives no scores.
  class Scores {
   public:
    Scores() = default;
    // Waits. Adds score * weight * 10 points of each node to its total, and each extender's share
    // to `by_plugin` if that is not null.
    void AddTo(const NodeTable& nodes, absl::Span<const NodeRow> rows, absl::Span<int64_t> totals,
               std::vector<PluginScores>* by_plugin) &&;

   private:
    friend class ExtenderRunner;
    struct Asked {
      const SchedulerExtender* extender;
      std::function<SchedulerExtender::Priorities()> wait;
    };
    const ExtenderRunner* runner_ = nullptr;
    std::vector<Asked> asked_;
  };
  // Asks; `rows` are the feasible ones.
  Scores BeginPrioritize(const PodInfo& pod, const NodeTable& nodes,
                         absl::Span<const NodeRow> rows) const;

  // extendersBinding: absent if no extender binds this pod. On the binding executor.
  std::optional<Status> RunBind(const PodInfo& pod, absl::string_view node_name) const;

 private:
  void AddFault(const SchedulerExtender& extender, absl::string_view point,
                const absl::Status& error) const;
  absl::Status ReadFilterResult(const SchedulerExtender& extender,
                                const SchedulerExtender::FilterResult& result,
                                const NodeTable& nodes, std::vector<NodeRow>& feasible,
                                ExtenderStatuses& statuses) const;

  const ProfilePlugins& plugins_;
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_EXTENDER_RUNNER_H_
