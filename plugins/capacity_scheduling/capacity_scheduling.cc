// SPDX-License-Identifier: Apache-2.0
// Admission by quota. scheduler-plugins capacityscheduling/capacity_scheduling.go.
#include "plugins/capacity_scheduling/capacity_scheduling.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/scheduling_berth_dev.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/framework/placement.h"
#include "google/protobuf/util/message_differencer.h"
#include "plugins/capacity_scheduling/claimed_devices.h"
#include "plugins/capacity_scheduling/ledger_trial.h"
#include "plugins/capacity_scheduling/quota_order.h"
#include "plugins/capacity_scheduling/quota_state.h"
#include "plugins/capacity_scheduling/quota_trial.h"
#include "plugins/capacity_scheduling/tree_victims.h"
#include "plugins/capacity_scheduling/victim_plan.h"

namespace berth {
namespace {

constexpr absl::string_view kMoreThanMax = " is more than Max";

using QuantityMap = google::protobuf::Map<std::string, api::Quantity>;

bool SameText(const QuantityMap& a, const QuantityMap& b) {
  return a.size() == b.size() && absl::c_all_of(a, [&b](const auto& entry) {
           const auto other = b.find(entry.first);
           return other != b.end() && other->second.string() == entry.second.string();
         });
}

// What a controller writes into the status of a quota helps no pod.
bool BoundsChanged(const ObjectChange& change) {
  if (change.old_object == nullptr || change.new_object == nullptr) return true;
  const api::ElasticQuotaSpec& before = change.old_object->As<api::ElasticQuota>().spec();
  const api::ElasticQuotaSpec& after = change.new_object->As<api::ElasticQuota>().spec();
  const bool same = SameText(before.min(), after.min()) && SameText(before.max(), after.max());
  // In a tree labels say more.
  return !same || IsMarkedForTree(*change.old_object) || IsMarkedForTree(*change.new_object);
}

// Nor what one writes into the status of a ClusterQuota.
bool ClusterQuotaChanged(const ObjectChange& change) {
  if (change.old_object == nullptr || change.new_object == nullptr) return true;
  return !google::protobuf::util::MessageDifferencer::Equals(
      change.old_object->As<api::ClusterQuota>().spec(),
      change.new_object->As<api::ClusterQuota>().spec());
}

// Whether the claim has devices, and had none or was not there.
bool HasDevicesNow(const ObjectChange& change) {
  const auto has_devices = [](const Object* claim) {
    return claim != nullptr && claim->As<api::ResourceClaim>().status().has_allocation();
  };
  return has_devices(change.new_object) && !has_devices(change.old_object);
}

// What one attempt in a tree of quotas keeps.
struct TreeState final : StateData {
  std::optional<QuotaId> quota;
  // Nodes that the pod may run on, but that a line of them has no room: until somebody gives it
  // back. Null: none, or nothing else is left.
  std::shared_ptr<const std::vector<NodeRow>> without_room;
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<TreeState>(*this); }
};
constexpr StateKey<TreeState> kTreeState{"CapacityScheduling/tree"};

int64_t ClampToInt64(__int128 amount) {
  return static_cast<int64_t>(std::clamp<__int128>(amount, std::numeric_limits<int64_t>::min(),
                                                   std::numeric_limits<int64_t>::max()));
}

// Who has of the line more than it is guaranteed, the most first: "ClusterQuota a borrows 3,
// ClusterQuota b 2". A quota below which another borrows stands for itself no more.
std::string WhoBorrows(const QuotaTree& tree, int line) {
  std::vector<std::pair<__int128, QuotaId>> borrowers;
  for (QuotaId quota = QuotaTree::kCluster + 1; quota < tree.size(); ++quota) {
    const __int128 borrowed = tree.borrowed(quota, line);
    if (borrowed <= 0) continue;
    const bool somebody_below = absl::c_any_of(
        tree.children(quota), [&](QuotaId child) { return tree.borrowed(child, line) > 0; });
    if (!somebody_below) borrowers.emplace_back(-borrowed, quota);
  }
  constexpr size_t kMost = 3;
  const size_t told = std::min(kMost, borrowers.size());
  std::partial_sort(borrowers.begin(), borrowers.begin() + static_cast<std::ptrdiff_t>(told),
                    borrowers.end());
  std::string text;
  for (size_t i = 0; i < told; ++i) {
    const auto& [minus_borrowed, quota] = borrowers[i];
    const Quantity amount = tree.lines()[line].QuantityOf(ClampToInt64(-minus_borrowed));
    absl::StrAppend(&text, i == 0 ? "" : ", ", tree.spec(quota).subject(),
                    i == 0 ? " borrows " : " ", amount.ToString());
  }
  if (borrowers.size() > kMost) {
    absl::StrAppend(&text, ", and ", borrowers.size() - kMost, " others");
  }
  return text;
}

// The shortage, and who has what would be left.
std::string ToldInFull(const QuotaTree& tree, const QuotaTree::Shortage& shortage) {
  std::string text = tree.ToString(shortage);
  if (shortage.kind != QuotaTree::Shortage::Kind::kBorrowed) return text;
  const std::string borrowers = WhoBorrows(tree, shortage.line);
  if (!borrowers.empty()) absl::StrAppend(&text, "; ", borrowers);
  return text;
}

// Leaves out nodes on which the pod's group may not be: evictions there would be in vain.
void KeepInPlacement(const CycleState& state, std::vector<NodeRow>& rows) {
  const NodePlacement* const placement = state.placement();
  if (placement == nullptr) return;
  std::erase_if(rows, [&](NodeRow row) { return !absl::c_binary_search(placement->rows, row); });
}

// How many evictions of the plan violate a budget.
int Violations(const PostFilterResult& plan) {
  return plan.candidates[plan.equally_good.front()]->pdb_violations;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> CapacityScheduling::Create(const PluginArgs&,
                                                                   Handle& handle) {
  handle.Watch(Kind::kNamespace);  // for selectors of namespaces
  return std::make_unique<CapacityScheduling>(handle);
}

const VictimUnit* CapacityScheduling::RulesWithoutQuota::FindForbidden(
    const CycleState&, const PodInfo& pod, absl::Span<const VictimUnit> units) const {
  const auto forbidden = absl::c_find_if(units, [&](const VictimUnit& unit) {
    return absl::c_any_of(unit.pods, [&](const auto& member) {
      return member->priority() >= pod.priority() || book_.QuotaOf(*member).has_value();
    });
  });
  return forbidden == units.end() ? nullptr : &*forbidden;
}

void CapacityScheduling::AddNominatedPods(const PodInfo& pod, const Quota& quota,
                                          QuotaState& state) {
  nominated_.Refresh(handle_.nominator(), handle_.nodes());
  ResourceVector of_quota = nominated_.SumFrom(quota.namespace_name, pod.priority());
  const NominatedUsage::Request* own = nominated_.Find(*pod.identity());
  if (own != nullptr && own->priority >= pod.priority()) of_quota.Subtract(own->amount);
  state.pending_of_quota.Add(of_quota);
  state.pending_of_all.Add(of_quota);

  nominated_.ForEachNamespace([&](Symbol name, const ResourceVector& sum) {
    const Quota* other = ledger_.Find(name);
    if (other == nullptr || other == &quota || OverMin(ledger_, state, *other)) return;
    state.pending_of_all.Add(Restrict(sum, *other));
  });
}

absl::Span<const StateUse> CapacityScheduling::StateUses() const {
  using Point = ExtensionPoint;
  static constexpr StateUse kUses[] = {{Point::kPostFilter, Point::kPreFilter}};
  return kUses;
}

Status CapacityScheduling::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                     PreFilterResult& result) {
  ChargeMissedClaims();
  ledger_.Recount([this](const auto& recount) {
    const NodeTable& table = handle_.nodes();
    for (NodeRow row = 0; row < table.size(); ++row) {
      for (const auto& one : table.node(row).pods()) recount(*one, table.node(row).name());
    }
  });
  const uint64_t tree_before = book_.tree_version();
  book_.Refresh();
  if (book_.tree_version() != tree_before) status_.Touch();
  warnings_.Look();
  if (book_.has_tree()) {
    Status status = PreFilterInTree(state, pod, nodes, result);
    // AddPod() and RemovePod() have nothing to follow.
    const bool narrows = result.node_names.has_value();
    return status.ok() && !narrows ? Status::Skip() : status;
  }
  ledger_.Refresh(handle_.objects());
  auto owned_state = std::make_unique<QuotaState>();
  QuotaState& quota_state = *owned_state;
  state.Write(kQuotaState, std::move(owned_state));
  const Quota* quota = ledger_.Find(pod.namespace_name());
  if (quota == nullptr) return Status::Success();

  quota_state.request = ledger_.RequestOf(pod);
  quota_state.request.ForEach([&](ResourceId id, int64_t) {
    if (quota->Names(id)) quota_state.claimed.push_back(id);
  });
  quota_state.counted = quota_state.claimed;
  ledger_.total_min().ForEach([&](ResourceId id) {
    if (!IsScalar(id) || absl::c_linear_search(quota_state.counted, id)) return;
    quota_state.counted.push_back(id);
  });
  quota_state.changes.SetResources(quota_state.counted);
  quota_state.pending_of_quota = quota_state.pending_of_all = quota_state.request;
  AddNominatedPods(pod, *quota, quota_state);

  QuotaRoom room(ledger_, quota_state, *quota, QuotaRoom::Moment::kNow,
                 quota_state.pending_of_quota, quota_state.pending_of_all);
  if (room.OverMax()) {
    return Status::Unschedulable(absl::StrCat("Pod ", pod.key(),
                                              " is rejected in PreFilter because ElasticQuota ",
                                              pod.namespace_name().view(), kMoreThanMax));
  }
  if (room.TotalOverMin()) {
    return Status::Unschedulable(
        absl::StrCat("Pod ", pod.key(),
                     " is rejected in PreFilter because total ElasticQuota used is more than min"));
  }
  return Status::Success();
}

void CapacityScheduling::NoteMissingClaims(const PodInfo& pod, const NodeInfo& node) {
  if (pod.spec().resource_claims().empty()) return;
  if (DevicesClaimedBy(pod, handle_.objects(), book_.devices()).is_complete) return;
  *missing_claims_.FindOrAdd(pod.identity()).first = node.name();
}

void CapacityScheduling::ChargeMissedClaims() {
  const uint64_t version = handle_.objects().version(Kind::kResourceClaim);
  if (std::exchange(claims_version_, version) == version) return;
  std::vector<std::pair<std::shared_ptr<const PodInfo>, NodeRow>> there;
  const NodeTable& nodes = handle_.nodes();
  missing_claims_.ForEach([&](const Identity& pod, const Symbol& node) {
    const NodeRow row = nodes.FindRow(node);
    if (row < 0) return;
    for (const std::shared_ptr<const PodInfo>& one : nodes.node(row).pods()) {
      if (one->uid() == pod.uid() &&
          DevicesClaimedBy(*one, handle_.objects(), book_.devices()).is_complete) {
        there.emplace_back(one, row);
      }
    }
  });
  for (const auto& [pod, row] : there) {
    OnPodUnassigned(*pod, nodes.node(row));
    OnPodAssigned(*pod, nodes.node(row));
  }
}

Status CapacityScheduling::AddPod(CycleState& state, const PodInfo&, const PodInfo& added,
                                  const NodeInfo&) {
  if (state.Find(kTreeState) != nullptr) return Status::Success();
  QuotaState* quota_state = state.FindMutable(kQuotaState);
  if (quota_state == nullptr) return Status::Error("CapacityScheduling did not see the pod");
  quota_state->changes.Add(ledger_, added);
  return Status::Success();
}

Status CapacityScheduling::RemovePod(CycleState& state, const PodInfo&, const PodInfo& removed,
                                     const NodeInfo&) {
  if (state.Find(kTreeState) != nullptr) return Status::Success();
  QuotaState* quota_state = state.FindMutable(kQuotaState);
  if (quota_state == nullptr) return Status::Error("CapacityScheduling did not see the pod");
  quota_state->changes.Remove(ledger_, removed);
  return Status::Success();
}

Status CapacityScheduling::PostFilter(CycleState& state, const PodInfo& pod,
                                      const NodeStatuses& statuses, PostFilterResult& result) {
  if (state.Find(kTreeState) != nullptr) return PostFilterInTree(state, pod, statuses, result);
  QuotaState* const quota_state = state.FindMutable(kQuotaState);
  const PlacedTogether* const together = state.Find(kPlacedTogether);
  if (quota_state != nullptr && together != nullptr) {
    for (const PodInfo* const sibling : together->pods) {
      if (sibling == &pod || sibling->namespace_name() != pod.namespace_name()) continue;
      const NominatedUsage::Request* const counted = nominated_.Find(*sibling->identity());
      if (counted != nullptr && counted->priority >= pod.priority()) continue;
      quota_state->together.Add(ledger_.RequestOf(*sibling));
    }
  }
  Status status = preemption_.Run(rules_, state, pod, statuses, result);
  if (quota_state == nullptr) return status;
  const bool found_none = status.IsRejected() && result.nominated_node == "";
  if (found_none) {
    return PlanOverNodes(state, *quota_state, pod, statuses, std::move(status), result);
  }
  if (status.ok() && Violations(result) > 0) {
    PostFilterResult over_nodes;
    Status planned =
        PlanOverNodes(state, *quota_state, pod, statuses, Status::Unschedulable(""), over_nodes);
    if (planned.ok() && Violations(over_nodes) < Violations(result)) result = std::move(over_nodes);
  }
  return status;
}

// No node by itself holds enough of what others borrowed, or not without violating budgets. Where
// the quotas have room, evictions elsewhere would not help.
Status CapacityScheduling::PlanOverNodes(const CycleState& state, const QuotaState& quota_state,
                                         const PodInfo& pod, const NodeStatuses& statuses,
                                         Status not_on_one, PostFilterResult& result) {
  if (!rules_.TakesBack(quota_state, pod)) return not_on_one;
  LedgerTrial trial(ledger_, rules_, handle_, quota_state, pod);
  if (trial.HasRoom().ok()) return not_on_one;
  AllVictims units(handle_.nodes(), trial.Units());
  expected_.Refresh(handle_.nodes(), handle_.nominator());
  std::vector<NodeRow> rows = statuses.RowsWith(Code::kUnschedulable);
  KeepInPlacement(state, rows);
  Status planned = PlanVictims({handle_, state, pod, std::move(rows), preemption_.budgets(), book_,
                                expected_, short_rows_, trial, units},
                               result);
  const bool waits = !result.nominated_node.has_value();
  return planned.ok() || waits ? planned : not_on_one;
}

// --- In a tree ---

Status CapacityScheduling::PreFilterInTree(CycleState& state, const PodInfo& pod,
                                           const NodeTable& nodes, PreFilterResult& result) {
  auto owned_state = std::make_unique<TreeState>();
  TreeState& tree_state = *owned_state;
  state.Write(kTreeState, std::move(owned_state));
  const std::optional<QuotaId> quota = tree_state.quota = book_.QuotaOf(pod);
  if (!quota.has_value()) return Status::Success();
  book_.OnPending(pod);  // it may have waited before there was a tree
  if (!state.for_explanation()) refused_by_share_.Remove(*pod.identity());
  const QuotaBook::WithoutNomination without_nomination(book_, pod);
  const QuotaTree& tree = book_.tree();
  const LineAmounts charge = book_.ChargeOf(pod, nullptr);
  if (const auto shortage = tree.FindShortage(*quota, charge)) {
    // Who borrows changes often: conditions of pods do not follow that.
    return Status::Unschedulable(state.for_explanation() ? ToldInFull(tree, *shortage)
                                                         : tree.ToString(*shortage));
  }
  if (const auto beyond = book_.BeyondMin(pod, *quota, charge)) {
    return Status::Unschedulable(book_.ToString(*beyond));
  }
  std::vector<NodeRow> without_room;
  Status narrowed = NarrowByLines(pod, *quota, nodes, result, without_room);
  if (result.node_names.has_value()) {
    tree_state.without_room = std::make_shared<std::vector<NodeRow>>(std::move(without_room));
  }
  return narrowed;
}

// Looks only at nodes that the pod's own selectors allow: of a model that no node is of it is not
// held back by quotas.
CapacityScheduling::NodesByLines CapacityScheduling::SplitByLines(const PodInfo& pod, QuotaId quota,
                                                                  const NodeTable& nodes) const {
  const QuotaTree& tree = book_.tree();
  const PodAmounts& amounts = book_.RequestOf(pod);
  std::vector<QuotaTree::Shortage> found;
  for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
    if (!tree.lines()[line].of_some_nodes()) continue;
    const int64_t amount = amounts.Of(tree.lines()[line]);
    if (amount == 0) continue;
    if (const auto shortage = tree.FindShortage(quota, {{line, amount}}))
      found.push_back(*shortage);
  }
  NodesByLines split;
  if (found.empty()) return split;
  std::vector<bool> concerns(found.size(), false);
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    if (!pod.required_node_affinity().Matches(node.labels(), node.name())) continue;
    const LabelSet& labels = book_.LabelsOf(node);
    bool is_covered = false;
    for (size_t i = 0; i < found.size(); ++i) {
      if (!tree.lines()[found[i].line].Covers(labels)) continue;
      concerns[i] = is_covered = true;
    }
    (is_covered ? split.without_room : split.with_room).push_back(row);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (concerns[i]) split.short_lines.push_back(found[i]);
  }
  return split;
}

