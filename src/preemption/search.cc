// The search for a node on which evicting pods makes room. kube-scheduler v1.35
// framework/preemption/preemption.go.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/policy_v1.pb.h"
#include "berth/framework/preemption.h"
#include "berth/prefetch.h"
#include "preemption/dry_run_memory.h"
#include "preemption/eviction_outlook.h"
#include "preemption/node_search.h"

namespace berth {
namespace {

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

// The candidates found so far, at most `wanted` of either sort. They are owned by others.
class Candidates {
 public:
  explicit Candidates(int wanted) : wanted_(wanted) {}

  // `position`: in the order of the nodes.
  void Add(int position, const WeighedPtr& weighed) {
    std::vector<Found>& list = weighed->candidate.pdb_violations == 0 ? non_violating_ : violating_;
    if (static_cast<int>(list.size()) < wanted_) list.push_back({position, &weighed});
  }
  bool Enough() const {
    return !non_violating_.empty() &&
           static_cast<int>(non_violating_.size() + violating_.size()) >= wanted_;
  }
  // Those that violate no budget first, then by position.
  std::vector<const WeighedPtr*> Take() && {
    std::vector<const WeighedPtr*> all;
    all.reserve(non_violating_.size() + violating_.size());
    for (std::vector<Found>* list : {&non_violating_, &violating_}) {
      const auto before = [](const Found& a, const Found& b) { return a.position < b.position; };
      if (!std::is_sorted(list->begin(), list->end(), before)) {
        std::sort(list->begin(), list->end(), before);
      }
      for (const Found& found : *list) all.push_back(found.weighed);
    }
    return all;
  }

 private:
  struct Found {
    int position;
    const WeighedPtr* weighed;
  };

  int wanted_;
  std::vector<Found> non_violating_, violating_;
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

// A node that is yet to be looked at.
struct Prospect {
  EvictionOutlook::OfNode outlook;
  int position;

  // Whether this one comes later: others may come to more, or to as much and be before it.
  bool operator<(const Prospect& other) const {
    if (outlook.lowest_priority != other.outlook.lowest_priority) {
      return outlook.lowest_priority > other.outlook.lowest_priority;
    }
    if (outlook.latest_start_nanos != other.outlook.latest_start_nanos) {
      return outlook.latest_start_nanos < other.outlook.latest_start_nanos;
    }
    return position > other.position;
  }
};

// Looks at the nodes that may come to most first, until no other can be the one to choose: neither
// better than the best that was found, nor as good and before it.
void LookBestFirst(NodeSearch& search, absl::Span<const NodeRow> rows,
                   const EvictionOutlook& outlook, Candidates& found) {
  const WeighedPtr* best = nullptr;
  int position_of_best = 0;
  const auto look = [&](int position) {
    const WeighedPtr* const candidate = search.LookAt(rows[position]);
    if (candidate == nullptr) return;
    found.Add(position, *candidate);
    if (best != nullptr && (*candidate)->scores < (*best)->scores) return;
    const bool better = best == nullptr || (*best)->scores < (*candidate)->scores;
    if (!better && position > position_of_best) return;
    best = candidate;
    position_of_best = position;
  };
  std::vector<Prospect> left;
  for (int position = 0; position < static_cast<int>(rows.size()); ++position) {
    if (search.IsKnown(rows[position])) {
      look(position);
    } else {
      left.push_back({outlook.of_row(rows[position]), position});
    }
  }
  const auto may_be_chosen = [&](const Prospect& prospect) {
    if (best == nullptr) return true;
    const auto& [lowest_priority, latest_start] = prospect.outlook;
    if (lowest_priority == EvictionOutlook::kNobody) return false;
    const CandidateScores at_best = DefaultScoresAtBest(lowest_priority, latest_start);
    if (at_best != (*best)->scores) return (*best)->scores < at_best;
    return prospect.position < position_of_best;
  };
  std::make_heap(left.begin(), left.end());
  while (!left.empty() && may_be_chosen(left.front())) {
    std::pop_heap(left.begin(), left.end());
    const int position = left.back().position;
    left.pop_back();
    look(position);
  }
}

}  // namespace

Preemption::Preemption(Handle& handle)
    : handle_(handle),
      memory_(std::make_unique<DryRunMemory>()),
      outlook_(std::make_unique<EvictionOutlook>()) {}

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
  const bool by_priority = count > 0 && rules.OnlyLowerPriorityGoes(state, pod);
  if (count > 0) outlook_->Refresh(nodes);
  std::vector<NodeRow>& rows = memory_->rows();
  rows.clear();
  for (NodeRow row = 0; row < nodes.size() && static_cast<int>(rows.size()) < count; ++row) {
    if (statuses.code(row) == Code::kUnschedulable) rows.push_back(row);
  }
  const bool some_may_go = count > 0 && !(by_priority && outlook_->lowest() >= pod.priority());
  NodeSearch search(handle_, rules, budgets(), state, pod,
                    some_may_go ? Remembered(rules, state, pod) : nullptr);
  if (!some_may_go) {
    search.AddWithoutVictims(rows);
    rows.clear();
    count = 0;
  }
  const auto nobody_goes = [&](NodeRow row) {
    return by_priority && outlook_->of_row(row).lowest_priority >= pod.priority();
  };
  Candidates found(range.candidates);
  if (range.offset == 0 && range.candidates >= count && search.scored_by_default() &&
      !state.for_explanation()) {
    std::erase_if(rows, [&](NodeRow row) {
      const bool nobody = nobody_goes(row);
      if (nobody) search.AddWithoutVictims({&row, 1});
      return nobody;
    });
    LookBestFirst(search, rows, *outlook_, found);
  } else {
    for (int i = 0, at = range.offset; i < count && !found.Enough(); ++i, ++at) {
      if (at == count) at = 0;
      if (nobody_goes(rows[at])) {
        search.AddWithoutVictims({&rows[at], 1});
        continue;
      }
      if (!search.IsKnown(rows[at])) FetchAhead(nodes, rows, at);
      if (const WeighedPtr* const candidate = search.LookAt(rows[at]); candidate != nullptr) {
        found.Add(i, *candidate);
      }
    }
  }

  const std::vector<const WeighedPtr*> candidates = std::move(found).Take();
  if (candidates.empty()) {
    result.retry_at = search.retry_at();
    Status status = std::move(search).Failure();
    if (!status.IsError()) result.nominated_node = "";
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
