// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_order.h.
#include "plugins/capacity_scheduling/quota_order.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace berth {

LineAmounts QuotaContest::RequestOf(const QueuedPodInfo& head) const {
  const GroupMembers* const group =
      head.group.empty() ? nullptr : handle_.groups().Find(head.group);
  if (group == nullptr) return book_.ChargeOf(*head.pod, nullptr);
  std::vector<const PodInfo*> waiting;
  for (const GroupMember& member : group->members()) {
    if (member.node_name.empty()) waiting.push_back(member.pod.get());
  }
  return book_.RequestOfAll(waiting);
}

void QuotaContest::SetHead(int line, const QueuedPodInfo* head) {
  if (!IsOver()) new_heads_[line] = head;
}

void QuotaContest::Enter(int line, const QueuedPodInfo* head) {
  if (head == nullptr) return tournament_.SetHead(line, std::nullopt);
  tournament_.SetHead(line,
                      TournamentHead{.request = book_.has_tree() ? RequestOf(*head) : LineAmounts(),
                                     .priority = head->priority(),
                                     .since = head->group_timestamp});
}

int QuotaContest::Next() {
  if (IsOver()) return -1;
  for (const auto& [line, head] : new_heads_) Enter(line, head);
  new_heads_.clear();
  return tournament_.Next().value_or(-1);
}

namespace {

bool OrdersPods(QuotaOrderKey key) {
  return key == QuotaOrderKey::kPodPriority || key == QuotaOrderKey::kAge;
}

// A strict line stands in order of arrival unless its quota says otherwise: by the QueueSort plugin
// a pod that was tried again would be behind those that it holds up.
absl::Span<const QuotaOrderKey> OrderOf(const QuotaSpec& spec) {
  static constexpr QuotaOrderKey kOfArrival[] = {QuotaOrderKey::kPodPriority, QuotaOrderKey::kAge};
  const bool by_arrival =
      spec.queueing == QuotaQueueing::kStrictFifo && absl::c_none_of(spec.order, OrdersPods);
  return by_arrival ? absl::MakeConstSpan(kOfArrival) : absl::MakeConstSpan(spec.order);
}

// When what stands in a strict line came: as it is the same after a restart, which the first
// attempt is not, the creation of the pod; of a group, what orders it.
absl::Time ArrivalOf(const QueuedPodInfo& queued) {
  const absl::Time created = queued.pod->creation_time();
  return !queued.group.empty() || created <= absl::UnixEpoch() ? queued.group_timestamp : created;
}

}  // namespace

int ComparePods(const QuotaSpec& spec, const QueuedPodInfo& a, const QueuedPodInfo& b) {
  const bool is_strict = spec.queueing == QuotaQueueing::kStrictFifo;
  for (const QuotaOrderKey key : OrderOf(spec)) {
    if (key == QuotaOrderKey::kPodPriority && a.priority() != b.priority()) {
      return a.priority() > b.priority() ? -1 : 1;
    }
    if (key != QuotaOrderKey::kAge) continue;
    if (is_strict && ArrivalOf(a) != ArrivalOf(b)) return ArrivalOf(a) < ArrivalOf(b) ? -1 : 1;
    if (a.group_timestamp != b.group_timestamp) {
      return a.group_timestamp < b.group_timestamp ? -1 : 1;
    }
  }
  return 0;
}

}  // namespace berth
