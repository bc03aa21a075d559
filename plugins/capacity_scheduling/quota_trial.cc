// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_trial.h.
#include "plugins/capacity_scheduling/quota_trial.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "plugins/capacity_scheduling/quota_limits.h"
#include "plugins/capacity_scheduling/victim_units.h"

namespace berth {
namespace {

bool AreEqual(const PodAmounts& a, const PodAmounts& b) {
  return a.resources == b.resources && a.gpu_milli == b.gpu_milli &&
         a.possible_gpu_milli == b.possible_gpu_milli && a.possible == b.possible &&
         a.decided == b.decided;
}

}  // namespace

QuotaTrial::QuotaTrial(QuotaBook& book, Handle& handle, QuotaId quota,
                       absl::Span<const PodInfo* const> preemptors)
    : book_(book),
      what_if_(book),
      handle_(handle),
      first_(*preemptors.front()),
      rule_(book.tree(), handle.clock().Now()) {
  const QuotaTree& tree = book_.tree();
  taker_.quota = quota;
  taker_.priority = first_.priority();
  taker_.creation_time = first_.creation_time();
  const PodInfo* last = nullptr;  // the last one that counted, if its shape says what it asks for
  for (const PodInfo* pod : preemptors) {
    const bool by_shape = book_.RequestsByShape(*pod);
    const bool is_as_last = by_shape && last != nullptr && pod->SharesSpec(*last) &&
                            pod->packed()->shape() == last->packed()->shape();
    // Others are of other quotas, or charged already.
    const bool counts = pod == &first_ || ((is_as_last || book_.QuotaOf(*pod) == quota) &&
                                           !book_.IsPromised(*pod->identity()));
    if (!counts) continue;
    if (!is_as_last) {
      const PodAmounts& amounts =
          book_.RequestOf(*pod, [this](const std::string& claim) { return AsksFor(claim); });
      if (asked_.empty() || !AreEqual(asked_.back().each, amounts)) asked_.push_back({amounts});
      last = by_shape && book_.QuotaOf(*pod) == quota ? pod : nullptr;
    }
    ++asked_.back().pods;
  }
  taker_.request = AskedOn(nullptr);
  request_ = tree.ChargeOf(asked_.front().each, nullptr);
  possible_ = tree.PossibleOf(asked_.front().each, nullptr);
  open_claims_ = book_.OpenClaimsOf(
      first_, [this](const std::string& claim) { return asked_claims_.contains(claim); });
  avoidable_ = tree.PossibleOf(open_claims_, nullptr);
  constexpr __int128 kMost = std::numeric_limits<int64_t>::max();
  for (const auto& [where, sum] : book_.Leaving()) {
    const int sign = sum > 0 ? -1 : 1;
    for (__int128 rest = sum > 0 ? sum : -sum; rest > 0; rest -= kMost) {
      Change(where.first, {{where.second, static_cast<int64_t>(std::min(rest, kMost))}}, sign);
    }
  }
}

// Each claim once. One that a running or nominated pod has is charged for that one.
bool QuotaTrial::AsksFor(const std::string& claim) {
  if (StayingUser(claim) != nullptr) {
    joined_claims_.insert(claim);
    return false;
  }
  return asked_claims_.insert(claim).second;
}

const ClaimUser* QuotaTrial::StayingUser(absl::string_view claim) const {
  return book_.claims().FirstUser(claim, [this](const ClaimUser& user) {
    return !user.leaving && !uids_gone_.contains(user.pod->uid());
  });
}

QuotaTrial::~QuotaTrial() {
  for (auto moved = moved_.rbegin(); moved != moved_.rend(); ++moved) {
    if (moved->sign > 0) {
      book_.mutable_tree().Release(moved->quota, moved->amounts);
    } else {
      book_.mutable_tree().Charge(moved->quota, moved->amounts);
    }
  }
}

void QuotaTrial::Change(QuotaId quota, const LineAmounts& amounts, int sign) {
  if (sign > 0) {
    book_.mutable_tree().Charge(quota, amounts);
  } else {
    book_.mutable_tree().Release(quota, amounts);
  }
  moved_.push_back({quota, amounts, sign});
}

void QuotaTrial::Move(const VictimUnit& unit, bool gone) {
  for (const std::shared_ptr<const PodInfo>& pod : unit.pods) {
    const bool runs = book_.FindCharge(*pod->identity()) != nullptr;
    const QuotaCharge* const charge = book_.FindChargeOrPromise(*pod->identity());
    if (charge == nullptr) continue;
    Change(charge->quota, charge->amounts, gone ? -1 : 1);
    if (runs && charge->claims.empty()) continue;  // nobody asks whether it IsGone()
    std::vector<const ClaimUser*> before;
    for (const ClaimCharge& of : charge->claims) before.push_back(StayingUser(of.claim));
    if (gone) {
      uids_gone_.insert(pod->uid());
    } else {
      uids_gone_.erase(pod->uid());
    }
    for (size_t i = 0; i < charge->claims.size(); ++i) {
      MoveClaim(charge->claims[i].claim, before[i]);
    }
  }
}

// A claim passes to its next user; without any it is free, unless the preemptors use it.
void QuotaTrial::MoveClaim(const std::string& claim, const ClaimUser* before) {
  const ClaimUser* const after = StayingUser(claim);
  if (before == after) return;
  const bool is_joined = joined_claims_.contains(claim);
  const ClaimUser& any = before != nullptr ? *before : *after;
  const auto change = [&](const ClaimUser* user, int sign) {
    if (user != nullptr) {
      Change(user->quota, user->amounts, sign);
    } else if (is_joined) {
      Change(taker_.quota, any.amounts, sign);
    }
  };
  change(before, -1);
  change(after, 1);
}

bool QuotaTrial::PlaceOn(const LabelSet& node) {
  const bool any_of_some_nodes = absl::c_any_of(
      book_.tree().lines(), [](const QuotaLine& line) { return line.of_some_nodes(); });
  if (!any_of_some_nodes) return false;
  const LineAmounts before = std::move(request_);
  request_ = book_.tree().ChargeOf(asked_.front().each, &node);
  possible_ = book_.tree().PossibleOf(asked_.front().each, &node);
  avoidable_ = book_.tree().PossibleOf(open_claims_, &node);
  taker_.request = AskedOn(&node);
  return request_ != before;
}

LineAmounts QuotaTrial::AskedOn(const LabelSet* node) const {
  LineAmounts asked;
  for (const Asked& some : asked_) {
    LineAmounts charge = book_.tree().ChargeOf(some.each, node);
    for (auto& [line, amount] : charge) {
      if (__builtin_mul_overflow(amount, int64_t{some.pods}, &amount)) {
        amount = std::numeric_limits<int64_t>::max();
      }
    }
    AddAmounts(charge, asked);
  }
  return asked;
}

std::vector<QuotaTaker> QuotaTrial::TakersByNode() const {
  std::vector<QuotaTaker> takers;
  const NodeTable& nodes = handle_.nodes();
  const int kinds = book_.kinds_of_nodes();
  std::vector<bool> is_known(kinds, false);
  int known = 0;
  for (NodeRow row = 0; row < nodes.size() && known < kinds; ++row) {
    const int kind = book_.KindOf(row);
    if (is_known[kind]) continue;
    const NodeInfo& node = nodes.node(row);
    if (kinds > 1 && !first_.required_node_affinity().Matches(node.labels(), node.name())) continue;
    ++known;
    is_known[kind] = true;
    QuotaTaker taker = taker_;
    const LabelSet labels = book_.LabelsOf(node);
    taker.request = AskedOn(&labels);
    const bool is_new = absl::c_none_of(
        takers, [&](const QuotaTaker& other) { return other.request == taker.request; });
    if (is_new) takers.push_back(std::move(taker));
  }
  return takers;
}

std::vector<LineAmounts> QuotaTrial::RequestsByNode() const {
  std::vector<LineAmounts> requests;
  for (QuotaTaker& taker : TakersByNode()) requests.push_back(std::move(taker.request));
  return requests;
}

bool QuotaTrial::MayReclaim(const TakingRule& rule) const {
  return absl::c_any_of(TakersByNode(),
                        [&](const QuotaTaker& taker) { return rule.MayReclaim(taker); });
}

std::optional<QuotaHolder> QuotaTrial::HolderOf(const VictimUnit& unit) const {
  QuotaHolder holder;
  holder.start_time = absl::InfinitePast();
  holder.creation_time = absl::InfinitePast();
  const absl::Time now = handle_.clock().Now();
  absl::flat_hash_set<std::string> counted;
  for (size_t i = 0; i < unit.pods.size(); ++i) {
    const PodInfo& pod = *unit.pods[i];
    const QuotaCharge* const charge = book_.FindChargeOrPromise(*pod.identity());
    if (charge == nullptr || (i > 0 && charge->quota != holder.quota)) return std::nullopt;
    holder.priority = i == 0 ? pod.priority() : std::max(holder.priority, pod.priority());
    holder.quota = charge->quota;
    AddAmounts(charge->amounts, holder.amounts);
    for (const ClaimCharge& of : charge->claims) {
      // Its users go one by one, and the claim with the last of them.
      const ClaimUser* const user = StayingUser(of.claim);
      const bool is_here = user != nullptr && user->quota == charge->quota;
      if (is_here && counted.insert(of.claim).second) AddAmounts(user->amounts, holder.amounts);
    }
    holder.creation_time = std::max(holder.creation_time, pod.creation_time());
    const bool runs = !book_.IsPromised(*pod.identity());
    if (runs) holder.start_time = std::max(holder.start_time, pod.start_time().value_or(now));
    holder.preemptible &= charge->preemptible;
  }
  return holder;
}

// What a gang must have does not go for what its quota uses too much by places that wait for other
// members: these are beyond the minimum.
TakingVerdict QuotaTrial::WithoutPlacesOfGang(const VictimUnit& unit,
                                              const QuotaHolder& holder) const {
  std::deque<QuotaBook::WithoutNomination> places;
  if (const GroupMembers* const gang = handle_.groups().Find(unit.group)) {
    for (const GroupMember& member : gang->members()) {
      const bool is_promised = member.node_name.empty() &&
                               book_.IsPromised(*member.pod->identity()) && !IsGone(*member.pod);
      if (!is_promised || member.pod->uid() == first_.uid()) continue;
      places.emplace_back(book_, *member.pod);
    }
  }
  return rule_.MayTake(taker_, holder);
}

VictimTrial::Verdict QuotaTrial::MayEvict(const VictimUnit& unit) const {
  if (!unit.group.empty() && unit.group == kept_group_) {
    return {Status::Unschedulable("it is of the same group")};
  }
  const std::optional<QuotaHolder> holder = HolderOf(unit);
  if (!holder.has_value()) {
    return {Status::Unschedulable("not all of its pods are of one quota")};
  }
  TakingVerdict verdict = rule_.MayTake(taker_, *holder);
  const bool runs = !book_.IsPromised(*unit.pods.front()->identity());
  if (verdict.ok() && runs && unit.pods.size() > 1) verdict = WithoutPlacesOfGang(unit, *holder);
  if (verdict.ok()) return {Status::Success()};
  // Many in a row are refused for the same reason.
  if (refused_.verdict != verdict) {
    refused_ = {verdict, Status::Unschedulable(verdict.ToString(book_.tree()))};
  }
  return {refused_.status, verdict.until, verdict.taking == Taking::kTakerAbove};
}

Status QuotaTrial::WhyNobody() const {
  TakingVerdict why;
  for (const QuotaTaker& taker : TakersByNode()) {
    const TakingVerdict verdict = rule_.WhyNotReclaim(taker);
    if (verdict.ok()) return WhyNobodyGives(taker);
    // One with numbers says more.
    if (why.ok() || why.line < 0) why = verdict;
  }
  if (why.ok()) return VictimTrial::WhyNobody();
  return Status::Unschedulable(
      absl::StrCat("no pod may be evicted for it: ", why.ToString(book_.tree())));
}

// A quota may have what is asked for and not name it: then it belongs to none.
Status QuotaTrial::WhyNobodyGives(const QuotaTaker& taker) const {
  const QuotaTree& tree = book_.tree();
  for (const auto& [line, amount] : taker.request) {
    if (!tree.Concerns(taker.quota, line)) continue;
    QuotaId most = QuotaTree::kCluster;
    for (QuotaId quota = 1; quota < tree.size(); ++quota) {
      if (tree.Concerns(quota, line) || tree.used(quota, line) <= 0) continue;
      if (most == QuotaTree::kCluster || tree.used(quota, line) > tree.used(most, line)) {
        most = quota;
      }
    }
    if (most == QuotaTree::kCluster) continue;
    const QuotaLine& of = tree.lines()[line];
    return Status::Unschedulable(
        absl::StrCat("no pod may be evicted for it: ", tree.spec(most).subject(), " uses ",
                     of.QuantityOf(static_cast<int64_t>(tree.used(most, line))).ToString(), " ",
                     of.ToString(), ", which neither it nor a quota above it names"));
  }
  return VictimTrial::WhyNobody();
}

Status QuotaTrial::HasRoom() const {
  if (const auto shortage =
          book_.tree().FindShortage(taker_.quota, request_, possible_, avoidable_)) {
    return Status::Unschedulable(book_.ToString(*shortage));
  }
  if (const auto beyond = BeyondMin(book_.tree(), first_, taker_.quota, request_, avoidable_)) {
    return Status::Unschedulable(BeyondMinToString(book_.tree(), *beyond));
  }
  return Status::Success();
}

// Nearer quotas are asked first: where these give, the quota that they share with the taker may be
// within its bound then, and so may take from quotas further away.
std::vector<QuotaId> QuotaTrial::VictimQuotas() const {
  const QuotaTree& tree = book_.tree();
  const std::vector<QuotaTaker> takers = TakersByNode();
  std::vector<std::pair<int, QuotaId>> by_distance;
  for (QuotaId quota = 1; quota < tree.size(); ++quota) {
    if (book_.ChargesOf(quota).empty()) continue;
    by_distance.emplace_back(-tree.depth(tree.BranchesOf(taker_.quota, quota).ancestor), quota);
  }
  absl::c_sort(by_distance);
  std::vector<RankedQuota> ranked;
  std::vector<std::pair<QuotaId, LineAmounts>> given;  // what-if
  size_t asked = 0;
  for (size_t begin = 0; begin < by_distance.size(); begin = asked) {
    const int distance = by_distance[begin].first;
    const size_t before = ranked.size();
    std::vector<std::optional<bool>> may_reclaim(takers.size());  // now that nearer ones gave
    for (; asked < by_distance.size() && by_distance[asked].first == distance; ++asked) {
      const QuotaId quota = by_distance[asked].second;
      if (MayGive(takers, quota, may_reclaim))
        ranked.push_back({distance, -Borrowed(takers, quota), quota});
    }
    const bool is_last = asked == by_distance.size();
    for (size_t i = before; i < ranked.size() && !is_last; ++i) {
      const QuotaId quota = std::get<2>(ranked[i]);
      given.emplace_back(quota, OwnOf(quota));
      book_.mutable_tree().Release(quota, given.back().second);
    }
  }
  for (const auto& [quota, amounts] : given) book_.mutable_tree().Charge(quota, amounts);
  if (counts_claims_that_pass_) AddThoseClaimsPassTo(takers, ranked);
  absl::c_sort(ranked);
  std::vector<QuotaId> quotas;
  for (const auto& [distance, borrowed, quota] : ranked) quotas.push_back(quota);
  return quotas;
}

// A quota may have more than its bound only once a claim of one that gives has passed to it. So its
// pods come after all others.
void QuotaTrial::AddThoseClaimsPassTo(absl::Span<const QuotaTaker> takers,
                                      std::vector<RankedQuota>& ranked) const {
  const auto gives = [&](QuotaId quota) {
    return absl::c_any_of(ranked, [&](const auto& one) { return std::get<2>(one) == quota; });
  };
  std::map<QuotaId, LineAmounts> passing;
  book_.claims().ForEachThatMayPass([&](const ClaimUser& first, const ClaimUser& other) {
    if (gives(first.quota) && !gives(other.quota)) AddAmounts(other.amounts, passing[other.quota]);
  });
  QuotaTree& tree = book_.mutable_tree();
  for (const auto& [quota, amounts] : passing) {
    std::vector<std::optional<bool>> may_reclaim(takers.size());
    tree.Charge(quota, amounts);
    const bool may_give = MayGive(takers, quota, may_reclaim);
    tree.Release(quota, amounts);
    if (!may_give) continue;
    constexpr int kBehindAllDistances = 1;
    ranked.push_back({kBehindAllDistances, 0, quota});
  }
}

bool QuotaTrial::MayGive(absl::Span<const QuotaTaker> takers, QuotaId quota,
                         std::vector<std::optional<bool>>& may_reclaim) const {
  // Of its own quota no pod goes that is as important.
  const bool only_lower = quota == taker_.quota &&
                          book_.tree().spec(quota).preemption == QuotaPreemption::kLowerPriority;
  if (only_lower && book_.ChargesOf(quota).begin()->first.priority >= taker_.priority) return false;
  for (size_t i = 0; i < takers.size(); ++i) {
    if (quota != taker_.quota && !may_reclaim[i].has_value()) {
      may_reclaim[i] = rule_.MayReclaim(takers[i]);
    }
    if ((quota == taker_.quota || *may_reclaim[i]) && rule_.MayGive(takers[i], quota)) return true;
  }
  return false;
}

// Of the lines that are asked for, in millionths of what the cluster has.
int64_t QuotaTrial::Borrowed(absl::Span<const QuotaTaker> takers, QuotaId quota) const {
  const QuotaTree& tree = book_.tree();
  const QuotaId side = tree.BranchesOf(taker_.quota, quota).b;
  int64_t borrowed = 0;
  for (const QuotaTaker& taker : takers) {
    for (const auto& [line, amount] : taker.request) {
      const __int128 whole = std::max<__int128>(1, tree.guarantee(QuotaTree::kCluster, line));
      borrowed =
          std::max(borrowed, static_cast<int64_t>(std::min<__int128>(
                                 int64_t{1} << 60, tree.borrowed(side, line) * 1'000'000 / whole)));
    }
  }
  return borrowed;
}

LineAmounts QuotaTrial::OwnOf(QuotaId quota) const {
  LineAmounts own;
  for (int line = 0; line < static_cast<int>(book_.tree().lines().size()); ++line) {
    const __int128 amount =
        std::min<__int128>(book_.tree().own(quota, line), std::numeric_limits<int64_t>::max());
    if (amount > 0) own.emplace_back(line, static_cast<int64_t>(amount));
  }
  return own;
}

std::vector<VictimUnit> QuotaTrial::Units() const {
  const absl::Time now = handle_.clock().Now();
  std::vector<VictimUnit> units;
  for (const QuotaId quota : VictimQuotas()) {
    std::vector<std::pair<VictimRank, RunningPod>> pods;
    for (const auto& [key, charge] : book_.ChargesOf(quota)) {
      if (charge->leaving) continue;
      std::shared_ptr<const PodInfo> pod = FindOn(handle_.nodes(), charge->node, *charge->pod);
      if (pod != nullptr) pods.push_back({{key, now}, {std::move(pod), charge->node}});
    }
    absl::c_sort(pods, [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<RunningPod> in_order;
    for (auto& [rank, pod] : pods) in_order.push_back(std::move(pod));
    std::vector<std::pair<VictimRank, VictimUnit>> ranked;
    for (VictimUnit& unit : UnitsOf(handle_, in_order)) {
      ranked.push_back({RankOf(unit, now), std::move(unit)});
    }
    absl::c_sort(ranked, [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [rank, unit] : ranked) units.push_back(std::move(unit));
  }
  return units;
}

bool QuotaTrial::MayTakePlacesOfOwn(int32_t priority) const {
  const bool may_preempt = book_.tree().spec(taker_.quota).preemption != QuotaPreemption::kNever;
  return may_preempt && priority < taker_.priority;
}

std::vector<const QuotaPromise*> QuotaTrial::PromisesThatMayGive() const {
  const std::optional<int32_t> least = book_.LeastPriorityPromised(taker_.quota);
  const bool own_may = least.has_value() && MayTakePlacesOfOwn(*least);
  std::vector<const QuotaPromise*> promises;
  if (!own_may && !book_.AnyPromisedBeside(taker_.quota)) return promises;
  const std::optional<std::string> own_group = handle_.groups().GroupOfPod(first_.uid());
  const auto of_own_group = [&](const PodInfo& pod) {
    return own_group.has_value() && handle_.groups().GroupOfPod(pod.uid()) == own_group;
  };
  std::optional<std::vector<QuotaTaker>> takers;  // that may reclaim
  absl::flat_hash_map<QuotaId, bool> gives;       // of other quotas
  book_.ForEachPromise([&](const QuotaPromise& promise) {
    const QuotaId quota = promise.charge.quota;
    if (quota == taker_.quota) {
      if (MayTakePlacesOfOwn(promise.charge.key.priority) && promise.pod->uid() != first_.uid() &&
          !of_own_group(*promise.pod)) {
        promises.push_back(&promise);
      }
      return;
    }
    if (!takers.has_value()) {
      takers = TakersByNode();
      std::erase_if(*takers, [this](const QuotaTaker& taker) { return !rule_.MayReclaim(taker); });
    }
    const auto [may, is_new] = gives.try_emplace(quota, false);
    if (is_new) {
      may->second = absl::c_any_of(
          *takers, [&](const QuotaTaker& taker) { return rule_.MayGive(taker, quota); });
    }
    if (may->second) promises.push_back(&promise);
  });
  absl::c_sort(promises, [](const QuotaPromise* a, const QuotaPromise* b) {
    return std::make_tuple(a->charge.key.priority, b->order) <
           std::make_tuple(b->charge.key.priority, a->order);
  });
  return promises;
}

// Of a gang that has its minimum without them, one by one; else all of them, but for those that are
// beyond its minimum.
std::vector<VictimUnit> QuotaTrial::NominatedUnits() const {
  const std::vector<const QuotaPromise*> promises = PromisesThatMayGive();
  absl::flat_hash_map<std::string, int> waiting;  // by gang
  for (const QuotaPromise* const promise : promises) {
    const std::optional<std::string> group = handle_.groups().GroupOfPod(promise->pod->uid());
    if (group.has_value()) ++waiting[*group];
  }
  std::vector<VictimUnit> units;
  absl::flat_hash_map<std::string, int> surplus;
  absl::flat_hash_map<std::string, size_t> core;  // positions of the units of whole gangs
  for (const QuotaPromise* const promise : promises) {
    const std::optional<std::string> group = handle_.groups().GroupOfPod(promise->pod->uid());
    size_t to = units.size();
    if (group.has_value()) {
      const auto [left, is_new] = surplus.try_emplace(*group, 0);
      if (is_new) left->second = SurplusOf(handle_, *group, waiting[*group]);
      if (left->second > 0) {
        --left->second;
      } else {
        to = core.try_emplace(*group, to).first->second;
      }
    }
    if (to == units.size()) units.push_back({{}, {}, group.value_or("")});
    units[to].pods.push_back(promise->pod);
    units[to].nodes.push_back(promise->charge.node);
  }
  return units;
}

std::vector<VictimUnit> QuotaTrial::PlacesToTake() {
  const LineAmounts request = std::exchange(taker_.request, AskedOn(nullptr));
  const absl::Cleanup back = [&] { taker_.request = request; };
  std::vector<VictimUnit> left = NominatedUnits(), taken;
  for (bool progressed = true; progressed;) {  // who is further away may give then
    progressed = false;
    std::vector<VictimUnit> others;
    for (VictimUnit& unit : left) {
      if (!MayEvict(unit).status.ok()) {
        others.push_back(std::move(unit));
        continue;
      }
      Evict(unit);
      taken.push_back(std::move(unit));
      progressed = true;
    }
    left = std::move(others);
  }
  for (const VictimUnit& unit : taken) Spare(unit);
  return taken;
}

VictimRank QuotaTrial::RankOf(const VictimUnit& unit, absl::Time now) const {
  VictimRank rank(book_.FindCharge(*unit.pods.front()->identity())->key, now);
  for (size_t i = 1; i < unit.pods.size(); ++i) {
    rank.Add({book_.FindCharge(*unit.pods[i]->identity())->key, now});
  }
  return rank;
}

}  // namespace berth
