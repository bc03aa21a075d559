// SPDX-License-Identifier: Apache-2.0
// Implementation of group_reservations.h.
#include "engine/group_reservations.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/amounts.h"
#include "berth/api/time.h"
#include "engine/transaction.h"

namespace berth {
namespace {

int32_t LowestPriority(const AttemptRequest& request) {
  int32_t lowest = request.pods.front()->priority();
  for (const auto& pod : request.pods) lowest = std::min(lowest, pod->priority());
  return lowest;
}

// Since its first pending pod was created, so that it is the same after a restart; if that is not
// known, since it was tried first.
absl::Time WaitingSince(const AttemptRequest& request, absl::Time now) {
  absl::Time first = absl::InfiniteFuture();
  for (const auto& pod : request.pods) first = std::min(first, pod->creation_time());
  if (first <= absl::UnixEpoch()) first = request.history.initial_attempt_timestamp;
  return std::min(first, now);
}

// "n1, n2, n3", or the first ones and how many more.
std::string JoinNodes(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8, kFirst = 3;
  if (names.size() <= kMost) return absl::StrJoin(names, ", ");
  return absl::StrCat(absl::StrJoin(names.begin(), names.begin() + kFirst, ", "), " and ",
                      names.size() - kFirst, " more nodes");
}

void AddSentence(absl::string_view sentence, std::string& text) {
  absl::StrAppend(&text, text.empty() ? "" : " ", sentence);
}

}  // namespace

bool GroupReservations::Reservation::Has(Symbol node) const {
  return absl::c_any_of(places, [&](const Place& place) { return place.node == node; });
}

std::vector<std::string> GroupReservations::Reservation::NodeNames() const {
  std::vector<std::string> names;
  absl::flat_hash_set<absl::string_view> known;
  for (const Place& place : places) {
    if (known.insert(place.node.view()).second) names.emplace_back(place.node.view());
  }
  return names;
}

std::string GroupReservations::Reservation::Title() const {
  return absl::StrCat("reserved for group ", request.group, " from ", TimeToString(from));
}

GroupReservations::GroupReservations(ClusterState& cluster, const FrameworkSet& profiles,
                                     EntryScheduler& entry_scheduler, const Clock& clock,
                                     std::function<void(absl::string_view uid)> retry)
    : cluster_(cluster),
      profiles_(profiles),
      entry_scheduler_(entry_scheduler),
      clock_(clock),
      retry_(std::move(retry)) {
  for (const Framework* framework : profiles_.all()) {
    const GroupPlugin* const plugin = framework->plugins().group;
    enabled_ = enabled_ || (plugin != nullptr && plugin->ReservesForGroups());
  }
}

AttemptResult GroupReservations::Run(const AttemptRequest& request, EventIntake* intake) {
  if (!enabled_) return entry_scheduler_.Run(request, intake);
  const absl::Time now = clock_.Now();
  AttemptResult result =
      Concerns(request, now) ? RunBeside(request, now) : entry_scheduler_.Run(request, intake);
  if (result.yielded || request.group.empty()) return result;
  if (!result.minimum_reached) {
    Consider(request, result, now);
  } else if (reservation_.has_value() && reservation_->request.group == request.group) {
    Release();
  }
  return result;
}

void GroupReservations::Changed(const ClusterChange& change) {
  if (!enabled_) return;
  if (change.type == ClusterChange::Type::kPodAssigned) {
    end_times_.Started(*change.change.new_pod, clock_.Now());
  } else if (change.type == ClusterChange::Type::kPodGone) {
    end_times_.Ended(*change.change.old_pod);
  }
  if (!reservation_.has_value()) return;
  const std::string& group = reservation_->request.group;
  if (absl::c_linear_search(change.groups, group) ||
      absl::c_linear_search(change.redefined, group)) {
    const GroupMembers* const members = cluster_.groups().Find(group);
    const GroupPlugin& plugin = *reservation_->request.framework->plugins().group;
    const bool waits = members != nullptr &&
                       members->counts().members > members->counts().assigned &&
                       plugin.Spec(group).has_value() && plugin.ReadyToSchedule(*members).ok();
    if (!waits) return Release();
  }
  if (change.type == ClusterChange::Type::kNode && retry_ != nullptr) {
    const auto& node =
        change.change.new_node != nullptr ? change.change.new_node : change.change.old_node;
    if (reservation_->Has(node->name())) RetryHolder();
  }
}

// One of the group will do: the member that was planned for first may have gone.
void GroupReservations::RetryHolder() {
  const GroupMembers* const group = cluster_.groups().Find(reservation_->request.group);
  if (group == nullptr) return;
  for (const GroupMember& member : group->members()) {
    if (member.node_name.empty()) return retry_(member.pod->uid());
  }
}

void GroupReservations::Release() {
  if (!reservation_.has_value()) return;
  reservation_.reset();
  RetryBlockedPods();
}

void GroupReservations::RetryBlockedPods() {
  const absl::flat_hash_set<std::string> kept = std::exchange(blocked_pods_, {});
  if (retry_ == nullptr) return;
  // The queue decides in which order they are tried, and does not hear of the others.
  std::vector<absl::string_view> uids(kept.begin(), kept.end());
  absl::c_sort(uids);
  for (const absl::string_view uid : uids) retry_(uid);
}

// --- Pods that must respect a reservation -------------------------------------------------------

bool GroupReservations::Concerns(const AttemptRequest& request, absl::Time now) const {
  if (!reservation_.has_value() || reservation_->request.group == request.group) return false;
  if (LowestPriority(request) > reservation_->priority) return false;
  return absl::c_any_of(request.pods, [&](const PodPtr& pod) {
    return now + DeclaredRunTime(*pod) > reservation_->from;
  });
}

AttemptResult GroupReservations::RunBeside(const AttemptRequest& request, absl::Time now) {
  cluster_.Refresh();
  const bool is_alone = request.pods.size() == 1 && request.group.empty();
  NodePlacement open = OpenNodes(is_alone ? request.pods.front().get() : nullptr, now);
  AttemptRequest limited = request;
  limited.placement = &open;
  AttemptResult result = entry_scheduler_.Place(limited);
  if (result.yielded) return result;
  if (!Holds(result, now)) {
    entry_scheduler_.RollBack(result);
    const int cycles = result.cycles;
    open = OpenNodes(nullptr, now);
    result = entry_scheduler_.Place(limited);
    result.cycles += cycles;
    if (result.yielded) return result;
  }
  entry_scheduler_.Permit(limited, result);
  if (!result.failed.empty()) ReportBlockedPods(result);
  return result;
}

NodePlacement GroupReservations::OpenNodes(const PodInfo* beside, absl::Time now) const {
  const NodeTable& nodes = cluster_.nodes();
  std::vector<bool> reserved(nodes.size());
  for (const Place& place : reservation_->places) {
    const NodeRow row = nodes.FindRow(place.node);
    if (row >= 0) reserved[row] = true;
  }
  NodePlacement open;
  open.name = "nodes that are not reserved";
  open.outside = absl::StrCat("node(s) are ", reservation_->Title());
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (!reserved[row] || (beside != nullptr && HasRoomBeside(*beside, row, now))) {
      open.rows.push_back(row);
    }
  }
  return open;
}

