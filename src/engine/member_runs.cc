// SPDX-License-Identifier: Apache-2.0
// Implementation of member_runs.h.
#include "engine/member_runs.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "engine/group_shortage.h"
#include "engine/transaction.h"
#include "search/room.h"

namespace berth {
namespace {

using PodPtr = std::shared_ptr<const PodInfo>;

class RunSearch {
 public:
  RunSearch(AttemptRequest& request, std::vector<MemberRun> runs, ClusterState& cluster,
            PodScheduler& pod_scheduler, AttemptResult& result)
      : request_(request),
        runs_(std::move(runs)),
        cluster_(cluster),
        pod_scheduler_(pod_scheduler),
        result_(result),
        transaction_(cluster, result.placed),
        left_(runs_.size() + 1, 0) {
    for (size_t i = runs_.size(); i-- > 0;) left_[i] = left_[i + 1] + runs_[i].pods.size();
    for (const MemberRun& run : runs_) {
      needs_.push_back(FindNeed(*request.framework, cluster.nodes(), *run.pods.front()));
    }
  }

  RunsOutcome Run() {
    if (PlaceFrom(0)) return RunsOutcome::kPlaced;
    return undecided_ ? RunsOutcome::kUndecided : RunsOutcome::kExhausted;
  }

 private:
  // Places the runs from `i` on.
  bool PlaceFrom(size_t i) {
    if (static_cast<int>(result_.placed.size() + left_[i]) < request_.minimum) return false;
    if (i == runs_.size()) return request_.IsReachedBy(result_.placed);
    const MemberRun& run = runs_[i];
    for (const NodePlacement* const placement : ByRoom(i)) {
      if (++steps_ > request_.group_search_steps) undecided_ = true;
      if (undecided_) return false;
      const Transaction::Savepoint before = transaction_.Save();
      if (PlaceRun(run, *placement) && PlaceFrom(i + 1)) return true;
      transaction_.RollBackTo(before);
      if (undecided_) return false;
    }
    return PlaceFrom(i + 1);
  }

  // Those that have room for the run's minimum, the tightest first; within each tier.
  std::vector<const NodePlacement*> ByRoom(size_t i) const {
    const MemberRun& run = runs_[i];
    struct Entry {
      int tier;
      int64_t room;
      const NodePlacement* placement;
    };
    std::vector<Entry> entries;
    for (size_t k = 0; k < run.placements.size(); ++k) {
      int64_t room = std::numeric_limits<int64_t>::max();
      if (needs_[i].has_value() && SamePods(run)) {
        room = Room(needs_[i]->needed, cluster_.nodes(), run.placements[k]->rows, room);
        if (room < std::max(run.minimum, 1)) continue;
      }
      entries.push_back({run.tiers.empty() ? 0 : run.tiers[k], room, run.placements[k]});
    }
    // All members of the run in one that has room for them, before its minimum in another.
    const auto holds_all = [&](const Entry& entry) {
      return entry.room >= static_cast<int64_t>(run.pods.size());
    };
    absl::c_stable_sort(entries, [&](const Entry& a, const Entry& b) {
      if (a.tier != b.tier) return a.tier < b.tier;
      if (holds_all(a) != holds_all(b)) return holds_all(a);
      return holds_all(a) ? a.room < b.room : a.room > b.room;
    });
    std::vector<const NodePlacement*> placements;
    for (const Entry& entry : entries) placements.push_back(entry.placement);
    return placements;
  }

  static bool SamePods(const MemberRun& run) {
    return absl::c_all_of(run.pods, [&](const PodPtr& pod) {
      return pod->SharesSpec(*run.pods.front()) || pod->requests() == run.pods.front()->requests();
    });
  }

  bool PlaceRun(const MemberRun& run, const NodePlacement& placement) {
    request_.placement = &placement;
    int placed = 0;
    int left = static_cast<int>(run.pods.size());
    for (const PodPtr& pod : run.pods) {
      --left;
      const auto outcome =
          pod_scheduler_.PlaceOrPlan(request_, pod, PodScheduler::AskPostFilter::kNo, result_);
      if (outcome.placed) {
        ++placed;
        transaction_.Nominate(pod, "");
      } else if (placed + left < run.minimum) {
        return false;
      }
      if (request_.watch != nullptr &&
          !request_.watch->GoesOn(static_cast<int>(result_.placed.size()),
                                  static_cast<int>(request_.pods.size() - result_.placed.size()))) {
        return false;
      }
    }
    return placed > 0 && placed >= run.minimum;
  }

  AttemptRequest& request_;
  const std::vector<MemberRun> runs_;
  ClusterState& cluster_;
  PodScheduler& pod_scheduler_;
  AttemptResult& result_;
  Transaction transaction_;
  std::vector<size_t> left_;  // pods from each run on
  std::vector<std::optional<PodNeed>> needs_;
  int64_t steps_ = 0;
  bool undecided_ = false;
};

}  // namespace

std::optional<int> RankOf(const PodInfo& pod) {
  static const Symbol kLabels[] = {Symbol::Intern("batch.kubernetes.io/job-completion-index"),
                                   Symbol::Intern("apps.kubernetes.io/pod-index"),
                                   Symbol::Intern("leaderworkerset.sigs.k8s.io/worker-index"),
                                   Symbol::Intern("training.kubeflow.org/replica-index")};
  int rank = 0;
  const auto is_rank = [&](absl::string_view text) {
    return absl::SimpleAtoi(text, &rank) && rank >= 0;
  };
  for (const Symbol label : kLabels) {
    const Symbol* const value = pod.labels().Find(label);
    if (value != nullptr && is_rank(value->view())) return rank;
  }
  for (const absl::string_view key : {"batch.kubernetes.io/job-completion-index",
                                      "gang.scheduling.koordinator.sh/network-topology-index"}) {
    const std::optional<absl::string_view> value = pod.annotation(key);
    if (value.has_value() && is_rank(*value)) return rank;
  }
  return std::nullopt;
}

std::vector<PodPtr> ByRank(absl::Span<const PodPtr> pods) {
  std::vector<std::pair<int, PodPtr>> ranked;
  for (const PodPtr& pod : pods) {
    const std::optional<int> rank = RankOf(*pod);
    if (!rank.has_value()) return {pods.begin(), pods.end()};
    ranked.emplace_back(*rank, pod);
  }
  absl::c_stable_sort(ranked, [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PodPtr> ordered;
  for (auto& [rank, pod] : ranked) ordered.push_back(std::move(pod));
  return ordered;
}

std::vector<MemberRun> InRuns(absl::Span<const PodPtr> pods, int size) {
  const std::vector<PodPtr> ordered = ByRank(pods);
  const bool ranked =
      absl::c_all_of(ordered, [](const PodPtr& p) { return RankOf(*p).has_value(); });
  std::vector<MemberRun> runs;
  for (size_t i = 0; i < ordered.size(); ++i) {
    const int slice = (ranked ? *RankOf(*ordered[i]) : static_cast<int>(i)) / size;
    if (runs.empty() || runs.back().slice != slice) {
      runs.emplace_back();
      runs.back().slice = slice;
    }
    runs.back().pods.push_back(ordered[i]);
    ++runs.back().minimum;
  }
  if (!ranked) {
    for (MemberRun& run : runs) run.slice.reset();
  }
  return runs;
}

RunsOutcome PlaceRuns(AttemptRequest& request, std::vector<MemberRun> runs, ClusterState& cluster,
                      PodScheduler& pod_scheduler, AttemptResult& result) {
  RunSearch search(request, std::move(runs), cluster, pod_scheduler, result);
  return search.Run();
}

}  // namespace berth
