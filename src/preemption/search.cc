// The search for a node on which evicting pods makes room. kube-scheduler v1.35
// framework/preemption/preemption.go.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/policy_v1.pb.h"
#include "berth/framework/preemption.h"
#include "framework/fetch_nodes.h"
#include "preemption/best_first.h"
#include "preemption/candidates.h"
#include "preemption/dry_run_memory.h"
#include "preemption/eviction_bound.h"
#include "preemption/eviction_outlook.h"
#include "preemption/node_search.h"
#include "preemption/prospects.h"
#include "preemption/question_bounds.h"

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

// All that come into question are in play.
void SetInPlay(BoundsOfQuestions::Asked& asked, const NodeStatuses& statuses) {
  asked.prospects.Follow(asked.bounds);
  const absl::Span<const Code> codes = statuses.codes();
  for (NodeRow row = 0; row < asked.bounds.size(); ++row) {
    const Code code = codes.empty() ? statuses.code(row) : codes[row];
    asked.prospects.SetInPlay(row, code == Code::kUnschedulable);
  }
}

constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

Status Yield(const CycleState& state) {
  state.work_budget().Yield();
  return Status::Unschedulable("the search for victims goes on");
}

// For scores of which nothing is known: the nodes in turn, from an offset on. Returns whether it is
// done; if not, `search` stops before some row.
bool LookInTurn(absl::Span<const NodeRow> rows, int offset, const EvictionOutlook& outlook,
                const EvictionQuestion& question, NodeSearch& search, Candidates& found) {
  const int count = static_cast<int>(rows.size());
  for (int i = 0, at = offset; i < count && !found.Enough(); ++i, ++at) {
    if (at == count) at = 0;
    const NodeRow row = rows[at];
    if (question.by_priority && outlook.lowest(row) >= question.below()) {
      search.AddWithoutVictims(row);
      continue;
    }
    if (search.StopsBefore(row)) return false;
    if (!search.IsKnown(row)) FetchNodesAhead(search.nodes(), rows, at);
    if (const WeighedPtr* const candidate = search.LookAt(row); candidate != nullptr) {
      found.Add(i, *candidate);
    }
  }
  return true;
}

}  // namespace

Preemption::Preemption(Handle& handle)
    : handle_(handle),
      memory_(std::make_unique<DryRunMemory>()),
      outlook_(handle.Shared<EvictionOutlook>()),
      bounds_(std::make_unique<BoundsOfQuestions>()) {}

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
  used_up_ = std::make_unique<UsedUpBudgets>(budgets_);
  budgets_version_ = version;
  return budgets_;
}

void Preemption::ReadNodes() { outlook_->Refresh(handle_.nodes()); }

void Preemption::Follow() { outlook_->Follow(handle_.nodes()); }

EvictionQuestion Preemption::QuestionOf(PreemptionRules& rules, PreemptionRules::Evictable who,
                                        const CycleState& state, const PodInfo& pod) {
  EvictionQuestion question{.room = handle_.FindNeededRoom(state, pod),
                            .priority = pod.priority(),
                            .victims_by_priority = rules.VictimsByPriority()};
  switch (who) {
    case PreemptionRules::Evictable::kAnybody:
    case PreemptionRules::Evictable::kNobody:
      break;
    case PreemptionRules::Evictable::kAllLowerPriority:
      question.fails_as_filters = true;
      [[fallthrough]];
    case PreemptionRules::Evictable::kLowerPriority:
      question.by_priority = true;
  }
  return question;
}

// Of the node that the pod is nominated to, or -1.
NodeRow Preemption::OwnRow(const PodInfo& pod) const {
  const std::optional<Symbol> name = Symbol::Find(handle_.nominator().NominatedNode(pod));
  return name.has_value() ? handle_.nodes().FindRow(*name) : -1;
}

