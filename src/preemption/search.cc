// The search for a node on which evicting pods makes room. kube-scheduler v1.35
// framework/preemption/preemption.go.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/policy_v1.pb.h"
#include "berth/framework/preemption.h"

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

// What spoke against the nodes, as FitError of kube-scheduler's framework/types.go prints it.
class Failures {
 public:
  void Add(const Status& status) {
    ++nodes_;
    for (const std::string& reason : status.reasons()) ++counts_[reason];
    if (status.IsError()) errors_.push_back(status.message());
  }

  Status ToStatus(int all_nodes) && {
    if (!errors_.empty()) return Status::Error(ErrorText());
    if (nodes_ < all_nodes) counts_[std::string(kNotHelpful)] += all_nodes - nodes_;
    std::vector<std::string> texts;
    for (const auto& [reason, count] : counts_) texts.push_back(absl::StrCat(count, " ", reason));
    std::sort(texts.begin(), texts.end());
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
  std::vector<std::string> errors_;
};

// The candidates found so far, at most `wanted` of either sort.
class Candidates {
 public:
  explicit Candidates(int wanted) : wanted_(wanted) {}

  void Add(PreemptionCandidate candidate) {
    std::vector<PreemptionCandidate>& list =
        candidate.pdb_violations == 0 ? non_violating_ : violating_;
    if (static_cast<int>(list.size()) < wanted_) list.push_back(std::move(candidate));
  }
  bool Enough() const {
    return !non_violating_.empty() &&
           static_cast<int>(non_violating_.size() + violating_.size()) >= wanted_;
  }
  std::vector<PreemptionCandidate> Take() && {
    std::move(violating_.begin(), violating_.end(), std::back_inserter(non_violating_));
    return std::move(non_violating_);
  }

 private:
  int wanted_;
  std::vector<PreemptionCandidate> non_violating_, violating_;
};

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

}  // namespace

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

Status Preemption::Run(PreemptionRules& rules, const CycleState& state, const PodInfo& pod,
                       const NodeStatuses& statuses, PostFilterResult& result) {
  const Status eligible =
      rules.PodEligibleToPreempt(state, pod, NominationOf(handle_, pod, statuses));
  if (!eligible.ok()) return eligible;

  const NodeTable& nodes = handle_.nodes();
  if (nodes.size() == 0) return Status::Error("no nodes available");
  const std::vector<NodeRow> rows = statuses.RowsWith(Code::kUnschedulable);
  const int count = static_cast<int>(rows.size());
  const PreemptionRules::SearchRange range =
      count == 0 ? PreemptionRules::SearchRange{} : rules.Range(count);
  Candidates found(range.candidates);
  Failures failures;
  for (int i = 0; i < count && !found.Enough(); ++i) {
    const NodeRow row = rows[(range.offset + i) % count];
    PreemptionCandidate candidate{row, std::string(nodes.node(row).name().view()), {}, 0};
    DryRun run(handle_, state, pod, nodes.node(row));
    Status status = rules.SelectVictims(run, budgets(), candidate);
    if (status.ok() && candidate.victims.empty()) {
      status = Status::Error(
          absl::StrCat("expected at least one victim pod on node \"", candidate.node, "\""));
    }
    if (status.ok()) {
      found.Add(std::move(candidate));
    } else {
      failures.Add(status);
    }
  }

  result.candidates = std::move(found).Take();
  if (result.candidates.empty()) {
    Status status = std::move(failures).ToStatus(nodes.size());
    if (!status.IsError()) result.nominated_node = "";
    return status;
  }
  const std::vector<int> best = BestCandidates(result.candidates, rules.OrderedScores());
  for (const int i : best) result.equally_good.push_back(result.candidates[i].node);
  std::sort(result.equally_good.begin(), result.equally_good.end());
  const PreemptionCandidate& chosen = result.candidates[best.front()];
  result.nominated_node = chosen.node;
  result.victims = chosen.victims;
  return Status::Success();
}

}  // namespace berth
