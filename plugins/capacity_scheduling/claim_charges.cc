// SPDX-License-Identifier: Apache-2.0
// Implementation of claim_charges.h.
#include "plugins/capacity_scheduling/claim_charges.h"

#include <tuple>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

bool GoesFirst(const ClaimUser& a, const ClaimUser& b) {
  return std::forward_as_tuple(a.use, a.created, a.pod->uid()) <
         std::forward_as_tuple(b.use, b.created, b.pod->uid());
}

bool Waits(const ClaimUser& user) { return user.use == ClaimUser::Use::kWaits; }

}  // namespace

void ClaimCharges::Clear() {
  claims_.clear();
  of_several_quotas_.clear();
  leaving_.clear();
}

void ClaimCharges::Join(const std::string& claim, ClaimUser user) {
  Users& users = claims_[claim];
  Move(users, -1);
  users.insert(absl::c_upper_bound(users, user, GoesFirst), std::move(user));
  Move(users, 1);
  NoteQuotas(claim, users);
}

void ClaimCharges::Leave(const std::string& claim, UidRef pod, ClaimUser::Use use) {
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return;
  Users& users = found->second;
  const auto user = absl::c_find_if(
      users, [&](const ClaimUser& one) { return one.use == use && pod.Means(*one.pod); });
  if (user == users.end()) return;
  Move(users, -1);
  users.erase(user);
  Move(users, 1);
  NoteQuotas(claim, users);
  if (users.empty()) claims_.erase(found);
}

const ClaimUser* ClaimCharges::FirstUser(absl::string_view claim,
                                         absl::FunctionRef<bool(const ClaimUser&)> counts) const {
  const auto found = claims_.find(claim);
  if (found == claims_.end()) return nullptr;
  const auto first = absl::c_find_if(
      found->second, [&](const ClaimUser& user) { return !Waits(user) && counts(user); });
  return first == found->second.end() ? nullptr : &*first;
}

void ClaimCharges::NoteQuotas(const std::string& claim, const Users& users) {
  const bool are_several = absl::c_any_of(users, [&](const ClaimUser& user) {
    return !Waits(user) && user.quota != users.front().quota;
  });
  if (are_several) {
    of_several_quotas_.insert(claim);
  } else {
    of_several_quotas_.erase(claim);
  }
}

void ClaimCharges::ForEachThatMayPass(
    absl::FunctionRef<void(const ClaimUser& first, const ClaimUser& other)> visit) const {
  for (const std::string& claim : of_several_quotas_) {
    const Users& users = claims_.find(claim)->second;
    std::set<QuotaId> seen = {users.front().quota};
    for (const ClaimUser& user : users) {
      if (!Waits(user) && seen.insert(user.quota).second) visit(users.front(), user);
    }
  }
}

void ClaimCharges::Move(const Users& users, int sign) {
  if (users.empty()) return;
  const ClaimUser& first = users.front();
  if (first.use != ClaimUser::Use::kRuns) {
    const auto waits = absl::c_find_if(users, Waits);
    if (waits != users.end() && sign > 0) tree_.Want(waits->quota, waits->amounts);
    if (waits != users.end() && sign < 0) tree_.Unwant(waits->quota, waits->amounts);
  }
  if (Waits(first)) return;
  if (sign > 0) {
    tree_.Charge(first.quota, first.amounts);
  } else {
    tree_.Release(first.quota, first.amounts);
  }
  if (!first.leaving) return;
  const auto add = [&](const ClaimUser& user, int direction) {
    for (const auto& [line, amount] : user.amounts) {
      const auto sum = leaving_.try_emplace({user.quota, line}, 0).first;
      sum->second += __int128{direction} * amount;
      if (sum->second == 0) leaving_.erase(sum);
    }
  };
  add(first, sign);
  const auto next =
      absl::c_find_if(users, [](const ClaimUser& user) { return !Waits(user) && !user.leaving; });
  if (next != users.end()) add(*next, -sign);
}

void ClaimCharges::Join(const PodInfo& pod, QuotaId quota, const std::vector<ClaimCharge>& claims,
                        ClaimUser::Use use) {
  for (const ClaimCharge& charge : claims) {
    Join(charge.claim, {pod.identity(), use, pod.creation_time(), quota,
                        pod.deletion_time().has_value(), charge.amounts});
  }
}

void ClaimCharges::Leave(UidRef pod, const std::vector<ClaimCharge>& claims, ClaimUser::Use use) {
  for (const ClaimCharge& charge : claims) Leave(charge.claim, pod, use);
}

}  // namespace berth
