// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_book.h.
#include "plugins/capacity_scheduling/quota_book.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "berth/api/amounts.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/scheduling_berth_dev.pb.h"
#include "plugins/capacity_scheduling/claimed_devices.h"

namespace berth {
namespace {

// More than any quota says.
constexpr int64_t kUnknownCapacity = int64_t{1} << 40;

}  // namespace

// --- Quotas ---

void QuotaBook::Refresh() {
  const uint64_t classes = requests_.classes_version();
  const bool counts_others = std::exchange(charged_by_, classes) != classes;
  bool is_new = ReadTree();
  if (has_tree_ && counts_others && !is_new) {
    Rebuild(specs_);
    is_new = true;
  }
  if (!has_tree_) return;
  tree_.Advance(handle_.clock().Now());
  FollowNodes();
  RefreshNominations();
}

// Returns whether the tree was built anew.
bool QuotaBook::ReadTree() {
  const ObjectStore& objects = handle_.objects();
  const uint64_t elastic = objects.version(Kind::kElasticQuota);
  const uint64_t cluster = objects.version(Kind::kClusterQuota);
  const uint64_t namespaces = objects.version(Kind::kNamespace);
  if (has_tree_ && namespaces != namespace_version_) {
    pod_quotas_.ForgetPods();
    ++tree_version_;
  }
  if (elastic_version_ == elastic && cluster_version_ == cluster &&
      (namespaces == namespace_version_ || absl::c_none_of(specs_, [](const QuotaSpec& s) {
         return s.namespace_selector.has_value();
       }))) {
    namespace_version_ = namespaces;
    return false;
  }
  const bool labels_changed = namespaces != namespace_version_;
  elastic_version_ = elastic;
  cluster_version_ = cluster;
  namespace_version_ = namespaces;
  std::vector<const Object*> quotas = objects.List(Kind::kClusterQuota);
  bool has_tree = !quotas.empty();
  for (const Object* object : objects.List(Kind::kElasticQuota)) {
    has_tree |= IsMarkedForTree(*object);
    quotas.push_back(object);
  }
  if (!has_tree && !has_tree_) return false;
  Problems problems;  // validate says them
  std::vector<QuotaSpec> specs;
  if (has_tree) specs = ReadQuotas(quotas, problems);
  // A write of a quota's status changes nothing.
  if (has_tree == has_tree_ && !labels_changed &&
      absl::c_equal(specs, specs_,
                    [](const QuotaSpec& a, const QuotaSpec& b) { return a.SaysTheSameAs(b); })) {
    return false;
  }
  has_tree_ = has_tree;
  Rebuild(std::move(specs));
  return true;
}

void QuotaBook::Rebuild(std::vector<QuotaSpec> specs) {
  ++tree_version_;
  ++version_;
  specs_ = std::move(specs);
  QuotaTree before = std::exchange(tree_, QuotaTree(specs_));
  const absl::Time now = handle_.clock().Now();
  before.Advance(now);
  tree_.Advance(now);
  tree_.ContinueHistory(before);
  std::vector<QuotaId> without_history;
  for (QuotaId quota = 1; quota < tree_.size(); ++quota) {
    if (tree_.HasHistory(quota) && !tree_.KnowsHistory(quota)) without_history.push_back(quota);
  }
  pod_quotas_.ReadTree();
  charges_ = {};
  taken_off_.clear();
  last_ = nullptr;
  promises_.ReadTree();
  const std::vector<std::shared_ptr<const PodInfo>> waiting = Waiting();
  wanted_ = {};
  by_quota_.assign(tree_.size(), {});
  leaving_.clear();
  claims_.Clear();
  most_requested_.assign(tree_.size(), {});
  nodes_version_.reset();
  requests_.ReadDevices();  // lines by attribute are charged by these
  requests_.Forget();
  HasChanged(Kind::kResourceSlice, slices_version_);
  HasChanged(Kind::kDeviceClass, classes_version_);
  if (!has_tree_) return;
  const NodeTable& nodes = handle_.nodes();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    for (const std::shared_ptr<const PodInfo>& pod : node.pods()) Charge(*pod, node);
  }
  for (const std::shared_ptr<const PodInfo>& pod : waiting) OnPending(*pod);
  RestoreHistory(without_history);
}

