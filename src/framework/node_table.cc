// NodeTable: columns kept in step with the NodeInfos of the rows.
#include "berth/framework/node_table.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "berth/check.h"
#include "berth/framework/pod_table.h"
#include "framework/unique_id.h"

namespace berth {
namespace {

LabelValue ValueOf(const LabelSet& labels, Symbol key) {
  const Symbol* value = labels.Find(key);
  return value == nullptr ? LabelValue{} : LabelValue{true, *value};
}

}  // namespace

// Nearly every cluster asks for these two: to read them along with the nodes costs less than to go
// back to all of them in the first cycle that does.
NodeTable::NodeTable() : id_(NextUniqueId()) {
  label_column(Symbol::Intern("kubernetes.io/hostname"));
  label_column(Symbol::Intern("topology.kubernetes.io/zone"));
}
NodeTable::~NodeTable() = default;

NodeRow NodeTable::FindRow(Symbol name) const {
  const auto it = slot_of_.find(name);
  return it == slot_of_.end() ? -1 : row_of_slot_[it->second];
}

absl::Span<const int64_t> NodeTable::allocatable(ResourceId resource) const {
  return static_cast<size_t>(resource) < resources_.size() ? resources_[resource].allocatable
                                                           : zeros_;
}
absl::Span<const int64_t> NodeTable::requested(ResourceId resource) const {
  return static_cast<size_t>(resource) < resources_.size() ? resources_[resource].requested
                                                           : zeros_;
}
absl::Span<const int64_t> NodeTable::nonzero_requested(ResourceId resource) const {
  return static_cast<size_t>(resource) < resources_.size() ? resources_[resource].nonzero_requested
                                                           : zeros_;
}

const LabelColumn& NodeTable::label_column(Symbol key) const {
  MutexLock lock(labels_mutex_);
  std::unique_ptr<LabelColumn>& column = labels_[key];
  if (column == nullptr) {
    column = std::make_unique<LabelColumn>();
    column->Fill(size(), [&](NodeRow row) { return ValueOf(specs_[row]->labels, key); });
  }
  return *column;
}

const PodTable& NodeTable::pods() const {
  if (pods_ == nullptr) pods_ = std::make_unique<PodTable>(*this);
  return *pods_;
}

int64_t NodeTable::image_node_count(Symbol image) const {
  const auto it = images_.find(image);
  return it == images_.end() ? 0 : it->second.node_count;
}
int64_t NodeTable::image_size_bytes(Symbol image) const {
  const auto it = images_.find(image);
  return it == images_.end() ? 0 : it->second.size_bytes;
}

RowMove RowMove::Rearranged(std::vector<NodeRow> rows, int size) {
  RowMove move = {.kind = Kind::kRearranged, .rows = std::move(rows), .keeps_order = true};
  std::vector<uint8_t> stays(size);
  NodeRow last = -1;
  for (NodeRow row = 0; row < static_cast<NodeRow>(move.rows.size()); ++row) {
    const NodeRow from = move.rows[row];
    if (from < 0) {
      move.came.push_back(row);
    } else {
      stays[from] = 1;
    }
    move.keeps_order &= from > last;
    last = std::max(last, from);
    if (from == row && move.first == row) ++move.first;
  }
  for (NodeRow row = 0; row < size; ++row) {
    if (!stays[row]) move.gone.push_back(row);
  }
  return move;
}

void NodeTable::SetOrder(std::vector<const NodeInfo*> nodes) {
  resources_.clear();
  ForEachColumn([](auto& column) { column.clear(); });
  nodes_.clear();
  slot_of_.clear();
  slots_.clear();
  row_of_slot_.clear();
  free_slots_.clear();
  taints_.Reset(0);
  images_.clear();
  {
    MutexLock lock(labels_mutex_);
    for (auto& [key, column] : labels_) column->Reset(0);
  }
  std::unique_ptr<PodTable> pods = std::move(pods_);
  Rearrange(nodes);
  pods_ = std::move(pods);
  if (pods_ != nullptr) pods_->SetOrder();
  changes_.clear();
  moves_.clear();
  moved_rows_ = 0;
  replayable_since_ = version_;
}

// Keeps as many as may move all rows twice: whoever is further behind looks at every row.
void NodeTable::NoteMove(RowMove move) {
  NoteChange({-1, Aspect::kNothing});
  moved_rows_ += move.moved;
  moves_.push_back(std::move(move));
  for (; moved_rows_ > std::max(2 * size(), 1024); moves_.pop_front()) {
    moved_rows_ -= moves_.front().moved;
    replayable_since_ = moves_.front().version;
  }
}

template <class Visit>
void NodeTable::ForEachColumn(Visit visit) {
  for (ResourceColumns& columns : resources_) {
    visit(columns.allocatable);
    visit(columns.requested);
    visit(columns.nonzero_requested);
  }
  visit(zeros_);
  visit(pod_count_);
  visit(allowed_pods_);
  visit(unschedulable_);
  visit(has_used_ports_);
  visit(has_pods_with_affinity_);
  visit(has_pods_with_required_anti_affinity_);
  visit(specs_);
  visit(arrivals_);
  visit(row_versions_);
}

void NodeTable::Rearrange(absl::Span<const NodeInfo* const> nodes) {
  std::vector<NodeRow> from;
  from.reserve(nodes.size());
  std::vector<const NodeInfo*> came;
  NodeRow next = 0;
  for (const NodeInfo* const node : nodes) {
    const NodeRow row = FindRow(node, next);
    from.push_back(row);
    if (row < 0) {
      came.push_back(node);
    } else {
      next = row + 1;
    }
  }
  RowMove move = RowMove::Rearranged(std::move(from), size());
  const bool all_stay = move.gone.empty() && move.first == static_cast<NodeRow>(nodes.size());
  if (all_stay && !nodes.empty()) return;
  move.moved = static_cast<int>(nodes.size());  // at least to be looked at
  Move(std::move(move), came);
}

// Most nodes stay behind those that they were behind: `guess` or few rows from there.
NodeRow NodeTable::FindRow(const NodeInfo* node, NodeRow guess) const {
  constexpr NodeRow kFew = 4;
  const NodeRow end = std::min(guess + kFew, size());
  for (NodeRow row = guess; row < end; ++row) {
    if (nodes_[row] == node) return row;
  }
  const NodeRow row = FindRow(node->name());
  return row >= 0 && nodes_[row] == node ? row : -1;
}

void NodeTable::InsertRow(NodeRow row, const NodeInfo* node) {
  RowMove move = RowMove::Came(row);
  move.moved = 1 + size() - row;
  Move(std::move(move), {&node, 1});
}

void NodeTable::RemoveRow(absl::Span<const NodeRow> rows) {
  RowMove move = RowMove::Went(rows);
  move.moved = static_cast<int>(rows.size()) + size() - 1 - rows.back();
  Move(std::move(move), {});
}

// `came` are the nodes of move.came.
void NodeTable::Move(RowMove move, absl::Span<const NodeInfo* const> came) {
  static const NodeSpec& kNoSpec = *new NodeSpec();
  ++order_version_;
  order_changed_at_ = move.version = ++version_;
  ImageNames lost_size;
  for (const NodeRow row : move.gone) {
    const uint64_t arrival = arrivals_[row];
    // Nobody else came that late.
    arrivals_[row] = std::numeric_limits<uint64_t>::max();
    ReplaceImages(row, *specs_[row], kNoSpec, arrival, lost_size);
    slot_of_.erase(nodes_[row]->name());
    row_of_slot_[slots_[row]] = -1;
    free_slots_.push_back(slots_[row]);
  }

  ForEachColumn([&](auto& column) { move.Apply(column); });
  taints_.Move(move);
  {
    MutexLock lock(labels_mutex_);
    for (auto& [key, column] : labels_) column->Move(move);
  }
  move.Apply(nodes_);
  move.Apply(slots_);
  for (size_t i = 0; i < came.size(); ++i) {
    nodes_[move.came[i]] = came[i];
    slots_[move.came[i]] = TakeSlot();
  }
  move.ForEachMoved(size(), [&](NodeRow row) { row_of_slot_[slots_[row]] = row; });
  for (const NodeRow row : move.came) AddRow(row);
  if (!lost_size.empty()) FindImageSizes(std::move(lost_size));
  if (pods_ != nullptr) pods_->Move(move);
  NoteMove(std::move(move));
}

int NodeTable::TakeSlot() {
  if (free_slots_.empty()) {
    row_of_slot_.push_back(-1);
    return static_cast<int>(row_of_slot_.size()) - 1;
  }
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

// Its node came.
void NodeTable::AddRow(NodeRow row) {
  const NodeInfo& node = *nodes_[row];
  const bool is_new = slot_of_.emplace(node.name(), slots_[row]).second;
  BERTH_CHECK(is_new) << "two nodes of one name";
  row_versions_[row] = version_;
  specs_[row] = node.shared_spec();
  arrivals_[row] = node.arrival();
  for (const NodeImage& image : specs_[row]->images) AddImage(image, arrivals_[row]);
  FillFromSpec(row);
  FillFromPods(row);
}

void NodeTable::RefreshRows(absl::Span<const NodeRow> rows) {
  ImageNames lost_size;
  for (const NodeRow row : rows) {
    const NodeInfo& node = *nodes_[row];
    Aspects aspects = Aspect::kNothing;
    if (specs_[row] != node.shared_spec() || arrivals_[row] != node.arrival()) {
      const std::shared_ptr<const NodeSpec> before = std::exchange(specs_[row], node.shared_spec());
      const uint64_t arrival_before = std::exchange(arrivals_[row], node.arrival());
      aspects |= Aspect::kOfNodeObject;
      if (ReplaceImages(row, *before, *specs_[row], arrival_before, lost_size)) {
        aspects |= Aspect::kImageSpread;
      }
      FillFromSpec(row);
    }
    aspects |= FillFromPods(row);
    if (pods_ != nullptr) pods_->RefreshRow(row);
    row_versions_[row] = ++version_;
    NoteChange({row, aspects});
  }
  if (!lost_size.empty()) FindImageSizes(std::move(lost_size));
}

// Keeps as many changes as there are rows, at least: whoever is further behind looks at every row.
void NodeTable::NoteChange(RowChange change) {
  const size_t kept = std::max<size_t>(nodes_.size(), 1024);
  if (changes_.size() >= 2 * kept) changes_.erase(changes_.begin(), changes_.end() - kept);
  changes_.push_back(change);
}

std::optional<absl::Span<const RowChange>> NodeTable::ChangesSince(uint64_t version) const {
  const uint64_t behind = version_ - version;
  if (version > version_ || version < order_changed_at_ || behind > changes_.size()) {
    return std::nullopt;
  }
  return absl::MakeConstSpan(changes_).last(behind);
}

void NodeTable::FillFromSpec(NodeRow row) {
  const NodeSpec& spec = *specs_[row];
  EnsureResources(spec.allocatable.size());
  for (size_t id = 0; id < resources_.size(); ++id) {
    resources_[id].allocatable[row] = spec.allocatable.Get(static_cast<ResourceId>(id));
  }
  allowed_pods_[row] = spec.allowed_pods;
  unschedulable_[row] = spec.unschedulable;
  taints_.Set(row, spec.taints);
  MutexLock lock(labels_mutex_);
  for (auto& [key, column] : labels_) column->Set(row, ValueOf(spec.labels, key));
}

// Returns what may have changed.
Aspects NodeTable::FillFromPods(NodeRow row) {
  const NodeInfo& node = *nodes_[row];
  const ResourceVector& requested = node.requested();
  const ResourceVector& nonzero_requested = node.nonzero_requested();
  EnsureResources(std::max(requested.size(), nonzero_requested.size()));
  Aspects changed = Aspect::kNodePods;
  const auto set_amount = [&](int64_t& to, int64_t amount) {
    if (std::exchange(to, amount) != amount) changed |= Aspect::kNodeRequested;
  };
  for (size_t id = 0; id < resources_.size(); ++id) {
    set_amount(resources_[id].requested[row], requested.Get(static_cast<ResourceId>(id)));
    set_amount(resources_[id].nonzero_requested[row],
               nonzero_requested.Get(static_cast<ResourceId>(id)));
  }
  set_amount(pod_count_[row], static_cast<int64_t>(node.pods().size()));
  const uint8_t has_used_ports = !node.used_ports().empty();
  if (std::exchange(has_used_ports_[row], has_used_ports) || has_used_ports) {
    changed |= Aspect::kNodePorts;
  }
  has_pods_with_affinity_[row] = !node.pods_with_affinity().empty();
  has_pods_with_required_anti_affinity_[row] = !node.pods_with_required_anti_affinity().empty();
  return changed;
}

void NodeTable::EnsureResources(int count) {
  while (static_cast<int>(resources_.size()) < count) {
    resources_.push_back({zeros_, zeros_, zeros_});
  }
}

void NodeTable::AddImage(const NodeImage& image, uint64_t arrival) {
  ImageState& state = images_[image.name];
  if (state.node_count++ == 0 || arrival < state.arrival) {
    state.size_bytes = image.size_bytes;
    state.arrival = arrival;
  }
}

// Nodes report their images again and again, and few of them change.
bool NodeTable::ReplaceImages(NodeRow row, const NodeSpec& before, const NodeSpec& after,
                              uint64_t arrival_before, ImageNames& lost_size) {
  const uint64_t arrival = arrivals_[row];
  const auto is_in = [&](const NodeSpec& spec, const NodeImage& image) {
    return arrival == arrival_before &&
           std::find(spec.images.begin(), spec.images.end(), image) != spec.images.end();
  };
  bool changed = false;
  for (const NodeImage& image : before.images) {
    if (is_in(after, image)) continue;
    changed = true;
    const auto it = images_.find(image.name);
    if (--it->second.node_count == 0) {
      images_.erase(it);
    } else if (it->second.arrival == arrival_before) {
      lost_size.insert(image.name);
    }
  }
  for (const NodeImage& image : after.images) {
    if (is_in(before, image)) continue;
    changed = true;
    AddImage(image, arrival);
  }
  return changed;
}

// From the node that was there first of those that have the image: goes through them in that order.
void NodeTable::FindImageSizes(ImageNames names) {
  absl::erase_if(names, [&](Symbol name) { return !images_.contains(name); });
  using Arrival = std::pair<uint64_t, NodeRow>;
  std::vector<Arrival> nodes(size());  // a heap, the first to arrive on top
  for (NodeRow row = 0; row < size(); ++row) nodes[row] = {arrivals_[row], row};
  std::make_heap(nodes.begin(), nodes.end(), std::greater<>());
  for (; !names.empty() && !nodes.empty(); nodes.pop_back()) {
    std::pop_heap(nodes.begin(), nodes.end(), std::greater<>());
    const auto [arrival, row] = nodes.back();
    for (const NodeImage& image : specs_[row]->images) {
      if (names.erase(image.name) == 0) continue;
      ImageState& state = images_.find(image.name)->second;
      state.size_bytes = image.size_bytes;
      state.arrival = arrival;
    }
  }
}

}  // namespace berth
