// SPDX-License-Identifier: Apache-2.0
// Nominated pods by node and by uid.
#include "cache/nominations.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace berth {
namespace {

constexpr size_t kMaxChanges = 4096;

}  // namespace

// The same node again is the same nomination.
void Nominations::Nominate(std::shared_ptr<const PodInfo> pod, absl::string_view node_name) {
  Place place;
  if (!node_name.empty()) {
    const Place before = PlaceOf(*pod);
    place.node = Symbol::Intern(node_name);
    place.order = before.node == place.node ? before.order : ++last_order_;
  }
  PutBack(std::move(pod), place);
}

void Nominations::PutBack(std::shared_ptr<const PodInfo> pod, Place place) {
  Remove(*pod->identity());
  if (place.node.empty()) return;
  *place_of_.FindOrAdd(pod->identity()).first = place;
  std::vector<std::shared_ptr<const PodInfo>>& pods = pods_on_[place.node];
  if (pods.empty()) node_names_.insert(place.node);
  auto behind = std::upper_bound(
      pods.begin(), pods.end(), pod->priority(),
      [](int32_t priority, const auto& other) { return priority > other->priority(); });
  while (behind != pods.begin() && (*std::prev(behind))->priority() == pod->priority() &&
         PlaceOf(**std::prev(behind)).order > place.order) {
    --behind;
  }
  pods.insert(behind, std::move(pod));
  NoteChange(place.node);
}

Nominations::Place Nominations::PlaceOf(const PodInfo& pod) const {
  const Place* const place = place_of_.Find(*pod.identity());
  return place == nullptr ? Place() : *place;
}

void Nominations::Add(std::shared_ptr<const PodInfo> pod) {
  const std::string node_name = pod->nominated_node_name();
  Nominate(std::move(pod), node_name);
}

void Nominations::Update(const PodInfo& old_pod, std::shared_ptr<const PodInfo> new_pod) {
  std::string node_name = new_pod->nominated_node_name();
  if (node_name.empty() && old_pod.nominated_node_name().empty()) {
    node_name = NominatedNode(old_pod);
  }
  const Place before = PlaceOf(old_pod);
  Remove(*old_pod.identity());
  if (!node_name.empty() && before.node.view() == node_name) {
    PutBack(std::move(new_pod), before);
  } else {
    Nominate(std::move(new_pod), node_name);
  }
}

void Nominations::Remove(UidRef pod) {
  const Place* const found = place_of_.Find(pod);
  if (found == nullptr) return;
  const Symbol node = found->node;
  const auto on_node = pods_on_.find(node);
  auto& pods = on_node->second;
  pods.erase(std::find_if(pods.begin(), pods.end(),
                          [&](const auto& other) { return pod.Means(*other->identity()); }));
  if (pods.empty()) {
    pods_on_.erase(on_node);
    node_names_.erase(node);
  }
  place_of_.Erase(pod);
  NoteChange(node);
}

void Nominations::NoteChange(Symbol node_name) {
  if (changes_.size() == 2 * kMaxChanges) {
    changes_.erase(changes_.begin(), changes_.begin() + kMaxChanges);
  }
  changes_.push_back(node_name);
  ++version_;
}

std::optional<absl::Span<const Symbol>> Nominations::ChangesSince(uint64_t version) const {
  const uint64_t missed = version_ - version;
  if (version > version_ || missed > changes_.size()) return std::nullopt;
  return absl::MakeConstSpan(changes_).last(missed);
}

absl::Span<const std::shared_ptr<const PodInfo>> Nominations::NominatedPods(
    Symbol node_name) const {
  if (pods_on_.empty()) return {};
  const auto it = pods_on_.find(node_name);
  if (it == pods_on_.end()) return {};
  return it->second;
}

std::string Nominations::NominatedNode(const PodInfo& pod) const {
  if (size() == 0) return "";
  return std::string(PlaceOf(pod).node.view());
}

void Nominations::ForEach(
    const std::function<void(const PodInfo& pod, absl::string_view node_name)>& visit) const {
  for (const Symbol node_name : node_names_) {
    for (const std::shared_ptr<const PodInfo>& pod : pods_on_.at(node_name)) {
      visit(*pod, node_name.view());
    }
  }
}

}  // namespace berth