// Leaves out nodes on which the pod would be charged a line that has no room; those that it may run
// on otherwise are `without_room`.
Status CapacityScheduling::NarrowByLines(const PodInfo& pod, QuotaId quota, const NodeTable& nodes,
                                         PreFilterResult& result,
                                         std::vector<NodeRow>& without_room) {
  const QuotaTree& tree = book_.tree();
  NodesByLines split = SplitByLines(pod, quota, nodes);
  if (split.short_lines.empty()) return Status::Success();
  without_room = std::move(split.without_room);
  if (split.with_room.empty()) {
    return Status::Unschedulable(
        absl::StrJoin(split.short_lines, "; ",
                      [&](std::string* to, const auto& of) { to->append(tree.ToString(of)); }));
  }
  result.node_names.emplace();
  for (const NodeRow row : split.with_room) result.node_names->insert(nodes.node(row).name());
  return Status::Success();
}

Status CapacityScheduling::BeginTrial(const CycleState& state,
                                      absl::Span<const PodInfo* const> preemptors,
                                      std::unique_ptr<VictimTrial>& trial) {
  const TreeState* const tree_state = state.Find(kTreeState);
  if (tree_state == nullptr || !tree_state->quota.has_value()) {
    return Status::Unschedulable("not eligible: the pod is of no quota in a tree");
  }
  if (preemptors.front()->preemption_policy() == PreemptionPolicy::kNever) {
    return Status::Unschedulable("not eligible due to preemptionPolicy=Never.");
  }
  trial = std::make_unique<QuotaTrial>(book_, handle_, *tree_state->quota, preemptors);
  return Status::Success();
}

