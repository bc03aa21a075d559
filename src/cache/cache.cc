// SPDX-License-Identifier: Apache-2.0
// Nodes, the pods on them, and the table that is kept in step.
#include "cache/cache.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"

namespace berth {

Cache::Cache() = default;
Cache::~Cache() = default;

// --- Nodes ---

Cache::NodeEntry& Cache::EntryOf(Symbol name) {
  NodeEntry& node = nodes_[name];
  if (node.info == nullptr) node.info = std::make_unique<NodeInfo>(name);
  return node;
}

void Cache::MarkChanged(Symbol name, NodeEntry& node) {
  if (node.changed) return;
  node.changed = true;
  changed_.push_back(name);
}

void Cache::SetNode(std::shared_ptr<const NodeSpec> spec) {
  const Symbol name = spec->name;
  NodeEntry& node = EntryOf(name);
  const size_t known = order_changes_.size();
  DeferFree(node.info->shared_spec());
  node.info->SetSpec(std::move(spec));
  if (tree_.Set(*node.info, OrderChanges())) NoteOrderChanges(known);
  MarkChanged(name, node);
}

bool Cache::RemoveNode(Symbol name) {
  const size_t known = order_changes_.size();
  if (!tree_.Remove(name, OrderChanges())) return false;
  NoteOrderChanges(known);
  NodeInfo& node = *nodes_.Find(name)->info;
  DeferFree(node.shared_spec());
  node.ClearSpec();
  EraseIfUnused(name);
  return true;
}

// A node without an object and without pods is forgotten; the table may still point to it.
void Cache::EraseIfUnused(Symbol name) {
  NodeEntry& node = *nodes_.Find(name);
  const NodeInfo& info = *node.info;
  if (info.has_node() || !info.pods().empty()) return;
  if (table_.FindRow(name) >= 0) retired_.push_back(std::move(node.info));
  nodes_.Erase(name);
}

// --- Pods ---

// Where a pod belongs that arrived then.
size_t Cache::PositionOf(uint64_t arrival, const NodeInfo& node) const {
  const auto came_later =
      std::upper_bound(node.pods().begin(), node.pods().end(), arrival,
                       [this](uint64_t than, const std::shared_ptr<const PodInfo>& pod) {
                         return than < FindPod(*pod->identity())->arrival;
                       });
  return static_cast<size_t>(came_later - node.pods().begin());
}

void Cache::Put(CachedPod pod) {
  Record& record = *pods_.FindOrAdd(pod.pod->identity()).first;
  PutInto(record, std::move(pod));
}

void Cache::PutInto(Record& record, CachedPod pod) {
  if (pod.assumed()) ++assumed_count_;
  const bool is_new = pod.arrival == 0;
  if (is_new) pod.arrival = ++arrivals_;
  BERTH_CHECK(record.placed.pod == nullptr) << pod.pod->key() << " is on a node already";
  record.placed = std::move(pod);
  ++placed_count_;
  const std::shared_ptr<const PodInfo>& info = record.placed.pod;
  const Symbol node_name = record.placed.node_name;
  NodeEntry& node = EntryOf(node_name);
  const size_t position =
      is_new ? node.info->pods().size() : PositionOf(record.placed.arrival, *node.info);
  node.info->InsertPod(position, info);
  MarkChanged(node_name, node);
  for (AssignmentObserver* observer : observers_) observer->OnPodAssigned(*info, *node.info);
}

void Cache::Take(UidRef who) {
  Record& record = *pods_.Find(who);
  const CachedPod pod = std::exchange(record.placed, {});
  --placed_count_;
  if (record.last_seen == nullptr) pods_.Erase(*pod.pod->identity());
  if (pod.assumed()) --assumed_count_;
  NodeEntry& node = EntryOf(pod.node_name);
  const bool was_there = node.info->RemovePod(*pod.pod);
  BERTH_CHECK(was_there) << pod.pod->key() << " was not on " << pod.node_name;
  MarkChanged(pod.node_name, node);
  for (AssignmentObserver* observer : observers_) observer->OnPodUnassigned(*pod.pod, *node.info);
  EraseIfUnused(pod.node_name);
}

Cache::PodChange Cache::SetPod(std::shared_ptr<const PodInfo> pod) {
  Record* const record = pods_.Find(*pod->identity());
  CachedPod* const known =
      record == nullptr || record->placed.pod == nullptr ? nullptr : &record->placed;
  const bool runs = !pod->terminal() && !pod->node_name().empty();
  if (known == nullptr) {
    if (!runs) return PodChange::kNone;
    const Symbol node_name = Symbol::Intern(pod->node_name());
    Put({std::move(pod), node_name, CachedPod::State::kBound});
    return PodChange::kAdded;
  }
  const bool was_assumed = known->assumed();
  if (!runs && was_assumed && !pod->terminal()) return PodChange::kNone;
  if (runs && known->node_name.view() == pod->node_name() && ReplaceInPlace(*known, pod)) {
    return was_assumed ? PodChange::kConfirmed : PodChange::kUpdated;
  }
  Take(*pod->identity());
  if (!runs) return PodChange::kRemoved;
  const Symbol node_name = Symbol::Intern(pod->node_name());
  Put({std::move(pod), node_name, CachedPod::State::kBound});
  return was_assumed ? PodChange::kConfirmed : PodChange::kUpdated;
}

// A pod is mostly seen again because its binding is confirmed; what it takes from its node is the
// same, and so is what observers and counts make of it.
bool Cache::ReplaceInPlace(CachedPod& known, const std::shared_ptr<const PodInfo>& pod) {
  const bool same_metadata = known.pod->packed()->HasMetadataOf(*pod->packed());
  NodeEntry& node = EntryOf(known.node_name);
  if (!same_metadata || !node.info->ReplacePod(*known.pod, pod)) return false;
  if (known.assumed()) --assumed_count_;
  known.pod = pod;
  known.state = CachedPod::State::kBound;
  MarkChanged(known.node_name, node);
  return true;
}

bool Cache::RemovePod(UidRef pod) {
  if (FindPod(pod) == nullptr) return false;
  Take(pod);
  return true;
}

absl::Status Cache::AssumePod(std::shared_ptr<const PodInfo> pod, Symbol node_name) {
  Record* record = pods_.Find(*pod->identity());
  if (record != nullptr && record->placed.pod != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("pod ", pod->key(), " is on node ",
                                                 record->placed.node_name.view(), " already"));
  }
  if (pod->terminal()) {
    return absl::FailedPreconditionError(absl::StrCat("pod ", pod->key(), " is finished"));
  }
  const NodeInfo* node = FindNode(node_name);
  if (node == nullptr || !node->has_node()) {
    return absl::NotFoundError(absl::StrCat("there is no node ", node_name.view()));
  }
  if (record == nullptr) record = pods_.FindOrAdd(pod->identity()).first;
  PutInto(*record, {std::move(pod), node_name, CachedPod::State::kAssumed});
  return absl::OkStatus();
}

