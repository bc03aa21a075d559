// SPDX-License-Identifier: Apache-2.0
// PodTable: finds which pods came and went, and updates the counts.
#include "berth/columns/pod_table.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/columns/match_rows.h"
#include "table/node_sets.h"
#include "table/pod_terms.h"
#include "table/pods_by_labels.h"
#include "table/row_move.h"

namespace berth {

// --- PodSelector ---------------------------------------------------------------------------------

bool PodSelector::Matches(Symbol namespace_name, const LabelSet& pod_labels,
                          bool terminating) const {
  return (counts_terminating || !terminating) &&
         (any_namespace || absl::c_linear_search(namespaces, namespace_name)) &&
         labels.Matches(pod_labels);
}

void PodSelector::Narrow(const PodSelector& other) {
  counts_terminating = counts_terminating && other.counts_terminating;
  if (any_namespace) {
    any_namespace = other.any_namespace;
    namespaces = other.namespaces;
  } else if (!other.any_namespace) {
    std::erase_if(namespaces,
                  [&](Symbol name) { return !absl::c_linear_search(other.namespaces, name); });
  }
  if (other.labels.SelectsNothing()) labels = LabelSelector::Nothing();
  for (const LabelRequirement& requirement : other.labels.requirements()) labels.Add(requirement);
}

namespace {

bool AreCountedTheSame(const PodInfo& a, const PodInfo& b) {
  return &a == &b || (a.SharesSpec(b) && (a.identity() == b.identity() || a.uid() == b.uid()) &&
                      a.deletion_time().has_value() == b.deletion_time().has_value());
}

// Whether every NodeScope says the same of both. The status and the like of nodes change all the
// time.
bool AreInSameScopes(const NodeSpec& a, const NodeSpec& b) {
  return &a == &b || (a.labels == b.labels && a.taints == b.taints);
}

}  // namespace

// --- PodTable ------------------------------------------------------------------------------------

PodTable::PodTable(const NodeTable& nodes)
    : nodes_(nodes),
      sets_(std::make_unique<NodeSets>(nodes, slots_)),
      by_labels_(std::make_unique<PodsByLabels>(slots_)),
      terms_(std::make_unique<PodTerms>(slots_)) {
  SetOrder();
}
PodTable::~PodTable() = default;

std::shared_ptr<const PodCounts> PodTable::Count(const PodSelector& selector) const {
  return by_labels_->Count(selector, nullptr);
}

std::shared_ptr<const PodCounts> PodTable::Count(const PodSelector& selector,
                                                 const NodeScope& scope) const {
  return by_labels_->Count(selector, MatchesAllRows(scope, nodes_) ? nullptr : sets_->Find(scope));
}

std::vector<std::pair<NodeRow, int64_t>> PodTable::CountOnce(const PodSelector& selector) const {
  SlotCounts counts;
  by_labels_->CountOnce(selector, counts);
  std::vector<std::pair<NodeRow, int64_t>> rows;
  counts.ForEach(
      [&](int slot, int64_t count) { rows.emplace_back(slots_.row_of_slot[slot], count); });
  return rows;
}

absl::InlinedVector<const PodTerm*, 8> PodTable::TermsAbout(const PodInfo& pod,
                                                            const LabelSet* namespace_labels,
                                                            TermKinds kinds) const {
  return terms_->About(pod, namespace_labels, kinds);
}

void PodTable::SetOrder() {
  const std::vector<NodeRow> all_came(nodes_.size(), -1);
  Move(RowMove::Rearranged(all_came, static_cast<int>(slots_.slot_of_row.size())));
}

void PodTable::Move(const RowMove& move) {
  slots_.rows = nodes_.size();
  slots_.order_version = nodes_.order_version();
  for (const NodeRow row : move.gone()) {
    const int slot = slots_.slot_of_row[row];
    slots_.row_of_slot[slot] = -1;
    FreeSlot(slot);
  }
  move.Apply(slots_.slot_of_row, -1);
  for (const NodeRow row : move.came()) slots_.slot_of_row[row] = TakeSlot();
  move.ForEachMoved([&](NodeRow row) { slots_.row_of_slot[slots_.slot_of_row[row]] = row; });
  for (const NodeRow row : move.came()) RefreshRow(row);
}

// Its node is not in the table any more, and in no row.
void PodTable::FreeSlot(int slot) {
  Replace(slot, 0, {});
  Flip(slot, nullptr);
  pods_[slot] = NodePods();
  free_slots_.push_back(slot);
}

int PodTable::TakeSlot() {
  if (!free_slots_.empty()) {
    const int slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  pods_.emplace_back();
  slots_.row_of_slot.push_back(-1);
  return static_cast<int>(pods_.size()) - 1;
}

void PodTable::RefreshRow(NodeRow row) {
  const NodeInfo& node = nodes_.node(row);
  const int slot = slots_.slot_of_row[row];
  NodePods& known = pods_[slot];
  if (known.generation == node.generation()) return;
  const size_t same = std::min(node.PodsUnchangedSince(known.generation), known.pods.size());
  known.generation = node.generation();
  const auto before = std::exchange(known.spec, node.shared_spec());
  const bool same_scopes = before != nullptr && AreInSameScopes(*before, *known.spec);
  if (!same_scopes) Flip(slot, known.spec.get());
  Replace(slot, same, node.pods());
}

// The object of the slot's node is `node` now; null if it is gone. Its pods leave the counts of the
// sets that it leaves, and come to those of the sets that it comes to.
void PodTable::Flip(int slot, const NodeSpec* node) {
  const NodeSets::Sets sets = sets_->ToFlip(slot, node);
  if (sets.empty()) return;
  for (const PodPtr& pod : pods_[slot].pods) by_labels_->AddTo(sets, slot, *pod, -1);
  for (NodeSet* set : sets) set->Flip(slot);
  by_labels_->UpdateCountedNode(slot, sets);
  for (const PodPtr& pod : pods_[slot].pods) by_labels_->AddTo(sets, slot, *pod, 1);
}

// The first `same` pods are known to be the same. Pods are listed in the order of their arrival, so
// that those in both lists are in the same order. Were they not, some would go and come again,
// which adds up as well.
void PodTable::Replace(int slot, size_t same, absl::Span<const PodPtr> pods) {
  std::vector<PodPtr>& known = pods_[slot].pods;
  size_t kept = same;
  const auto gone = std::remove_if(known.begin() + same, known.end(), [&](PodPtr& pod) {
    if (kept < pods.size() && AreCountedTheSame(*pod, *pods[kept])) {
      pod = pods[kept++];
      return false;
    }
    Add(slot, *pod, -1);
    return true;
  });
  known.erase(gone, known.end());
  for (const PodPtr& pod : pods.subspan(kept)) {
    Add(slot, *pod, 1);
    known.push_back(pod);
  }
}

void PodTable::Add(int slot, const PodInfo& pod, int64_t difference) {
  by_labels_->Add(slot, pod, difference);
  terms_->Add(slot, pod, difference);
}

}  // namespace berth