Status CapacityScheduling::PostFilterInTree(CycleState& state, const PodInfo& pod,
                                            const NodeStatuses& statuses,
                                            PostFilterResult& result) {
  const std::optional<QuotaId> quota = state.Find(kTreeState)->quota;
  if (!quota.has_value()) {
    return preemption_.Run(rules_without_quota_, state, pod, statuses, result);
  }
  if (pod.preemption_policy() == PreemptionPolicy::kNever) {
    return Status::Unschedulable("not eligible due to preemptionPolicy=Never.");
  }
  const QuotaBook::WithoutNomination without_nomination(book_, pod);
  std::vector<const PodInfo*> preemptors = {&pod};
  if (const PlacedTogether* const together = state.Find(kPlacedTogether)) {
    for (const PodInfo* const sibling : together->pods) {
      if (sibling != &pod) preemptors.push_back(sibling);
    }
  }
  RefusedByShare::Requests requests;
  bool may_reclaim = false;
  Status planned;
  {
    QuotaTrial trial(book_, handle_, *quota, preemptors);
    planned = PlanInTree(state, pod, statuses, trial, result);
    if (planned.ok() || state.for_explanation()) return planned;
    requests = trial.RequestsByNode();
    may_reclaim = trial.MayReclaim(refused_by_share_.RuleInTrial());
  }
  refused_by_share_.Add(pod, *quota, std::move(requests), may_reclaim);
  return planned;
}