bool Cache::ForgetPod(UidRef pod) {
  const CachedPod* known = FindPod(pod);
  if (known == nullptr || !known->assumed()) return false;
  Take(pod);
  return true;
}

void Cache::ReplacePod(std::shared_ptr<const PodInfo> pod) {
  const CachedPod* known = FindPod(*pod->identity());
  if (known == nullptr) return;
  CachedPod replaced = *known;
  Take(*pod->identity());
  replaced.pod = std::move(pod);
  Put(std::move(replaced));
}

void Cache::FinishBinding(UidRef pod) {
  Record* const record = pods_.Find(pod);
  if (record == nullptr || record->placed.pod == nullptr || !record->placed.assumed()) return;
  record->placed.state = CachedPod::State::kBinding;
}

Cache::Tracked Cache::TrackPod(const std::shared_ptr<const PodInfo>& pod) {
  Record& record = *pods_.FindOrAdd(pod->identity()).first;
  const bool is_new = record.last_seen == nullptr;
  record.last_seen = pod;
  return {is_new, record.placed.pod == nullptr ? nullptr : &record.placed};
}

void Cache::UntrackPod(UidRef pod) {
  Record* const record = pods_.Find(pod);
  if (record == nullptr) return;
  // Kept until the record is gone: `pod` may be its name.
  const std::shared_ptr<const PodInfo> last_seen = std::exchange(record->last_seen, nullptr);
  if (record->placed.pod == nullptr) pods_.Erase(pod);
}

// --- The table ---

// Beyond the `known` first ones. Where many rows would move more than once, and with them whatever
// follows the table, they are better rearranged once.
void Cache::NoteOrderChanges(size_t known) {
  for (; known < order_changes_.size(); ++known) {
    const OrderChange& change = order_changes_[known];
    rows_to_move_ += change.rows.size() + static_cast<size_t>(tree_.size()) -
                     std::min<size_t>(tree_.size(), change.rows.back());
  }
  const auto size = static_cast<size_t>(std::min(table_.size(), tree_.size()));
  reorder_ |= order_changes_.size() > 1 && rows_to_move_ > size / 2;
  if (reorder_) order_changes_.clear();
}

// Takes the changes of the order over to the table. False if they are not all that it needs.
bool Cache::MoveRows() {
  if (reorder_) return false;
  for (const OrderChange& change : order_changes_) {
    if (!change.came) {
      table_.RemoveRow(change.rows);
      continue;
    }
    const NodeEntry* const node = nodes_.Find(change.node);
    if (node == nullptr) return false;  // it went again
    table_.InsertRow(change.rows.front(), node->info.get());
  }
  return true;
}

