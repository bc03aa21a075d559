// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_book.h.
#include "plugins/capacity_scheduling/quota_book.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "berth/api/amounts.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/gpu/request_marks.h"
#include "plugins/capacity_scheduling/claimed_devices.h"

namespace berth {
namespace {

constexpr size_t kMostShapes = 4096;  // that are kept

// More than any quota says.
constexpr int64_t kUnknownCapacity = int64_t{1} << 40;

bool AsksForGpuParts(const PodInfo& pod) {
  return absl::c_any_of(kGpuRequestMarks,
                        [&](absl::string_view mark) { return pod.annotation(mark).has_value(); });
}

bool IsPreemptible(const PodInfo& pod) {
  const Symbol* const label = pod.labels().Find(kPreemptibleLabel);
  return label == nullptr || label->view() != "false";
}

}  // namespace

// --- Quotas ---

void QuotaBook::Refresh() {
  const uint64_t classes = behind_resources_.version();
  const bool counts_others = std::exchange(charged_by_, classes) != classes;
  bool is_new = ReadTree();
  if (has_tree_ && counts_others && !is_new) {
    Rebuild(specs_);
    is_new = true;
  }
  if (is_new) nominator_version_.reset();
  if (!has_tree_) return;
  tree_.Advance(handle_.clock().Now());
  FollowNodes();
  FollowNominations();
}

// Returns whether the tree was built anew.
bool QuotaBook::ReadTree() {
  const ObjectStore& objects = handle_.objects();
  const uint64_t elastic = objects.version(Kind::kElasticQuota);
  const uint64_t cluster = objects.version(Kind::kClusterQuota);
  const uint64_t namespaces = objects.version(Kind::kNamespace);
  if (has_tree_ && namespaces != namespace_version_) {
    belongings_.clear();
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
  naming_.clear();
  selecting_.clear();
  elastic_.clear();
  elastic_by_name_.clear();
  belongings_.clear();
  for (QuotaId quota = 1; quota < tree_.size(); ++quota) {
    const QuotaSpec& spec = tree_.spec(quota);
    if (spec.is_elastic_quota) {
      for (const Symbol name : spec.namespaces) elastic_.try_emplace(name, quota);
      elastic_by_name_.try_emplace(Symbol::Intern(spec.name.substr(spec.name.find('/') + 1)),
                                   quota);
      continue;
    }
    for (const Symbol name : spec.namespaces) naming_[name].push_back(quota);
    if (spec.namespace_selector.has_value() || (spec.namespaces.empty() && spec.selects_pods())) {
      selecting_.push_back(quota);
    }
  }
  charges_ = {};
  taken_off_.clear();
  last_ = nullptr;
  promised_ = {};
  promised_of_.assign(tree_.size(), {});
  promised_amounts_.clear();
  promised_on_.clear();
  const std::vector<std::shared_ptr<const PodInfo>> waiting = Waiting();
  wanted_ = {};
  by_quota_.assign(tree_.size(), {});
  leaving_.clear();
  claims_.Clear();
  most_requested_.assign(tree_.size(), {});
  nodes_version_.reset();
  ReadDevices();  // lines by attribute are charged by these
  shapes_.clear();
  HasChanged(Kind::kResourceSlice, slices_version_);
  HasChanged(Kind::kDeviceClass, classes_version_);
  if (!has_tree_) return;
  const NodeTable& nodes = handle_.nodes();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    for (const std::shared_ptr<const PodInfo>& pod : node.pods()) Charge(*pod, node);
  }
  for (const std::shared_ptr<const PodInfo>& pod : waiting) OnPending(*pod);
}

QuotaDevices::Difference QuotaBook::ReadDevices() {
  std::vector<const Object*> slices;
  if (sees_devices()) slices = handle_.objects().List(Kind::kResourceSlice);
  QuotaDevices::Difference difference = devices_.Read(slices, tree_.lines());
  if (difference.in_selected) shapes_.clear();  // they may ask for other devices now
  return difference;
}

// What is used and wanted follows from what there is, not from what slices and classes said before:
// it is the same after a restart.
void QuotaBook::FollowDevices(const QuotaDevices::Difference& difference, bool other_classes) {
  const auto is_concerned = [&](const PodInfo& pod, const std::vector<ClaimCharge>& claims) {
    const bool may_ask = !pod.spec().resource_claims().empty() || behind_resources_.BackAnyOf(pod);
    return may_ask && (other_classes || Concerns(difference, pod, claims));
  };
  const NodeTable& nodes = handle_.nodes();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    const bool is_other_node = difference.nodes.contains(node.name());
    for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
      QuotaCharge* const charge = charges_.Find(*pod->identity());
      if (charge == nullptr || !(is_other_node || is_concerned(*pod, charge->claims))) continue;
      Amount now = AmountOf(*pod, charge->quota, &LabelsOf(node));
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
  nominator_version_.reset();
}

std::vector<std::shared_ptr<const PodInfo>> QuotaBook::Waiting() const {
  std::vector<std::shared_ptr<const PodInfo>> pods;
  wanted_.ForEach([&](const Identity&, const Wanted& wanted) {
    absl::StatusOr<std::shared_ptr<const PodInfo>> pod = PodInfo::Create(wanted.pod);
    if (pod.ok()) pods.push_back(*std::move(pod));
  });
  return pods;
}

const api::ResourceClaim* QuotaBook::FindClaim(absl::string_view key) const {
  const size_t slash = key.find('/');
  return handle_.objects().Find<api::ResourceClaim>(key.substr(0, slash), key.substr(slash + 1));
}

bool QuotaBook::Concerns(const QuotaDevices::Difference& difference, const PodInfo& pod,
                         const std::vector<ClaimCharge>& claims) const {
  if (difference.in_selected && behind_resources_.BackAnyOf(pod)) return true;
  return absl::c_any_of(claims, [&](const ClaimCharge& charge) {
    const api::ResourceClaim* const claim = FindClaim(charge.claim);
    if (claim == nullptr || !claim->status().has_allocation()) return difference.in_selected;
    const auto& results = claim->status().allocation().devices().results();
    return !difference.devices.empty() && absl::c_any_of(results, [&](const auto& result) {
      return difference.devices.contains(
          DeviceId::Of(result.driver(), result.pool(), result.device()));
    });
  });
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
  if (other_slices) difference = ReadDevices();
  if (difference.any || other_classes) FollowDevices(difference, other_classes);
  if (!difference.any && !nodes_count) return;
  std::vector<int64_t> capacity(tree_.lines().size(), 0);
  // What devices stand for is as much as the allocator can find.
  const auto is_known = [this](const QuotaLine& line) {
    return line.has_known_capacity() &&
           (line.counts != QuotaLine::Counts::kResource || !behind_resources_.Back(line.resource));
  };
  std::vector<bool> known;
  for (const QuotaLine& line : tree_.lines()) known.push_back(is_known(line));
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const NodeInfo& node = nodes.node(row);
    PodAmounts all;
    all.resources = node.allocatable();
    all.gpu_milli = GpuMilliOf(node.allocatable());
    devices_.AddGpus(node.name(), all);
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

// Those on nodes whose nominations changed.
void QuotaBook::FollowNominations() {
  const Nominator& nominator = handle_.nominator();
  if (nominator_version_ == nominator.version()) return;
  const auto changes = nominator_version_.has_value() ? nominator.ChangesSince(*nominator_version_)
                                                      : std::optional<absl::Span<const Symbol>>();
  nominator_version_ = nominator.version();
  ++version_;
  if (!changes.has_value()) return FollowAllNominations();
  for (const Symbol node : *changes) {
    const auto here = promised_on_.find(node);
    if (here == promised_on_.end()) continue;
    for (const IdentityPtr& pod : here->second) {
      const QuotaPromise& promise = *promised_.Find(*pod);
      std::map<int32_t, int>& of_quota = promised_of_[promise.charge.quota];
      const auto of_priority = of_quota.find(promise.charge.key.priority);
      if (--of_priority->second == 0) of_quota.erase(of_priority);
      MovePromise(promise, -1);
      promised_.Erase(*pod);
    }
    promised_on_.erase(here);
  }
  for (const Symbol node : *changes) {
    if (promised_on_.contains(node)) continue;  // a node once for each change
    for (const auto& pod : nominator.NominatedPods(node)) Promise(pod, node);
  }
}

void QuotaBook::FollowAllNominations() {
  ForEachPromise([this](const QuotaPromise& promise) { MovePromise(promise, -1); });
  promised_ = {};
  promised_of_.assign(tree_.size(), {});
  promised_on_.clear();
  const Nominator& nominator = handle_.nominator();
  std::vector<Symbol> nodes;
  nominator.ForEach([&](const PodInfo&, absl::string_view node_name) {
    const Symbol node = Symbol::Intern(node_name);
    if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
  });
  for (const Symbol node : nodes) {
    for (const auto& pod : nominator.NominatedPods(node)) Promise(pod, node);
  }
}

void QuotaBook::Promise(const std::shared_ptr<const PodInfo>& nominated, Symbol node_name) {
  const PodInfo& pod = *nominated;
  const NodeTable& nodes = handle_.nodes();
  const NodeRow row = nodes.FindRow(node_name);
  const std::optional<QuotaId> quota = QuotaOf(pod);
  if (!quota.has_value()) return;
  if (row < 0) {  // not seen yet, perhaps: all are looked at again
    nominator_version_.reset();
    return;
  }
  const auto [promise, is_new] = promised_.FindOrAdd(pod.identity());
  if (!is_new) return;
  Amount amount = AmountOf(pod, *quota, &LabelsOf(nodes.node(row)));
  promise->pod = nominated;
  promise->charge = {.pod = pod.identity(),
                     .node = node_name,
                     .quota = *quota,
                     .amounts = std::move(amount.amounts),
                     .claims = std::move(amount.claims),
                     .key = {.priority = pod.priority()},
                     .preemptible = IsPreemptible(pod)};
  promise->order = handle_.nominator().OrderOf(pod);
  ++promised_of_[*quota][pod.priority()];
  promised_on_[node_name].push_back(pod.identity());
  MovePromise(*promise, 1);
}

void QuotaBook::MovePromise(const QuotaPromise& promise, int sign) {
  const QuotaCharge& charge = promise.charge;
  for (const auto& [line, amount] : charge.amounts) {
    for (QuotaId quota = charge.quota; quota != -1; quota = tree_.parent(quota)) {
      promised_amounts_[{quota, line}] += __int128{sign} * amount;
    }
  }
  if (sign > 0) {
    tree_.Charge(charge.quota, charge.amounts);
    JoinClaims(*promise.pod, charge.quota, charge.claims, ClaimUser::Use::kNominated);
  } else {
    tree_.Release(charge.quota, charge.amounts);
    LeaveClaims(*charge.pod, charge.claims, ClaimUser::Use::kNominated);
  }
}

QuotaTree::Shortage QuotaBook::WithNominated(QuotaTree::Shortage shortage) const {
  const auto promised = promised_amounts_.find({shortage.quota, shortage.line});
  if (promised != promised_amounts_.end()) {
    shortage.nominated = std::min(promised->second, shortage.used);
  }
  return shortage;
}

QuotaBook::Sums QuotaBook::Promised() const {
  Sums sums;
  const auto add = [&](QuotaId quota, const LineAmounts& amounts) {
    for (const auto& [line, amount] : amounts) sums[{quota, line}] += amount;
  };
  ForEachPromise([&](const QuotaPromise& promise) {
    if (without_.contains(&promise)) return;
    add(promise.charge.quota, promise.charge.amounts);
    for (const ClaimCharge& charge : promise.charge.claims) {
      const ClaimUser* const first =
          claims_.FirstUser(charge.claim, [](const ClaimUser&) { return true; });
      if (first->use == ClaimUser::Use::kNominated && first->pod->uid() == promise.pod->uid()) {
        add(first->quota, first->amounts);
      }
    }
  });
  return sums;
}

QuotaBook::Sums QuotaBook::Leaving() const {
  Sums sums = leaving_;
  for (const auto& [where, amount] : claims_.leaving()) sums[where] += amount;
  return sums;
}

QuotaBook::WithoutNomination::WithoutNomination(QuotaBook& book, const PodInfo& pod)
    : book_(book), promise_(book.FindPromise(*pod.identity())) {
  if (promise_ != nullptr && !book.without_.insert(promise_).second) promise_ = nullptr;
  if (promise_ == nullptr) return;
  what_if_.emplace(book);
  book.MovePromise(*promise_, -1);
}

QuotaBook::WithoutNomination::~WithoutNomination() {
  if (promise_ == nullptr) return;
  book_.without_.erase(promise_);
  book_.MovePromise(*promise_, 1);
}

// --- Whose pods ---

bool QuotaBook::RequestsByShape(const PodInfo& pod) {
  return pod.spec().resource_claims().empty() && !AsksForGpuParts(pod);
}

const PodAmounts& QuotaBook::RequestOf(const PodInfo& pod, CountsClaim counts) const {
  if (!RequestsByShape(pod)) {
    with_annotations_ = WithoutClaims(pod);
    if (!pod.spec().resource_claims().empty()) {
      with_annotations_.Add(DevicesClaimedBy(pod, handle_.objects(), devices_, counts).amounts);
    }
    return with_annotations_;
  }
  const uint64_t counted_by = behind_resources_.version();
  if (std::exchange(shapes_by_, counted_by) != counted_by) shapes_.clear();
  const std::shared_ptr<const PodShape>& shape = pod.packed()->shape();
  const auto known = shapes_.find(shape.get());
  if (known != shapes_.end()) return known->second.amounts;
  if (shapes_.size() >= kMostShapes) shapes_.clear();
  Shape& added = shapes_[shape.get()];
  added = {shape, WithoutClaims(pod)};
  return added.amounts;
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

PodAmounts QuotaBook::OpenClaimsOf(const PodInfo& pod, CountsClaim counts) const {
  if (pod.spec().resource_claims().empty()) return {.pods = 0};
  const ObjectStore& objects = handle_.objects();
  const auto is_open = [&](const std::string& claim) {
    return !FindClaim(claim)->status().has_allocation() && counts(claim);
  };
  return DevicesClaimedBy(pod, objects, devices_, is_open).amounts;
}

std::shared_ptr<const DeviceLimitsOfPod> QuotaBook::DeviceLimitsOf(const PodInfo& pod) const {
  if (!has_tree_ || pod.spec().resource_claims().empty()) return nullptr;
  const std::optional<QuotaId> quota = QuotaOf(pod);
  if (!quota.has_value()) return nullptr;
  const PodAmounts claims = OpenClaimsOf(pod);
  if (claims.possible.empty() && claims.possible_gpu_milli == 0) return nullptr;
  const PodAmounts& request = RequestOf(pod);
  const bool only_within_min = !IsPreemptible(pod);
  auto limits = std::make_shared<DeviceLimitsOfPod>();
  for (int i = 0; i < static_cast<int>(tree_.lines().size()); ++i) {
    const QuotaLine& line = tree_.lines()[i];
    if (claims.PossibleOf(line) == 0 || !tree_.Concerns(*quota, i)) continue;
    const int64_t asked = claims.Of(line), all = request.Of(line);
    __int128 left = tree_.WithinBounds(*quota, i);
    if (only_within_min) left = std::min(left, tree_.guarantee(*quota, i) - tree_.used(*quota, i));
    left -= all - asked;
    if (asked <= left) continue;
    const LineAmounts charge = {{i, all}};
    const auto shortage = tree_.FindShortage(*quota, charge);
    const auto beyond = BeyondMin(pod, *quota, charge);
    const auto left_to_claims = static_cast<int64_t>(std::max<__int128>(0, left));
    limits->limits.push_back(
        {.limit = {.amount_of =
                       [this, line](const DeviceId& device, const api::DeviceClass& of) {
                         return devices_.ChargeOf(device, of, line);
                       },
                   .left = left_to_claims},
         .covers = [line](const LabelSet& node) { return !line.mark.empty() || line.Covers(node); },
         .why = shortage.has_value() ? ToString(*shortage)
                : beyond.has_value() ? BeyondMinToString(*beyond)
                                     : ""});
    absl::StrAppend(&limits->text, line.ToString(), " ", left_to_claims, "\n");
  }
  return limits->limits.empty() ? nullptr : limits;
}

QuotaBook::Amount QuotaBook::AmountOf(const PodInfo& pod, QuotaId quota,
                                      const LabelSet* node) const {
  const auto no_claim = [](const std::string&) { return false; };
  Amount amount{quota, tree_.ChargeOf(RequestOf(pod, no_claim), node), {}};
  if (pod.spec().resource_claims().empty()) return amount;
  const ObjectStore& objects = handle_.objects();
  ForEachClaim(pod, objects, [&](const std::string& claim, const api::ResourceClaim* object) {
    if (object == nullptr) return;
    amount.claims.push_back({claim, tree_.ChargeOf(DevicesOf(*object, objects, devices_), node)});
  });
  return amount;
}

void QuotaBook::JoinClaims(const PodInfo& pod, QuotaId quota,
                           const std::vector<ClaimCharge>& claims, ClaimUser::Use use) {
  for (const ClaimCharge& charge : claims) {
    claims_.Join(charge.claim, {pod.identity(), use, pod.creation_time(), quota,
                                pod.deletion_time().has_value(), charge.amounts});
  }
}

void QuotaBook::LeaveClaims(UidRef pod, const std::vector<ClaimCharge>& claims,
                            ClaimUser::Use use) {
  for (const ClaimCharge& charge : claims) claims_.Leave(charge.claim, pod, use);
}

PodAmounts QuotaBook::WithoutClaims(const PodInfo& pod) const {
  PodAmounts amounts = AmountsOf(pod);
  behind_resources_.Add(devices_, amounts);
  return amounts;
}

std::optional<QuotaId> QuotaBook::QuotaOf(const PodInfo& pod) const {
  const std::shared_ptr<const void> spec = pod.shared_spec();
  const auto known = belongings_.find(spec.get());
  if (known != belongings_.end()) return known->second.quota;
  if (belongings_.size() >= kMostShapes) belongings_.clear();
  return (belongings_[spec.get()] = {spec, FindQuota(pod)}).quota;
}

std::optional<QuotaId> QuotaBook::FindQuota(const PodInfo& pod) const {
  if (const Symbol* const name = pod.labels().Find(kQuotaLabel)) {
    if (const std::optional<QuotaId> quota = tree_.Find(name->view())) return quota;
  }
  for (const absl::string_view label : {kKoordinatorQuotaLabel, kAlibabaQuotaLabel}) {
    const Symbol* const name = pod.labels().Find(label);
    if (name == nullptr) continue;
    const auto elastic = elastic_by_name_.find(*name);
    if (elastic != elastic_by_name_.end()) return elastic->second;
    if (const std::optional<QuotaId> quota = tree_.Find(name->view())) return quota;
  }
  const Symbol own = pod.namespace_name();
  std::optional<QuotaId> oldest;
  const auto consider = [&](QuotaId quota) {
    const QuotaSpec& spec = tree_.spec(quota);
    if (spec.pod_selector.has_value() && !spec.pod_selector->Matches(pod.labels())) return;
    if (!oldest.has_value() || quota < *oldest) oldest = quota;
  };
  if (const auto named = naming_.find(own); named != naming_.end()) {
    for (const QuotaId quota : named->second) consider(quota);
  }
  for (const QuotaId quota : selecting_) {
    const std::optional<LabelSelector>& selector = tree_.spec(quota).namespace_selector;
    if (selector.has_value()) {
      const LabelSet* const labels = handle_.objects().NamespaceLabels(own);
      if (!selector->Matches(labels == nullptr ? LabelSet() : *labels)) continue;
    }
    consider(quota);
  }
  if (oldest.has_value()) return oldest;
  const auto elastic = elastic_.find(own);
  return elastic == elastic_.end() ? std::nullopt : std::optional<QuotaId>(elastic->second);
}

std::optional<QuotaTree::Shortage> QuotaBook::BeyondMin(const PodInfo& pod, QuotaId quota,
                                                        const LineAmounts& charge,
                                                        const LineAmounts& avoidable) const {
  if (IsPreemptible(pod)) return std::nullopt;
  for (const auto& [line, most] : charge) {
    const int64_t amount = most - AmountOfLine(avoidable, line);
    if (amount == 0) continue;
    const __int128 used = tree_.used(quota, line), min = tree_.guarantee(quota, line);
    if (!tree_.Concerns(quota, line) || used + amount <= min) continue;
    return QuotaTree::Shortage{
        .quota = quota, .line = line, .needed = amount, .used = used, .limit = min};
  }
  return std::nullopt;
}

std::string QuotaBook::BeyondMinToString(const QuotaTree::Shortage& beyond_min) const {
  const QuotaLine& line = tree_.lines()[beyond_min.line];
  const auto text = [&](__int128 amount) {
    return line.QuantityOf(static_cast<int64_t>(amount)).ToString();
  };
  return absl::StrCat(tree_.spec(beyond_min.quota).subject(), " uses ", text(beyond_min.used),
                      " of its min, ", text(beyond_min.limit), " ", line.ToString(), "; needs ",
                      text(beyond_min.needed), ", and the pod is not preemptible");
}

// --- Pods ---

void QuotaBook::Charge(const PodInfo& pod, const NodeInfo& node) {
  const std::optional<QuotaId> quota = QuotaOf(pod);
  if (!quota.has_value() || charges_.Contains(*pod.identity())) return;
  Amount amount = AmountOf(pod, *quota, &LabelsOf(node));
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
  JoinClaims(pod, charge.quota, charge.claims, ClaimUser::Use::kRuns);
  if (charge.leaving) CountLeaving(charge, 1);
}

void QuotaBook::Leave(const QuotaCharge& charge) {
  ++version_;
  tree_.Release(charge.quota, charge.amounts);
  LeaveClaims(*charge.pod, charge.claims, ClaimUser::Use::kRuns);
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
  Amount amount = AmountOf(pod, *quota, nullptr);
  const auto [wanted, is_new] = wanted_.FindOrAdd(pod.identity());
  if (!is_new) {
    if (wanted->amount == amount) return false;
    tree_.Unwant(wanted->amount.quota, wanted->amount.amounts);
    LeaveClaims(*pod.identity(), wanted->amount.claims, ClaimUser::Use::kWaits);
  }
  ++version_;
  *wanted = {.pod = pod.packed(), .amount = amount};
  tree_.Want(amount.quota, amount.amounts);
  JoinClaims(pod, amount.quota, amount.claims, ClaimUser::Use::kWaits);
  return true;
}

bool QuotaBook::OnGone(const PodInfo& pod) { return has_tree_ && StopWanting(*pod.identity()); }

// Returns whether it wanted something.
bool QuotaBook::StopWanting(UidRef pod) {
  const Wanted* const wanted = wanted_.Find(pod);
  if (wanted == nullptr) return false;
  ++version_;
  tree_.Unwant(wanted->amount.quota, wanted->amount.amounts);
  LeaveClaims(pod, wanted->amount.claims, ClaimUser::Use::kWaits);
  wanted_.Erase(pod);
  return true;
}

}  // namespace berth