Status CapacityScheduling::PlanInTree(CycleState& state, const PodInfo& pod,
                                      const NodeStatuses& statuses, QuotaTrial& trial,
                                      PostFilterResult& result) {
  const TreeState& tree_state = *state.Find(kTreeState);
  std::unique_ptr<VictimList> units;
  if (state.full_evaluation()) {
    units = std::make_unique<AllVictims>(handle_.nodes(), trial.Units());
  } else {
    units =
        std::make_unique<TreeVictims>(book_, handle_, [&trial] { return trial.VictimQuotas(); });
  }
  std::vector<NodeRow> rows = statuses.RowsWith(Code::kUnschedulable);
  if (tree_state.without_room != nullptr) {
    std::vector<NodeRow> all;
    absl::c_set_union(rows, *tree_state.without_room, std::back_inserter(all));
    rows = std::move(all);
  }
  KeepInPlacement(state, rows);
  expected_.Refresh(handle_.nodes(), handle_.nominator());
  return PlanVictims({handle_, state, pod, std::move(rows), preemption_.budgets(), book_, expected_,
                      short_rows_, trial, *units},
                     result);
}

// Many pods wait for the same line.
const std::string& CapacityScheduling::WhoBorrowsNow(int line) const {
  const bool may_keep = book_.what_ifs() == 0;
  if (!may_keep || borrowers_version_ != book_.version()) borrowers_.clear();
  borrowers_version_ = may_keep ? std::optional<uint64_t>(book_.version()) : std::nullopt;
  const auto [known, is_new] = borrowers_.try_emplace(line);
  if (is_new) known->second = WhoBorrows(book_.tree(), line);
  return known->second;
}

