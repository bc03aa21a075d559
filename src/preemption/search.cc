// The search for a node on which evicting pods makes room. kube-scheduler v1.35
// framework/preemption/preemption.go.
#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/policy_v1.pb.h"
#include "berth/framework/preemption.h"
#include "berth/prefetch.h"
#include "preemption/dry_run_memory.h"
#include "preemption/lowest_priorities.h"

namespace berth {
namespace {

constexpr absl::string_view kNotHelpful = "Preemption is not helpful for scheduling";

PreemptionRules::Nomination NominationOf(Handle& handle, const PodInfo& pod,
                                         const NodeStatuses& statuses) {
  std::string name = handle.nominator().NominatedNode(pod);
  if (name.empty()) name = pod.nominated_node_name();
  if (name.empty()) return {};
  const std::optional<Symbol> symbol = Symbol::Find(name);
  const NodeRow row = symbol.has_value() ? handle.nodes().FindRow(*symbol) : -1;
  if (row < 0) return {};
  return {&handle.nodes().node(row), statuses.code(row)};
}

Status NoVictims(const PreemptionRules& rules, const NodeInfo& node, const PodInfo& pod) {
  return Status::UnschedulableAndUnresolvable(rules.NoVictimsReason(node, pod));
}

// What spoke against the nodes, as FitError of kube-scheduler's framework/types.go prints it.
class Failures {
 public:
  void Add(const Status& status, int nodes = 1) {
    nodes_ += nodes;
    for (const std::string& reason : status.reasons()) counts_[reason] += nodes;
    if (status.IsError()) errors_.push_back(status.message());
  }
  // The same for what is remembered: an index in RememberedRuns::failures().
  void AddRemembered(int failure) {
    if (failure >= static_cast<int>(remembered_.size())) remembered_.resize(failure + 1);
    ++remembered_[failure];
  }
  void EndRemembered(absl::Span<const Status> failures) {
    for (size_t i = 0; i < remembered_.size(); ++i) {
      if (remembered_[i] > 0) Add(failures[i], remembered_[i]);
    }
  }

  // Of nodes without victims, whose reasons may name them: too many for a map.
  void AddAll(std::vector<std::string> reasons) {
    nodes_ += static_cast<int>(reasons.size());
    if (!std::is_sorted(reasons.begin(), reasons.end())) std::sort(reasons.begin(), reasons.end());
    for (size_t i = 0, end = 0; i < reasons.size(); i = end) {
      while (end < reasons.size() && reasons[end] == reasons[i]) ++end;
      const auto known = counts_.find(reasons[i]);
      if (known != counts_.end()) {
        known->second += static_cast<int>(end - i);
      } else {
        texts_.push_back(absl::StrCat(end - i, " ", reasons[i]));
      }
    }
  }

  Status ToStatus(int all_nodes) && {
    if (!errors_.empty()) return Status::Error(ErrorText());
    if (nodes_ < all_nodes) counts_[std::string(kNotHelpful)] += all_nodes - nodes_;
    std::vector<std::string> texts = std::move(texts_);
    for (const auto& [reason, count] : counts_) texts.push_back(absl::StrCat(count, " ", reason));
    if (!std::is_sorted(texts.begin(), texts.end())) std::sort(texts.begin(), texts.end());
    std::string text = absl::StrCat("0/", all_nodes, " nodes are available:");
    if (!texts.empty()) absl::StrAppend(&text, " ", absl::StrJoin(texts, ", "), ".");
    return Status::Unschedulable(std::move(text));
  }

 private:
  // As Kubernetes prints a list of errors: each once, and in brackets if there are several.
  std::string ErrorText() {
    std::vector<std::string> different;
    for (std::string& error : errors_) {
      if (std::find(different.begin(), different.end(), error) == different.end()) {
        different.push_back(std::move(error));
      }
    }
    if (different.size() == 1) return different.front();
    return absl::StrCat("[", absl::StrJoin(different, ", "), "]");
  }

  int nodes_ = 0;
  std::map<std::string, int> counts_;
  std::vector<std::string> texts_;  // "count reason" of further reasons
  std::vector<std::string> errors_;
  std::vector<int> remembered_;
};

// The candidates found so far, at most `wanted` of either sort. They are owned by others.
class Candidates {
 public:
  explicit Candidates(int wanted) : wanted_(wanted) {}

