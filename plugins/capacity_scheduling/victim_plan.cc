// SPDX-License-Identifier: Apache-2.0
// Implementation of victim_plan.h.
#include "plugins/capacity_scheduling/victim_plan.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// What a node lacks for a pod; amounts above 0.
class Deficit {
 public:
  // `nominated` are to run on the node as well; those of lower priority do not count.
  Deficit(const NodeInfo& node, const PodInfo& pod,
          absl::Span<const std::shared_ptr<const PodInfo>> nominated) {
    std::vector<const PodInfo*> others;
    for (const std::shared_ptr<const PodInfo>& other : nominated) {
      if (other->priority() >= pod.priority() && other->uid() != pod.uid()) {
        others.push_back(other.get());
      }
    }
    pod.requests().ForEach([&](ResourceId id, int64_t amount) {
      __int128 lack = __int128{node.requested().Get(id)} + amount - node.allocatable().Get(id);
      for (const PodInfo* other : others) lack += other->requests().Get(id);
      if (lack > 0) lacks_.push_back({id, lack});
    });
    pods_ = static_cast<int64_t>(node.pods().size() + others.size()) + 1 - node.allowed_pods();
    // What leaves gives back what it has, and evicts nobody.
    for (const std::shared_ptr<const PodInfo>& other : node.pods()) {
      if (other->deletion_time().has_value()) Remove(*other);
    }
  }
  bool met() const { return pods_ <= 0 && lacks_.empty(); }
  // Whether it makes a difference that the pod is gone; then it is.
  bool Remove(const PodInfo& pod) {
    bool helps = pods_ > 0;
    --pods_;
    for (auto& [id, lack] : lacks_) {
      const int64_t amount = pod.requests().Get(id);
      helps |= amount > 0;
      lack -= amount;
    }
    std::erase_if(lacks_, [](const auto& lack) { return lack.second <= 0; });
    return helps;
  }

 private:
  std::vector<std::pair<ResourceId, __int128>> lacks_;
  int64_t pods_ = 0;
};

// A node and the units that would go for it, as far as sums of requests say.
struct Site {
  NodeRow row = -1;
  std::vector<int> units;
  // By these the best is chosen.
  int violations = 0;
  int32_t priority = std::numeric_limits<int32_t>::min();
  int pods = 0;
  int64_t ranks = 0;  // sum of the positions of the units
  auto Key() const { return std::tie(violations, priority, pods, ranks, row); }
};

class Planner {
 public:
  Planner(Handle& handle, const CycleState& state, const PodInfo& pod,
          const DisruptionBudgets& budgets, VictimTrial& trial)
      : handle_(handle),
        state_(state),
        pod_(pod),
        budgets_(budgets),
        trial_(trial),
        units_(trial.Units()) {}

  Status Plan(const NodeStatuses& statuses, PostFilterResult& result) {
    legal_.resize(units_.size());
    FindRows();
    std::vector<Site> sites = Sites(statuses);
    absl::c_sort(sites, [](const Site& a, const Site& b) { return a.Key() < b.Key(); });
    Status last = Status::Success();
    // Where it may only have to wait for who leaves, before anybody else has to go.
    for (const Site& site : sites) {
      if (!site.units.empty()) break;
      last = TryOn(site, More::kNo, result);
      if (last.ok() || waits_) return last;
    }
    without_room_ = 0;
    for (const Site& site : sites) {
      last = TryOn(site, More::kYes, result);
      if (last.ok() || waits_) return last;
      if (without_room_ == kMostWithoutRoom) break;
    }
    bool any_legal = false;
    for (int unit = 0; unit < static_cast<int>(units_.size()); ++unit) any_legal |= IsLegal(unit);
    result.retry_at = retry_at_;
    result.nominated_node = "";  // nobody leaves for it: what it was promised is for others
    if (!any_legal) {
      return refused_.ok() ? Status::Unschedulable("no pod may be evicted for it") : refused_;
    }
    if (last.ok()) last = refused_;
    return last.ok() ? Status::Unschedulable("no pod may be evicted that would make room") : last;
  }