void CapacityScheduling::ExplainInTree(const PodInfo& pod, WaitingFor& waiting) const {
  waiting.reason = WaitingReason::kWaitingForQuota;
  const std::optional<QuotaId> quota = book_.QuotaOf(pod);
  if (!quota.has_value()) return;
  const QuotaTree& tree = book_.tree();
  const QuotaBook::WithoutNomination without_nomination(book_, pod);
  const LineAmounts charge = book_.ChargeOf(pod, nullptr);
  auto shortage = tree.FindShortage(*quota, charge);
  bool is_beyond_min = false;
  if (!shortage.has_value()) {
    shortage = book_.BeyondMin(pod, *quota, charge);
    is_beyond_min = shortage.has_value();
  }
  if (!shortage.has_value()) {
    const NodesByLines split = SplitByLines(pod, *quota, handle_.nodes());
    if (!split.short_lines.empty()) shortage = split.short_lines.front();
  }
  if (!shortage.has_value()) return;
  const QuotaLine& line = tree.lines()[shortage->line];
  // GPUs in parts are reported as whole ones.
  const int64_t unit = line.counts == QuotaLine::Counts::kGpu ? 1000 : 1;
  waiting.resource = line.ToString();
  waiting.needed = (shortage->needed + unit - 1) / unit;
  waiting.quota_used = ClampToInt64(shortage->used) / unit;
  waiting.quota_limit = ClampToInt64(shortage->limit) / unit;
  if (shortage->kind == QuotaTree::Shortage::Kind::kBorrowed && !is_beyond_min) {
    const std::string& borrowers = WhoBorrowsNow(shortage->line);
    if (!borrowers.empty()) absl::StrAppend(&waiting.detail, "; ", borrowers);
    return;
  }
  waiting.quota = tree.spec(shortage->quota).subject();
  if (!is_beyond_min) waiting.reason = WaitingReason::kQuotaMax;
  if (shortage->needed > shortage->limit) waiting.reason = WaitingReason::kQuotaMisconfigured;
}