// After a start. A status is written with each change of what is used, so that is what was used
// since it was written.
void QuotaBook::RestoreHistory(const std::vector<QuotaId>& quotas) {
  for (const QuotaId quota : quotas) {
    const Object* const object =
        handle_.objects().Find(Kind::kClusterQuota, "", tree_.spec(quota).name);
    if (object == nullptr || object->uid() != tree_.spec(quota).uid) continue;
    const api::ClusterQuotaStatus& status = object->As<api::ClusterQuota>().status();
    if (!status.has_used_lately_time()) continue;
    const absl::Time at = absl::FromUnixSeconds(status.used_lately_time().seconds());
    for (int line = 0; line < static_cast<int>(tree_.lines().size()); ++line) {
      const auto told = status.used_lately().find(tree_.lines()[line].ToString());
      if (told == status.used_lately().end()) continue;
      const absl::StatusOr<Quantity> mean = Quantity::Parse(told->second.string());
      if (!mean.ok()) continue;
      const double unit = tree_.lines()[line].QuantityOf(1).AsDouble();
      tree_.RestoreHistory(quota, line, std::max(0.0, mean->AsDouble() / unit), at);
    }
  }
}

// What is used and wanted follows from what there is, not from what slices and classes said before:
// it is the same after a restart.
void QuotaBook::FollowDevices(const QuotaDevices::Difference& difference, bool other_classes) {
  const auto is_concerned = [&](const PodInfo& pod, const std::vector<ClaimCharge>& claims) {
    return requests_.MayAskForDevices(pod) &&
           (other_classes || requests_.Concerns(difference, pod, claims));
  };
  const NodeTable& nodes = handle_.nodes();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    const bool is_other_node = difference.nodes.contains(node.name());
    for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
      QuotaCharge* const charge = charges_.Find(*pod->identity());
      if (charge == nullptr || !(is_other_node || is_concerned(*pod, charge->claims))) continue;
      QuotaRequests::Amount now = requests_.AmountOf(*pod, charge->quota, &LabelsOf(node));
      if (now.amounts == charge->amounts && now.claims == charge->claims) continue;
      Leave(*charge);
      charge->amounts = std::move(now.amounts);
      charge->claims = std::move(now.claims);
      Join(*pod, *charge);
    }
  }
  for (const std::shared_ptr<const PodInfo>& pod : Waiting()) {
    const std::vector<ClaimCharge>& claims = wanted_.Find(*pod->identity())->amount.claims;
    if (is_concerned(*pod, claims)) OnPending(*pod);
  }
  taken_off_.clear();
  last_ = nullptr;
  promises_.LookAtAll();
}

std::vector<std::shared_ptr<const PodInfo>> QuotaBook::Waiting() const {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  wanted_.ForEach([&](const Identity&, const Wanted& wanted) {
    absl::StatusOr<std::shared_ptr<const PodInfo>> pod = PodInfo::Create(wanted.pod);
    if (pod.ok()) pods.push_back(*std::move(pod));
  });
  return pods;
}

// Whether objects of the kind have since it was asked last.
bool QuotaBook::HasChanged(Kind kind, std::optional<uint64_t>& version) const {
  const uint64_t now = handle_.objects().version(kind);
  return std::exchange(version, now) != now;
}

void QuotaBook::FollowNodes() {
  const NodeTable& nodes = handle_.nodes();
  const auto changes =
      nodes_version_.has_value() ? nodes.ChangesSince(*nodes_version_) : std::nullopt;
  nodes_version_ = nodes.version();
  const bool other_classes = HasChanged(Kind::kDeviceClass, classes_version_) && sees_devices();
  const bool other_slices = HasChanged(Kind::kResourceSlice, slices_version_);
  const auto counts = [](const RowChange& change) {
    return (change.aspects & (Aspect::kNodeAllocatable | Aspect::kNodeLabels)) != 0;
  };
  const bool nodes_count = !changes.has_value() || absl::c_any_of(*changes, counts);
  QuotaDevices::Difference difference;
  if (other_slices) difference = requests_.ReadDevices();
  if (difference.any || other_classes) FollowDevices(difference, other_classes);
  if (!difference.any && !nodes_count) return;
  std::vector<int64_t> capacity(tree_.lines().size(), 0);
  // What devices stand for is as much as the allocator can find.
  const auto is_known = [this](const QuotaLine& line) {
    return line.has_known_capacity() &&
           (line.counts != QuotaLine::Counts::kResource || !requests_.AreDevices(line.resource));
  };
  std::vector<bool> known;
  for (const QuotaLine& line : tree_.lines()) known.push_back(is_known(line));
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    PodAmounts all;
    all.resources = node.allocatable();
    all.gpu_milli = GpuMilliOf(node.allocatable());
    requests_.devices().AddGpus(node.name(), all);
    for (size_t i = 0; i < capacity.size(); ++i) {
      const QuotaLine& line = tree_.lines()[i];
      capacity[i] = known[i] ? SaturatingAdd(capacity[i],
                                             line.OfNode(LabelsOf(node), all, node.allowed_pods()))
                             : kUnknownCapacity;
    }
  }
  ++version_;
  for (size_t i = 0; i < capacity.size(); ++i) tree_.SetCapacity(static_cast<int>(i), capacity[i]);
  FindKindsOfNodes();
}

