// SPDX-License-Identifier: Apache-2.0
// One plugin on its own: made from YAML arguments, and run as the framework would run it.
#ifndef BERTH_TESTS_PLUGINS_RUN_PLUGIN_H_
#define BERTH_TESTS_PLUGINS_RUN_PLUGIN_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/check.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/args.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/filter.h"
#include "berth/framework/prefilter.h"
#include "berth/framework/score.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"

namespace berth::testing {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using PodPtr = std::shared_ptr<const PodInfo>;

inline std::ostream& operator<<(std::ostream& out, const Status& status) {
  return out << status.ToString();
}

// A plugin P with the arguments in `yaml`, which must be right.
template <class P, class Args>
std::unique_ptr<P> MakePlugin(Handle& handle, absl::string_view yaml = "{}") {
  const absl::StatusOr<PluginArgs> args = PluginArgs::Parse(yaml, Args::Fields());
  BERTH_CHECK(args.ok()) << args.status().ToString();
  auto plugin = P::Create(*args, handle);
  BERTH_CHECK(plugin.ok()) << plugin.status().ToString();
  return std::unique_ptr<P>(static_cast<P*>(plugin->release()));
}
// A plugin that takes no arguments.
template <class P>
std::unique_ptr<P> MakePlugin(Handle& handle) {
  auto plugin = P::Create(PluginArgs(), handle);
  BERTH_CHECK(plugin.ok()) << plugin.status().ToString();
  return std::unique_ptr<P>(static_cast<P*>(plugin->release()));
}

// What is wrong with the arguments in `yaml`; "" if nothing is.
template <class Args>
std::string ArgsError(absl::string_view yaml) {
  const absl::StatusOr<PluginArgs> args = PluginArgs::Parse(yaml, Args::Fields());
  return args.ok() ? "" : std::string(args.status().message());
}

// A node and what runs on it.
struct NodeAndPods {
  NodeAndPods(NodeBuilder n, std::vector<PodBuilder> p = {})
      : node(std::move(n)), pods(std::move(p)) {}
  NodeBuilder node;
  std::vector<PodBuilder> pods;
};
// The nodes under names of their own: "n0", "n1" ...
inline std::vector<NodeInfo> Numbered(const std::vector<NodeAndPods>& nodes) {
  std::vector<NodeInfo> infos;
  for (const auto& [node, builders] : nodes) {
    std::vector<PodPtr> pods;
    for (const PodBuilder& pod : builders) pods.push_back(pod.Obj());
    infos.push_back(NodeBuilder(node).Name(absl::StrCat("n", infos.size())).Info(pods));
  }
  return infos;
}

// Success, or a status without its plugin, to compare with.
inline Status Unresolvable(std::string reason) {
  return Status::UnschedulableAndUnresolvable(std::move(reason));
}

// PreFilter, if the plugin has one, then Filter, unless it was skipped. Expects the batch form to
// agree.
template <class P>
Status RunFilter(P& plugin, const PodPtr& pod, const NodeInfo& node) {
  TestNodes nodes({node});
  CycleState state;
  if constexpr (std::is_base_of_v<PreFilterPlugin, P>) {
    PreFilterResult result;
    Status status = plugin.PreFilter(state, *pod, nodes.table(), result);
    if (status.IsSkip()) return Status::Success();
    if (!status.ok()) return status;
  }
  const Status status = plugin.Filter(state, *pod, nodes.node(0));
  NodeVerdicts verdicts;
  verdicts.Reset(1);
  const std::vector<NodeRow> rows = {0};
  verdicts.BeginBlock(rows);
  EXPECT_TRUE(plugin.FilterNodes(state, *pod, nodes.table(), verdicts).ok());
  EXPECT_EQ(verdicts.code(0), status.code()) << "the batch form disagrees";
  return status;
}

// The normalised scores of all nodes of `handle`, each a feasible one; nothing if PreScore says
// Skip. Expects both forms to agree.
template <class P>
std::optional<std::vector<int64_t>> RunScore(P& plugin, const PodPtr& pod, FakeHandle& handle) {
  const NodeTable& nodes = handle.nodes();
  std::vector<NodeRow> rows;
  for (NodeRow row = 0; row < nodes.size(); ++row) rows.push_back(row);
  CycleState state;
  if constexpr (std::is_base_of_v<PreScorePlugin, P>) {
    const Status status = plugin.PreScore(state, *pod, nodes, rows);
    if (status.IsSkip()) return std::nullopt;
    BERTH_CHECK(status.ok()) << status.ToString();
  }
  std::vector<int64_t> scores(rows.size(), -1);
  BERTH_CHECK(plugin.ScoreNodes(state, *pod, nodes, rows, absl::MakeSpan(scores)).ok());
  for (const NodeRow row : rows) {
    const absl::StatusOr<int64_t> score = plugin.Score(state, *pod, nodes.node(row));
    EXPECT_TRUE(score.ok());
    if (score.ok()) {
      EXPECT_EQ(*score, scores[row]) << "the forms disagree on row " << row;
    }
  }
  if constexpr (std::is_base_of_v<ScoreExtensions, P>) {
    BERTH_CHECK(plugin.NormalizeScores(state, *pod, rows, absl::MakeSpan(scores)).ok());
  }
  return scores;
}

// A change of a pod or a node.
inline ObjectChange PodAdded(PodPtr pod) { return {.new_pod = std::move(pod)}; }
inline ObjectChange PodDeleted(PodPtr pod) { return {.old_pod = std::move(pod)}; }
inline ObjectChange PodUpdated(PodPtr before, PodPtr after) {
  return {.old_pod = std::move(before), .new_pod = std::move(after)};
}
inline ObjectChange NodeAdded(const NodeBuilder& node) {
  return {.new_node = std::make_shared<const NodeInfo>(node.Info())};
}
inline ObjectChange NodeUpdated(const NodeBuilder& before, const NodeBuilder& after) {
  return {.old_node = std::make_shared<const NodeInfo>(before.Info()),
          .new_node = std::make_shared<const NodeInfo>(after.Info())};
}

// A change of an object of another kind, from and to what the YAML says.
class ChangedObject {
 public:
  static ChangedObject Added(absl::string_view after) { return ChangedObject("", after); }
  static ChangedObject Deleted(absl::string_view before) { return ChangedObject(before, ""); }
  ChangedObject(absl::string_view before, absl::string_view after)
      : before_(before.empty() ? std::vector<Object>() : ObjectsFromYaml(before)),
        after_(after.empty() ? std::vector<Object>() : ObjectsFromYaml(after)) {}

