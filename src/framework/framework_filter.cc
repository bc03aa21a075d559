// SPDX-License-Identifier: Apache-2.0
// Framework: PreFilter and Filter, one node at a time and in batches.
#include <algorithm>
#include <deque>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/columns/node_verdicts.h"
#include "framework/framework.h"
#include "framework/plugin_calls.h"
#include "table/prefetch_nodes.h"

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

PreFilterOutcome Framework::RunPreFilter(CycleState& state, const PodInfo& pod,
                                         const NodeTable& nodes, PluginMask only) const {
  PreFilterOutcome outcome;
  state.skips().filter = ~only;
  CallTimer timer(fault_log_);
  for (const Hook<PreFilterPlugin>& hook : pre_filter_) {
    if (state.skips().filter & SkipBit(hook)) continue;
    PreFilterResult result;
    timer.Start();
    Status status = calls_.Guarded(
        kPreFilter, hook.name, [&] { return hook.plugin->PreFilter(state, pod, nodes, result); });
    timer.Lap(hook.name, kPreFilter.name);
    if (status.IsSkip()) {
      state.skips().filter |= SkipBit(hook);
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
  if (outcome.narrowed.node_names.has_value()) {
    outcome.left_out = Status::UnschedulableAndUnresolvable(
        absl::StrCat("node(s) didn't satisfy plugin(s) ", Listed(outcome.narrowing_plugins)));
  }
  return outcome;
}

Status Framework::RunPreFilterAddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                     const NodeInfo& node) const {
  CallTimer timer(fault_log_);
  for (const Hook<PreFilterExtensions>& hook : pre_filter_extensions_) {
    if (state.skips().filter & SkipBit(hook)) continue;
    timer.Start();
    Status status = calls_.Guarded(kAddPod, hook.name,
                                   [&] { return hook.plugin->AddPod(state, pod, added, node); });
    timer.Lap(hook.name, kAddPod.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

Status Framework::RunPreFilterRemovePod(CycleState& state, const PodInfo& pod,
                                        const PodInfo& removed, const NodeInfo& node) const {
  CallTimer timer(fault_log_);
  for (const Hook<PreFilterExtensions>& hook : pre_filter_extensions_) {
    if (state.skips().filter & SkipBit(hook)) continue;
    timer.Start();
    Status status = calls_.Guarded(
        kRemovePod, hook.name, [&] { return hook.plugin->RemovePod(state, pod, removed, node); });
    timer.Lap(hook.name, kRemovePod.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

Status Framework::RunFilter(const CycleState& state, const PodInfo& pod,
                            const NodeInfo& node) const {
  CallTimer timer(fault_log_);
  for (const Hook<FilterPlugin>& hook : filter_) {
    if (state.skips().filter & SkipBit(hook)) continue;
    timer.Start();
    Status status =
        calls_.Guarded(kFilter, hook.name, [&] { return hook.plugin->Filter(state, pod, node); });
    timer.Lap(hook.name, kFilter.name);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

// --- Nominated pods ---

namespace {

// Whether `state` does not skip all of the hooks.
template <class Hooks>
bool AnyRuns(const Hooks& hooks, const CycleState& state) {
  return absl::c_any_of(
      hooks, [&](const auto& hook) { return (state.skips().filter & SkipBit(hook)) == 0; });
}

// Whether `pod` has to leave room for `nominated`.
bool YieldsTo(const PodInfo& pod, const PodInfo& nominated) {
  return nominated.priority() >= pod.priority() && nominated.uid() != pod.uid();
}

}  // namespace

// A node as if pods that are nominated to it ran there.
struct Framework::NominatedNode {
  uint64_t generation;  // of the node without them
  PodList nominated;
  NodeInfo node;
};

Framework::Framework() = default;
Framework::~Framework() = default;

// The node with `nominated`. Kept until another node or other pods take its place, one by one: many
// cycles ask for the same.
const NodeInfo& Framework::WithNominatedPods(const NodeInfo& node, PodList nominated) const {
  constexpr size_t kMostKept = 8192;
  if (nominated_nodes_.empty()) nominated_nodes_.resize(kMostKept);
  std::unique_ptr<NominatedNode>& kept = nominated_nodes_[node.name().id() % kMostKept];
  if (kept != nullptr && kept->generation == node.generation() && kept->nominated == nominated) {
    return kept->node;
  }
  kept.reset(new NominatedNode{node.generation(), std::move(nominated), node});
  for (const std::shared_ptr<const PodInfo>& pod : kept->nominated) kept->node.AddPod(pod);
  return kept->node;
}

// The filters with `nominated` on the node, after the plugins whose state follows pods were told.
Status Framework::RunFilterWith(const PodList& nominated, const CycleState& state,
                                const PodInfo& pod, const NodeInfo& node) const {
  if (!AnyRuns(pre_filter_extensions_, state)) {
    return RunFilter(state, pod, WithNominatedPods(node, nominated));
  }
  CycleState with_nominated = state.Clone();
  if (nominated.size() == 1) {
    const NodeInfo& with_one = WithNominatedPods(node, nominated);
    Status status = RunPreFilterAddPod(with_nominated, pod, *nominated.front(), with_one);
    return status.ok() ? RunFilter(with_nominated, pod, with_one) : status;
  }
  NodeInfo so_far = node;
  for (const std::shared_ptr<const PodInfo>& added : nominated) {
    so_far.AddPod(added);
    Status status = RunPreFilterAddPod(with_nominated, pod, *added, so_far);
    if (!status.ok()) return status;
  }
  return RunFilter(with_nominated, pod, so_far);
}

// The pass with the nominated pods keeps their room free; the pass without them makes sure that the
// pod does not depend on pods that may never come.
Status Framework::RunFilterWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                             const NodeInfo& node) const {
  PodList nominated;
  for (const auto& candidate : handle_->nominator().NominatedPods(node.name())) {
    if (YieldsTo(pod, *candidate)) nominated.push_back(candidate);
  }
  if (!nominated.empty()) {
    Status status = RunFilterWith(nominated, state, pod, node);
    if (!status.ok()) return status;
  }
  return RunFilter(state, pod, node);
}

// --- The batch form ---

Framework::RowsByNomination Framework::SplitByNomination(const PodInfo& pod, const NodeTable& nodes,
                                                         absl::Span<const NodeRow> rows) const {
  const Nominator& nominator = handle_->nominator();
  if (RowsWithNominatedPods(nodes).empty()) return {{}, rows};
  const auto yields = [&](NodeRow row) {
    return absl::c_any_of(nominator.NominatedPods(nodes.node(row).name()),
                          [&](const auto& nominated) { return YieldsTo(pod, *nominated); });
  };
  rows_with_nominations_.clear();
  rows_without_nominations_.clear();
  for (const NodeRow row : rows) {
    const bool is_one = with_nominated_pods_.contains(row) && yields(row);
    (is_one ? rows_with_nominations_ : rows_without_nominations_).push_back(row);
  }
  return {rows_with_nominations_, rows_without_nominations_};
}

namespace {

// What a pod needs, and what of it nominated pods may take, in columns: of most nodes it tells what
// a ResourceFilter says.
class RoomBesideNominated {
 public:
  static constexpr size_t kMostNeeds = 31;

  RoomBesideNominated(const NeededResources& needed, const NodeTable& nodes)
      : pod_count_(nodes.pod_count().data()), allowed_pods_(nodes.allowed_pods().data()) {
    for (const auto& [resource, amount] : needed.requests) {
      needs_.push_back(
          {resource, amount, nodes.allocatable(resource).data(), nodes.requested(resource).data()});
    }
  }

  // What the node of `row` lacks beside those of the `nominated` that `counts` says true of, a bit
  // for each thing; 0 if it lacks nothing, would lack it without pods too, or sums do not tell.
  template <class Counts>
  uint32_t LacksFor(NodeRow row, absl::Span<const std::shared_ptr<const PodInfo>> nominated,
                    Counts counts) const {
    if (allowed_pods_[row] <= 0) return 0;
    absl::InlinedVector<const PodInfo*, 4> counted;
    for (const auto& pod : nominated) {
      if (counts(pod)) counted.push_back(pod.get());
    }
    uint32_t lacks = pod_count_[row] + static_cast<int64_t>(counted.size()) >= allowed_pods_[row];
    for (size_t i = 0; i < needs_.size(); ++i) {
      const Need& need = needs_[i];
      const int64_t has = need.allocatable[row];
      int64_t used = need.requested[row];
      if (!IsPlain(need.amount | has | used) || need.amount > has) return 0;
      for (const PodInfo* pod : counted) {
        const int64_t taken = pod->requests().Get(need.resource);
        if (!IsPlain(taken)) return 0;
        used += taken;
      }
      lacks |= uint32_t{used + need.amount > has} << (i + 1);
    }
    return lacks;
  }

 private:
  struct Need {
    ResourceId resource;
    int64_t amount;
    const int64_t* allocatable;
    const int64_t* requested;
  };

  // Whether sums of such amounts cannot overflow.
  static bool IsPlain(int64_t amount) { return (amount & ~((int64_t{1} << 56) - 1)) == 0; }

  absl::InlinedVector<Need, 4> needs_;
  const int64_t* pod_count_;
  const int64_t* allowed_pods_;
};

}  // namespace

// Where a ResourceFilter is asked first but for what depends on the Node object alone, one of the
// nodes that lack the same beside their nominated pods is asked for all.
Status Framework::FilterRowsWithNominations(const CycleState& state, const PodInfo& pod,
                                            const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                            NodeVerdicts& verdicts) const {
  std::optional<RoomBesideNominated> room;
  uint8_t room_filter = NodeVerdicts::kNotJudged;
  PluginMask of_node_object = 0;
  const auto needed =
      AnyRuns(pre_filter_extensions_, state) ? std::nullopt : FindNeededResources(state, pod);
  if (needed.has_value() && needed->needed.requests.size() <= RoomBesideNominated::kMostNeeds) {
    room.emplace(needed->needed, nodes);
    room_filter = FilterIndex(needed->plugin);
    for (size_t i = 0; i < room_filter; ++i) {
      if (state.skips().filter & SkipBit(filter_[i])) continue;
      of_node_object |= SkipBit(filter_[i]);
      if ((signer_.DependenciesOfFilter(i) & ~Aspects{Aspect::kOfNodeObject}) != 0) room.reset();
    }
  }
  Status status =
      RunPlainFilterNodes(state, pod, nodes, rows, verdicts, room.has_value() ? of_node_object : 0);
  if (!status.ok()) return status;

  const auto yields = [&pod](const auto& nominated) { return YieldsTo(pod, *nominated); };
  std::vector<std::vector<std::pair<NodeRow, const Status*>>> rejected(filter_.size());
  std::deque<Status> said;
  absl::flat_hash_map<uint32_t, const Status*> said_of;  // what is lacking
  const absl::Span<const NodeRow> left = verdicts.candidates();
  for (size_t i = 0; i < left.size(); ++i) {
    PrefetchNodes(nodes, left, i);
    const NodeInfo& node = nodes.node(left[i]);
    const uint32_t lacks =
        !room.has_value()
            ? 0
            : room->LacksFor(left[i], handle_->nominator().NominatedPods(node.name()), yields);
    if (const auto known = said_of.find(lacks); known != said_of.end()) {
      rejected[room_filter].emplace_back(left[i], known->second);
      continue;
    }
    status = RunFilterWithNominatedPods(state, pod, node);
    if (status.IsError()) return status;
    if (status.ok()) continue;
    const uint8_t rejector = FilterIndex(status.plugin_symbol());
    const bool holds_for_all =
        lacks != 0 && rejector == room_filter && status.code() == Code::kUnschedulable;
    said.push_back(std::move(status));
    rejected[rejector].emplace_back(left[i], &said.back());
    if (holds_for_all) said_of.emplace(lacks, &said.back());
  }
  for (size_t plugin = 0; plugin < rejected.size(); ++plugin) {
    if (rejected[plugin].empty()) continue;
    for (const auto& [row, why] : rejected[plugin]) verdicts.Set(row, *why);
    verdicts.EndPlugin(static_cast<uint8_t>(plugin));
  }
  return Status::Success();
}

Status Framework::RunFilterNodes(const CycleState& state, const PodInfo& pod,
                                 const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                 NodeVerdicts& verdicts, PluginMask only) const {
  const RowsByNomination parted = SplitByNomination(pod, nodes, rows);
  if (!parted.with_nominations.empty()) {
    Status status = FilterRowsWithNominations(state, pod, nodes, parted.with_nominations, verdicts);
    if (!status.ok()) return status;
  }
  return RunPlainFilterNodes(state, pod, nodes, parted.others, verdicts, only);
}

Status Framework::RunPlainFilterNodes(const CycleState& state, const PodInfo& pod,
                                      const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                      NodeVerdicts& verdicts, PluginMask only) const {
  verdicts.BeginBlock(rows);
  CallTimer timer(fault_log_);
  for (size_t i = 0; i < filter_.size() && !verdicts.candidates().empty(); ++i) {
    const Hook<FilterPlugin>& hook = filter_[i];
    if ((state.skips().filter | ~only) & SkipBit(hook)) continue;
    timer.Start();
    Status status = calls_.Guarded(
        kFilter, hook.name, [&] { return hook.plugin->FilterNodes(state, pod, nodes, verdicts); });
    timer.Lap(hook.name, kFilter.name);
    if (status.IsRejected()) return calls_.Unsupported(kFilterNodes, hook.name, status.code());
    if (!status.ok()) return status;
    verdicts.EndPlugin(static_cast<uint8_t>(i));
  }
  return CheckCodes(rows, verdicts);
}

// A batch form can write any code.
Status Framework::CheckCodes(absl::Span<const NodeRow> rows, const NodeVerdicts& verdicts) const {
  if ((verdicts.codes_set() & ~(kRejections | Codes(Code::kSuccess))) == 0) {
    return Status::Success();
  }
  for (const NodeRow row : rows) {
    const uint8_t code = static_cast<uint8_t>(verdicts.code(row));
    if (code < 8 && ((kRejections | Codes(Code::kSuccess)) >> code & 1) != 0) [[likely]]
      continue;
    return calls_.Unsupported(kFilter, filter_[verdicts.rejector(row)].name, verdicts.code(row));
  }
  return Status::Success();
}

uint8_t Framework::FilterIndex(Symbol plugin) const {
  for (size_t i = 0; i < filter_.size(); ++i) {
    if (filter_[i].name == plugin) return static_cast<uint8_t>(i);
  }
  return NodeVerdicts::kNotJudged;
}

}  // namespace berth