// Sums at the time of the reservation: the pods that still run, the group's members, and the pod.
bool GroupReservations::HasRoomBeside(const PodInfo& pod, NodeRow row, absl::Time now) const {
  const NodeTable& nodes = cluster_.nodes();
  const NodeInfo& node = nodes.node(row);
  std::vector<const PodInfo*> there;
  for (const PodPtr& other : node.pods()) {
    if (end_times_.EndOf(*other, now) > reservation_->from) there.push_back(other.get());
  }
  for (const Place& place : reservation_->places) {
    if (place.node == node.name()) there.push_back(place.pod.get());
  }
  bool fits = static_cast<int64_t>(there.size()) < nodes.allowed_pods()[row];
  pod.requests().ForEach([&](ResourceId resource, int64_t amount) {
    for (const PodInfo* other : there) {
      amount = SaturatingAdd(amount, other->requests().Get(resource));
    }
    fits = fits && amount <= nodes.allocatable(resource)[row];
  });
  return fits;
}

// Asked of every filter and of Reserve, on the nodes concerned: devices and volumes are in no sum.
bool GroupReservations::Holds(const AttemptResult& result, absl::Time now) {
  for (const Binder::Member& member : result.placed) {
    const Symbol node = member.placement.node;
    if (!reservation_->Has(node)) continue;
    const NodeRow row = cluster_.nodes().FindRow(node);
    std::vector<PodPtr> gone;
    for (const PodPtr& pod : cluster_.nodes().node(row).pods()) {
      if (end_times_.EndOf(*pod, now) <= reservation_->from) gone.push_back(pod);
    }
    AttemptResult trial;
    Transaction transaction(cluster_, trial.placed);
    transaction.TakeOff(gone);
    const bool holds = absl::c_all_of(reservation_->places, [&](const Place& place) {
      if (place.node != node) return true;
      const PodPtr pod = cluster_.FindPod(*place.pod->identity());
      return pod == nullptr || entry_scheduler_.PlaceOn(reservation_->request, pod, row, trial);
    });
    transaction.RollBack();
    if (!holds) return false;
  }
  return true;
}

