// SPDX-License-Identifier: Apache-2.0
// Implementation of attempt.h.
#include "engine/attempt.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/extensions/moves_pods.h"

namespace berth {
namespace {

WaitingPtr WhyGroup(const AttemptRequest& request, const AttemptResult& result) {
  const PodFailure& cause = result.failed.front();
  if (cause.waiting->reason == WaitingReason::kWaitingForMembers) return cause.waiting;
  if (cause.waiting->reason == WaitingReason::kTopology && cause.waiting->members_needed > 0) {
    return cause.waiting;  // it speaks of the group already
  }
  const absl::string_view resource = cause.waiting->resource;
  const bool counts_pods = resource.empty() || resource == kPodsResource;
  const ResourceId id = counts_pods ? ResourceId() : ResourceIdOf(resource);
  std::vector<int64_t> requests;
  for (const auto& pod : request.pods) {
    requests.push_back(counts_pods ? 1 : pod->requests().Get(id));
  }
  std::sort(requests.begin(), requests.end());
  requests.resize(std::min<size_t>(requests.size(), request.minimum));
  return WhyGroupWaits(*cause.waiting, request.minimum, result.most_placed, cause.pod->key(),
                       std::accumulate(requests.begin(), requests.end(), int64_t{0}));
}

// As the quorum counts parts.
int PartOf(const GroupPlugin& plugin, const GroupSpec& spec, const PodInfo& pod) {
  const int last = static_cast<int>(spec.subgroups.size()) - 1;
  return std::clamp(plugin.SubgroupOf(pod, spec), -1, last) + 1;
}

bool Runs(const GroupMember& member) {
  return !member.node_name.empty() && !member.pod->deletion_time().has_value();
}

template <class Counts>
std::vector<int> CountByPart(const GroupPlugin& plugin, const GroupSpec& spec,
                             const GroupMembers* members, Counts counts) {
  std::vector<int> of_part(spec.subgroups.size() + 1, 0);
  if (members == nullptr) return of_part;
  for (const GroupMember& member : members->members()) {
    if (counts(member)) ++of_part[PartOf(plugin, spec, *member.pod)];
  }
  return of_part;
}

}  // namespace

bool IsWhole(const GroupPlugin& plugin, const GroupSpec& spec, const GroupMembers& members) {
  if (members.counts().running < spec.min_member) return false;
  if (spec.subgroups.empty()) return true;
  const Quorum quorum(spec, CountByPart(plugin, spec, &members, Runs));
  return quorum.IsReachedBy(std::vector<int>(quorum.counts(), 0));
}

// The part of each of `placed`.
std::vector<int> AttemptRequest::PartsOf(const Binder::Members& placed) const {
  absl::flat_hash_map<const PodInfo*, int> part_of;
  for (size_t i = 0; i < pods.size(); ++i) part_of.emplace(pods[i].get(), PartOf(i));
  std::vector<int> parts_of;
  parts_of.reserve(placed.size());
  for (const Binder::Member& member : placed) {
    parts_of.push_back(part_of[member.placement.pod.get()]);
  }
  return parts_of;
}

std::vector<int> AttemptRequest::CountByPart(const Binder::Members& placed) const {
  std::vector<int> counts(quorum.counts(), 0);
  for (const int part : PartsOf(placed)) ++counts[part];
  return counts;
}

std::vector<bool> AttemptRequest::FindStartingParts(const Binder::Members& placed) const {
  const std::vector<bool> starts = quorum.PartsThatStart(CountByPart(placed));
  std::vector<bool> found;
  found.reserve(placed.size());
  for (const int part : PartsOf(placed)) found.push_back(starts[part]);
  return found;
}

// By priority, then as they came: as they would be tried one by one.
void DescribeGroup(const GroupPlugin& plugin, const Groups& groups, AttemptRequest& request) {
  const auto before = [](const auto& a, const auto& b) { return a->priority() > b->priority(); };
  if (!std::is_sorted(request.pods.begin(), request.pods.end(), before)) {
    std::stable_sort(request.pods.begin(), request.pods.end(), before);
  }
  const std::optional<GroupSpec> spec = plugin.Spec(request.group);
  const GroupMembers* members = groups.Find(request.group);
  if (!spec.has_value()) return;
  const auto* const moves = dynamic_cast<const MovesPods*>(&plugin);
  if (moves != nullptr) request.most_moves = moves->MostMoves();
  const int missing = MissingMembers(*spec, members);
  const bool one_by_one = spec->mode == GangMode::kNonStrict;
  const bool has_started = spec->match_policy == MatchPolicy::kOnceSatisfied && missing == 0;
  if (spec->subgroups.empty() || one_by_one || has_started) {
    request.quorum = Quorum(one_by_one ? std::min(missing, 1) : missing);
  } else {
    const auto counts = [&](const GroupMember& member) {
      return Runs(member) &&
             (spec->match_policy != MatchPolicy::kOnlyWaiting || member.pod->node_name().empty());
    };
    const auto part_of = [&](const PodInfo& pod) { return PartOf(plugin, *spec, pod); };
    const std::vector<int> running = CountByPart(plugin, *spec, members, counts);
    for (const auto& pod : request.pods) request.parts.push_back(part_of(*pod));
    request.quorum = Quorum(*spec, running);
  }
  request.minimum = request.quorum.missing();
}

PodFailure& FailureOf(const std::shared_ptr<const PodInfo>& pod, absl::string_view message,
                      AttemptResult& result) {
  for (PodFailure& failure : result.failed) {
    if (failure.pod == pod) return failure;
  }
  PodFailure failure{pod};
  failure.message = std::string(message);
  if (!result.failed.empty()) failure.waiting = result.failed.front().waiting;
  return result.failed.emplace_back(std::move(failure));
}

void NominatePods(std::vector<AttemptResult::Plan> plans, AttemptResult& result) {
  for (AttemptResult::Plan& plan : plans) {
    const std::string& node = *plan.result.nominated_node;
    FailureOf(plan.pod, absl::StrCat("waits with its group for room on ", node), result)
        .nominated_node = node;
    if (!plan.result.victims.empty()) result.plans.push_back(std::move(plan));
  }
}

Status WhyGroupFailed(const AttemptRequest& request, const GroupMembers& group,
                      const AttemptResult& result) {
  const PodFailure& cause = result.failed.front();
  // What evictions for one member come to is not what they come to for all of them.
  const bool is_plan = result.answer == GroupAnswer::kPlan;
  std::string text =
      cause.message.substr(0, is_plan ? cause.post_filter_begins : std::string::npos);
  for (const std::string* const finding :
       {&result.finding, &result.evictions_finding, &result.moves_finding}) {
    if (!finding->empty()) absl::StrAppend(&text, " ", *finding);
  }
  Status why = request.framework->plugins().group->GroupUnschedulable(
      group, group.counts().running + result.most_placed,
      Status::Make(cause.status.code(), {std::move(text)}));
  why.SetPlugin(cause.status.plugin_symbol());
  return why;
}

// The others count for the group but cannot be tried now: gated by a plugin that the group's does
// not know, or waiting under another profile.
AttemptResult TooFewMembers(const AttemptRequest& request) {
  AttemptResult result;
  const Symbol plugin = request.framework->plugins().group_name;
  const std::string message =
      absl::StrCat("only ", request.pods.size(), " of the ", request.minimum,
                   " pods it still needs can be tried in this profile");
  auto waiting = std::make_shared<WaitingFor>();
  waiting->reason = WaitingReason::kWaitingForMembers;
  waiting->plugin = std::string(plugin.view());
  waiting->detail = message;
  waiting->members_needed = request.minimum;
  waiting->members_placeable = static_cast<int>(request.pods.size());
  for (const auto& pod : request.pods) {
    PodFailure failure{pod, Status::Unschedulable(message).WithPlugin(plugin), {plugin}, message};
    failure.waiting = waiting;
    result.failed.push_back(std::move(failure));
  }
  return result;
}

void FailEveryMember(const AttemptRequest& request, const GroupMembers& group,
                     AttemptResult& result) {
  const Status why = WhyGroupFailed(request, group, result);
  WaitingPtr waiting = WhyGroup(request, result);
  const bool some_run =
      waiting->reason != WaitingReason::kWaitingForMembers && group.counts().running > 0;
  if (some_run || !result.reserved_nodes.empty()) {
    auto more = std::make_shared<WaitingFor>(*waiting);
    more->members_running = some_run ? group.counts().running : 0;
    more->reserved_nodes = result.reserved_nodes;
    more->reserved_from = result.reserved_from;
    waiting = std::move(more);
  }
  absl::flat_hash_map<const PodInfo*, size_t> known;
  for (size_t i = 0; i < result.failed.size(); ++i) known.emplace(result.failed[i].pod.get(), i);
  result.failed.reserve(result.failed.size() + request.pods.size());
  const std::string message = why.message();
  for (const auto& pod : request.pods) {
    const auto failed = known.find(pod.get());
    PodFailure& told = failed != known.end() ? result.failed[failed->second]
                                             : result.failed.emplace_back(PodFailure{pod});
    told.status = why;
    told.message = message;
    told.waiting = waiting;
  }
}

Rejection DescribeRejection(const AttemptRequest& request, const AttemptResult& result) {
  Rejection rejection;
  rejection.retry_at = result.retry_at;
  const auto add = [](std::vector<Symbol>& to, Symbol plugin) {
    if (std::find(to.begin(), to.end(), plugin) == to.end()) to.push_back(plugin);
  };
  rejection.pods.reserve(result.failed.size());
  for (const PodFailure& failure : result.failed) {
    for (const Symbol plugin : failure.rejecting_plugins) {
      add(failure.status.code() == Code::kPending ? rejection.pending_plugins
                                                  : rejection.unschedulable_plugins,
          plugin);
    }
    rejection.pods.push_back({failure.pod->uid(),
                              Status::Make(failure.status.code(), {failure.message})
                                  .WithPlugin(failure.status.plugin_symbol()),
                              !failure.rejecting_plugins.empty(), failure.waiting});
    const bool ends_by_time =
        failure.waiting != nullptr && (failure.waiting->reason == WaitingReason::kMinRuntime ||
                                       failure.waiting->reason == WaitingReason::kDevices);
    if (ends_by_time) {
      rejection.retry_at = std::min(rejection.retry_at, failure.waiting->until);
    }
  }
  if (!request.group.empty() && !rejection.IsError()) {
    add(rejection.unschedulable_plugins, request.framework->plugins().group_name);
  }
  return rejection;
}

}  // namespace berth
