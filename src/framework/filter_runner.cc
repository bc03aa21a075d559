// SPDX-License-Identifier: Apache-2.0
// Implementation of filter_runner.h.
#include "framework/filter_runner.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth {
namespace {

constexpr PluginPoint kPreFilter{
    "PreFilter", Codes(Code::kUnschedulable, Code::kUnschedulableAndUnresolvable, Code::kSkip),
    "running PreFilter plugin \"$0\": $1"};
constexpr PluginPoint kAddPod{"AddPod", Codes(), "running AddPod on PreFilter plugin \"$0\": $1"};
constexpr PluginPoint kRemovePod{"RemovePod", Codes(),
                                 "running RemovePod on PreFilter plugin \"$0\": $1"};
constexpr PluginPoint kFilter{"Filter", kRejections, "running \"$0\" filter plugin: $1"};
constexpr PluginPoint kFilterNodes{"FilterNodes", Codes(), kFilter.error_text};
constexpr PluginPoint kSelectRows{"SelectRows", Codes(), "running SelectRows of plugin \"$0\": $1"};

bool AreRows(absl::Span<const NodeRow> rows, int size) {
  NodeRow before = -1;
  for (const NodeRow row : rows) {
    if (row <= before) return false;
    before = row;
  }
  return before < size;
}

// As Go prints a list: "[A B]".
std::string Listed(absl::Span<const Symbol> names) {
  return absl::StrCat(
      "[",
      absl::StrJoin(names, " ",
                    [](std::string* out, Symbol name) { absl::StrAppend(out, name.view()); }),
      "]");
}

// Leaves in `names` only what is in `more` too.
void Intersect(const absl::btree_set<Symbol>& more, absl::btree_set<Symbol>& names) {
  for (auto it = names.begin(); it != names.end();) {
    it = more.contains(*it) ? std::next(it) : names.erase(it);
  }
}

// Merges what one plugin narrowed the nodes to.
void Narrow(Symbol plugin, PreFilterResult result, PreFilterOutcome& outcome) {
  if (!result.node_names.has_value()) return;
  outcome.narrowing_plugins.insert(
      std::lower_bound(outcome.narrowing_plugins.begin(), outcome.narrowing_plugins.end(), plugin),
      plugin);
  if (outcome.narrowed.node_names.has_value()) {
    Intersect(*result.node_names, *outcome.narrowed.node_names);
  } else {
    outcome.narrowed = std::move(result);
  }
}

std::string NoNodeLeft(absl::Span<const Symbol> plugins) {
  if (plugins.size() == 1) {
    return absl::StrCat("node(s) didn't satisfy plugin ", plugins.front().view());
  }
  return absl::StrCat("node(s) didn't satisfy plugin(s) ", Listed(plugins), " simultaneously");
}

}  // namespace

bool PreFilterOutcome::Leaves(NodeRow row, const NodeTable& nodes) const {
  const auto& names = narrowed.node_names;
  return (placement == nullptr || absl::c_binary_search(placement->rows, row)) &&
         (!names.has_value() || names->contains(nodes.node(row).name()));
}

void PreFilterOutcome::ListRows(const NodeTable& nodes, std::vector<NodeRow>& rows) const {
  const auto& names = narrowed.node_names;
  rows.clear();
  if (placement != nullptr) {
    rows = placement->rows;
    if (names.has_value()) {
      rows.erase(std::remove_if(rows.begin(), rows.end(),
                                [&](NodeRow row) { return !Leaves(row, nodes); }),
                 rows.end());
    }
  } else if (!names.has_value()) {
    rows.resize(nodes.size());
    absl::c_iota(rows, 0);
  } else {
    for (const Symbol name : *names) {
      const NodeRow row = nodes.FindRow(name);
      if (row >= 0) rows.push_back(row);
    }
    absl::c_sort(rows);
  }
}

PreFilterOutcome FilterRunner::RunPreFilter(CycleState& state, const PodInfo& pod,
                                            const NodeTable& nodes, PluginMask only) const {
  PreFilterOutcome outcome;
  state.skips().filter = ~only;
  CallTimer timer(plugins_.fault_log);
  for (const Hook<PreFilterPlugin>& hook : plugins_.pre_filter) {
    if ((only & MaskOf(hook)) == 0) continue;
    PreFilterResult result;
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kPreFilter, hook.name, [&] { return hook.plugin->PreFilter(state, pod, nodes, result); });
    timer.Lap(hook.name, kPreFilter.name);
    if (status.IsSkip()) {
      state.skips().filter |= MaskOf(hook);
      continue;
    }
    if (status.code() == Code::kUnschedulable) {
      // Preemption may follow, and needs the state that the other plugins prepare.
      outcome.status = std::move(status);
      continue;
    }
    if (!status.ok()) {
      outcome = PreFilterOutcome();
      outcome.status = std::move(status);
      return outcome;
    }
    Narrow(hook.name, std::move(result), outcome);
    const auto& names = outcome.narrowed.node_names;
    if (names.has_value() && names->empty()) {
      outcome.status = Status::UnschedulableAndUnresolvable(NoNodeLeft(outcome.narrowing_plugins));
      return outcome;
    }
  }
  outcome.placement = state.placement();
  if (outcome.placement != nullptr && !outcome.narrowed.node_names.has_value()) {
    const NodePlacement& placement = *outcome.placement;
    outcome.excluded = Status::UnschedulableAndUnresolvable(
        placement.outside.empty() ? absl::StrCat("node(s) are not in ", placement.name)
                                  : placement.outside);
  }
  if (outcome.narrowed.node_names.has_value()) {
    outcome.excluded = Status::UnschedulableAndUnresolvable(
        absl::StrCat("node(s) didn't satisfy plugin(s) ", Listed(outcome.narrowing_plugins)));
  }
  return outcome;
}

