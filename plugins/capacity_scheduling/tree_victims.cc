// SPDX-License-Identifier: Apache-2.0
// Implementation of tree_victims.h.
#include "plugins/capacity_scheduling/tree_victims.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "plugins/capacity_scheduling/victim_units.h"

namespace berth {

TreeVictims::TreeVictims(const QuotaBook& book, const Handle& handle,
                         std::function<std::vector<QuotaId>()> quotas)
    : book_(book), handle_(handle), now_(handle.clock().Now()), find_quotas_(std::move(quotas)) {}

void TreeVictims::FindQuotas() {
  if (find_quotas_ == nullptr) return;
  quotas_ = std::exchange(find_quotas_, nullptr)();
  least_priority_.resize(quotas_.size());
  place_of_.assign(book_.tree().size(), -1);
  int32_t least = std::numeric_limits<int32_t>::max();
  for (int place = static_cast<int>(quotas_.size()) - 1; place >= 0; --place) {
    place_of_[quotas_[place]] = place;
    const QuotaBook::Charges& charges = book_.ChargesOf(quotas_[place]);
    if (!charges.empty()) least = std::min(least, charges.begin()->first.priority);
    least_priority_[place] = least;
  }
  BeginQuota();
}

int TreeVictims::At(int position) {
  FindQuotas();
  while (static_cast<int>(order_.size()) <= position) {
    if (next_quota_ == static_cast<int>(quotas_.size())) return -1;
    const int number = NextOfQuota();
    if (number >= 0) {
      units_[number].is_in_order = true;
      order_.push_back(number);
    } else {
      ++next_quota_;
      BeginQuota();
    }
  }
  return order_[position];
}

void TreeVictims::BeginQuota() {
  if (next_quota_ < static_cast<int>(quotas_.size())) {
    later_ = book_.ChargesOf(quotas_[next_quota_]).begin();
  }
}

// The charges of the next priority: those of one weight are in order already.
void TreeVictims::AddPriority() {
  const QuotaBook::Charges& charges = book_.ChargesOf(quotas_[next_quota_]);
  const int32_t priority = later_->first.priority;
  while (later_ != charges.end() && later_->first.priority == priority) {
    next_.push({VictimRank(later_->first, now_), -1, later_});
    later_ = charges.upper_bound({priority, later_->first.weight, absl::InfinitePast(), 0});
  }
}

// A gang comes up with the first of its pods; as its rank counts all of them, no sooner than its
// turn is.
int TreeVictims::NextOfQuota() {
  const QuotaBook::Charges& charges = book_.ChargesOf(quotas_[next_quota_]);
  while (true) {
    if (later_ != charges.end() &&
        (next_.empty() || later_->first.priority <= next_.top().rank.priority)) {
      AddPriority();
      continue;
    }
    if (next_.empty()) return -1;
    const Next next = next_.top();
    next_.pop();
    if (next.gang >= 0) return next.gang;
    const QuotaCharge& charge = *next.charge->second;
    const auto behind = std::next(next.charge);
    if (behind != charges.end() && behind->first.priority == next.charge->first.priority &&
        behind->first.weight == next.charge->first.weight) {
      next_.push({VictimRank(behind->first, now_), -1, behind});
    }
    if (charge.leaving) continue;
    const int number = UnitOf(charge, nullptr);
    if (number < 0 || units_[number].is_next) continue;
    if (units_[number].unit.pods.size() == 1) return number;
    units_[number].is_next = true;
    next_.push({units_[number].rank, number, next.charge});
  }
}

bool TreeVictims::Before(int a, int b) const {
  const Ranked &first = units_[a], &second = units_[b];
  if (first.quota != second.quota) return first.quota < second.quota;
  return first.rank < second.rank;
}

const std::vector<int>& TreeVictims::OnRow(NodeRow row) {
  const auto [known, is_new] = on_row_.try_emplace(row);
  if (!is_new) return known->second;
  FindQuotas();
  std::vector<int>& here = known->second;
  const NodeInfo& node = handle_.nodes().node(row);
  here.reserve(node.pods().size());
  for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
    const QuotaCharge* const charge = book_.FindCharge(*pod->identity());
    if (charge == nullptr || charge->leaving || place_of_[charge->quota] < 0) continue;
    const int number = UnitOf(*charge, charge->node == node.name() ? pod : nullptr);
    if (number >= 0) here.push_back(number);
  }
  absl::c_sort(here, [this](int a, int b) { return Before(a, b); });
  here.erase(std::unique(here.begin(), here.end()), here.end());
  return here;
}

