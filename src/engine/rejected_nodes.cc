// Implementation of rejected_nodes.h.
#include "engine/rejected_nodes.h"

#include <algorithm>
#include <utility>

namespace berth {
namespace {

using Rule = Framework::DomainRule;

uint8_t At(const Rule* rule, size_t value) {
  return rule != nullptr && value < rule->of_values.size() ? rule->of_values[value] : 0;
}

}  // namespace

RejectedNodes::Outcome RejectedNodes::Refresh(const CycleState& state, const PodInfo& asker,
                                              const NodeTable& nodes, const Nominator& nominator,
                                              std::vector<Rule>& rules) {
  Aspects depends_on = framework_.DependenciesOf(plugins_);
  if (!rules.empty()) depends_on |= Aspect::kNodeLabels;
  if (!Follow(nodes, nominator, asker, depends_on, !rules.empty()) ||
      !FollowDomains(nodes, rules) || counts_.is_crowded()) {
    MarkAll(nodes.size());
  }
  std::swap(rules_, rules);
  version_ = nodes.version();
  nominations_version_ = nominator.version();
  asker_priority_ = asker.priority();
  while (!marked_.empty()) {
    const NodeRow row = marked_.back();
    const Status status = framework_.RunFilterWithNominatedPods(state, asker, nodes.node(row));
    if (status.ok()) return Outcome::kFits;
    if (status.IsError() || !counts_.Set(row, status)) return Outcome::kUnknown;
    verdicts_.Reject(row, status.code(), framework_.FilterIndex(status.plugin_symbol()));
    marked_.pop_back();
  }
  constexpr size_t kFew = 64;
  if (marked_.capacity() > kFew) marked_ = {};  // all rows at first, and few later
  return Outcome::kRejected;
}

// Marks the rows whose node or nominated pods changed since the last Refresh(), and moves
// everything as the rows did. False if all of them are to be judged.
bool RejectedNodes::Follow(const NodeTable& nodes, const Nominator& nominator, const PodInfo& asker,
                           Aspects depends_on, bool by_domains) {
  const auto nominations = nominator.ChangesSince(nominations_version_);
  const Symbol last_own_node =
      std::exchange(own_node_, Symbol::Find(nominator.NominatedNode(asker)).value_or(Symbol()));
  if (version_ == 0 || !nominations.has_value()) return false;
  bool moved = false, spread_changed = false;
  const bool followed = nodes.Replay(
      version_,
      [&](const RowChange& change) {
        const Aspects aspects = change.aspects & depends_on;
        spread_changed |= (aspects & Aspect::kImageSpread) != 0;
        if (aspects != 0) Mark(change.row);
      },
      [&](const RowMove& move) {
        moved = true;
        verdicts_.Move(move);
        counts_.Move(move);
      });
  if (!followed) return false;
  if (moved) {  // and so did what was marked
    spread_changed |= (depends_on & Aspect::kImageSpread) != 0;
    marked_.clear();
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (verdicts_.rejector(row) == NodeVerdicts::kNotJudged) marked_.push_back(row);
    }
  }
  const auto mark_node = [&](Symbol node) {
    if (!node.empty()) Mark(nodes.FindRow(node));
  };
  for (const Symbol node : *nominations) mark_node(node);
  // Nobody leaves room for itself.
  mark_node(last_own_node);
  mark_node(own_node_);
  // Who yields to whom goes by priority. Pods that are nominated count in a domain as well.
  if (by_domains || asker.priority() != asker_priority_) {
    nominator.ForEach([&](const PodInfo&, absl::string_view node) {
      mark_node(Symbol::Find(node).value_or(Symbol()));
    });
  }
  return !spread_changed;
}

// Marks the rows in whose domains a rule says something else than at the last Refresh(). A rule
// that comes or goes let everybody in before or afterwards. False if it does not know.
bool RejectedNodes::FollowDomains(const NodeTable& nodes, const std::vector<Rule>& rules) {
  for (const Rule& rule : rules_) {
    if (rule.numbering != rule.column->numbering()) return false;
  }
  std::vector<uint8_t> changed;  // by index of a value
  const auto mark_changed = [&](const LabelColumn& column, const Rule* before, const Rule* now) {
    changed.resize(column.values().size());
    for (size_t i = 0; i < changed.size(); ++i) changed[i] = At(before, i) != At(now, i);
    for (NodeRow row = 0; row < nodes.size(); ++row) {
      if (changed[column.index(row)]) Mark(row);
    }
  };
  for (size_t i = 0; i < std::max(rules_.size(), rules.size()); ++i) {
    const Rule* const before = i < rules_.size() ? &rules_[i] : nullptr;
    const Rule* const now = i < rules.size() ? &rules[i] : nullptr;
    if (before != nullptr && now != nullptr && before->plugin == now->plugin &&
        before->column == now->column) {
      if (before->of_values != now->of_values) mark_changed(*now->column, before, now);
      continue;
    }
    if (before != nullptr) mark_changed(*before->column, before, nullptr);
    if (now != nullptr) mark_changed(*now->column, nullptr, now);
  }
  return true;
}

void RejectedNodes::Mark(NodeRow row) {
  if (row < 0 || verdicts_.rejector(row) == NodeVerdicts::kNotJudged) return;
  verdicts_.Reject(row, Code::kUnschedulableAndUnresolvable, NodeVerdicts::kNotJudged);
  marked_.push_back(row);
}

void RejectedNodes::MarkAll(int rows) {
  verdicts_.Reset(rows);
  counts_.Reset(rows);
  marked_.resize(rows);
  for (NodeRow row = 0; row < rows; ++row) marked_[row] = rows - 1 - row;  // the first one first
}

std::vector<NodeRow> RejectedStatuses::RowsWith(Code code) const {
  return berth::RowsWith(nodes_.verdicts(), code);
}

}  // namespace berth
