// SPDX-License-Identifier: Apache-2.0
// What follows from a list of domain rules: one node's verdict, those of many, dry runs, and what
// makes verdicts reusable.
#include "berth/incremental/domain_rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/columns/node_verdicts.h"

namespace berth {
namespace {

// So that numbers are ids of reasons in NodeVerdicts; far more than there are constants in a
// plugin.
constexpr size_t kMostRejections = 200;

Status StatusOf(const DomainRejection& rejection) {
  return Status::Make(rejection.code, {std::string(rejection.reason)});
}
Status TooManyRejections() {
  return Status::Error(absl::StrCat("its domain rules reject nodes in more than ", kMostRejections,
                                    " ways; a reason is a constant"));
}
bool IsStatusOf(const DomainRejection& rejection, const Status& status) {
  return status.code() == rejection.code && status.reasons().front() == rejection.reason;
}

}  // namespace

// --- The list ------------------------------------------------------------------------------------

void DomainRules::Add(DomainPods pods, const DomainRule& rule) {
  DomainCounts counts(pods.topology_key, nodes_->label_column(pods.topology_key),
                      nodes_->pods().Count(pods.selector, pods.nodes));
  Add(std::move(pods), std::move(counts), rule);
}

void DomainRules::Add(DomainPods pods, DomainCounts counts, const DomainRule& rule) {
  Add(std::make_shared<const DomainPods>(std::move(pods)), std::move(counts), rule);
}

void DomainRules::Add(DomainCounts counts, const DomainRule& rule) {
  Add(std::shared_ptr<const DomainPods>(), std::move(counts), rule);
}

void DomainRules::Add(std::shared_ptr<const DomainPods> pods, DomainCounts counts,
                      const DomainRule& rule) {
  const std::optional<DomainRejection>& without_key = rule.without_key;
  rules_.push_back({
      .pods = std::move(pods),
      .limit = rule.limit,
      .otherwise = rejections_->NumberOf(rule.otherwise),
      .without_key = without_key.has_value() ? rejections_->NumberOf(*without_key) : uint8_t{0},
      .counts = std::move(counts),
  });
  ++changes_;
  Rule& added = rules_.back();
  if (rule.limit.kind_ == Limit::kAtMostAboveMinimum) added.minimum = added.counts.FindMinimum();
  if (rule.limit.kind_ == Limit::kAtLeastOneOrFirst) added.total = added.counts.CountAll();
}

DomainRules::RejectionNumber DomainRules::Rejections::NumberOf(const DomainRejection& rejection) {
  const auto known = absl::c_find_if(
      statuses_, [&](const Status& status) { return IsStatusOf(rejection, status); });
  if (known != statuses_.end()) {
    return static_cast<RejectionNumber>(known - statuses_.begin() + 1);
  }
  too_many_ = statuses_.size() == kMostRejections;
  if (!too_many_) statuses_.push_back(StatusOf(rejection));
  return static_cast<RejectionNumber>(statuses_.size());
}

bool DomainRules::Rejects(int i, const DomainRejection& otherwise) const {
  return IsStatusOf(otherwise, rejections_->status(rules_[i].otherwise));
}

// --- What a rule says ----------------------------------------------------------------------------

DomainThreshold DomainRules::ThresholdOf(const Rule& rule) const {
  const DomainLimit& limit = rule.limit;
  DomainThreshold threshold = {.without_key = rule.without_key};
  switch (limit.kind_) {
    case Limit::kAtMost:
      threshold.max_pods = limit.pods_;
      threshold.above_max = rule.otherwise;
      break;
    case Limit::kAtMostAboveMinimum:
      threshold.max_pods =
          limit.pods_ + (rule.minimum.domains < limit.min_domains_ ? 0 : Minimum(rule));
      threshold.above_max = rule.otherwise;
      break;
    case Limit::kAtLeastOne:
      threshold.up_to_max = rule.otherwise;
      break;
    case Limit::kAtLeastOneOrFirst:
      threshold.up_to_max = MayBeFirst() ? uint8_t{0} : rule.otherwise;
      break;
  }
  return threshold;
}

// The minimum pods of a domain. Right as long as dry runs change one domain only, as they do: pods
// of one node come and go.
int64_t DomainRules::Minimum(const Rule& rule) const {
  int64_t of_changed = MinimumPods::kNone, with_minimum = rule.minimum.with_minimum;
  for (const auto& [domain, difference] : rule.counts.added()) {
    const int64_t now = rule.counts.at(domain);
    of_changed = std::min(of_changed, now);
    // Whether the domain is counted in `minimum`: the node may be of no table.
    const bool is_known = rule.counts.HasNodes(domain);
    if (is_known && now - difference == rule.minimum.pods) --with_minimum;
  }
  return std::min(with_minimum > 0 ? rule.minimum.pods : rule.minimum.next, of_changed);
}

bool DomainRules::MayBeFirst() const {
  int64_t pods = 0;
  for (const Rule& rule : rules_) {
    if (rule.limit.kind_ != Limit::kAtLeastOneOrFirst) continue;
    pods += rule.total;
    for (const auto& [domain, difference] : rule.counts.added()) pods += difference;
  }
  return pods == 0;
}

// --- Dry runs ------------------------------------------------------------------------------------

void DomainRules::AddPods(int i, const NodeInfo& node, int64_t difference) {
  DomainCounts& counts = rules_[i].counts;
  const std::optional<uint32_t> domain = counts.FindDomain(node.labels());
  if (!domain.has_value()) return;
  counts.Add(*domain, difference);
  ++changes_;
}

void DomainRules::CountPod(const PodInfo& changed, const NodeInfo& node, int64_t difference) {
  for (int i = 0; i < size(); ++i) {
    const DomainPods* const pods = rules_[i].pods.get();
    const bool counts =
        pods != nullptr && pods->selector.Matches(changed) && pods->nodes.Includes(node.spec());
    if (counts) AddPods(i, node, difference);
  }
}

// --- One node, and many --------------------------------------------------------------------------

DomainRules::RejectionNumber DomainRules::Evaluate(const LabelSet& node_labels) const {
  const LabelColumn* column = nullptr;
  std::optional<uint32_t> domain;
  for (const Rule& rule : rules_) {
    if (column != &rule.counts.column()) {
      column = &rule.counts.column();
      domain = rule.counts.FindDomain(node_labels);
    }
    const DomainThreshold threshold = ThresholdOf(rule);
    const RejectionNumber number =
        domain.has_value() ? threshold.Of(rule.counts.at(*domain)) : threshold.without_key;
    if (number != 0) return number;
  }
  return 0;
}

// The first rule that rejects a node gives it its code, so the last one is written first. Rules
// that follow one another and are about the same domains are one pass.
void DomainRules::Evaluate(NodeVerdicts& verdicts) const {
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  absl::InlinedVector<DomainThreshold, 4> threshold_of;
  for (const Rule& rule : rules_) threshold_of.push_back(ThresholdOf(rule));
  for (size_t begin = rules_.size(), end = begin; end > 0; end = begin) {
    const LabelColumn& column = rules_[end - 1].counts.column();
    while (begin > 0 && &rules_[begin - 1].counts.column() == &column) --begin;
    column.EvaluateRows(
        rows,
        [&](uint32_t domain) {
          const bool has_label = column.values()[domain].present;
          RejectionNumber number = 0;
          for (size_t i = begin; i < end && number == 0; ++i) {
            number = has_label ? threshold_of[i].Of(rules_[i].counts.at(domain))
                               : threshold_of[i].without_key;
          }
          return number;
        },
        [&](size_t i, RejectionNumber number) {
          if (number != 0) verdicts.Set(rows[i], rejections_->status(number).code(), number);
        });
  }
}

// --- The plugin ----------------------------------------------------------------------------------

Status DomainRulesPlugin::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                    PreFilterResult&) {
  DomainRules rules(nodes, rejections_);
  Status status = ListRules(pod, nodes, rules);
  if (!status.ok()) return status;
  if (rejections_.too_many()) return TooManyRejections();
  if (rules.size() == 0) return Status::Skip();
  state.Write(key_, std::make_unique<DomainRules>(std::move(rules)));
  return status;
}