  void Add(const WeighedPtr& weighed) {
    std::vector<const WeighedPtr*>& list =
        weighed->candidate.pdb_violations == 0 ? non_violating_ : violating_;
    if (static_cast<int>(list.size()) < wanted_) list.push_back(&weighed);
  }
  bool Enough() const {
    return !non_violating_.empty() &&
           static_cast<int>(non_violating_.size() + violating_.size()) >= wanted_;
  }
  std::vector<const WeighedPtr*> Take() && {
    non_violating_.insert(non_violating_.end(), violating_.begin(), violating_.end());
    return std::move(non_violating_);
  }

 private:
  int wanted_;
  std::vector<const WeighedPtr*> non_violating_, violating_;
};

// The positions of those with the highest scores, the first score first.
std::vector<int> BestOf(absl::Span<const WeighedPtr* const> candidates) {
  std::vector<int> best;
  for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
    if (!best.empty()) {
      const auto& scores = (*candidates[i])->scores;
      const auto& high = (*candidates[best.front()])->scores;
      if (scores < high) continue;
      if (scores != high) best.clear();
    }
    best.push_back(i);
  }
  return best;
}

// A budget whose selector is missing, empty or wrong protects nothing.
std::optional<DisruptionBudget> ParseBudget(const api::PodDisruptionBudget& object) {
  if (!object.spec().has_selector()) return std::nullopt;
  absl::StatusOr<LabelSelector> selector = LabelSelector::FromProto(&object.spec().selector());
  if (!selector.ok() || selector->SelectsNothing() || selector->SelectsEverything()) {
    return std::nullopt;
  }
  DisruptionBudget budget{*std::move(selector), object.status().disruptions_allowed(), {}};
  for (const auto& [name, time] : object.status().disrupted_pods()) {
    budget.disrupted_pods.insert(name);
  }
  return budget;
}

// Lets the processor fetch what dry runs of the rows after `at` will read while this one goes on:
// the pods of very many nodes are in no cache. One step a row, as each step reads what the one
// before has fetched.
void FetchAhead(const NodeTable& nodes, absl::Span<const NodeRow> rows, size_t at) {
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

}  // namespace

Preemption::Preemption(Handle& handle)
    : handle_(handle),
      memory_(std::make_unique<DryRunMemory>()),
      lowest_(std::make_unique<LowestPriorities>()) {}

Preemption::~Preemption() = default;

const DisruptionBudgets& Preemption::budgets() {
  const uint64_t version = handle_.objects().version(Kind::kPodDisruptionBudget);
  if (budgets_version_ == version) return budgets_;
  budgets_.clear();
  for (const Object* object : handle_.objects().List(Kind::kPodDisruptionBudget)) {
    std::optional<DisruptionBudget> budget = ParseBudget(object->As<api::PodDisruptionBudget>());
    if (!budget.has_value()) continue;
    budgets_[Symbol::Intern(object->namespace_name())].push_back(*std::move(budget));
  }
  budgets_version_ = version;
  return budgets_;
}

// One node, looked at.
Status Preemption::Weigh(PreemptionRules& rules, DryRun& run, NodeRow row,
                         WeighedCandidate& weighed) {
  PreemptionCandidate& candidate = weighed.candidate;
  candidate = {row, std::string(run.node().name().view()), {}, 0};
  Status status = rules.SelectVictims(run, budgets(), candidate);
  if (status.ok() && candidate.victims.empty()) {
    status = Status::Error(
        absl::StrCat("expected at least one victim pod on node \"", candidate.node, "\""));
  }
  if (!status.ok()) return status;
  for (const PreemptionRules::CandidateScore& score : rules.OrderedScores()) {
    weighed.scores.push_back(score(candidate));
  }
  return status;
}

// What is known of the nodes for pods like this one, up to date; null if nothing is to be.
RememberedRuns* Preemption::Remembered(PreemptionRules& rules, const CycleState& state,
                                       const PodInfo& pod) {
  PreemptionRules::Surroundings surroundings;
  if (!rules.MayRemember(state, pod, surroundings)) return nullptr;
  DryRunGrounds grounds;
  if (!handle_.FindDryRunGrounds(state, pod, grounds)) return nullptr;
  const NodeTable& nodes = handle_.nodes();
  RememberedRuns* runs = memory_->Find(
      absl::StrCat(grounds.kind, pod.priority(), ";", surroundings.key), nodes.size());
  if (runs == nullptr) return nullptr;
  const std::optional<Symbol> own = Symbol::Find(handle_.nominator().NominatedNode(pod));
  budgets();
  runs->Refresh(nodes, handle_.nominator(), *budgets_version_,
                own.has_value() ? nodes.FindRow(*own) : -1, std::move(grounds),
                surroundings.gauges);
  return runs;
}

Status Preemption::Run(PreemptionRules& rules, const CycleState& state, const PodInfo& pod,
                       const NodeStatuses& statuses, PostFilterResult& result) {
  const Status eligible =
      rules.PodEligibleToPreempt(state, pod, NominationOf(handle_, pod, statuses));
  if (!eligible.ok()) return eligible;

  const NodeTable& nodes = handle_.nodes();
  if (nodes.size() == 0) return Status::Error("no nodes available");
  int count = statuses.CountWith(Code::kUnschedulable);
  const PreemptionRules::SearchRange range =
      count == 0 ? PreemptionRules::SearchRange{} : rules.Range(count);
  const bool by_priority = count > 0 && rules.OnlyLowerPriorityGoes();
  if (by_priority) lowest_->Refresh(nodes);
  int nobody_lower = 0;  // nodes without a pod of lower priority
  if (by_priority && lowest_->lowest() >= pod.priority()) nobody_lower = std::exchange(count, 0);
  std::vector<NodeRow>& rows = memory_->rows();
  rows.clear();
  for (NodeRow row = 0; row < nodes.size() && static_cast<int>(rows.size()) < count; ++row) {
    if (statuses.code(row) == Code::kUnschedulable) rows.push_back(row);
  }
  RememberedRuns* const remembered = count == 0 ? nullptr : Remembered(rules, state, pod);
  Candidates found(range.candidates);
  std::deque<WeighedPtr> weighed_now;
  Failures failures;
  std::vector<NodeRow> without_victims;
  absl::Time retry_at = absl::InfiniteFuture();
  for (int i = 0, at = range.offset; i < count && !found.Enough(); ++i, ++at) {
    if (at == count) at = 0;
    const NodeRow row = rows[at];
    if (by_priority && lowest_->of_row(row) >= pod.priority()) {
      ++nobody_lower;
      continue;
    }
    if (remembered != nullptr && remembered->IsKnown(row)) {
      if (const WeighedPtr& known = remembered->candidate(row); known != nullptr) {
        found.Add(known);
      } else if (remembered->failure(row) == RememberedRuns::kNoVictims) {
        without_victims.push_back(row);
      } else {
        failures.AddRemembered(remembered->failure(row));
      }
      retry_at = std::min(retry_at, remembered->helps_from(row));
      continue;
    }
    FetchAhead(nodes, rows, at);
    DryRun run(handle_, state, pod, nodes.node(row));
    auto weighed = std::make_shared<WeighedCandidate>();
    const Status status = Weigh(rules, run, row, *weighed);
    if (status.ok()) {
      if (remembered != nullptr) remembered->SetCandidate(row, weighed, run);
      found.Add(weighed_now.emplace_back(std::move(weighed)));
    } else if (status.code() == Code::kUnschedulableAndUnresolvable &&
               status == NoVictims(rules, nodes.node(row), pod)) {
      if (remembered != nullptr) remembered->SetNoVictims(row, run);
      without_victims.push_back(row);
    } else {
      if (remembered != nullptr) remembered->SetFailure(row, status, run);
      failures.Add(status);
    }
    retry_at = std::min(retry_at, run.helps_from());
  }

  const std::vector<const WeighedPtr*> candidates = std::move(found).Take();
  if (candidates.empty()) {
    if (remembered != nullptr) failures.EndRemembered(remembered->failures());
    if (nobody_lower > 0) failures.Add(NoVictims(rules, nodes.node(0), pod), nobody_lower);
    std::vector<std::string> reasons;
    reasons.reserve(without_victims.size());
    for (const NodeRow row : without_victims) {
      reasons.push_back(rules.NoVictimsReason(nodes.node(row), pod));
    }
    failures.AddAll(std::move(reasons));
    Status status = std::move(failures).ToStatus(nodes.size());
    if (!status.IsError()) result.nominated_node = "";
    result.retry_at = retry_at;
    return status;
  }
  result.candidates.reserve(candidates.size());
  for (const WeighedPtr* weighed : candidates) {
    result.candidates.emplace_back(*weighed, &(*weighed)->candidate);
  }
  result.equally_good = BestOf(candidates);
  const PreemptionCandidate& chosen = *result.candidates[result.equally_good.front()];
  result.nominated_node = chosen.node;
  result.victims = chosen.victims;
  return Status::Success();
}

}  // namespace berth