int CapacityScheduling::Compare(int line, const QueuedPodInfo& a, const QueuedPodInfo& b) {
  return line < book_.tree().size() ? ComparePods(book_.tree().spec(line), a, b) : 0;
}

bool CapacityScheduling::IsStrict(int line) {
  return line < book_.tree().size() &&
         book_.tree().spec(line).queueing == QuotaQueueing::kStrictFifo;
}

std::unique_ptr<QueueContest> CapacityScheduling::NewContest() {
  return std::make_unique<QuotaContest>(book_, handle_);
}

std::vector<ClusterEventWithHint> CapacityScheduling::EventsToRegister() const {
  const auto devices_changed = [this](const PodInfo&,
                                      const ObjectChange&) -> absl::StatusOr<QueueingHint> {
    return QueueIf(book_.has_tree() && book_.sees_devices());
  };
  return {{{EventResource::Pod(), action::kDelete | action::kUpdatePodScaleDown}, nullptr},
          {.event = {EventResource::Of(Kind::kElasticQuota), action::kAll},
           .hint = nullptr,
           .filter = &BoundsChanged},
          {.event = {EventResource::Of(Kind::kClusterQuota), action::kAll},
           .hint = nullptr,
           .filter = &ClusterQuotaChanged},
          // The cluster has more to lend.
          {{EventResource::Node(), action::kAdd | action::kUpdateNodeAllocatable},
           [this](const PodInfo&, const ObjectChange&) -> absl::StatusOr<QueueingHint> {
             return QueueIf(book_.has_tree());
           }},
          // A claim that has devices is charged for these, no more for all that they might be.
          {{EventResource::Of(Kind::kResourceClaim), action::kAdd | action::kUpdate},
           [this](const PodInfo&, const ObjectChange& change) -> absl::StatusOr<QueueingHint> {
             return QueueIf(book_.has_tree() && book_.devices().has_attribute_lines() &&
                            HasDevicesNow(change));
           }},
          // Devices are others, or count as less.
          {{EventResource::Of(Kind::kResourceSlice), action::kAll}, devices_changed},
          {{EventResource::Of(Kind::kDeviceClass), action::kAll}, devices_changed}};
}

