// GpuNode::Of: the cards that a Node object says it has.
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/value.h"
#include "plugins/gpu/gpu_node.h"

namespace berth {
namespace {

constexpr absl::string_view kDevicesAnnotation = "berth.dev/gpu-devices";
constexpr absl::string_view kModelLabels[] = {
    "nvidia.com/gpu.product", "alibabacloud.com/gpu-card-model", "node.koordinator.sh/gpu-model"};
constexpr absl::string_view kMemoryLabel = "nvidia.com/gpu.memory";  // MiB of each card
constexpr absl::string_view kCountLabel = "nvidia.com/gpu.count";
constexpr int64_t kMaxCards = 1024;

// Of a quantity map, 0 if it is not there.
template <class Map>
int64_t Amount(const Map& quantities, absl::string_view name) {
  const auto it = quantities.find(std::string(name));
  if (it == quantities.end()) return 0;
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(it->second.string());
  return quantity.ok() ? std::clamp<int64_t>(quantity->Value(), 0, int64_t{1} << 60) : 0;
}

int64_t NumberLabel(const LabelSet& labels, absl::string_view key) {
  const Symbol* const value = labels.Find(key);
  int64_t number;
  return value != nullptr && absl::SimpleAtoi(value->view(), &number) && number > 0 ? number : 0;
}

// How many cards a list of resources means, by the first name that it has.
template <class Map>
int64_t CardCount(const Map& quantities, const std::vector<ResourceId>& whole_resources) {
  int64_t cards = 0;
  for (const ResourceId id : whole_resources) cards += Amount(quantities, ResourceName(id));
  if (cards > 0) return cards;
  cards = Amount(quantities, "alibabacloud.com/gpu-count");
  if (cards > 0) return cards;
  for (const absl::string_view percent :
       {"koordinator.sh/gpu.shared", "koordinator.sh/gpu-core", "koordinator.sh/gpu"}) {
    cards = Amount(quantities, percent) / 100;
    if (cards > 0) return cards;
  }
  return 0;
}

int64_t BytesOf(Value memory) {
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(memory.text());
  return quantity.ok() ? std::max<int64_t>(0, quantity->Value()) : 0;
}

// The annotation: a list of {index, model, memory, healthy, numa, pcie, nvlink}.
void ReadDeclared(absl::string_view text, GpuNode& node) {
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(text, kDevicesAnnotation, problems);
  if (documents.empty() || !documents[0].root().IsSequence()) return;
  std::vector<GpuCard> cards;
  for (const Value item : documents[0].root().elements()) {
    GpuCard card;
    card.index = static_cast<int>(std::clamp<int64_t>(
        item.Find("index").AsInt64().value_or(static_cast<int64_t>(cards.size())), 0, kMaxCards));
    card.healthy = item.Find("healthy").AsBool().value_or(true);
    if (const Value memory = item.Find("memory")) card.memory_bytes = BytesOf(memory);
    const auto group = [&](absl::string_view key) {
      return static_cast<int>(std::clamp<int64_t>(item.Find(key).AsInt64().value_or(-1), -1, 1024));
    };
    card.numa = group("numa");
    card.pcie = group("pcie");
    card.nvlink = group("nvlink");
    if (const auto model = item.Find("model").AsString()) node.model = Symbol::Intern(*model);
    const auto same = [&](const GpuCard& other) { return other.index == card.index; };
    if (cards.size() < kMaxCards && absl::c_none_of(cards, same)) cards.push_back(card);
  }
  absl::c_sort(cards, [](const GpuCard& a, const GpuCard& b) { return a.index < b.index; });
  if (!cards.empty()) node.cards = std::move(cards);
}

}  // namespace

GpuNode GpuNode::Of(const NodeSpec& spec, const std::vector<ResourceId>& whole_resources) {
  GpuNode node;
  if (spec.object == nullptr) return node;
  for (const absl::string_view label : kModelLabels) {
    const Symbol* const model = spec.labels.Find(label);
    if (model == nullptr) continue;
    node.model = *model;
    break;
  }
  const api::NodeStatus& status = spec.object->status();
  const int64_t usable = CardCount(status.allocatable(), whole_resources);
  const int64_t capacity = CardCount(status.capacity(), whole_resources);
  int64_t cards = std::max(usable, capacity);
  // A label alone says what is built in, not that anything may use it.
  if (cards > 0) cards = std::max(cards, NumberLabel(spec.labels, kCountLabel));
  cards = std::min(cards, kMaxCards);
  node.usable = static_cast<int>(std::min(usable, cards));
  int64_t memory = NumberLabel(spec.labels, kMemoryLabel) << 20;
  if (memory == 0 && cards > 0) {
    memory = std::max(Amount(status.capacity(), "koordinator.sh/gpu-memory"),
                      Amount(status.allocatable(), "koordinator.sh/gpu-memory")) /
             cards;
  }
  for (int64_t i = 0; i < cards; ++i) {
    node.cards.push_back({.index = static_cast<int>(i), .memory_bytes = memory});
  }
  const auto& annotations = spec.object->metadata().annotations();
  const auto declared = annotations.find(std::string(kDevicesAnnotation));
  if (declared != annotations.end()) {
    ReadDeclared(declared->second, node);
    if (cards == 0) node.usable = static_cast<int>(node.cards.size());
  }
  for (GpuCard& card : node.cards) {
    if (card.memory_bytes == 0) card.memory_bytes = memory;
    card.memory_free = card.memory_bytes;
  }
  return node;
}

}  // namespace berth