void QuotaBook::FindKindsOfNodes() {
  kinds_of_nodes_ = 1;
  kind_of_row_.clear();
  std::vector<QuotaLine> of_some_nodes;
  absl::c_copy_if(tree_.lines(), std::back_inserter(of_some_nodes),
                  [](const QuotaLine& line) { return line.of_some_nodes(); });
  if (of_some_nodes.empty()) return;
  const NodeTable& nodes = handle_.nodes();
  absl::flat_hash_map<std::vector<bool>, int> kinds;  // by which of the lines cover the node
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    std::vector<bool> covering;
    for (const QuotaLine& line : of_some_nodes) {
      covering.push_back(line.Covers(LabelsOf(nodes.node(row))));
    }
    const int next = static_cast<int>(kinds.size());
    kind_of_row_.push_back(kinds.try_emplace(std::move(covering), next).first->second);
  }
  kinds_of_nodes_ = std::max(1, static_cast<int>(kinds.size()));
}

QuotaBook::Sums QuotaBook::Leaving() const {
  Sums sums = leaving_;
  for (const auto& [where, amount] : claims_.leaving()) sums[where] += amount;
  return sums;
}

QuotaBook::WithoutNomination::WithoutNomination(QuotaBook& book, const PodInfo& pod)
    : book_(book), promise_(book.FindPromise(*pod.identity())) {
  if (promise_ != nullptr && !book.promises_.LeaveOut(*promise_)) promise_ = nullptr;
  if (promise_ != nullptr) what_if_.emplace(book);
}

QuotaBook::WithoutNomination::~WithoutNomination() {
  if (promise_ != nullptr) book_.promises_.PutBack(*promise_);
}

LineAmounts QuotaBook::RequestOfAll(absl::Span<const PodInfo* const> pods) const {
  LineAmounts sum;
  absl::flat_hash_set<std::string> counted;
  for (const PodInfo* const pod : pods) {
    const PodAmounts& request = RequestOf(*pod, [&](const std::string& claim) {
      return !IsUsedBeside(*pod, claim) && counted.insert(claim).second;
    });
    AddAmounts(tree_.ChargeOf(request, nullptr), sum);
  }
  return sum;
}

// --- Pods ---

void QuotaBook::Charge(const PodInfo& pod, const NodeInfo& node) {
  const std::optional<QuotaId> quota = QuotaOf(pod);
  if (!quota.has_value() || charges_.Contains(*pod.identity())) return;
  QuotaRequests::Amount amount = requests_.AmountOf(pod, *quota, &LabelsOf(node));
  const auto every_claim = [](const std::string&) { return true; };
  Enter(pod, {pod.identity(),
              node.name(),
              *quota,
              std::move(amount.amounts),
              std::move(amount.claims),
              {pod.priority(), WorkWeight(RequestOf(pod, every_claim).gpu_milli),
               WorkSavedAt(pod, handle_.clock().Now()), next_sequence_++},
              pod.deletion_time().has_value(),
              IsPreemptible(pod)});
  pod.requests().ForEach([&](ResourceId resource, int64_t amount) {
    int64_t& most = most_requested_[*quota][resource];
    most = std::max(most, amount);
  });
}

void QuotaBook::Enter(const PodInfo& pod, QuotaCharge entered) {
  QuotaCharge* const charge = charges_.FindOrAdd(pod.identity()).first;
  *charge = std::move(entered);
  by_quota_[charge->quota].emplace(charge->key, charge);
  Join(pod, *charge);
}

void QuotaBook::Join(const PodInfo& pod, const QuotaCharge& charge) {
  ++version_;
  tree_.Charge(charge.quota, charge.amounts);
  claims_.Join(pod, charge.quota, charge.claims, ClaimUser::Use::kRuns);
  if (charge.leaving) CountLeaving(charge, 1);
}

void QuotaBook::Leave(const QuotaCharge& charge) {
  ++version_;
  tree_.Release(charge.quota, charge.amounts);
  claims_.Leave(*charge.pod, charge.claims, ClaimUser::Use::kRuns);
  if (charge.leaving) CountLeaving(charge, -1);
}