// The first resource by name that is over its bound; a pod that asks for more than the bound itself
// will never be admitted.
void CapacityScheduling::ExplainWaiting(const PodInfo& pod, const Status& rejection,
                                        const NodeTable&, WaitingFor& waiting) const {
  if (book_.has_tree()) return ExplainInTree(pod, waiting);
  const bool own_max = absl::EndsWith(rejection.message(), kMoreThanMax);
  waiting.reason = own_max ? WaitingReason::kQuotaMax : WaitingReason::kWaitingForQuota;
  const Quota* quota = ledger_.Find(pod.namespace_name());
  if (quota == nullptr) return;
  if (own_max) waiting.quota = absl::StrCat("ElasticQuota ", quota->namespace_name.view());
  const ResourceVector& used =
      own_max ? ledger_.UsageOf(quota->namespace_name).used : ledger_.total_usage().used;
  const ResourceBounds& bounds = own_max ? quota->max : ledger_.total_min();
  ledger_.RequestOf(pod).ForEach([&](ResourceId id, int64_t amount) {
    const int64_t* bound = quota->Names(id) ? bounds.Find(id) : nullptr;
    if (bound == nullptr || used.Get(id) + amount <= *bound) return;
    const std::string name(ResourceName(id));
    if (!waiting.resource.empty() && waiting.resource < name) return;
    waiting.resource = name;
    waiting.needed = amount;
    waiting.quota_used = used.Get(id);
    waiting.quota_limit = *bound;
    if (amount > *bound) waiting.reason = WaitingReason::kQuotaMisconfigured;
  });
}