void GroupReservations::ReportBlockedPods(AttemptResult& result) {
  const Symbol plugin = reservation_->request.framework->plugins().group_name;
  for (PodFailure& failure : result.failed) {
    blocked_pods_.insert(failure.pod->uid());
    if (!absl::c_linear_search(failure.rejecting_plugins, plugin) && !failure.status.IsError()) {
      failure.rejecting_plugins.push_back(plugin);
    }
    if (!failure.status.plugin().empty()) continue;
    failure.status.SetPlugin(plugin);
    // Nothing else is known of members for which pods are evicted or moved.
    auto waiting = failure.waiting != nullptr ? std::make_shared<WaitingFor>(*failure.waiting)
                                              : std::make_shared<WaitingFor>();
    waiting->reason = WaitingReason::kReserved;
    waiting->plugin = std::string(plugin.view());
    waiting->detail = reservation_->Title();
    waiting->until = reservation_->from;
    failure.waiting = std::move(waiting);
  }
}

// --- Which group gets one -----------------------------------------------------------------------

void GroupReservations::Consider(const AttemptRequest& request, AttemptResult& result,
                                 absl::Time now) {
  const bool is_holder = reservation_.has_value() && reservation_->request.group == request.group;
  const std::optional<GroupSpec> spec = request.framework->plugins().group->Spec(request.group);
  const bool may = spec.has_value() && spec->reserve_after < absl::InfiniteDuration() &&
                   static_cast<int>(request.pods.size()) >= request.minimum &&
                   result.answer != GroupAnswer::kPlan;
  if (!may) {
    if (is_holder) Release();
    return;
  }
  const absl::Time due = WaitingSince(request, now) + spec->reserve_after;
  if (now < due) {
    result.retry_at = std::min(result.retry_at, due);
    return;
  }
  if (reservation_.has_value() && !is_holder && LowestPriority(request) <= reservation_->priority) {
    AddSentence(absl::StrCat("Not reserved for: group ", reservation_->request.group,
                             " waits for its reservation."),
                result.finding);
    return;
  }
  const Timeline timeline = MakeTimeline(request.group, now);
  std::optional<Reservation> plan = Plan(request, timeline, result.cycles);
  // The search has a budget: it need not find again what it found before.
  const bool keeps = is_holder && reservation_->from >= now && !IsLost(*reservation_) &&
                     (!plan.has_value() || plan->from > reservation_->from);
  if (!keeps && !plan.has_value()) {
    if (is_holder) Release();
    AddSentence(
        timeline.unknown > 0
            ? absl::StrCat("No time is known at which it would start: ", timeline.unknown,
                           timeline.unknown == 1 ? " pod has" : " pods have", " no known end.")
            : "It would not start if all other pods had ended, either.",
        result.finding);
    return;
  }
  if (!keeps) Adopt(*std::move(plan));
  result.reserved_nodes = reservation_->NodeNames();
  result.reserved_from = reservation_->from;
  result.retry_at =
      std::min(result.retry_at, std::max(reservation_->from, now + PodEndTimes::kOverdue));
  AddSentence(absl::StrCat("Reserved on ", JoinNodes(result.reserved_nodes), " from ",
                           TimeToString(reservation_->from), "."),
              result.finding);
}

