// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_inventory.h.
#include "plugins/gpu/gpu_inventory.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/api/object.h"
#include "berth/api/scheduling_koordinator_sh.pb.h"
#include "berth/api/value.h"

namespace berth {
namespace {

constexpr size_t kFirstMix = 16;  // pods to see before there is a mix

// "0-3"; nothing if it is written otherwise.
std::vector<int> ParseIndexes(absl::string_view text) {
  std::vector<int> cards;
  for (const absl::string_view word : absl::StrSplit(text, absl::ByAnyChar("-,"))) {
    int card;
    if (!absl::SimpleAtoi(word, &card) || card < 0 || card > 1023) return {};
    if (!absl::c_linear_search(cards, card)) cards.push_back(card);
  }
  return cards;
}

std::vector<int> ParseDeviceAllocated(absl::string_view text) {
  std::vector<int> cards;
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(text, kDeviceAllocatedAnnotation, problems);
  if (documents.empty()) return {};
  for (const Value device : documents[0].root().Find("gpu").elements()) {
    const std::optional<int64_t> minor = device.Find("minor").AsInt64();
    if (!minor.has_value() || *minor < 0 || *minor > 1023) return {};
    cards.push_back(static_cast<int>(*minor));
  }
  return cards;
}

// The positions of the cards, rising; one that is on no list is there all the same, since a pod has
// it.
CardSet Positions(GpuNode& node, const std::vector<int>& indexes) {
  const auto find = [&](int index) {
    // Cards are numbered from 0, mostly.
    const bool as_numbered = index >= 0 && index < static_cast<int>(node.cards.size()) &&
                             node.cards[index].index == index;
    if (as_numbered) return node.cards.begin() + index;
    return absl::c_lower_bound(node.cards, index,
                               [](const GpuCard& card, int i) { return card.index < i; });
  };
  for (const int index : indexes) {
    const auto at = find(index);
    if (at != node.cards.end() && at->index == index) continue;
    // It uses up one of those that may be in use, but takes no more pods.
    GpuCard gone;
    gone.index = index;
    gone.milli_free = 0;
    node.cards.insert(at, gone);
  }
  CardSet positions;
  for (const int index : indexes) {
    positions.push_back(static_cast<int>(find(index) - node.cards.begin()));
  }
  absl::c_sort(positions);
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace

void GpuDemand::Note(const PodInfo& pod, const GpuRequest& request) {
  // How much of a card memory alone means depends on the card.
  if (request.cards > 0 && request.milli == 0) return;
  if (!uids_.insert(pod.uid()).second) return;
  ++noted_;
  TypicalPod typical{.milli_cpu = pod.requests().Get(kCpu),
                     .milli_gpu = request.cards > 0 ? request.milli : 0,
                     .gpus = request.cards,
                     .models = request.models,
                     .count = 1};
  absl::c_sort(typical.models);
  seen_.emplace_back(pod.uid(), std::move(typical));
  if (seen_.size() > kWindow) {
    uids_.erase(seen_.front().first);
    seen_.pop_front();
  }
  if (++since_mix_ < std::max(kFirstMix, seen_.size() / 8)) return;
  since_mix_ = 0;
  mix_.clear();
  for (const auto& [uid, kind] : seen_) mix_.push_back(kind);
  ++version_;
}

bool GpuInventory::SetResources(const std::vector<std::string>& resources) {
  if (!resource_names_.empty()) return resource_names_ == resources;
  resource_names_ = resources;
  resources_.clear();
  for (const std::string& name : resources) resources_.push_back(ResourceIdOf(name));
  nodes_.Clear();
  free_slots_.clear();
  slots_ = 0;
  return true;
}

void GpuInventory::Sync(const NodeTable& nodes, Handle& handle) {
  CatchUpWithTable(nodes, handle.objects());
  const uint64_t devices = handle.objects().version(Kind::kDevice);
  if (std::exchange(devices_version_, devices) != devices) {
    for (NodeRow row = 0; row < nodes_.size(); ++row) {
      Node& node = nodes_.at(row);
      if (RefreshDevice(node, handle.objects())) MarkChanged(node);
    }
  }
  for (const Symbol name : changed_) {
    const NodeRow row = nodes.FindRow(name);
    if (row < 0) continue;
    Node& node = nodes_.at(row);
    if (node.row_version == nodes.row_version(row)) continue;
    node.row_version = nodes.row_version(row);
    Refresh(node, nodes.node(row), handle);
  }
  changed_.clear();
}

void GpuInventory::CatchUpWithTable(const NodeTable& nodes, const ObjectStore& objects) {
  nodes_.CatchUp(
      nodes, [&](const Node& node) { changed_.push_back(node.name); },
      [&](const Node& node) { free_slots_.push_back(node.entry.slot); },
      [&](Node& node, NodeRow row) { Add(node, nodes.node(row).name(), objects); });
}

void GpuInventory::Add(Node& node, Symbol name, const ObjectStore& objects) {
  if (free_slots_.empty()) free_slots_.push_back(slots_++);
  node.name = name;
  node.entry.slot = free_slots_.back();
  free_slots_.pop_back();
  RefreshDevice(node, objects);
  changed_.push_back(name);
}

// If the Device is another one, the node is read again.
bool GpuInventory::RefreshDevice(Node& node, const ObjectStore& objects) {
  const Object* const object = objects.Find(Kind::kDevice, "", node.name.view());
  std::shared_ptr<const api::Device> device;
  if (object != nullptr) device = object->Share<api::Device>();
  if (device == node.device) return false;
  node.device = std::move(device);
  node.spec = nullptr;
  return true;
}

void GpuInventory::MarkChanged(Node& node) {
  node.row_version = 0;
  changed_.push_back(node.name);
}

void GpuInventory::Refresh(Node& node, const NodeInfo& info, Handle& handle) {
  if (node.spec != info.shared_spec()) {
    node.spec = info.shared_spec();
    node.bare = GpuNode::Of(*node.spec, node.device.get(), resources_);
  }
  node.generation = info.generation();
  // Pods keep their order: what is known of one is found by going along.
  std::vector<PodUse> uses;
  uses.reserve(info.pods().size());
  size_t known = 0;
  for (const std::shared_ptr<const PodInfo>& pod : info.pods()) {
    size_t at = known;
    while (at < node.uses.size() && node.uses[at].pod != pod) ++at;
    if (at < node.uses.size()) {
      uses.push_back(std::move(node.uses[at]));
      known = at + 1;
      continue;
    }
    uses.push_back(UseOf(pod));
    demand_.Note(*pod, uses.back().request);
    Warn(uses.back(), handle);
    // The cluster shows the pod on its node: from now on its record counts.
    if (!pod->node_name().empty() && !uses.back().recorded.empty()) claims_.erase(pod->uid());
  }
  for (const PodUse& gone : node.uses) {
    if (gone.pod == nullptr) continue;  // it went along
    const auto same = [&](const PodUse& use) { return use.pod->uid() == gone.pod->uid(); };
    if (absl::c_any_of(uses, same)) continue;
    claims_.erase(gone.pod->uid());
    warned_.erase(gone.pod->uid());
  }
  node.uses = std::move(uses);
  const int slot = node.entry.slot;
  std::vector<const PodUse*> all;
  for (const PodUse& use : node.uses) all.push_back(&use);
  node.entry = Count(node.bare, info, all, "");
  node.entry.version = next_version_++;
  node.entry.slot = slot;
}

// Once a pod and trouble.
void GpuInventory::Warn(const PodUse& use, Handle& handle) {
  if (use.trouble.empty()) return;
  std::string& warned = warned_[use.pod->uid()];
  if (warned == use.trouble) return;
  warned = use.trouble;
  handle.Warn(*use.pod, "UnclearGpus", use.trouble);
}

GpuInventory::PodUse GpuInventory::UseOf(std::shared_ptr<const PodInfo> pod) const {
  PodUse use{std::move(pod), {}, {}, {}};
  use.request = ReadGpuRequest(*use.pod, resources_);
  const bool runs = !use.pod->node_name().empty();
  if (!use.request.problem.empty() && runs) {
    use.trouble =
        absl::StrCat("runs, though its request for GPUs makes no sense: ", use.request.problem);
    use.request = HeldDespiteProblem(*use.pod, resources_);
  }
  std::optional<absl::string_view> text = use.pod->annotation(kGpuIndexAnnotation);
  absl::string_view name = kGpuIndexAnnotation;
  if (text.has_value()) {
    use.recorded = ParseIndexes(*text);
  } else if ((text = use.pod->annotation(kDeviceAllocatedAnnotation)).has_value()) {
    name = kDeviceAllocatedAnnotation;
    use.recorded = ParseDeviceAllocated(*text);
  }
  if (!text.has_value() || !runs) return use;
  if (use.recorded.empty() && use.request.cards > 0) {
    use.trouble = absl::StrCat(name, ": \"", *text, "\" names no cards; it is counted on those ",
                               "that would be chosen for it");
  } else if (!use.recorded.empty() && use.request.cards == 0 && !use.trouble.empty()) {
    // What it asked for is not known; the cards are not for others.
    use.request.cards = static_cast<int>(use.recorded.size());
    use.request.milli = kMilliPerGpu;
  } else if (use.request.cards > 0 &&
             use.recorded.size() != static_cast<size_t>(use.request.cards)) {
    use.trouble = absl::StrCat(name, ": \"", *text, "\" names ", use.recorded.size(),
                               " cards, and it asks for ", use.request.cards);
  }
  return use;
}

GpuInventory::Entry GpuInventory::Count(const GpuNode& bare, const NodeInfo& node,
                                        absl::Span<const PodUse* const> uses,
                                        absl::string_view without) const {
  Entry entry;
  entry.node = bare;
  entry.all_milli_cpu = node.allocatable().Get(kCpu);
  entry.milli_cpu = entry.all_milli_cpu - node.requested().Get(kCpu);
  std::vector<GpuRequest> unknown;
  for (size_t i = 0; i < uses.size(); ++i) {
    const GpuRequest& request = uses[i]->request;
    if (request.cards == 0) continue;
    const PodInfo& pod = *node.pods()[i];
    if (!without.empty() && pod.uid() == without) continue;
    const auto claim = claims_.find(pod.uid());
    // What an unbound pod brought with it is no record.
    const std::vector<int>* indexes = claim != claims_.end()    ? &claim->second
                                      : pod.node_name().empty() ? nullptr
                                                                : &uses[i]->recorded;
    if (indexes == nullptr || indexes->empty()) {
      unknown.push_back(request);
      continue;
    }
    const CardSet taken = Positions(entry.node, *indexes);
    entry.node.Take(request, taken);
    // A record that names too few cards.
    if (static_cast<int>(taken.size()) >= request.cards) continue;
    unknown.push_back(request);
    unknown.back().cards -= static_cast<int>(taken.size());
  }
  for (const GpuRequest& request : unknown) {
    const CardSet cards = entry.node.Choose(request, CardOrder::kBinpack);
    entry.node.Take(request, cards);
    if (cards.empty()) entry.node.homeless += request.cards;
  }
  return entry;
}

const GpuInventory::Entry* GpuInventory::Find(const NodeInfo& node) const {
  const Node* const known = nodes_.Find(node.name());
  if (known == nullptr || known->generation != node.generation()) return nullptr;
  return &known->entry;
}

GpuInventory::Entry GpuInventory::At(const NodeInfo& node, absl::string_view without) const {
  if (const Entry* const known = Find(node); known != nullptr && without.empty()) return *known;
  const Node* const known = nodes_.Find(node.name());
  // As in Refresh(), what is known of a pod is found by going along.
  std::deque<PodUse> read;
  std::vector<const PodUse*> uses;
  size_t next = 0;
  for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
    size_t at = next;
    while (known != nullptr && at < known->uses.size() && known->uses[at].pod != pod) ++at;
    if (known != nullptr && at < known->uses.size()) {
      uses.push_back(&known->uses[at]);
      next = at + 1;
    } else {
      uses.push_back(&read.emplace_back(UseOf(pod)));
    }
  }
  const bool same_spec = known != nullptr && known->spec == node.shared_spec();
  const api::Device* const device = known == nullptr ? nullptr : known->device.get();
  return Count(same_spec ? known->bare : GpuNode::Of(node.spec(), device, resources_), node, uses,
               without);
}

void GpuInventory::MarkChanged(absl::string_view node_name) {
  const std::optional<Symbol> name = Symbol::Find(node_name);
  Node* const node = name.has_value() ? nodes_.Find(*name) : nullptr;
  if (node != nullptr) MarkChanged(*node);
}

void GpuInventory::Claim(const PodInfo& pod, absl::string_view node_name, std::vector<int> cards) {
  claims_[pod.uid()] = std::move(cards);
  MarkChanged(node_name);
}

void GpuInventory::Release(const PodInfo& pod, absl::string_view node_name) {
  if (claims_.erase(pod.uid()) > 0) MarkChanged(node_name);
}

void GpuInventory::AddPolicy(absl::string_view profile, const GpuPolicy* policy) {
  policies_[std::string(profile)].push_back(policy);
}

void GpuInventory::RemovePolicy(const GpuPolicy* policy) {
  for (auto& [profile, policies] : policies_) std::erase(policies, policy);
}

const GpuPolicy* GpuInventory::PolicyOf(absl::string_view profile) const {
  const auto it = policies_.find(profile);
  return it == policies_.end() || it->second.empty() ? nullptr : it->second.front();
}

}  // namespace berth