int32_t TreeVictims::LeastPriorityFrom(int position) const {
  const Ranked& at = units_[order_[position]];
  const size_t behind = static_cast<size_t>(at.quota) + 1;
  return behind == quotas_.size() ? at.rank.priority
                                  : std::min(at.rank.priority, least_priority_[behind]);
}

int64_t TreeVictims::MostRequested(ResourceId resource) {
  FindQuotas();
  int64_t most = 0;
  for (const QuotaId quota : quotas_) most = std::max(most, book_.MostRequested(quota, resource));
  return most;
}

std::shared_ptr<const PodInfo> TreeVictims::PodOf(const QuotaCharge& charge) const {
  return FindOn(handle_.nodes(), charge.node, *charge.pod);
}

int TreeVictims::UnitOf(const QuotaCharge& charge, std::shared_ptr<const PodInfo> pod) {
  const auto [known, is_new] = unit_of_.try_emplace(&charge, -1);
  if (!is_new) return known->second;
  if (const std::optional<std::string> group = handle_.groups().GroupOfPod(charge.pod->uid())) {
    AddGang(charge, *group);
    return unit_of_.at(&charge);
  }
  if (pod == nullptr) pod = PodOf(charge);
  if (pod != nullptr) AddPod(charge, std::move(pod), known->second = AddUnit(charge, ""));
  return known->second;
}

// As UnitsOf() of victim_units.h.
void TreeVictims::AddGang(const QuotaCharge& charge, const std::string& group) {
  std::vector<const QuotaCharge*> charges;
  if (const GroupMembers* const members = handle_.groups().Find(group)) {
    for (const GroupMember& member : members->members()) {
      const QuotaCharge* const of = book_.FindCharge(*member.pod->identity());
      if (of != nullptr && of->quota == charge.quota && !of->leaving) charges.push_back(of);
    }
  }
  absl::c_sort(charges, [this](const QuotaCharge* a, const QuotaCharge* b) {
    return VictimRank(a->key, now_) < VictimRank(b->key, now_);
  });
  int surplus = SurplusOf(handle_, group);
  int core = -1;
  const int begin = static_cast<int>(units_.size());
  for (const QuotaCharge* const of : charges) {
    std::shared_ptr<const PodInfo> pod = PodOf(*of);
    if (pod == nullptr) continue;
    if (surplus > 0) {
      --surplus;
      unit_of_[of] = AddUnit(*of, group);
      AddPod(*of, std::move(pod), unit_of_[of]);
      continue;
    }
    if (core < 0) core = AddUnit(*of, group);
    unit_of_[of] = core;
    AddPod(*of, std::move(pod), core);
  }
  const int end = static_cast<int>(units_.size());
  for (int number = begin; number < end; ++number) {
    units_[number].gang_begin = begin;
    units_[number].gang_end = end;
  }
}

std::vector<int> TreeVictims::OfGang(int number) {
  const Ranked& unit = units_[number];
  if (unit.gang_begin == unit.gang_end) return {number};
  std::vector<int> of_gang(unit.gang_end - unit.gang_begin);
  absl::c_iota(of_gang, unit.gang_begin);
  return of_gang;
}

int TreeVictims::AddUnit(const QuotaCharge& first, const std::string& group) {
  units_.push_back({VictimUnit{{}, {}, group}, place_of_[first.quota], {first.key, now_}});
  return static_cast<int>(units_.size()) - 1;
}

void TreeVictims::AddPod(const QuotaCharge& charge, std::shared_ptr<const PodInfo> pod, int to) {
  if (!units_[to].unit.pods.empty()) units_[to].rank.Add({charge.key, now_});
  units_[to].unit.pods.push_back(std::move(pod));
  units_[to].unit.nodes.push_back(charge.node);
}

}  // namespace berth