 private:
  // Which units are where, in their order.
  void FindRows() {
    const NodeTable& nodes = handle_.nodes();
    for (size_t i = 0; i < units_.size(); ++i) {
      for (const Symbol name : units_[i].nodes) {
        const NodeRow row = nodes.FindRow(name);
        if (row < 0) continue;
        std::vector<int>& here = on_row_[row];
        if (here.empty() || here.back() != static_cast<int>(i)) here.push_back(static_cast<int>(i));
      }
    }
  }

  // Whether the unit may go at all, before anything is gone.
  bool IsLegal(int unit) {
    if (!legal_[unit].has_value()) {
      const VictimTrial::Verdict verdict = trial_.MayEvict(units_[unit]);
      legal_[unit] = verdict.status.ok();
      if (!verdict.status.ok()) {
        retry_at_ = std::min(retry_at_, verdict.until);
        if (refused_.ok()) refused_ = verdict.status;
      }
    }
    return *legal_[unit];
  }

  // Nodes that would have room, and whom it costs. Nodes where evicting does not help are left out.
  std::vector<Site> Sites(const NodeStatuses& statuses) {
    std::vector<Site> sites;
    for (const NodeRow row : statuses.RowsWith(Code::kUnschedulable)) {
      const NodeInfo& node = handle_.nodes().node(row);
      Site site;
      site.row = row;
      Deficit deficit(node, pod_, handle_.nominator().NominatedPods(node.name()));
      const auto here = on_row_.find(row);
      if (!deficit.met()) {
        if (here == on_row_.end()) continue;
        for (const int unit : here->second) {
          if (deficit.met()) break;
          if (!IsLegal(unit)) continue;
          bool helps = false;
          for (size_t i = 0; i < units_[unit].pods.size(); ++i) {
            if (units_[unit].nodes[i] == node.name()) {
              helps |= deficit.Remove(*units_[unit].pods[i]);
            }
          }
          if (helps) Add(unit, site);
        }
        if (!deficit.met()) continue;
      }
      sites.push_back(std::move(site));
    }
    return sites;
  }

  void Add(int unit, Site& site) const {
    site.units.push_back(unit);
    site.ranks += unit;
    site.pods += static_cast<int>(units_[unit].pods.size());
    for (const std::shared_ptr<const PodInfo>& pod : units_[unit].pods) {
      site.priority = std::max(site.priority, pod->priority());
      site.violations += budgets_.Protect(*pod) ? 1 : 0;
    }
  }

  // Whether more may go than the site says, if sums of requests were not all.
  enum class More { kNo, kYes };
  Status TryOn(const Site& site, More more, PostFilterResult& result) {
    const NodeInfo& original = handle_.nodes().node(site.row);
    trial_.PlaceOn(original.labels());
    std::set<int> gone;
    Status status = Gather(site, more, original, gone);
    if (status.ok()) status = SpareOthers(original, gone, result);
    if (status.ok()) Fill(original, gone, result);
    for (const int unit : gone) trial_.Spare(units_[unit]);
    return status;
  }

  // Evicts the units of the site, more of the node if the filters want it, and more elsewhere
  // until the quotas have room.
  Status Gather(const Site& site, More may_be_more, const NodeInfo& original, std::set<int>& gone) {
    const auto evict = [&](int unit) {
      if (gone.contains(unit) || !IsLegal(unit)) return false;
      const VictimTrial::Verdict verdict = trial_.MayEvict(units_[unit]);
      if (!verdict.status.ok()) {
        retry_at_ = std::min(retry_at_, verdict.until);
        return false;
      }
      trial_.Evict(units_[unit]);
      gone.insert(unit);
      return true;
    };
    for (const int unit : site.units) evict(unit);
    Status fits = Filter(original, gone);
    if (!fits.ok()) {
      if (may_be_more == More::kNo) return fits;
      const auto here = on_row_.find(site.row);
      if (here == on_row_.end()) return fits;
      bool more = false;
      for (const int unit : here->second) more |= evict(unit);
      if (more) fits = Filter(original, gone);
      if (!fits.ok()) return fits;
    }
    Status room = trial_.HasRoom();
    for (int unit = 0; unit < static_cast<int>(units_.size()) && !room.ok(); ++unit) {
      if (may_be_more == More::kNo) break;
      if (evict(unit)) room = trial_.HasRoom();
    }
    without_room_ += room.ok() ? 0 : 1;
    return room;
  }