Status FilterRunner::RunPreFilterAddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                        const NodeInfo& node) const {
  CallTimer timer(plugins_.fault_log);
  for (const Hook<PreFilterExtensions>& hook : plugins_.pre_filter_extensions) {
    if (state.skips().filter & MaskOf(hook)) continue;
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kAddPod, hook.name, [&] { return hook.plugin->AddPod(state, pod, added, node); });
    timer.Lap(hook.name, kAddPod.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

Status FilterRunner::RunPreFilterRemovePod(CycleState& state, const PodInfo& pod,
                                           const PodInfo& removed, const NodeInfo& node) const {
  CallTimer timer(plugins_.fault_log);
  for (const Hook<PreFilterExtensions>& hook : plugins_.pre_filter_extensions) {
    if (state.skips().filter & MaskOf(hook)) continue;
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kRemovePod, hook.name, [&] { return hook.plugin->RemovePod(state, pod, removed, node); });
    timer.Lap(hook.name, kRemovePod.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

bool FilterRunner::HasPreFilterExtensions(const CycleState& state) const {
  return absl::c_any_of(plugins_.pre_filter_extensions, [&](const auto& hook) {
    return (state.skips().filter & MaskOf(hook)) == 0;
  });
}

Status FilterRunner::RunFilter(const CycleState& state, const PodInfo& pod, const NodeInfo& node,
                               PluginMask only) const {
  CallTimer timer(plugins_.fault_log);
  PluginMask left = plugins_.EnabledAt(ExtensionPoint::kFilter) & ~state.skips().filter & only;
  for (auto hook = plugins_.filter.begin(); left != 0; ++hook) {
    if ((left & MaskOf(*hook)) == 0) continue;
    left &= ~MaskOf(*hook);
    timer.Start();
    Status status = plugins_.calls.Guarded(kFilter, hook->name,
                                           [&] { return hook->plugin->Filter(state, pod, node); });
    timer.Lap(hook->name, kFilter.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

Status FilterRunner::RunFilterNodes(const CycleState& state, const PodInfo& pod,
                                    const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                    NodeVerdicts& verdicts, PluginMask only) const {
  verdicts.BeginBlock(rows);
  CallTimer timer(plugins_.fault_log);
  for (size_t i = 0; i < plugins_.filter.size() && !verdicts.candidates().empty(); ++i) {
    const Hook<FilterPlugin>& hook = plugins_.filter[i];
    if ((state.skips().filter | ~only) & MaskOf(hook)) continue;
    // Errors and times count as Filter's; only the code set is FilterNodes' own.
    timer.Start();
    Status status = plugins_.calls.Guarded(
        kFilter, hook.name, [&] { return hook.plugin->FilterNodes(state, pod, nodes, verdicts); });
    timer.Lap(hook.name, kFilter.name);
    if (status.IsRejected())
      return plugins_.calls.Unsupported(kFilterNodes, hook.name, status.code());
    if (!status.ok()) return status;
    verdicts.EndPlugin(static_cast<uint8_t>(i));
  }
  return CheckCodes(rows, verdicts);
}

bool FilterRunner::SelectRows(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                              int most, std::vector<NodeRow>& rows) const {
  bool found = false;
  std::vector<NodeRow> selected;
  for (const Hook<SelectiveFilter>& hook : plugins_.selective_filters) {
    if (state.skips().filter & MaskOf(hook)) continue;
    bool selects = false;
    const Status status = plugins_.calls.Guarded(kSelectRows, hook.name, [&] {
      selects = hook.plugin->SelectRows(state, pod, nodes, most, selected);
      return Status::Success();
    });
    if (!status.ok()) return false;
    if (!selects) continue;
    if (!AreRows(selected, nodes.size())) {
      plugins_.calls.BadAnswer(kSelectRows, hook.name, "rows that are none, or out of order");
      return false;
    }
    if (static_cast<int>(selected.size()) > most) continue;
    rows.swap(selected);
    found = true;
    if (rows.empty()) return true;
    most = static_cast<int>(rows.size()) - 1;
  }
  return found;
}

// A batch form can write any code.
Status FilterRunner::CheckCodes(absl::Span<const NodeRow> rows,
                                const NodeVerdicts& verdicts) const {
  if ((verdicts.codes_set() & ~(kRejections | Codes(Code::kSuccess))) == 0) {
    return Status::Success();
  }
  for (const NodeRow row : rows) {
    const uint8_t code = static_cast<uint8_t>(verdicts.code(row));
    if (code < 8 && ((kRejections | Codes(Code::kSuccess)) >> code & 1) != 0) [[likely]]
      continue;
    return plugins_.calls.Unsupported(kFilter, plugins_.filter[verdicts.rejector(row)].name,
                                      verdicts.code(row));
  }
  return Status::Success();
}

}  // namespace berth
