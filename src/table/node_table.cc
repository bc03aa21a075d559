// SPDX-License-Identifier: Apache-2.0
// NodeTable: columns kept in step with the NodeInfos of the rows.
#include "berth/columns/node_table.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "berth/check.h"
#include "berth/columns/pod_table.h"
#include "table/extremes.h"
#include "table/labelled_slots.h"
#include "table/mutable_dictionary_column.h"
#include "table/rare_amounts.h"
#include "table/row_move.h"
#include "table/select_rows.h"
#include "table/table_journal.h"
#include "table/unique_id.h"

namespace berth {
namespace {

constexpr size_t kFewNodes = 64;

LabelValue ValueOf(const LabelSet& labels, Symbol key) {
  const Symbol* value = labels.Find(key);
  return value == nullptr ? LabelValue{} : LabelValue{true, *value};
}

}  // namespace

// Nearly every cluster asks for these two: to read them along with the nodes costs less than to go
// back to all of them in the first cycle that does.
NodeTable::NodeTable()
    : id_(NextUniqueId()),
      rare_allocatable_(std::make_unique<RareAmounts>()),
      rare_requested_(std::make_unique<RareAmounts>()),
      taints_(std::make_unique<MutableDictionaryColumn<TaintList>>()),
      journal_(std::make_unique<TableJournal>()) {
  label_column(Symbol::Intern("kubernetes.io/hostname"));
  label_column(Symbol::Intern("topology.kubernetes.io/zone"));
}
NodeTable::~NodeTable() = default;

const DictionaryColumn<TaintList>& NodeTable::taints() const { return *taints_; }

NodeRow NodeTable::FindRow(Symbol name) const {
  const int* const slot = slot_of_.Find(name);
  return slot == nullptr ? -1 : row_of_slot_[*slot];
}

NodeRow NodeTable::FindRow(absl::string_view name) const {
  const std::optional<Symbol> symbol = Symbol::Find(name);
  return symbol.has_value() ? FindRow(*symbol) : -1;
}

absl::Span<const int64_t> NodeTable::allocatable(ResourceId resource) const {
  if (resource >= kCommonResources) {
    const RareColumns* const rare = FindRareColumns(resource);
    return rare == nullptr ? zeros_ : rare->allocatable;
  }
  const auto id = static_cast<size_t>(resource);
  if (id >= resources_.size() || resources_[id].allocatable.empty()) return zeros_;
  return resources_[id].allocatable;
}
absl::Span<const int64_t> NodeTable::requested(ResourceId resource) const {
  if (resource >= kCommonResources) {
    const RareColumns* const rare = FindRareColumns(resource);
    return rare == nullptr ? zeros_ : rare->requested;
  }
  const auto id = static_cast<size_t>(resource);
  if (id >= resources_.size() || resources_[id].requested.empty()) return zeros_;
  return resources_[id].requested;
}
absl::Span<const int64_t> NodeTable::nonzero_requested(ResourceId resource) const {
  const auto id = static_cast<size_t>(resource);
  if (id >= resources_.size() || resources_[id].nonzero_requested.empty()) {
    return requested(resource);
  }
  return resources_[id].nonzero_requested;
}

const NodeTable::RareColumns* NodeTable::FindRareColumns(ResourceId resource) const {
  if (!rare_allocatable_->Has(resource) && !rare_requested_->Has(resource)) return nullptr;
  MutexLock lock(made_mutex_);
  std::unique_ptr<RareColumns>& columns = rare_columns_[resource];
  if (columns == nullptr) {
    columns = std::make_unique<RareColumns>(RareColumns{zeros_, zeros_});
    rare_allocatable_->ForEach(resource, [&](int slot, int64_t amount) {
      columns->allocatable[row_of_slot_[slot]] = amount;
    });
    rare_requested_->ForEach(resource, [&](int slot, int64_t amount) {
      columns->requested[row_of_slot_[slot]] = amount;
    });
  }
  return columns.get();
}

// Drops those that no reader may cache, if they are many, and, of rare resources, many more than
// amounts. Without the lock: while the table changes no column is asked for.
ABSL_NO_THREAD_SAFETY_ANALYSIS void NodeTable::DropColumns() {
  constexpr size_t kFewResources = 32;
  constexpr size_t kPlacesAnAmount = 8;
  constexpr size_t kFewLabels = 64;
  if (rare_columns_.size() > kFewResources) {
    const size_t amounts = rare_allocatable_->size() + rare_requested_->size();
    if (rare_columns_.size() * zeros_.size() > kPlacesAnAmount * amounts) rare_columns_.clear();
  }
  if (labels_that_may_go_ > kFewLabels) {
    absl::erase_if(labels_, [](const auto& entry) { return entry.second.may_go; });
    labels_that_may_go_ = 0;
  }
}

inline bool NodeTable::SetRare(RareAmounts& amounts, std::vector<int64_t> RareColumns::*column,
                               NodeRow row, const ResourceVector::Rare& after) {
  if (after.empty() && amounts.size() == 0) return false;  // as in most clusters
  bool changed = false;
  amounts.Set(slots_[row], after, [&](ResourceId id, int64_t amount) {
    changed = true;
    MutexLock lock(made_mutex_);
    const auto columns = rare_columns_.find(id);
    if (columns != rare_columns_.end()) ((*columns->second).*column)[row] = amount;
  });
  return changed;
}

const LabelColumn& NodeTable::label_column(Symbol key) const {
  MutexLock lock(made_mutex_);
  KeptLabelColumn& kept = labels_[key];
  if (std::exchange(kept.may_go, false)) --labels_that_may_go_;
  if (kept.column == nullptr) {
    kept.column = std::make_unique<MutableDictionaryColumn<LabelValue>>();
    FillLabelColumn(*kept.column, key);
  }
  return *kept.column;
}

const LabelColumn* NodeTable::FindLabelColumn(Symbol key, size_t rows) const {
  constexpr size_t kWorthAColumn = 8;  // such a part of the rows
  MutexLock lock(made_mutex_);
  const auto known = labels_.find(key);
  if (known != labels_.end()) return known->second.column.get();
  if (rows * kWorthAColumn < zeros_.size()) return nullptr;
  KeptLabelColumn& kept = labels_[key];
  kept = {std::make_unique<MutableDictionaryColumn<LabelValue>>(), true};
  ++labels_that_may_go_;
  FillLabelColumn(*kept.column, key);
  return kept.column.get();
}

bool NodeTable::SelectRows(Symbol key, absl::Span<const Symbol> values, int most,
                           std::vector<NodeRow>& rows) const {
  rows.clear();
  {
    MutexLock lock(made_mutex_);
    if (labelled_slots_ != nullptr && !labels_.contains(key)) {
      const LabelledSlots::Slots* const slots = labelled_slots_->Find(key);
      if (slots == nullptr) return true;
      if (slots->size() <= kFewNodes) {
        for (const int slot : *slots) {
          const LabelValue label = ValueOf(read_[slot].spec->labels, key);
          if (absl::c_linear_search(values, label.value)) rows.push_back(row_of_slot_[slot]);
        }
        std::sort(rows.begin(), rows.end());
        return static_cast<int>(rows.size()) <= most;
      }
    }
  }
  const LabelColumn& column = *FindLabelColumn(key, nodes_.size());
  absl::InlinedVector<uint32_t, 4> indexes;
  for (const Symbol value : values) {
    const std::optional<uint32_t> index = column.Find(LabelValue{true, value});
    if (index.has_value()) indexes.push_back(*index);
  }
  // A value may be listed twice.
  std::sort(indexes.begin(), indexes.end());
  indexes.erase(std::unique(indexes.begin(), indexes.end()), indexes.end());
  return column.SelectRows(indexes, most, rows);
}

bool NodeTable::SelectRowsWithRoom(ResourceId resource, int64_t amount, int most,
                                   std::vector<NodeRow>& rows) const {
  rows.clear();
  if (resource < kCommonResources) {
    return AppendRowsWithRoom(allocatable(resource), requested(resource), amount, most, rows);
  }
  if (rare_allocatable_->PlacesWith(resource) > static_cast<size_t>(most)) return false;
  rare_allocatable_->ForEach(resource, [&](int slot, int64_t allocatable) {
    const NodeRow row = row_of_slot_[slot];
    if (nodes_[row]->requested().Get(resource) <= allocatable - amount) rows.push_back(row);
  });
  std::sort(rows.begin(), rows.end());
  return true;
}

void NodeTable::FillLabelColumn(MutableDictionaryColumn<LabelValue>& column, Symbol key) const {
  constexpr size_t kFewKeys = 16;
  if (labelled_slots_ == nullptr && labels_.size() > kFewKeys) {
    labelled_slots_ = std::make_unique<LabelledSlots>();
    for (const int slot : slots_) labelled_slots_->Change(slot, {}, read_[slot].spec->labels);
  }
  const auto value_of = [&](NodeRow row) { return ValueOf(read_[slots_[row]].spec->labels, key); };
  const LabelledSlots::Slots* const slots =
      labelled_slots_ == nullptr ? nullptr : labelled_slots_->Find(key);
  const size_t labelled = slots == nullptr ? 0 : slots->size();
  if (labelled_slots_ == nullptr || labelled > slots_.size() / 8) {
    column.Fill(size(), value_of);
    return;
  }
  column.FillWith(size(), LabelValue{});
  if (labelled == 0) return;
  std::vector<NodeRow> rows;
  for (const int slot : *slots) rows.push_back(row_of_slot_[slot]);
  std::sort(rows.begin(), rows.end());  // so that values have the same numbers in each process
  for (const NodeRow row : rows) column.Set(row, value_of(row));
}

void NodeTable::NoteLabels(int slot, const LabelSet& before, const LabelSet& after) {
  MutexLock lock(made_mutex_);
  if (labelled_slots_ != nullptr) labelled_slots_->Change(slot, before, after);
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

void NodeTable::SetOrder(absl::Span<const NodeInfo* const> nodes) {
  resources_.clear();
  rare_allocatable_->Clear();
  rare_requested_->Clear();
  ForEachColumn([](auto& column) { column.clear(); });
  zeros_.clear();
  nodes_.clear();
  slot_of_.clear();
  slots_.clear();
  row_of_slot_.clear();
  read_.clear();
  free_slots_.clear();
  taints_->Reset(0);
  images_.clear();
  {
    MutexLock lock(made_mutex_);
    rare_columns_.clear();
    absl::erase_if(labels_, [](const auto& entry) { return entry.second.may_go; });
    labels_that_may_go_ = 0;
    labelled_slots_.reset();
    for (auto& [key, kept] : labels_) kept.column->Reset(0);
  }
  std::unique_ptr<PodTable> pods = std::move(pods_);
  Rearrange(nodes);
  pods_ = std::move(pods);
  if (pods_ != nullptr) pods_->SetOrder();
  journal_->Restart(version_);
}

template <class Visit>
void NodeTable::ForEachColumn(Visit visit) {
  for (ResourceColumns& columns : resources_) {
    for (auto* column : {&columns.allocatable, &columns.requested, &columns.nonzero_requested}) {
      if (!column->empty()) visit(*column);
    }
  }
  visit(pod_count_);
  visit(allowed_pods_);
  visit(lowest_priority_);
  visit(unschedulable_);
  visit(has_used_ports_);
  visit(has_pods_with_affinity_);
  visit(has_pods_with_required_anti_affinity_);
}

// Finds the rows of nodes that are asked for in their new order. Most of them moved by as much as
// another one did shortly before: those of one zone do.
class NodeTable::RowFinder {
 public:
  explicit RowFinder(const NodeTable& table) : table_(table) {}

  // The row of `node`, which is to be `to`; or -1.
  NodeRow Find(const NodeInfo* node, NodeRow to) {
    for (const NodeRow distance : distances_) {
      if (IsAt(node, to + distance)) return to + distance;
    }
    const NodeRow row = Search(node, to);
    if (row < 0) return row;
    newest_ = (newest_ + 1) % kKept;
    distances_[newest_] = row - to;
    return row;
  }

 private:
  static constexpr int kKept = 8;
  static constexpr NodeRow kNear = 4;  // where some before it went

  bool IsAt(const NodeInfo* node, NodeRow row) const {
    return row >= 0 && row < table_.size() && table_.nodes_[row] == node;
  }
  NodeRow Search(const NodeInfo* node, NodeRow to) const {
    const NodeRow last = to + distances_[newest_];
    for (NodeRow row = last + 1; row < last + kNear; ++row) {
      if (IsAt(node, row)) return row;
    }
    const NodeRow row = table_.FindRow(node->name());
    return IsAt(node, row) ? row : -1;
  }

  const NodeTable& table_;
  std::array<NodeRow, kKept> distances_ = {};
  int newest_ = 0;
};

void NodeTable::Rearrange(absl::Span<const NodeInfo* const> nodes) {
  const auto size_after = static_cast<NodeRow>(nodes.size());
  std::vector<RowMove::Step> steps;
  std::vector<const NodeInfo*> came;
  RowFinder finder(*this);
  for (NodeRow to = 0; to < size_after;) {
    const NodeRow from = finder.Find(nodes[to], to);
    if (from < 0) {
      came.push_back(nodes[to++]);
      continue;
    }
    const NodeRow most = std::min(size_after - to, size() - from);
    NodeRow count = 1;
    while (count < most && nodes_[from + count] == nodes[to + count]) ++count;
    steps.push_back({to, from, count});
    to += count;
  }
  RowMove move = RowMove::Rearranged(steps, size(), size_after);
  const bool all_stay = move.gone().empty() && move.moved() == 0;
  if (all_stay && !nodes.empty()) return;
  Move(std::move(move), came);
}

void NodeTable::InsertRow(NodeRow row, const NodeInfo* node) {
  Move(RowMove::Came(row, size() + 1), {&node, 1});
}

void NodeTable::RemoveRow(absl::Span<const NodeRow> rows) { Move(RowMove::Went(rows, size()), {}); }

// `came` are the nodes of move.came().
void NodeTable::Move(RowMove move, absl::Span<const NodeInfo* const> came) {
  // No other pod came that late.
  static const ReadNode& kNone =
      *new ReadNode{std::make_shared<const NodeSpec>(), std::numeric_limits<uint64_t>::max()};
  ++order_version_;
  ++version_;
  ImageNames lost_size;
  for (const NodeRow row : move.gone()) {
    const ReadNode before = std::exchange(read_[slots_[row]], kNone);
    rare_allocatable_->Set(slots_[row], {});
    rare_requested_->Set(slots_[row], {});
    NoteLabels(slots_[row], before.spec->labels, {});
    ReplaceImages(before, kNone, lost_size);
    slot_of_.Erase(nodes_[row]->name());
    row_of_slot_[slots_[row]] = -1;
    free_slots_.push_back(slots_[row]);
  }

  ForEachColumn([&](auto& column) { move.Apply(column); });
  zeros_.resize(move.size());
  taints_->Move(move);
  {
    MutexLock lock(made_mutex_);
    for (auto& [id, columns] : rare_columns_) {
      move.Apply(columns->allocatable);
      move.Apply(columns->requested);
    }
    for (auto& [key, kept] : labels_) kept.column->Move(move);
  }
  move.Apply(nodes_);
  move.Apply(slots_);
  for (size_t i = 0; i < came.size(); ++i) {
    nodes_[move.came()[i]] = came[i];
    slots_[move.came()[i]] = TakeSlot();
  }
  move.ForEachMoved([&](NodeRow row) { row_of_slot_[slots_[row]] = row; });
  for (const NodeRow row : move.came()) AddRow(row);
  if (!lost_size.empty()) FindImageSizes(std::move(lost_size));
  if (pods_ != nullptr) pods_->Move(move);
  journal_->AddMove(std::move(move), version_, size());
}

int NodeTable::TakeSlot() {
  if (free_slots_.empty()) {
    row_of_slot_.push_back(-1);
    read_.emplace_back();
    return static_cast<int>(row_of_slot_.size()) - 1;
  }
  const int slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

// Its node came.
void NodeTable::AddRow(NodeRow row) {
  const NodeInfo& node = *nodes_[row];
  const bool is_new = slot_of_.FindOrAdd(node.name(), slots_[row]).second;
  BERTH_CHECK(is_new) << "two nodes of one name";
  read_[slots_[row]] = {node.shared_spec(), node.arrival(), version_};
  NoteLabels(slots_[row], {}, node.labels());
  for (const NodeImage& image : node.spec().images) AddImage(image, node.arrival());
  FillFromSpec(row);
  FillFromPods(row);
}

void NodeTable::RefreshRows(absl::Span<const NodeRow> rows) {
  DropColumns();
  if (rows.empty()) return;
  ImageNames lost_size;
  for (const NodeRow row : rows) {
    const NodeInfo& node = *nodes_[row];
    Aspects aspects = Aspect::kNothing;
    ReadNode& read = read_[slots_[row]];
    if (read.spec != node.shared_spec() || read.arrival != node.arrival()) {
      const ReadNode before = std::exchange(read, {node.shared_spec(), node.arrival()});
      aspects |= Aspect::kOfNodeObject;
      if (ReplaceImages(before, read, lost_size)) {
        aspects |= Aspect::kImageSpread;
      }
      NoteLabels(slots_[row], before.spec->labels, read.spec->labels);
      FillFromSpec(row);
    }
    aspects |= FillFromPods(row);
    if (pods_ != nullptr) pods_->RefreshRow(row);
    read.version = ++version_;
    journal_->Add({row, aspects}, size());
  }
  if (!lost_size.empty()) FindImageSizes(std::move(lost_size));
}

bool NodeTable::AnyPriorityBelow(int32_t priority) const {
  constexpr size_t kBlock = 1024;
  const absl::Span<const int32_t> all = lowest_priority_;
  for (size_t first = 0; first < all.size(); first += kBlock) {
    if (MinOf(all.subspan(first, kBlock)) < priority) return true;
  }
  return false;
}

std::optional<absl::Span<const RowChange>> NodeTable::ChangesSince(uint64_t version) const {
  return journal_->ChangesSince(version, version_);
}

bool NodeTable::Replay(uint64_t version, absl::FunctionRef<void(const RowChange&)> on_change,
                       absl::FunctionRef<void(const RowMove&)> on_move) const {
  return journal_->Replay(version, version_, on_change, on_move);
}

// Returns whether it was another one.
inline bool NodeTable::SetAmount(std::vector<int64_t>& column, NodeRow row, int64_t amount) {
  if (column.empty()) {
    if (amount == 0) return false;
    column.assign(zeros_.begin(), zeros_.end());
  }
  return std::exchange(column[row], amount) != amount;
}

void NodeTable::FillFromSpec(NodeRow row) {
  const NodeSpec& spec = *read_[slots_[row]].spec;
  EnsureResources(spec.allocatable.common_size());
  for (ResourceId id = 0; id < static_cast<ResourceId>(resources_.size()); ++id) {
    SetAmount(resources_[id].allocatable, row, spec.allocatable.Get(id));
  }
  SetRare(*rare_allocatable_, &RareColumns::allocatable, row, spec.allocatable.rare());
  allowed_pods_[row] = spec.allowed_pods;
  unschedulable_[row] = spec.unschedulable;
  taints_->Set(row, spec.taints);
  MutexLock lock(made_mutex_);
  for (auto& [key, kept] : labels_) kept.column->Set(row, ValueOf(spec.labels, key));
}

// Returns what may have changed.
Aspects NodeTable::FillFromPods(NodeRow row) {
  const NodeInfo& node = *nodes_[row];
  const ResourceVector& requested = node.requested();
  const ResourceVector& nonzero_requested = node.nonzero_requested();
  EnsureResources(std::max(requested.common_size(), nonzero_requested.common_size()));
  Aspects changed = Aspect::kNodePods;
  bool other_amounts = false;
  for (ResourceId id = 0; id < static_cast<ResourceId>(resources_.size()); ++id) {
    ResourceColumns& columns = resources_[id];
    const int64_t nonzero = nonzero_requested.Get(id);
    std::vector<int64_t>& nonzero_column = columns.nonzero_requested;
    if (nonzero_column.empty() && nonzero != requested.Get(id)) {
      const auto so_far = this->requested(id);
      nonzero_column.assign(so_far.begin(), so_far.end());
    }
    other_amounts |= SetAmount(columns.requested, row, requested.Get(id));
    if (nonzero_column.empty()) continue;  // it changed with the one before
    other_amounts |= std::exchange(nonzero_column[row], nonzero) != nonzero;
  }
  other_amounts |= SetRare(*rare_requested_, &RareColumns::requested, row, requested.rare());
  const auto pods = static_cast<int64_t>(node.pods().size());
  other_amounts |= std::exchange(pod_count_[row], pods) != pods;
  if (other_amounts) changed |= Aspect::kNodeRequested;
  lowest_priority_[row] = node.lowest_priority();
  const uint8_t has_used_ports = !node.used_ports().empty();
  if (std::exchange(has_used_ports_[row], has_used_ports) || has_used_ports) {
    changed |= Aspect::kNodePorts;
  }
  has_pods_with_affinity_[row] = !node.pods_with_affinity().empty();
  has_pods_with_required_anti_affinity_[row] = !node.pods_with_required_anti_affinity().empty();
  return changed;
}

void NodeTable::EnsureResources(int count) {
  if (static_cast<int>(resources_.size()) < count) resources_.resize(count);
}

void NodeTable::AddImage(const NodeImage& image, uint64_t arrival) {
  ImageState& state = images_[image.name];
  if (state.node_count++ == 0 || arrival < state.arrival) {
    state.size_bytes = image.size_bytes;
    state.arrival = arrival;
  }
}

// Nodes report their images again and again, and few of them change.
bool NodeTable::ReplaceImages(const ReadNode& before, const ReadNode& after,
                              ImageNames& lost_size) {
  const auto is_in = [same_node = before.arrival == after.arrival](const ReadNode& node,
                                                                   const NodeImage& image) {
    const auto& images = node.spec->images;
    return same_node && std::find(images.begin(), images.end(), image) != images.end();
  };
  bool changed = false;
  for (const NodeImage& image : before.spec->images) {
    if (is_in(after, image)) continue;
    changed = true;
    const auto it = images_.find(image.name);
    if (--it->second.node_count == 0) {
      images_.erase(it);
    } else if (it->second.arrival == before.arrival) {
      lost_size.insert(image.name);
    }
  }
  for (const NodeImage& image : after.spec->images) {
    if (is_in(before, image)) continue;
    changed = true;
    AddImage(image, after.arrival);
  }
  return changed;
}

// From the node that was there first of those that have the image: goes through them in that order.
void NodeTable::FindImageSizes(ImageNames names) {
  absl::erase_if(names, [&](Symbol name) { return !images_.contains(name); });
  using Arrival = std::pair<uint64_t, NodeRow>;
  std::vector<Arrival> nodes(size());  // a heap, the first to arrive on top
  for (NodeRow row = 0; row < size(); ++row) nodes[row] = {read_[slots_[row]].arrival, row};
  std::make_heap(nodes.begin(), nodes.end(), std::greater<>());
  for (; !names.empty() && !nodes.empty(); nodes.pop_back()) {
    std::pop_heap(nodes.begin(), nodes.end(), std::greater<>());
    const auto [arrival, row] = nodes.back();
    for (const NodeImage& image : read_[slots_[row]].spec->images) {
      if (names.erase(image.name) == 0) continue;
      ImageState& state = images_.find(image.name)->second;
      state.size_bytes = image.size_bytes;
      state.arrival = arrival;
    }
  }
}

}  // namespace berth
