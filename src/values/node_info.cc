// SPDX-License-Identifier: Apache-2.0
// NodeSpec and NodeInfo.
#include "berth/framework/node_info.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"
#include "values/pod_requests.h"

namespace berth {
namespace {

uint64_t NextGeneration() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

void Swap(std::vector<std::shared_ptr<const PodInfo>>& pods, const PodInfo* before,
          const std::shared_ptr<const PodInfo>& after) {
  for (auto& pod : pods) {
    if (pod.get() == before) pod = after;
  }
}

// Order is kept, since it decides between equal candidates later on.
bool Erase(std::vector<std::shared_ptr<const PodInfo>>& pods, const PodInfo* pod) {
  const auto it = std::find_if(pods.begin(), pods.end(),
                               [pod](const auto& candidate) { return candidate.get() == pod; });
  if (it == pods.end()) return false;
  pods.erase(it);
  return true;
}

// Into `chosen`, which are those of `pods` that are such, in their order: the one at `position`.
template <class IsSuch>
void InsertAmong(std::vector<std::shared_ptr<const PodInfo>>& chosen,
                 const std::vector<std::shared_ptr<const PodInfo>>& pods, size_t position,
                 IsSuch is_such) {
  const auto behind = std::count_if(pods.begin() + static_cast<std::ptrdiff_t>(position) + 1,
                                    pods.end(), [&](const auto& pod) { return is_such(*pod); });
  chosen.insert(chosen.end() - behind, pods[position]);
}

bool HasRequiredAntiAffinity(const PodInfo& pod) {
  return !pod.required_anti_affinity_terms().empty();
}

bool HasAffinityTerms(const PodInfo& pod) {
  return !pod.required_affinity_terms().empty() || !pod.required_anti_affinity_terms().empty() ||
         !pod.preferred_affinity_terms().empty() || !pod.preferred_anti_affinity_terms().empty();
}

// The lowest priority of these pods, which have none below `least`.
int32_t LowestOf(absl::Span<const std::shared_ptr<const PodInfo>> pods, int32_t least) {
  int32_t lowest = NodeInfo::kNoPriority;
  for (const auto& pod : pods) {
    lowest = std::min(lowest, pod->priority());
    if (lowest == least) break;  // as of the first one, mostly
  }
  return lowest;
}

std::shared_ptr<const NodeSpec> NameOnly(Symbol name) {
  auto spec = std::make_shared<NodeSpec>();
  spec->name = name;
  return spec;
}

std::vector<NodeImage> ParseImages(const api::NodeStatus& status) {
  std::vector<NodeImage> images;
  absl::flat_hash_set<Symbol> seen;
  for (const api::ContainerImage& image : status.images()) {
    for (const std::string& text : image.names()) {
      const Symbol name = Symbol::Intern(text);
      if (seen.insert(name).second) images.push_back({name, image.size_bytes()});
    }
  }
  return images;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const NodeSpec>> NodeSpec::Create(
    std::shared_ptr<const api::Node> object) {
  BERTH_CHECK(object != nullptr);
  if (object->metadata().name().empty()) {
    return absl::InvalidArgumentError("metadata.name: Required value");
  }
  auto spec = std::make_shared<NodeSpec>();
  spec->name = Symbol::Intern(object->metadata().name());
  spec->labels = LabelSet::FromMap(object->metadata().labels());
  spec->taints = TaintList::FromProto(object->spec().taints());
  spec->unschedulable = object->spec().unschedulable();
  absl::StatusOr<ResourceVector> allocatable =
      ParseResources(object->status().allocatable(), &spec->allowed_pods);
  if (!allocatable.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("status.allocatable.", allocatable.status().message()));
  }
  spec->allocatable = SchedulableResources(*allocatable);
  spec->images = ParseImages(object->status());
  spec->object = std::move(object);
  return spec;
}

NodeInfo::NodeInfo(Symbol name) : spec_(NameOnly(name)), generation_(NextGeneration()) {}

NodeInfo::NodeInfo(std::shared_ptr<const NodeSpec> spec)
    : spec_(std::move(spec)), generation_(NextGeneration()), arrival_(generation_) {}

void NodeInfo::Touch() { generation_ = NextGeneration(); }

// After Touch().
void NodeInfo::NoteEdit(size_t position) {
  while (!edits_.empty() && edits_.back().position >= position) edits_.pop_back();
  if (edits_.size() == 4) {
    forgotten_ = edits_.front().generation;
    edits_.erase(edits_.begin());
  }
  edits_.push_back({generation_, position});
}

size_t NodeInfo::PodsUnchangedSince(uint64_t generation) const {
  if (generation < forgotten_) return 0;
  for (const Edit& edit : edits_) {
    if (edit.generation > generation) return edit.position;
  }
  return pods_.size();
}

void NodeInfo::SetSpec(std::shared_ptr<const NodeSpec> spec) {
  BERTH_DCHECK(spec->name == name());
  spec_ = std::move(spec);
  Touch();
  if (arrival_ == 0) arrival_ = generation_;
}

void NodeInfo::ClearSpec() {
  spec_ = NameOnly(name());
  arrival_ = 0;
  Touch();
}

void NodeInfo::InsertPod(size_t position, std::shared_ptr<const PodInfo> inserted) {
  const auto at =
      pods_.insert(pods_.begin() + static_cast<std::ptrdiff_t>(position), std::move(inserted));
  const PodInfo& pod = **at;
  requested_.Add(pod.requests());
  nonzero_requested_.Add(pod.nonzero_requests());
  lowest_priority_ = std::min(lowest_priority_, pod.priority());
  if (!pod.host_ports().empty()) {
    used_ports_.insert(used_ports_.end() - PortsBehind(position), pod.host_ports().begin(),
                       pod.host_ports().end());
  }
  for (const std::string& claim : pod.claims()) {
    ++claim_uses_[absl::StrCat(pod.namespace_name().view(), "/", claim)];
  }
  if (HasAffinityTerms(pod)) {
    InsertAmong(pods_with_affinity_, pods_, position, HasAffinityTerms);
    if (HasRequiredAntiAffinity(pod)) {
      InsertAmong(pods_with_required_anti_affinity_, pods_, position, HasRequiredAntiAffinity);
    }
  }
  Touch();
  NoteEdit(position);
}

// Of used_ports_, so many are of pods behind that position.
std::ptrdiff_t NodeInfo::PortsBehind(size_t position) const {
  std::ptrdiff_t ports = 0;
  for (size_t i = position + 1; i < pods_.size(); ++i) {
    ports += static_cast<std::ptrdiff_t>(pods_[i]->host_ports().size());
  }
  return ports;
}

bool NodeInfo::RemovePod(absl::string_view uid) {
  // From the end: what goes again is mostly what came last, an assumed pod that is bound now.
  const auto found = std::find_if(pods_.rbegin(), pods_.rend(),
                                  [uid](const auto& pod) { return pod->uid() == uid; });
  if (found == pods_.rend()) return false;
  RemoveAt(std::prev(found.base()) - pods_.begin());
  return true;
}

bool NodeInfo::RemovePod(const PodInfo& pod) {
  const auto found = std::find_if(pods_.rbegin(), pods_.rend(),
                                  [&pod](const auto& here) { return here.get() == &pod; });
  if (found == pods_.rend()) return RemovePod(pod.uid());
  RemoveAt(std::prev(found.base()) - pods_.begin());
  return true;
}

void NodeInfo::RemoveAt(size_t position) {
  const std::shared_ptr<const PodInfo> pod = std::move(pods_[position]);
  if (!pod->host_ports().empty()) {
    const auto end = used_ports_.end() - PortsBehind(position);
    used_ports_.erase(end - static_cast<std::ptrdiff_t>(pod->host_ports().size()), end);
  }
  pods_.erase(pods_.begin() + static_cast<std::ptrdiff_t>(position));
  if (HasAffinityTerms(*pod)) Erase(pods_with_affinity_, pod.get());
  if (HasRequiredAntiAffinity(*pod)) Erase(pods_with_required_anti_affinity_, pod.get());
  requested_.Subtract(pod->requests());
  nonzero_requested_.Subtract(pod->nonzero_requests());
  if (pod->priority() == lowest_priority_) lowest_priority_ = LowestOf(pods_, lowest_priority_);
  for (const std::string& claim : pod->claims()) {
    const auto use = claim_uses_.find(absl::StrCat(pod->namespace_name().view(), "/", claim));
    if (--use->second == 0) claim_uses_.erase(use);
  }
  Touch();
  NoteEdit(position);
}

bool NodeInfo::ReplacePod(const PodInfo& before, std::shared_ptr<const PodInfo> pod) {
  if (!before.SharesSpec(*pod)) return false;
  const auto found = std::find_if(pods_.rbegin(), pods_.rend(),
                                  [&](const auto& here) { return here.get() == &before; });
  if (found == pods_.rend()) return false;
  if (HasAffinityTerms(*pod)) Swap(pods_with_affinity_, &before, pod);
  if (HasRequiredAntiAffinity(*pod)) Swap(pods_with_required_anti_affinity_, &before, pod);
  *found = std::move(pod);
  Touch();
  NoteEdit(std::prev(found.base()) - pods_.begin());
  return true;
}

}  // namespace berth