Status DomainRulesPlugin::AddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                 const NodeInfo& node) {
  return CountPod(state, pod, added, node, 1);
}

Status DomainRulesPlugin::RemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                                    const NodeInfo& node) {
  return CountPod(state, pod, removed, node, -1);
}

Status DomainRulesPlugin::CountPod(CycleState& state, const PodInfo& pod, const PodInfo& changed,
                                   const NodeInfo& node, int64_t difference) const {
  if (DomainRules* const rules = state.FindMutable(key_)) {
    rules->CountPod(changed, node, difference);
    CountOtherPods(pod, changed, node, difference, *rules);
  }
  return rejections_.too_many() ? TooManyRejections() : Status::Success();
}

Status DomainRulesPlugin::Filter(const CycleState& state, const PodInfo&,
                                 const NodeInfo& node) const {
  const absl::StatusOr<const DomainRules*> rules = state.Read(key_);
  if (!rules.ok()) return Status::Error(rules.status());
  const uint8_t number = (*rules)->Evaluate(node.labels());
  return number == 0 ? Status::Success() : rejections_.status(number);
}

Status DomainRulesPlugin::FilterNodes(const CycleState& state, const PodInfo&, const NodeTable&,
                                      NodeVerdicts& verdicts) const {
  const absl::StatusOr<const DomainRules*> rules = state.Read(key_);
  if (!rules.ok()) return Status::Error(rules.status());
  (*rules)->Evaluate(verdicts);
  return Status::Success();
}

bool DomainRulesPlugin::FollowsPodsOf(
    const CycleState& state, const PodInfo& pod, const NodeInfo& node,
    absl::Span<const std::shared_ptr<const PodInfo>> nominated) const {
  const DomainRules* const rules = state.Find(key_);
  if (rules == nullptr) return false;
  if (rejections_.too_many()) return true;
  DomainRules counted = *rules;
  const auto counts = [&](const std::shared_ptr<const PodInfo>& changed) {
    counted.CountPod(*changed, node, 1);
    CountOtherPods(pod, *changed, node, 1, counted);
    return counted.changes_ != rules->changes_;
  };
  return absl::c_any_of(node.pods(), counts) || absl::c_any_of(nominated, counts);
}

void DomainRulesPlugin::DescribeDomains(const CycleState& state,
                                        std::vector<TrackedThreshold>& thresholds) const {
  const DomainRules* const rules = state.Find(key_);
  BERTH_CHECK(rules != nullptr);
  for (const DomainRules::Rule& rule : rules->rules_) {
    thresholds.push_back({.counts = rule.counts, .answer = rules->ThresholdOf(rule)});
  }
}

}  // namespace berth