// What is known of the nodes for pods like this one, up to date; null if nothing is. `key`: under
// which it is remembered; empty if it may not be.
RememberedSearch* Preemption::Remembered(PreemptionRules& rules, const CycleState& state,
                                         const PodInfo& pod, const EvictionQuestion& question,
                                         std::string& key) {
  PreemptionRules::Surroundings surroundings;
  if (!rules.MayRemember(state, pod, surroundings)) return nullptr;
  DryRunGrounds grounds;
  if (!handle_.FindDryRunGrounds(state, pod, grounds)) return nullptr;
  const NodeTable& nodes = handle_.nodes();
  key =
      absl::StrCat(grounds.kind, pod.priority(), ";", question.by_priority, ";", surroundings.key);
  RememberedSearch* const remembered = memory_->Find(key, nodes.size());
  if (remembered == nullptr) return nullptr;
  budgets();
  remembered->runs.Refresh(nodes, handle_.nominator(), *budgets_version_, OwnRow(pod), grounds,
                           surroundings.gauges);
  return remembered;
}

// The `count` rows that are exactly Unschedulable. Until the next call.
absl::Span<const NodeRow> Preemption::ListRows(const NodeStatuses& statuses, int count) {
  rows_.clear();
  const NodeRow size = handle_.nodes().size();
  for (NodeRow row = 0; row < size && static_cast<int>(rows_.size()) < count; ++row) {
    if (statuses.code(row) == Code::kUnschedulable) rows_.push_back(row);
  }
  return rows_;
}

Status Preemption::Run(PreemptionRules& rules, const CycleState& state, const PodInfo& pod,
                       const NodeStatuses& statuses, PostFilterResult& result) {
  const Status eligible =
      rules.PodEligibleToPreempt(state, pod, NominationOf(handle_, pod, statuses));
  if (!eligible.ok()) return eligible;

  const NodeTable& nodes = handle_.nodes();
  if (nodes.size() == 0) return Status::Error("no nodes available");
  const int count = statuses.CountWith(Code::kUnschedulable);
  const PreemptionRules::SearchRange range =
      count == 0 ? PreemptionRules::SearchRange{} : rules.Range(count);
  const int64_t most_steps = state.work_budget().steps();
  EvictionQuestion question;
  bool somebody_goes = false;
  if (count > 0) {
    if (!outlook_->Refresh(nodes, most_steps)) return Yield(state);
    const PreemptionRules::Evictable who = rules.WhoMayGo(state, pod);
    question = QuestionOf(rules, who, state, pod);
    somebody_goes = who != PreemptionRules::Evictable::kNobody &&
                    (!question.by_priority || outlook_->lowest() < question.below());
  }
  std::string key;
  RememberedSearch* const remembered =
      somebody_goes ? Remembered(rules, state, pod, question, key) : nullptr;
  // Another search in turn would begin elsewhere, and find other candidates.
  const bool has_offset = range.candidates < count && !rules.OrderedScores().empty();
  const bool may_stop = state.work_budget().is_limited() && !key.empty() && !has_offset;
  NodeSearch search(handle_, rules, budgets(), state, pod, remembered,
                    may_stop ? most_steps : kNoLimit, [&] { return memory_->MayStop(key); });
  Candidates found(range.candidates);
  bool done = true;
  if (!somebody_goes) {
    search.SetAllWithoutVictims(statuses, count);
  } else if (search.scored_by_default()) {
    const NodeRow own_row = OwnRow(pod);
    BoundsOfQuestions::Asked& asked =
        bounds_->Find(question, nodes, *outlook_, handle_.nominator(), own_row, *budgets_version_);
    if (remembered != nullptr) {
      remembered->standings.Follow(statuses, remembered->runs, &asked.bounds);
    } else {
      SetInPlay(asked, statuses);
    }
    Prospects& prospects =
        remembered != nullptr ? remembered->standings.prospects() : asked.prospects;
    done =
        BestFirst(handle_, search, asked.bounds, prospects, *outlook_, *used_up_, statuses, own_row)
            .Find(state.for_explanation(), found);
  } else {
    if (remembered != nullptr) remembered->standings.Follow(statuses, remembered->runs, nullptr);
    done = LookInTurn(ListRows(statuses, count), range.offset, *outlook_, question, search, found);
  }
  if (!done) return Yield(state);
  if (may_stop) memory_->Done(key);

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
