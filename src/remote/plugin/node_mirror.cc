// SPDX-License-Identifier: Apache-2.0
// Implementation of node_mirror.h.
#include "remote/plugin/node_mirror.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/packed_pod.h"

namespace berth {
namespace {

using Pods = absl::Span<const std::shared_ptr<const PodInfo>>;

// Visits pods of `now` that are not among `before` as they are, and uids of those of `before` that
// are not in `now` at all.
template <class Came, class Went>
void ComparePods(Pods before, Pods now, Came came, Went went) {
  if (before == now) return;
  absl::flat_hash_set<const PodInfo*> known;
  absl::flat_hash_set<absl::string_view> present;
  for (const auto& pod : before) known.insert(pod.get());
  for (const auto& pod : now) {
    present.insert(pod->uid());
    if (!known.contains(pod.get())) came(*pod);
  }
  for (const auto& pod : before) {
    if (!present.contains(pod->uid())) went(pod->uid());
  }
}

}  // namespace

NodeMirror::NodeMirror(const RemoteDescription& description)
    : description_(description),
      // A Node object that is not read is followed all the same: IsAsTold() compares it.
      told_aspects_(Aspect::kOfNodeObject |
                    (description.wants_requested() || description.wants_pods()
                         ? Aspect::kOfPods
                         : Aspect::kNothing)) {}

void NodeMirror::Reset() {
  nodes_.clear();
  free_.clear();
  index_of_name_.clear();
  index_of_row_.clear();
  revision_ = 0;
  knows_table_ = false;
}

std::optional<v1::Update> NodeMirror::Advance(const NodeTable& table) {
  if (knows_table_ && table_id_ == table.id() && version_ == table.version()) return std::nullopt;
  const bool same_order =
      knows_table_ && table_id_ == table.id() && order_version_ == table.order_version();
  const auto changes = same_order ? table.ChangesSince(version_) : std::nullopt;
  if (changes.has_value() &&
      std::none_of(changes->begin(), changes->end(),
                   [&](const auto& change) { return (change.aspects & told_aspects_) != 0; })) {
    version_ = table.version();  // mostly a pod came, and the plugin reads no pods
    return std::nullopt;
  }
  v1::Update update;
  update.set_full(revision_ == 0);
  ++revision_;
  if (changes.has_value()) {
    for (const RowChange& change : *changes) {
      Compare(table.node(change.row), change.aspects, index_of_row_[change.row], update);
    }
  } else {
    FollowOrder(table, update);
    for (NodeRow row = 0; row < table.size(); ++row) {
      Compare(table.node(row), Aspect::kEverything, index_of_row_[row], update);
    }
  }
  knows_table_ = true;
  table_id_ = table.id();
  version_ = table.version();
  order_version_ = table.order_version();
  if (!update.full() && update.nodes().empty() && update.removed().empty()) {
    --revision_;
    return std::nullopt;
  }
  update.set_revision(revision_);
  update.set_node_count(node_count());
  return update;
}

// Nodes came, went or have other rows.
void NodeMirror::FollowOrder(const NodeTable& table, v1::Update& update) {
  std::vector<bool> is_there(nodes_.size());
  for (NodeRow row = 0; row < table.size(); ++row) {
    const auto found = index_of_name_.find(table.node(row).name());
    if (found != index_of_name_.end()) is_there[found->second] = true;
  }
  for (uint32_t index = 0; index < is_there.size(); ++index) {
    if (is_there[index] || nodes_[index].name == Symbol()) continue;
    update.add_removed(index);
    index_of_name_.erase(nodes_[index].name);
    nodes_[index] = Told{.changed = revision_};
    free_.push_back(index);
  }
  index_of_row_.resize(table.size());
  for (NodeRow row = 0; row < table.size(); ++row) {
    const Symbol name = table.node(row).name();
    auto found = index_of_name_.find(name);
    if (found == index_of_name_.end()) {
      uint32_t index = node_count();
      if (free_.empty()) {
        nodes_.emplace_back();
      } else {
        index = free_.back();
        free_.pop_back();
      }
      nodes_[index] = Told{.name = name, .is_new = true};
      found = index_of_name_.emplace(name, index).first;
    }
    index_of_row_[row] = found->second;
  }
}

void NodeMirror::Compare(const NodeInfo& node, Aspects aspects, uint32_t index,
                         v1::Update& update) {
  Told& told = nodes_[index];
  v1::NodeState* state = nullptr;
  const auto tell = [&]() -> v1::NodeState& {
    if (state == nullptr) {
      state = update.add_nodes();
      state->set_index(index);
    }
    return *state;
  };
  const auto change = [&]() -> v1::NodeState& {
    told.changed = revision_;
    return tell();
  };
  // A Node object that changed in what the plugin does not read is not told again, and taken as
  // told.
  const bool node_concerns =
      told.is_new || (description_.depends_on & aspects & Aspect::kOfNodeObject) != 0;
  if (told.is_new || (node_concerns && told.spec != node.shared_spec())) {
    if (node.has_node()) {
      *change().mutable_node() = *node.spec().object;
    } else {
      change().mutable_node()->mutable_metadata()->set_name(std::string(node.name().view()));
    }
  }
  told.spec = node.shared_spec();
  const auto pod_count = static_cast<int64_t>(node.pods().size());
  if (description_.wants_requested() &&
      (told.is_new || told.pod_count != pod_count || !(told.requested == node.requested()))) {
    FillUsage(node, *change().mutable_requested());
    told.requested = node.requested();
    told.pod_count = pod_count;
  }
  if (description_.wants_pods()) {
    ComparePods(
        told.pods, node.pods(),
        [&](const PodInfo& pod) { *tell().add_pods() = *pod.packed()->Unpack(); },
        [&](const std::string& uid) { tell().add_pods_removed(uid); });
    if (state != nullptr && description_.reads_pods()) told.changed = revision_;
    told.pods.assign(node.pods().begin(), node.pods().end());
  }
  told.is_new = false;
}

void NodeMirror::FillUsage(const NodeInfo& node, v1::NodeUsage& usage) {
  node.requested().ForEach([&](ResourceId id, int64_t amount) {
    (*usage.mutable_amounts())[std::string(ResourceName(id))] = amount;
  });
  usage.set_pods(static_cast<int64_t>(node.pods().size()));
}

bool NodeMirror::IsAsTold(uint32_t index, const NodeInfo& node) const {
  const Told& told = nodes_[index];
  if (told.spec != node.shared_spec()) return false;
  if (description_.wants_requested() &&
      (told.pod_count != static_cast<int64_t>(node.pods().size()) ||
       !(told.requested == node.requested()))) {
    return false;
  }
  return !description_.reads_pods() || Pods(told.pods) == node.pods();
}

v1::HypotheticalNode NodeMirror::Hypothetical(uint32_t index, const NodeInfo& node) const {
  v1::HypotheticalNode hypothetical;
  hypothetical.set_index(index);
  if (description_.wants_requested()) FillUsage(node, *hypothetical.mutable_requested());
  if (description_.reads_pods()) {
    ComparePods(
        nodes_[index].pods, node.pods(),
        [&](const PodInfo& pod) { *hypothetical.add_pods_added() = *pod.packed()->Unpack(); },
        [&](const std::string& uid) { hypothetical.add_pods_removed(uid); });
  }
  return hypothetical;
}

}  // namespace berth