  // The most important first, so that the least important stay evicted; those under an exhausted
  // budget before all others.
  Status SpareOthers(const NodeInfo& original, std::set<int>& gone, PostFilterResult& result) {
    std::vector<int> order(gone.begin(), gone.end());
    absl::c_stable_sort(order, [&](int a, int b) {
      const auto key = [&](int unit) {
        Site alone;
        Add(unit, alone);
        return std::tuple(alone.violations, alone.priority, alone.pods, unit);
      };
      return key(a) > key(b);
    });
    for (const int unit : order) {
      trial_.Spare(units_[unit]);
      gone.erase(unit);
      if (trial_.HasRoom().ok() && Filter(original, gone).ok()) continue;
      trial_.Evict(units_[unit]);
      gone.insert(unit);
    }
    if (!gone.empty()) return Status::Success();
    waits_ = true;
    result.nominated_node.reset();
    return Status::Unschedulable("waiting for terminating pods to give back their quota");
  }

  // Whether the pod fits on the node without those that are gone, there and elsewhere.
  Status Filter(const NodeInfo& original, const std::set<int>& gone) {
    CycleState state = state_.Clone();
    std::map<NodeRow, NodeInfo> changed;
    NodeInfo& own =
        changed.emplace(handle_.nodes().FindRow(original.name()), original).first->second;
    for (const std::shared_ptr<const PodInfo>& pod : original.pods()) {
      if (!pod->deletion_time().has_value() || !own.RemovePod(*pod)) continue;
      if (Status status = handle_.RunPreFilterExtensionRemovePod(state, pod_, *pod, own);
          !status.ok()) {
        return status;
      }
    }
    for (const int unit : gone) {
      const VictimUnit& of = units_[unit];
      for (size_t i = 0; i < of.pods.size(); ++i) {
        const NodeRow row = handle_.nodes().FindRow(of.nodes[i]);
        if (row < 0) continue;
        auto node = changed.find(row);
        if (node == changed.end()) node = changed.emplace(row, handle_.nodes().node(row)).first;
        if (!node->second.RemovePod(*of.pods[i])) continue;
        if (Status status =
                handle_.RunPreFilterExtensionRemovePod(state, pod_, *of.pods[i], node->second);
            !status.ok()) {
          return status;
        }
      }
    }
    return handle_.RunFilterPluginsWithNominatedPods(state, pod_, own);
  }

  void Fill(const NodeInfo& node, const std::set<int>& gone, PostFilterResult& result) const {
    auto candidate = std::make_shared<PreemptionCandidate>();
    candidate->node = std::string(node.name().view());
    candidate->row = handle_.nodes().FindRow(node.name());
    for (const int unit : gone) {
      for (const std::shared_ptr<const PodInfo>& pod : units_[unit].pods) {
        candidate->victims.push_back(pod);
        candidate->pdb_violations += budgets_.Protect(*pod) ? 1 : 0;
      }
    }
    absl::c_stable_sort(candidate->victims,
                        [](const auto& a, const auto& b) { return MoreImportantPod(*a, *b); });
    result.nominated_node = candidate->node;
    result.victims = candidate->victims;
    result.candidates = {std::move(candidate)};
    result.equally_good = {0};
  }

  Handle& handle_;
  const CycleState& state_;
  const PodInfo& pod_;
  const DisruptionBudgets& budgets_;
  VictimTrial& trial_;
  const std::vector<VictimUnit> units_;
  std::vector<std::optional<bool>> legal_;                 // by unit; absent: nobody has asked
  Status refused_;                                         // the first reason why a unit may not go
  absl::flat_hash_map<NodeRow, std::vector<int>> on_row_;  // units with a pod there
  absl::Time retry_at_ = absl::InfiniteFuture();
  bool waits_ = false;    // nobody else has to go
  int without_room_ = 0;  // sites for which the quotas had no room
  // Room in quotas differs between sites by lines of some nodes alone.
  static constexpr int kMostWithoutRoom = 16;
};

}  // namespace

Status PlanVictims(Handle& handle, const CycleState& state, const PodInfo& pod,
                   const NodeStatuses& statuses, const DisruptionBudgets& budgets,
                   VictimTrial& trial, PostFilterResult& result) {
  return Planner(handle, state, pod, budgets, trial).Plan(statuses, result);
}

}  // namespace berth
