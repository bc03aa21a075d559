// SPDX-License-Identifier: Apache-2.0
// Implementation of stale_groups.h.
#include "engine/stale_groups.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "berth/api/time.h"
#include "engine/attempt.h"

namespace berth {
namespace {

// How long after an eviction that left some of them running it is asked again.
constexpr absl::Duration kLeastGrace = absl::Minutes(1);

}  // namespace

StaleGroups::State StaleGroups::Look(absl::string_view group) const {
  State state;
  const GroupMembers* const members = cluster_.groups().Find(group);
  if (members == nullptr || members->counts().running == 0) return state;
  if (cluster_.groups().AnySucceeded(group)) return state;
  const Framework* const framework =
      profiles_.Find(members->members().front().pod->scheduler_name());
  const GroupPlugin* const plugin = framework == nullptr ? nullptr : framework->plugins().group;
  std::optional<GroupSpec> spec;
  if (plugin != nullptr) spec = plugin->Spec(group);
  if (!spec.has_value() || IsWhole(*plugin, *spec, *members)) return state;
  state.members = members;
  state.spec = *std::move(spec);
  return state;
}

void StaleGroups::Changed(absl::string_view group) {
  const State state = Look(group);
  if (state.members == nullptr) return Forget(group);
  const auto known = watched_.find(group);
  Watch(group, state.spec, known == watched_.end() ? clock_.Now() : known->second.since);
}

void StaleGroups::Watch(absl::string_view group, const GroupSpec& spec, absl::Time since) {
  Forget(group);
  if (spec.stale_after == absl::InfiniteDuration()) return;
  const absl::Time now = clock_.Now();
  const TimerId timer = timers_.Add(std::max(since + spec.stale_after, now), now,
                                    [this, name = std::string(group)] { OnDue(name); });
  watched_.emplace(group, Watched{since, timer});
}

void StaleGroups::Forget(absl::string_view group) {
  const auto known = watched_.find(group);
  if (known == watched_.end()) return;
  timers_.Cancel(known->second.timer);
  watched_.erase(known);
}

// If some of them may not be evicted, a disruption budget forbids it for instance, it is tried
// again.
void StaleGroups::OnDue(const std::string& group) {
  watched_.erase(group);
  const State state = Look(group);
  if (state.members == nullptr) return;
  Evict(state, absl::StrCat("has had fewer running than its minimum of ", state.spec.min_member,
                            " for ", DurationToString(state.spec.stale_after)));
  GroupSpec again;
  again.stale_after = std::max(state.spec.stale_after, kLeastGrace);
  Watch(group, again, clock_.Now());
}

void StaleGroups::BindingFailed(absl::string_view group) {
  const State state = Look(group);
  if (state.members == nullptr) return Forget(group);
  if (state.spec.bind_failure_policy == BindFailurePolicy::kGiveUp) {
    return Evict(state, "gives up, since a member of it cannot be bound");
  }
  Changed(group);
}

void StaleGroups::Evict(const State& group, const std::string& why) {
  std::vector<std::shared_ptr<const PodInfo>> running;
  for (const GroupMember& member : group.members->members()) {
    if (!member.node_name.empty() && !member.pod->deletion_time().has_value()) {
      running.push_back(member.pod);
    }
  }
  preemption_executor_.EvictGroup(running, "StaleGroup",
                                  absl::StrCat("group ", group.members->name(), " ", why));
}

}  // namespace berth
