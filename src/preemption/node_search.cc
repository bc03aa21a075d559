// Implementation of node_search.h.
#include "preemption/node_search.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/prefetch.h"

namespace berth {
namespace {

// Of more nodes without victims none is named.
constexpr size_t kMostNamed = 64;

Status NoVictims(const PreemptionRules& rules, const NodeInfo* node, const PodInfo& pod) {
  return Status::UnschedulableAndUnresolvable(rules.NoVictimsReason(node, pod));
}

}  // namespace

const WeighedPtr* NodeSearch::Try(NodeRow row) {
  const NodeInfo& node = handle_.nodes().node(row);
  DryRun run(handle_, state_, pod_, node);
  auto weighed = std::make_shared<WeighedCandidate>();
  last_failure_ = Weigh(run, row, *weighed);
  retry_at_ = std::min(retry_at_, run.helps_from());
  const RememberedRuns::Terms terms{run.conditions(), run.helps_from()};
  if (last_failure_.ok()) {
    if (remembered_ != nullptr) remembered_->SetCandidate(row, weighed, terms);
    return &weighed_now_.emplace_back(std::move(weighed));
  }
  if (last_failure_.code() == Code::kUnschedulableAndUnresolvable &&
      last_failure_ == NoVictims(rules_, &node, pod_)) {
    if (remembered_ != nullptr) remembered_->SetNoVictims(row, terms);
    without_victims_.push_back(row);
  } else {
    if (remembered_ != nullptr) remembered_->SetFailures({&row, 1}, last_failure_, terms);
    failures_.Add(last_failure_);
  }
  return nullptr;
}

void NodeSearch::FetchAhead(absl::Span<const NodeRow> rows, size_t at) const {
  const NodeTable& nodes = handle_.nodes();
  if (at + 3 < rows.size()) Prefetch(&nodes.node(rows[at + 3]));
  if (at + 2 < rows.size()) {
    for (const auto& pod : nodes.node(rows[at + 2]).pods()) Prefetch(pod.get());
  }
  if (at + 1 < rows.size()) {
    for (const auto& pod : nodes.node(rows[at + 1]).pods()) {
      Prefetch(pod->packed().get());
      Prefetch(pod->identity().get());
    }
  }
}

void NodeSearch::AddFailures(absl::Span<const NodeRow> rows, const Status& status) {
  if (rows.empty()) return;
  if (remembered_ != nullptr) remembered_->SetFailures(rows, status, {});
  failures_.Add(status, static_cast<int>(rows.size()));
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

Status NodeSearch::Failure() && {
  const NodeTable& nodes = handle_.nodes();
  if (remembered_ != nullptr) failures_.EndRemembered(remembered_->failures());
  if (without_victims_.size() > kMostNamed) {
    failures_.Add(NoVictims(rules_, nullptr, pod_), static_cast<int>(without_victims_.size()));
  } else {
    for (const NodeRow row : without_victims_) {
      failures_.Add(NoVictims(rules_, &nodes.node(row), pod_));
    }
  }
  return std::move(failures_).ToStatus(nodes.size());
}

}  // namespace berth