void GroupReservations::Adopt(Reservation reservation) {
  const bool moves =
      reservation_.has_value() && reservation_->NodeNames() != reservation.NodeNames();
  reservation_ = std::move(reservation);
  if (moves) RetryBlockedPods();
}

bool GroupReservations::IsLost(const Reservation& reservation) const {
  return absl::c_any_of(reservation.places, [&](const Place& place) {
    return cluster_.nodes().FindRow(place.node) < 0;
  });
}

GroupReservations::Timeline GroupReservations::MakeTimeline(const std::string& group,
                                                            absl::Time now) const {
  Timeline timeline;
  const NodeTable& nodes = cluster_.nodes();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    for (const PodPtr& pod : nodes.node(row).pods()) {
      const absl::Time end = end_times_.EndOf(*pod, now);
      if (end < absl::InfiniteFuture()) {
        if (cluster_.groups().GroupOfPod(pod->uid()) != group) timeline.ends.push_back({end, pod});
      } else {
        ++timeline.unknown;
      }
    }
  }
  absl::c_stable_sort(timeline.ends,
                      [](const Ending& a, const Ending& b) { return a.end < b.end; });
  return timeline;
}

// More room at each step: the first step that is enough is found by halving.
std::optional<GroupReservations::Reservation> GroupReservations::Plan(const AttemptRequest& request,
                                                                      const Timeline& timeline,
                                                                      int& cycles) {
  const std::vector<Ending>& ends = timeline.ends;
  std::vector<size_t> steps;  // how many pods have gone by each distinct time
  for (size_t i = 0; i < ends.size(); ++i) {
    if (i + 1 == ends.size() || ends[i + 1].end > ends[i].end) steps.push_back(i + 1);
  }
  if (steps.empty()) return std::nullopt;
  AttemptRequest trial = request;
  trial.plans_evictions = false;
  Binder::Members none;
  Transaction transaction(cluster_, none);
  size_t gone = 0;
  std::optional<Reservation> found;
  const auto fits_after = [&](size_t step) {
    const Transaction::Savepoint before = transaction.Save();
    std::vector<PodPtr> leaving;
    for (size_t i = gone; i < steps[step]; ++i) leaving.push_back(ends[i].pod);
    transaction.TakeOff(leaving);
    AttemptResult result = entry_scheduler_.Place(trial);
    cycles += result.cycles;
    if (!result.minimum_reached) {
      gone = steps[step];  // the time is later
      return false;
    }
    Reservation plan;
    plan.request = request;
    plan.priority = LowestPriority(request);
    plan.from = ends[steps[step] - 1].end;
    for (const Binder::Member& member : result.placed) {
      // Those beyond the minimum go where there is room then.
      if (!request.quorum.has_parts() && static_cast<int>(plan.places.size()) >= request.minimum) {
        break;
      }
      plan.places.push_back({member.placement.pod, member.placement.node});
    }
    found = std::move(plan);
    entry_scheduler_.RollBack(result);
    transaction.RollBackTo(before);
    return true;
  };
  size_t low = 0, high = steps.size() - 1;
  if (!fits_after(high)) return std::nullopt;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (fits_after(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return found;
}

}  // namespace berth