  EventResource resource() const { return EventResource::Of(any().kind()); }
  ActionType action() const {
    return before_.empty() ? action::kAdd : after_.empty() ? action::kDelete : action::kUpdateOther;
  }
  ObjectChange change() const {
    return {.old_object = before_.empty() ? nullptr : &before_.front(),
            .new_object = after_.empty() ? nullptr : &after_.front()};
  }

 private:
  const Object& any() const { return before_.empty() ? after_.front() : before_.front(); }

  std::vector<Object> before_, after_;
};

// Whether `change`, which is of kind `action` of `resource`, would queue `pod` again.
inline bool Queues(const EnqueueExtensions& plugin, EventResource resource, ActionType action,
                   const PodPtr& pod, const ObjectChange& change) {
  for (const ClusterEventWithHint& registered : plugin.EventsToRegister()) {
    if (registered.event.resource != resource || (registered.event.action & action) == 0) continue;
    if (registered.filter != nullptr && !registered.filter(change)) continue;
    if (registered.hint == nullptr) return true;
    const absl::StatusOr<QueueingHint> hint = registered.hint(*pod, change);
    if (!hint.ok() || *hint == QueueingHint::kQueue) return true;
  }
  return false;
}

inline bool Queues(const EnqueueExtensions& plugin, const PodPtr& pod,
                   const ChangedObject& changed) {
  return Queues(plugin, changed.resource(), changed.action(), pod, changed.change());
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_PLUGINS_RUN_PLUGIN_H_