// The pod that a plan has taken off last; it may be placed and taken off again before it is back.
void QuotaBook::KeepIfTakenOff(const PodInfo& pod, const QuotaCharge& charge) {
  const auto& gone = gone_in_plan_->pods;
  if (gone.empty() || gone.back().get() != &pod) return;
  if (gone.size() == 1) taken_off_.clear();  // of plans before
  taken_off_.try_emplace(&pod, charge);
}

int64_t QuotaBook::MostRequested(QuotaId quota, ResourceId resource) const {
  const auto found = most_requested_[quota].find(resource);
  return found == most_requested_[quota].end() ? 0 : found->second;
}

void QuotaBook::CountLeaving(const QuotaCharge& charge, int sign) {
  for (const auto& [line, amount] : charge.amounts) {
    const auto sum = leaving_.try_emplace({charge.quota, line}, 0).first;
    sum->second += __int128{sign} * amount;
    if (sum->second == 0) leaving_.erase(sum);
  }
}

void QuotaBook::OnAssigned(const PodInfo& pod, const NodeInfo& node) {
  if (!has_tree_) return;
  tree_.Advance(handle_.clock().Now());
  StopWanting(*pod.identity());
  if (std::optional<QuotaCharge> before = ChargeBefore(pod, node)) {
    Enter(pod, *std::move(before));
  } else {
    Charge(pod, node);
  }
}

// If the pod was there before, and differs in no more than whether it leaves.
std::optional<QuotaCharge> QuotaBook::ChargeBefore(const PodInfo& pod, const NodeInfo& node) {
  const std::shared_ptr<const PackedPod> last = std::exchange(last_, nullptr);
  std::optional<QuotaCharge> before;
  if (last != nullptr && (last->EvictedSince(*pod.packed()) != nullptr ||
                          pod.packed()->EvictedSince(*last) != nullptr)) {
    before = std::move(charge_of_last_);
    before->leaving = pod.deletion_time().has_value();
  } else if (!gone_in_plan_->pods.empty()) {
    const auto taken_off = taken_off_.find(&pod);
    if (taken_off != taken_off_.end()) before = taken_off->second;
  }
  if (before.has_value() && before->node != node.name()) before.reset();
  return before;
}

void QuotaBook::OnUnassigned(const PodInfo& pod) {
  if (!has_tree_) return;
  QuotaCharge* const charge = charges_.Find(*pod.identity());
  if (charge == nullptr) return;
  tree_.Advance(handle_.clock().Now());
  KeepIfTakenOff(pod, *charge);
  Leave(*charge);
  by_quota_[charge->quota].erase(charge->key);
  last_ = pod.packed();
  charge_of_last_ = std::move(*charge);
  charges_.Erase(*pod.identity());
  OnPending(pod);
}

bool QuotaBook::OnPending(const PodInfo& pod) {
  if (!has_tree_) return false;
  const std::optional<QuotaId> quota = QuotaOf(pod);
  const bool wants = pod.scheduling_gates().empty() && !pod.deletion_time().has_value() &&
                     quota.has_value() && !charges_.Contains(*pod.identity());
  if (!wants) return StopWanting(*pod.identity());
  QuotaRequests::Amount amount = requests_.AmountOf(pod, *quota, nullptr);
  const auto [wanted, is_new] = wanted_.FindOrAdd(pod.identity());
  if (!is_new) {
    if (wanted->amount == amount) return false;
    tree_.Unwant(wanted->amount.quota, wanted->amount.amounts);
    claims_.Leave(*pod.identity(), wanted->amount.claims, ClaimUser::Use::kWaits);
  }
  ++version_;
  *wanted = {.pod = pod.packed(), .amount = amount};
  tree_.Want(amount.quota, amount.amounts);
  claims_.Join(pod, amount.quota, amount.claims, ClaimUser::Use::kWaits);
  return true;
}

bool QuotaBook::OnGone(const PodInfo& pod) { return has_tree_ && StopWanting(*pod.identity()); }

// Returns whether it wanted something.
bool QuotaBook::StopWanting(UidRef pod) {
  const Wanted* const wanted = wanted_.Find(pod);
  if (wanted == nullptr) return false;
  ++version_;
  tree_.Unwant(wanted->amount.quota, wanted->amount.amounts);
  claims_.Leave(pod, wanted->amount.claims, ClaimUser::Use::kWaits);
  wanted_.Erase(pod);
  return true;
}

}  // namespace berth