// --- For people ---

std::vector<QuotaFigure> CapacityScheduling::ReportQuotas() {
  // The tree as of the last attempt: between attempts Handle's nodes may be older than what was
  // charged, and a tree that is built anew of them would miss pods.
  book_.RefreshNominations();
  if (book_.has_tree()) return ReportTree();
  ledger_.Refresh(handle_.objects());
  std::vector<QuotaFigure> figures;
  for (const Symbol name : ledger_.namespaces()) {
    const Quota& quota = *ledger_.Find(name);
    const ResourceVector& used = ledger_.UsageOf(name).used;
    ResourceBounds named = quota.min;
    named.Add(quota.max);
    named.ForEach([&](ResourceId id) {
      const auto in_units = [id](int64_t amount) { return QuantityOf(id, amount).AsDouble(); };
      QuotaFigure& figure = figures.emplace_back();
      figure.quota = absl::StrCat(name.view(), "/", quota.object_name);
      figure.resource = std::string(ResourceName(id));
      if (const int64_t* const min = quota.min.Find(id)) figure.min = in_units(*min);
      if (const int64_t* const max = quota.max.Find(id)) figure.max = in_units(*max);
      figure.used = in_units(used.Get(id));
    });
  }
  return figures;
}

std::vector<QuotaFigure> CapacityScheduling::ReportTree() const {
  const QuotaTree& tree = book_.tree();
  std::vector<QuotaFigure> figures;
  // All quotas together: what is guaranteed, and what the nodes have.
  for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
    const std::optional<int64_t> capacity = tree.capacity(line);
    if (!capacity.has_value()) continue;
    __int128 promised = 0;
    for (const QuotaId child : tree.children(QuotaTree::kCluster)) {
      promised += tree.guarantee(child, line);
    }
    const auto in_units = [&](__int128 amount) {
      return tree.lines()[line].QuantityOf(ClampToInt64(amount)).AsDouble();
    };
    figures.push_back({.quota = "",
                       .resource = tree.lines()[line].ToString(),
                       .min = in_units(promised),
                       .max = in_units(*capacity),
                       .used = in_units(tree.used(QuotaTree::kCluster, line))});
  }
  for (QuotaId quota = QuotaTree::kCluster + 1; quota < tree.size(); ++quota) {
    const QuotaSpec& spec = tree.spec(quota);
    for (size_t i = 0; i < tree.lines().size(); ++i) {
      const QuotaLine& line = tree.lines()[i];
      const std::optional<int64_t> min = spec.min.Find(line), max = spec.max.Find(line);
      if (!min.has_value() && !max.has_value()) continue;
      const auto in_units = [&line](int64_t amount) { return line.QuantityOf(amount).AsDouble(); };
      QuotaFigure& figure = figures.emplace_back();
      figure.quota = spec.name;
      figure.resource = line.ToString();
      if (min.has_value()) figure.min = in_units(*min);
      if (max.has_value()) figure.max = in_units(*max);
      figure.used = in_units(ClampToInt64(tree.used(quota, static_cast<int>(i))));
    }
  }
  return figures;
}

}  // namespace berth
