// Implementation of node_search.h.
#include "preemption/pruning/node_search.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// Of more nodes without victims none is named.
constexpr int kMostNamed = 64;
constexpr int64_t kStepsOfTry = 4;

Status NoVictims(const PreemptionRules& rules, const NodeInfo* node, const PodInfo& pod) {
  return Status::UnschedulableAndUnresolvable(rules.NoVictimsReason(node, pod));
}

}  // namespace

const WeighedPtr* NodeSearch::Recall(NodeRow row) {
  const WeighedPtr& known = remembered_->runs.candidate(row);
  return known == nullptr ? nullptr : &known;
}

const WeighedPtr* NodeSearch::Try(NodeRow row) {
  const NodeInfo& node = handle_.nodes().node(row);
  DryRun run(handle_, state_, pod_, node);
  auto weighed = std::make_shared<WeighedCandidate>();
  last_failure_ = Weigh(run, row, *weighed);
  steps_ += kStepsOfTry + static_cast<int64_t>(node.pods().size()) / 4 + run.steps();
  retry_at_ = std::min(retry_at_, run.helps_from());
  const RememberedRuns::Terms terms{run.conditions(), run.helps_from()};
  RememberedRuns* const runs = remembered_ == nullptr ? nullptr : &remembered_->runs;
  if (last_failure_.ok()) {
    if (runs != nullptr) runs->SetCandidate(row, weighed, terms);
    return &weighed_now_.emplace_back(std::move(weighed));
  }
  if (last_failure_.code() == Code::kUnschedulableAndUnresolvable &&
      last_failure_ == NoVictims(rules_, &node, pod_)) {
    if (runs != nullptr) runs->SetNoVictims(row, terms);
    if (!IsKnown(row)) NoteWithoutVictims(row);
  } else {
    if (runs != nullptr) runs->SetFailures({&row, 1}, last_failure_, terms);
    if (!IsKnown(row)) failures_.Add(last_failure_);
  }
  return nullptr;
}

void NodeSearch::AddWithoutVictims(NodeRow row) {
  if (IsKnown(row)) return;
  if (remembered_ != nullptr) remembered_->runs.SetNoVictims(row, {});
  if (!IsKnown(row)) NoteWithoutVictims(row);
}

void NodeSearch::NoteWithoutVictims(NodeRow row) {
  ++without_victims_;
  if (without_victims_ <= kMostNamed) named_without_victims_.push_back(row);
}

void NodeSearch::SetAllWithoutVictims(const NodeStatuses& statuses, int count) {
  without_victims_ = count;
  if (without_victims_ > kMostNamed || !NamesNodesWithoutVictims()) return;
  named_without_victims_ = statuses.RowsWith(Code::kUnschedulable);
}

void NodeSearch::AddFailures(absl::Span<const NodeRow> rows, const Status& status) {
  if (rows.empty()) return;
  if (remembered_ != nullptr) remembered_->runs.SetFailures(rows, status, {});
  const auto known = absl::c_count_if(rows, [this](NodeRow row) { return IsKnown(row); });
  const int unknown = static_cast<int>(rows.size()) - static_cast<int>(known);
  if (unknown > 0) failures_.Add(status, unknown);
}

Status NodeSearch::Weigh(DryRun& run, NodeRow row, WeighedCandidate& weighed) const {
  PreemptionCandidate& candidate = weighed.candidate;
  candidate = {row, std::string(run.node().name().view()), {}, 0};
  Status status = rules_.SelectVictims(run, budgets_, candidate);
  if (status.ok() && candidate.victims.empty()) {
    status = Status::Error(
        absl::StrCat("expected at least one victim pod on node \"", candidate.node, "\""));
  }
  if (!status.ok()) return status;
  if (scored_by_default()) weighed.scores = DefaultScores(candidate);
  for (const PreemptionRules::CandidateScore& score : scores_) {
    weighed.scores.push_back(score(candidate));
  }
  return status;
}

absl::Time NodeSearch::retry_at() const {
  return remembered_ == nullptr ? retry_at_
                                : std::min(retry_at_, remembered_->standings.helps_from());
}

bool NodeSearch::NamesNodesWithoutVictims() const {
  const NodeTable& nodes = handle_.nodes();
  return nodes.size() > 0 &&
         rules_.NoVictimsReason(&nodes.node(0), pod_) != rules_.NoVictimsReason(nullptr, pod_);
}

void NodeSearch::CountRemembered() {
  Standings& standings = remembered_->standings;
  standings.FollowRuns(remembered_->runs);
  const absl::Span<const Status> failures = remembered_->runs.failures();
  for (size_t i = 0; i < failures.size(); ++i) {
    const int count = standings.CountOf(static_cast<int>(i));
    if (count > 0) failures_.Add(failures[i], count);
  }
  without_victims_ += standings.without_victims();
  if (without_victims_ > kMostNamed || standings.without_victims() == 0) return;
  if (!NamesNodesWithoutVictims()) return;
  for (NodeRow row = 0; row < standings.size(); ++row) {
    if (standings.is_without_victims(row)) named_without_victims_.push_back(row);
  }
}

Status NodeSearch::Failure() && {
  if (remembered_ != nullptr) CountRemembered();
  if (without_victims_ > kMostNamed || !NamesNodesWithoutVictims()) {
    failures_.Add(NoVictims(rules_, nullptr, pod_), without_victims_);
  } else {
    for (const NodeRow row : named_without_victims_) {
      failures_.Add(NoVictims(rules_, &handle_.nodes().node(row), pod_));
    }
  }
  return std::move(failures_).ToStatus(handle_.nodes().size());
}

}  // namespace berth
