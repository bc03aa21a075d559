// Nominated pods by node and by uid.
#include "cache/nominations.h"

#include <algorithm>
#include <utility>

namespace berth {

void Nominations::Nominate(std::shared_ptr<const PodInfo> pod, absl::string_view node_name) {
  Remove(pod->uid());
  if (node_name.empty()) return;
  node_of_[pod->uid()] = std::string(node_name);
  std::vector<std::shared_ptr<const PodInfo>>& pods = pods_on_[std::string(node_name)];
  const auto place = std::upper_bound(
      pods.begin(), pods.end(), pod->priority(),
      [](int32_t priority, const auto& other) { return priority > other->priority(); });
  pods.insert(place, std::move(pod));
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
  Remove(old_pod.uid());
  Nominate(std::move(new_pod), node_name);
}

void Nominations::Remove(absl::string_view uid) {
  const auto node = node_of_.find(uid);
  if (node == node_of_.end()) return;
  const auto on_node = pods_on_.find(node->second);
  auto& pods = on_node->second;
  pods.erase(
      std::find_if(pods.begin(), pods.end(), [&](const auto& pod) { return pod->uid() == uid; }));
  if (pods.empty()) pods_on_.erase(on_node);
  node_of_.erase(node);
}

std::vector<std::shared_ptr<const PodInfo>> Nominations::NominatedPods(Symbol node_name) const {
  if (pods_on_.empty()) return {};
  const auto it = pods_on_.find(node_name.view());
  return it == pods_on_.end() ? std::vector<std::shared_ptr<const PodInfo>>() : it->second;
}

std::string Nominations::NominatedNode(const PodInfo& pod) const {
  const auto it = node_of_.find(pod.uid());
  return it == node_of_.end() ? "" : it->second;
}

void Nominations::ForEach(
    const std::function<void(const PodInfo& pod, absl::string_view node_name)>& visit) const {
  for (const auto& [node_name, pods] : pods_on_) {
    for (const std::shared_ptr<const PodInfo>& pod : pods) visit(*pod, node_name);
  }
}

}  // namespace berth