void Cache::Refresh() {
  const bool nothing_changed = changed_.empty() && order_changes_.empty() && !reorder_;
  if (nothing_changed) {
    table_.RefreshRows({});  // columns that were asked for need not stay
    return FreeDeferred();
  }
  const uint64_t before = table_.version();
  if (!MoveRows()) table_.Rearrange(tree_.List());
  rows_.clear();
  for (const Symbol name : changed_) {
    NodeEntry* const known = nodes_.Find(name);
    if (known == nullptr || !known->changed) continue;
    NodeEntry& node = *known;
    node.changed = false;
    if (node.row < 0 || node.row >= table_.size() || &table_.node(node.row) != node.info.get()) {
      node.row = table_.FindRow(name);
    }
    // One that just came has been read.
    if (node.row >= 0 && table_.row_version(node.row) <= before) rows_.push_back(node.row);
  }
  table_.RefreshRows(rows_);
  reorder_ = false;
  order_changes_.clear();
  rows_to_move_ = 0;
  changed_.clear();
  FreeDeferred();
}

void Cache::DeferFree(std::shared_ptr<const NodeSpec> spec) {
  // Not more than the table has.
  if (static_cast<int>(former_specs_.size()) >= table_.size()) return;
  former_specs_.push_back(std::move(spec));
}

void Cache::FreeDeferred() {
  if (retired_.empty() && former_specs_.empty()) return;
  const auto shrink = [](auto& kept) {
    constexpr size_t kAtOnce = 64;
    kept.resize(kept.size() - std::min(kept.size(), kAtOnce));
  };
  shrink(retired_);
  shrink(former_specs_);
}

// --- Reading ---

const NodeInfo* Cache::FindNode(Symbol name) const {
  const NodeEntry* const node = nodes_.Find(name);
  return node == nullptr ? nullptr : node->info.get();
}

void Cache::ForEachNode(const std::function<void(const NodeInfo&)>& visit) const {
  for (const NodeInfo* node : tree_.List()) visit(*node);
  std::vector<Symbol> ghosts;
  nodes_.ForEach([&](Symbol name, const NodeEntry& node) {
    if (!node.info->has_node()) ghosts.push_back(name);
  });
  std::sort(ghosts.begin(), ghosts.end());
  for (const Symbol name : ghosts) visit(*nodes_.Find(name)->info);
}

// --- Observers ---

void Cache::AddObserver(AssignmentObserver* observer) {
  ForEachNode([&](const NodeInfo& node) {
    for (const std::shared_ptr<const PodInfo>& pod : node.pods()) {
      observer->OnPodAssigned(*pod, node);
    }
  });
  observers_.push_back(observer);
}

void Cache::RemoveObserver(AssignmentObserver* observer) {
  observers_.erase(std::remove(observers_.begin(), observers_.end(), observer), observers_.end());
}

absl::Status Cache::CheckInvariants() const {
  const auto broken = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(what...));
  };
  absl::Status wrong = absl::OkStatus();
  size_t on_nodes = 0;
  int with_object = 0;
  nodes_.ForEach([&](Symbol name, const NodeEntry& node) {
    if (node.info->name() != name) wrong = broken(name.view(), " is kept as another node");
    if (node.info->has_node()) ++with_object;
    if (!node.info->has_node() && node.info->pods().empty()) {
      wrong = broken(name.view(), " has neither an object nor pods");
    }
    on_nodes += node.info->pods().size();
    uint64_t before = 0;
    for (const std::shared_ptr<const PodInfo>& pod : node.info->pods()) {
      const CachedPod* known = FindPod(*pod->identity());
      if (known == nullptr || known->pod != pod || known->node_name != name) {
        wrong = broken(pod->uid(), " is on ", name.view(), " and not recorded so");
        continue;
      }
      if (known->arrival <= before) wrong = broken(pod->uid(), " is not in order of arrival");
      before = known->arrival;
    }
  });
  int assumed = 0;
  pods_.ForEach([&](const Identity& who, const Record& record) {
    if (record.placed.pod == nullptr) {
      if (record.last_seen == nullptr) wrong = broken(who.uid(), " has an empty record");
      return;
    }
    if (record.placed.assumed()) ++assumed;
    if (record.placed.pod->terminal()) wrong = broken(who.uid(), " is terminal and on a node");
  });
  if (!wrong.ok()) return wrong;
  if (static_cast<int>(on_nodes) != placed_count_) {
    return broken(on_nodes, " pods on nodes of ", placed_count_);
  }
  if (assumed != assumed_count_) return broken(assumed, " assumed, ", assumed_count_, " recorded");
  if (with_object != tree_.size())
    return broken(with_object, " nodes, ", tree_.size(), " in order");
  return absl::OkStatus();
}

}  // namespace berth
