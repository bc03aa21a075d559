// NodeTable: columns kept in step with the NodeInfos of the rows.
#include "berth/framework/node_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "berth/check.h"
#include "berth/framework/pod_table.h"

namespace berth {
namespace {

LabelValue ValueOf(const LabelSet& labels, Symbol key) {
  const Symbol* value = labels.Find(key);
  return value == nullptr ? LabelValue{} : LabelValue{true, *value};
}

}  // namespace

NodeTable::NodeTable() = default;
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
    column->Reset(size());
    for (NodeRow row = 0; row < size(); ++row) column->Set(row, ValueOf(specs_[row]->labels, key));
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

void NodeTable::SetOrder(std::vector<const NodeInfo*> nodes) {
  nodes_ = std::move(nodes);
  ++order_version_;
  order_changed_at_ = replayable_since_ = ++version_;
  changes_.clear();
  moves_.clear();
  moved_rows_ = 0;
  row_versions_.assign(nodes_.size(), version_);
  slot_of_.clear();
  slot_of_.reserve(nodes_.size());
  slots_.resize(nodes_.size());
  row_of_slot_.resize(nodes_.size());
  free_slots_.clear();
  resources_.clear();
  zeros_.assign(nodes_.size(), 0);
  for (std::vector<int64_t>* column : {&pod_count_, &allowed_pods_}) column->resize(nodes_.size());
  for (std::vector<uint8_t>* column : {&unschedulable_, &has_used_ports_, &has_pods_with_affinity_,
                                       &has_pods_with_required_anti_affinity_}) {
    column->resize(nodes_.size());
  }
  specs_.resize(nodes_.size());
  arrivals_.resize(nodes_.size());
  taints_.Reset(size());
  images_.clear();
  {
    MutexLock lock(labels_mutex_);
    for (auto& [key, column] : labels_) column->Reset(size());
  }
  for (NodeRow row = 0; row < size(); ++row) {
    slot_of_.emplace(nodes_[row]->name(), row);
    slots_[row] = row_of_slot_[row] = row;
    specs_[row] = nodes_[row]->shared_spec();
    arrivals_[row] = nodes_[row]->arrival();
    for (const NodeImage& image : specs_[row]->images) AddImage(image, arrivals_[row]);
    FillFromSpec(row);
    FillFromPods(row);
  }
  BERTH_DCHECK(slot_of_.size() == nodes_.size()) << "two nodes of one name";
  if (pods_ != nullptr) pods_->SetOrder();
}

// Keeps as many as may move all rows twice: whoever is further behind looks at every row.
void NodeTable::NoteMove(bool came, absl::Span<const NodeRow> rows) {
  ++order_version_;
  order_changed_at_ = ++version_;
  NoteChange({-1, Aspect::kNothing});
  const int moved = static_cast<int>(rows.size()) + size() - rows.back() - (came ? 1 : 0);
  moves_.push_back({version_, came, {rows.begin(), rows.end()}, moved});
  moved_rows_ += moved;
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

void NodeTable::InsertRow(NodeRow row, const NodeInfo* node) {
  ForEachColumn([row](auto& column) { column.emplace(column.begin() + row); });
  taints_.Insert(row);
  {
    MutexLock lock(labels_mutex_);
    for (auto& [key, column] : labels_) column->Insert(row);
  }
  nodes_.insert(nodes_.begin() + row, node);
  NoteMove(true, {&row, 1});
  row_versions_[row] = version_;

  int slot = static_cast<int>(row_of_slot_.size());
  if (free_slots_.empty()) {
    row_of_slot_.push_back(row);
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  const bool is_new = slot_of_.emplace(node->name(), slot).second;
  BERTH_CHECK(is_new) << "two nodes of one name";
  slots_.insert(slots_.begin() + row, slot);
  for (NodeRow moved = row; moved < size(); ++moved) row_of_slot_[slots_[moved]] = moved;

  specs_[row] = node->shared_spec();
  arrivals_[row] = node->arrival();
  for (const NodeImage& image : specs_[row]->images) AddImage(image, arrivals_[row]);
  FillFromSpec(row);
  FillFromPods(row);
  if (pods_ != nullptr) pods_->InsertRow(row);
}

void NodeTable::RemoveRow(absl::Span<const NodeRow> rows) {
  ForgetImages(rows.front());
  const int slot = slots_[rows.front()];
  const Symbol name = nodes_[rows.front()]->name();
  slot_of_.erase(name);
  free_slots_.push_back(slot);
  row_of_slot_[slot] = -1;

  ForEachColumn([rows](auto& column) { MoveUp(column, rows); });
  taints_.Remove(rows);
  {
    MutexLock lock(labels_mutex_);
    for (auto& [key, column] : labels_) column->Remove(rows);
  }
  MoveUp(nodes_, rows);
  MoveUp(slots_, rows);
  for (const NodeRow row : rows.first(rows.size() - 1)) row_of_slot_[slots_[row]] = row;
  for (NodeRow row = rows.back(); row < size(); ++row) row_of_slot_[slots_[row]] = row;
  NoteMove(false, rows);
  if (pods_ != nullptr) pods_->RemoveRow(name, rows);
}

bool NodeTable::is_sparse() const {
  MutexLock lock(labels_mutex_);
  return taints_.is_sparse() || std::any_of(labels_.begin(), labels_.end(), [](const auto& entry) {
           return entry.second->is_sparse();
         });
}

void NodeTable::ForgetImages(NodeRow row) {
  static const NodeSpec& kNone = *new NodeSpec();
  const std::shared_ptr<const NodeSpec> before = std::move(specs_[row]);
  const uint64_t arrival = arrivals_[row];
  // Nobody else came that late.
  arrivals_[row] = std::numeric_limits<uint64_t>::max();
  ReplaceImages(row, *before, kNone, arrival);
}

void NodeTable::RefreshRow(NodeRow row) {
  const NodeInfo& node = *nodes_[row];
  Aspects aspects = Aspect::kNothing;
  if (specs_[row] != node.shared_spec() || arrivals_[row] != node.arrival()) {
    const std::shared_ptr<const NodeSpec> before = std::exchange(specs_[row], node.shared_spec());
    const uint64_t arrival_before = std::exchange(arrivals_[row], node.arrival());
    aspects |= Aspect::kOfNodeObject;
    if (ReplaceImages(row, *before, *specs_[row], arrival_before)) aspects |= Aspect::kImageSpread;
    FillFromSpec(row);
  }
  aspects |= FillFromPods(row);
  if (pods_ != nullptr) pods_->RefreshRow(row);
  row_versions_[row] = ++version_;
  NoteChange({row, aspects});
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
                              uint64_t arrival_before) {
  const uint64_t arrival = arrivals_[row];
  const auto is_in = [&](const NodeSpec& spec, const NodeImage& image) {
    return arrival == arrival_before &&
           std::find(spec.images.begin(), spec.images.end(), image) != spec.images.end();
  };
  bool changed = false;
  absl::InlinedVector<Symbol, 8> lost_size;
  for (const NodeImage& image : before.images) {
    if (is_in(after, image)) continue;
    changed = true;
    ImageState& state = images_[image.name];
    --state.node_count;
    if (state.node_count == 0) {
      images_.erase(image.name);
    } else if (state.arrival == arrival_before) {
      lost_size.push_back(image.name);
    }
  }
  for (const NodeImage& image : after.images) {
    if (is_in(before, image)) continue;
    changed = true;
    AddImage(image, arrival);
  }
  for (const Symbol image : lost_size) FindImageSize(image);
  return changed;
}

void NodeTable::FindImageSize(Symbol name) {
  ImageState& state = images_[name];
  state.arrival = std::numeric_limits<uint64_t>::max();
  for (NodeRow row = 0; row < size(); ++row) {
    if (arrivals_[row] >= state.arrival) continue;
    for (const NodeImage& image : specs_[row]->images) {
      if (image.name != name) continue;
      state.size_bytes = image.size_bytes;
      state.arrival = arrivals_[row];
    }
  }
}

}  // namespace berth
