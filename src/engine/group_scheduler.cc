// SPDX-License-Identifier: Apache-2.0
// Implementation of group_scheduler.h.
#include "engine/group_scheduler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"

namespace berth {
namespace {

// Whether siblings that are placed later may let the pod in. Not if every filter that rejected it
// goes by the node alone and, of the pods there, by what they take.
bool MayFitLater(const Framework& framework, const PodInfo& pod,
                 absl::Span<const Symbol> rejecting_plugins) {
  PodSignature signature;
  const PluginMask node_by_node = framework.signer().SignForNodes(pod, signature);
  return absl::c_any_of(rejecting_plugins, [&](Symbol plugin) {
    const uint8_t filter = framework.plugins().FilterIndex(plugin);
    if (filter == NodeVerdicts::kNotFiltered) return true;
    const PluginMask mask = MaskOf(framework.plugins().filter[filter]);
    return (mask & node_by_node) == 0 ||
           (framework.signer().DependenciesOf(mask) & Aspect::kNodePods) != 0;
  });
}

}  // namespace

// Pods that no plugin can tell apart, or a single one.
struct GroupScheduler::Class {
  Order pods;
  int feasible = 0;  // nodes on which the first could run; fewer is harder
};

// Who failed since something was placed or planned last, one of each class.
struct GroupScheduler::ClassFailures {
  uint64_t changes = 0;                         // so much had been placed or planned by then
  absl::flat_hash_map<std::string, int> index;  // in AttemptResult::failed, by EquivalenceKey()
};

void GroupScheduler::Place(const AttemptRequest& request, AttemptResult& result) {
  const Order as_queued(request.pods.begin(), request.pods.end());
  result.minimum_reached = PlaceAll(request, as_queued, result);
  // If it takes one pod only, whoever fits has been found.
  if (result.minimum_reached || request.minimum <= 1) return;
  std::vector<Class> classes = Classify(request);
  if (classes.size() == 1) return;
  // The hardest first. What was hardest alone need not be hardest together: then the other way
  // round.
  for (int i = 0; i < 2 && !result.minimum_reached; ++i) {
    Order order;
    for (const Class& pod_class : classes) {
      order.insert(order.end(), pod_class.pods.begin(), pod_class.pods.end());
    }
    std::reverse(classes.begin(), classes.end());
    if (order == as_queued) continue;
    AttemptResult other;
    other.minimum_reached = PlaceAll(request, std::move(order), other);
    const int cycles = result.cycles + other.cycles;
    const int most_placed = std::max(result.most_placed, other.most_placed);
    if (other.minimum_reached) {
      result = std::move(other);
      result.order = StartOrder::kOther;
    }
    result.cycles = cycles;
    result.most_placed = most_placed;
  }
}

// Places what fits. Undoes everything and returns false if that is less than the minimum.
bool GroupScheduler::PlaceAll(const AttemptRequest& request, Order order, AttemptResult& result) {
  // Members that wait for each other in a row, the last one first, would be tried as often as the
  // square of their number says. Then another order comes next.
  const size_t most_tries = 100 + 8 * request.pods.size();
  size_t tries = 0;
  bool out_of_reach = false;
  while (!order.empty() && !out_of_reach) {
    ClassFailures failures;
    tries += order.size();
    for (const auto& pod : order) {
      TryMember(request, pod, failures, result);
      out_of_reach = IsOutOfReach(request, result);
      if (out_of_reach) break;
    }
    if (!out_of_reach) order = TakeMembersToRetry(request, result, tries < most_tries);
  }
  group_preemptions_.RollBack();
  if (static_cast<int>(result.placed.size()) >= request.minimum) return true;
  pod_scheduler_.UndoAll(request, result);
  return false;
}

bool GroupScheduler::IsOutOfReach(const AttemptRequest& request, const AttemptResult& result) {
  return static_cast<int>(request.pods.size()) - result.hopeless < request.minimum;
}

// Places the pod, or adds it to those that failed.
void GroupScheduler::TryMember(const AttemptRequest& request,
                               const std::shared_ptr<const PodInfo>& pod, ClassFailures& failures,
                               AttemptResult& result) {
  const auto changes = [&] {
    return result.placed.size() + result.plans.size() + cluster_.nominations().version();
  };
  const auto add_failure = [&](PodFailure failure) {
    result.hopeless += failure.may_fit_later ? 0 : 1;
    result.failed.push_back(std::move(failure));
  };
  std::optional<std::string> key;
  if (!failures.index.empty() && failures.changes == changes()) {
    key = EquivalenceKey(request, *pod);
    const auto found = key.has_value() ? failures.index.find(*key) : failures.index.end();
    if (found != failures.index.end()) {
      PodFailure failure = result.failed[found->second];
      if (failure.post_filter_ran || !PodScheduler::MayPreempt(request, result)) {
        failure.pod = pod;
        return add_failure(std::move(failure));
      }
    }
  }
  const size_t plans = result.plans.size();
  if (pod_scheduler_.Place(request, pod, result)) {
    group_preemptions_.Nominate(pod, "");
    return;
  }
  PodFailure failure = std::move(result.failed.back());
  result.failed.pop_back();
  failure.placed_before = static_cast<int>(result.placed.size());
  const bool preempts = result.plans.size() > plans;
  if (preempts) {
    group_preemptions_.Preempt(pod, result.plans.back().result, request.now);
  } else {
    if (failure.nominated_node.has_value())
      group_preemptions_.Nominate(pod, *failure.nominated_node);
    failure.may_fit_later = !failure.status.IsError() &&
                            MayFitLater(*request.framework, *pod, failure.rejecting_plugins);
    if (failures.changes != changes()) failures.index.clear();
    failures.changes = changes();
    if (!key.has_value()) key = EquivalenceKey(request, *pod);
    if (key.has_value()) failures.index[*key] = static_cast<int>(result.failed.size());
  }
  add_failure(std::move(failure));
}

// Takes out of `failed` whom siblings that were placed since may have let in, if `beside_siblings`,
// and, once the group stands, those for which PostFilter did not run.
GroupScheduler::Order GroupScheduler::TakeMembersToRetry(const AttemptRequest& request,
                                                         AttemptResult& result,
                                                         bool beside_siblings) {
  const int placed = static_cast<int>(result.placed.size());
  const bool stands = placed >= request.minimum;
  const auto first = std::stable_partition(
      result.failed.begin(), result.failed.end(), [&](const PodFailure& failure) {
        return !(beside_siblings && failure.may_fit_later && failure.placed_before < placed) &&
               !(stands && !failure.post_filter_ran);
      });
  Order order;
  for (auto failure = first; failure != result.failed.end(); ++failure) {
    if (!failure->may_fit_later) --result.hopeless;
    order.push_back(failure->pod);
  }
  result.failed.erase(first, result.failed.end());
  return order;
}

// Equal for pods that no plugin can tell apart; absent if they may not be compared.
std::optional<std::string> GroupScheduler::EquivalenceKey(const AttemptRequest& request,
                                                          const PodInfo& pod) const {
  if (request.framework->extenders().AnyInterested(pod)) return std::nullopt;
  PodSignature signature;
  if (!request.framework->signer().Sign(pod, signature).ok()) return std::nullopt;
  signature.Add(pod.priority());
  signature.Add(static_cast<int64_t>(pod.preemption_policy()));
  signature.Add(cluster_.nominations().NominatedNode(pod));
  return signature.bytes();
}

// Groups the pods by class, hardest to place first.
std::vector<GroupScheduler::Class> GroupScheduler::Classify(const AttemptRequest& request) {
  std::vector<Class> classes;
  absl::flat_hash_map<std::string, size_t> class_of;
  for (const auto& pod : request.pods) {
    size_t place = classes.size();
    if (const std::optional<std::string> key = EquivalenceKey(request, *pod)) {
      place = class_of.try_emplace(*key, place).first->second;
    }
    if (place == classes.size()) classes.emplace_back();
    classes[place].pods.push_back(pod);
  }
  if (classes.size() > 1) {
    for (Class& pod_class : classes)
      pod_class.feasible = CountFeasible(request, *pod_class.pods.front());
    std::stable_sort(classes.begin(), classes.end(),
                     [](const Class& a, const Class& b) { return a.feasible < b.feasible; });
  }
  return classes;
}

// On how many nodes `pod` could run now, as far as the filters know. 0 if it is rejected outright.
int GroupScheduler::CountFeasible(const AttemptRequest& request, const PodInfo& pod) {
  const NodeTable& nodes = cluster_.nodes();
  CycleState state;
  const PreFilterOutcome pre_filter = request.framework->filters().RunPreFilter(state, pod, nodes);
  if (!pre_filter.status.ok()) return 0;
  std::vector<NodeRow> rows;
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const auto& names = pre_filter.narrowed.node_names;
    if (!names.has_value() || names->contains(nodes.node(row).name())) rows.push_back(row);
  }
  NodeVerdicts verdicts;
  verdicts.Reset(nodes.size());
  if (!request.framework->nomination_filter()
           .RunFilterNodesWithNominatedPods(state, pod, nodes, rows, verdicts)
           .ok())
    return 0;
  return static_cast<int>(std::count_if(rows.begin(), rows.end(),
                                        [&](NodeRow row) { return verdicts.IsFeasible(row); }));
}

}  // namespace berth
