// SPDX-License-Identifier: Apache-2.0
// GpuNode::Of: the cards that a Node object, or Koordinator's Device, says a node has.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/scheduling_koordinator_sh.pb.h"
#include "berth/api/value.h"
#include "plugins/gpu/gpu_node.h"
#include "plugins/gpu/gpu_request.h"

namespace berth {
namespace {

constexpr absl::string_view kDevicesAnnotation = "berth.dev/gpu-devices";
constexpr absl::string_view kModelLabels[] = {
    "nvidia.com/gpu.product", "alibabacloud.com/gpu-card-model", "node.koordinator.sh/gpu-model"};
constexpr absl::string_view kMemoryLabel = "nvidia.com/gpu.memory";  // MiB of each card
constexpr absl::string_view kCountLabel = "nvidia.com/gpu.count";

// An amount of a quantity map, 0 if it is not there.
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

// Reads the annotation: a list of {index, model, memory, healthy, numa, pcie, nvlink}. Strict: what
// is not understood may be what keeps two pods apart.
class DeclaredCards {
 public:
  // Returns what is wrong, or nothing.
  std::string Read(absl::string_view text, GpuNode& node) {
    Problems problems;
    const std::vector<Document> documents = ReadDocuments(text, kDevicesAnnotation, problems);
    if (!problems.ok() || documents.size() != 1) return "is no list of cards";
    const Value root = documents[0].root();
    if (!root.IsSequence()) return "is no list of cards";
    for (const Value item : root.elements()) ReadCard(item, node.model);
    if (cards_.size() > static_cast<size_t>(kMaxCards)) Refuse("more cards than any node has");
    absl::c_sort(cards_, [](const GpuCard& a, const GpuCard& b) { return a.index < b.index; });
    for (size_t i = 1; i < cards_.size(); ++i) {
      if (cards_[i].index == cards_[i - 1].index) {
        Refuse(absl::StrCat("card ", cards_[i].index, " is there twice"));
      }
    }
    if (!cards_.empty()) node.cards = std::move(cards_);
    return problem_;
  }

 private:
  void Refuse(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  void ReadCard(Value item, Symbol& model) {
    if (!item.IsMap()) return Refuse("a card is no mapping");
    GpuCard card;
    card.index = static_cast<int>(cards_.size());
    for (const Value::Item& field : item.items()) {
      if (field.key == "index") {
        card.index = Number(field, 0);
      } else if (field.key == "numa") {
        card.numa = Number(field, -1);
      } else if (field.key == "pcie") {
        card.pcie = Number(field, -1);
      } else if (field.key == "nvlink") {
        card.nvlink = Number(field, -1);
      } else if (field.key == "memory") {
        const absl::StatusOr<Quantity> quantity = Quantity::Parse(field.value.text());
        if (!quantity.ok() || quantity->Value() < 0) {
          Refuse(absl::StrCat("memory: \"", field.value.text(), "\" is no amount"));
        } else {
          card.memory_bytes = quantity->Value();
        }
      } else if (field.key == "healthy") {
        const std::optional<bool> healthy = field.value.AsBool();
        if (!healthy.has_value()) Refuse("healthy is neither true nor false");
        card.healthy = healthy.value_or(false);
      } else if (field.key == "model") {
        const auto name = field.value.AsString();
        if (!name.has_value()) return Refuse("model is no text");
        model = Symbol::Intern(*name);
      } else {
        Refuse(absl::StrCat("a card has no \"", field.key, "\""));
      }
    }
    cards_.push_back(card);
  }

  int Number(const Value::Item& field, int64_t least) {
    const std::optional<int64_t> number = field.value.AsInt64();
    if (number.has_value() && *number >= least && *number < kMaxCards) {
      return static_cast<int>(*number);
    }
    Refuse(absl::StrCat(field.key, " is not ", least, " to ", kMaxCards - 1));
    return 0;
  }

  std::vector<GpuCard> cards_;
  std::string problem_;
};

// The cards of Koordinator's Device. What has no minor number cannot be given away.
std::vector<GpuCard> CardsOf(const api::Device& device) {
  std::vector<GpuCard> cards;
  std::set<std::string> switches;
  for (const api::DeviceInfo& info : device.spec().devices()) {
    if (info.type() == "gpu") switches.insert(info.topology().pcie_id());
  }
  for (const api::DeviceInfo& info : device.spec().devices()) {
    if (info.type() != "gpu" || !info.has_minor() || info.minor() < 0 ||
        info.minor() >= kMaxCards) {
      continue;
    }
    GpuCard card;
    card.index = info.minor();
    // A card without cores is as good as sick.
    card.healthy = info.health() && (info.resources().count("koordinator.sh/gpu-core") == 0 ||
                                     Amount(info.resources(), "koordinator.sh/gpu-core") > 0);
    card.memory_bytes = Amount(info.resources(), "koordinator.sh/gpu-memory");
    if (info.has_topology()) {
      card.numa = info.topology().node_id();
      const std::string& pcie = info.topology().pcie_id();
      const auto at = switches.find(pcie);
      if (!pcie.empty()) card.pcie = static_cast<int>(std::distance(switches.begin(), at));
    }
    const auto same = [&](const GpuCard& other) { return other.index == card.index; };
    if (absl::c_none_of(cards, same)) cards.push_back(card);
  }
  absl::c_sort(cards, [](const GpuCard& a, const GpuCard& b) { return a.index < b.index; });
  return cards;
}

// So that nothing is given away.
void CloseCards(GpuNode& node) {
  node.usable = 0;
  for (GpuCard& card : node.cards) card.healthy = false;
}

}  // namespace

GpuNode GpuNode::Of(const NodeSpec& spec, const api::Device* device,
                    const std::vector<ResourceId>& whole_resources) {
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
  int64_t memory =
      std::min(NumberLabel(spec.labels, kMemoryLabel), std::numeric_limits<int64_t>::max() >> 20)
      << 20;
  if (memory == 0 && cards > 0) {
    memory = std::max(Amount(status.capacity(), "koordinator.sh/gpu-memory"),
                      Amount(status.allocatable(), "koordinator.sh/gpu-memory")) /
             cards;
  }
  for (int64_t i = 0; i < cards; ++i) {
    node.cards.push_back({.index = static_cast<int>(i), .memory_bytes = memory});
  }
  if (device != nullptr) {
    node.cards = CardsOf(*device);
    const auto& labels = device->metadata().labels();
    const auto model = labels.find(std::string(kModelLabels[2]));
    if (node.model.empty() && model != labels.end()) node.model = Symbol::Intern(model->second);
  }
  const auto& annotations = spec.object->metadata().annotations();
  const auto declared = annotations.find(std::string(kDevicesAnnotation));
  if (declared != annotations.end()) {
    node.problem = DeclaredCards().Read(declared->second, node);
    if (!node.problem.empty()) {
      node.problem = absl::StrCat(kDevicesAnnotation, ": ", node.problem);
    }
  }
  // Where the node itself does not count its cards, those that are described count.
  if (cards == 0) node.usable = static_cast<int>(node.cards.size());
  if (!node.problem.empty()) CloseCards(node);
  for (GpuCard& card : node.cards) {
    if (card.memory_bytes == 0) card.memory_bytes = memory;
    card.memory_free = card.memory_bytes;
  }
  return node;
}

}  // namespace berth
