// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_node.h: choosing among cards. Reading a Node object: gpu_node_spec.cc.
#include "plugins/gpu/gpu_node.h"

#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/amounts.h"

namespace berth {
namespace {

absl::string_view KindName(GpuGroupKind kind) {
  switch (kind) {
    case GpuGroupKind::kNuma:
      return "NUMA node";
    case GpuGroupKind::kPcie:
      return "PCIe switch";
    case GpuGroupKind::kNvlink:
      return "NVLink domain";
    case GpuGroupKind::kNone:
      break;
  }
  return "group";
}

// Those of `fitting` in each declared group of the kind that has at least `cards` of them.
std::map<int, CardSet> GroupsWith(const GpuNode& node, const CardSet& fitting, GpuGroupKind kind,
                                  int cards) {
  std::map<int, CardSet> groups;
  for (const int position : fitting) {
    const int group = node.cards[position].group(kind);
    if (group >= 0) groups[group].push_back(position);
  }
  std::erase_if(
      groups, [cards](const auto& group) { return static_cast<int>(group.second.size()) < cards; });
  return groups;
}

}  // namespace

int GpuCard::group(GpuGroupKind kind) const {
  switch (kind) {
    case GpuGroupKind::kNuma:
      return numa;
    case GpuGroupKind::kPcie:
      return pcie;
    case GpuGroupKind::kNvlink:
      return nvlink;
    case GpuGroupKind::kNone:
      break;
  }
  return -1;
}

int GpuNode::Spare() const {
  // Nothing to count where every card may be used and every pod has one.
  if (homeless == 0 && usable >= static_cast<int>(cards.size())) return usable;
  int used = homeless;
  for (const GpuCard& card : cards) used += card.healthy && !card.idle();
  return std::max(0, usable - used);
}

FreeGpus GpuNode::Free(int64_t milli_cpu) const {
  FreeGpus free{milli_cpu, {}, model};
  int spare = Spare();
  for (const GpuCard& card : cards) {
    bool counts = card.healthy && card.milli_free > 0;
    if (counts && card.idle()) counts = spare-- > 0;
    free.milli_gpu.push_back(counts ? card.milli_free : 0);
  }
  return free;
}

GpuNode::Class GpuNode::ClassOf(const GpuRequest& request) {
  if (!request.whole()) return kShare;
  switch (request.cards) {
    case 1:
      return kOne;
    case 2:
      return kTwo;
    case 4:
      return kFour;
    case 8:
      return kEight;
    default:
      return kOther;
  }
}

int64_t GpuNode::MilliOn(const GpuRequest& request, const GpuCard& card) const {
  if (request.milli > 0 || card.memory_bytes <= 0) return request.milli;
  // Asked for by memory: the same share of the rest, rounded down so that the shares of a card that
  // is full of memory add up to no more than the card.
  constexpr double kTooMany = 1e9;
  return static_cast<int64_t>(std::min(static_cast<double>(request.memory_bytes) /
                                           static_cast<double>(card.memory_bytes) * kMilliPerGpu,
                                       kTooMany));
}

int64_t GpuNode::MemoryOn(const GpuRequest& request, const GpuCard& card) const {
  if (request.whole()) return card.memory_bytes;
  if (request.memory_bytes > 0) return request.memory_bytes;
  return static_cast<int64_t>(static_cast<double>(card.memory_bytes) / kMilliPerGpu *
                              static_cast<double>(request.milli));
}

CardSet GpuNode::FirstFitting(const GpuRequest& request, size_t most) const {
  CardSet fitting;
  if (!request.models.empty() && !absl::c_linear_search(request.models, model)) return fitting;
  int spare = Spare();
  for (int i = 0; i < static_cast<int>(cards.size()) && fitting.size() < most; ++i) {
    const GpuCard& card = cards[i];
    if (!card.healthy || (request.whole() && !card.idle())) continue;
    if (request.memory_bytes > 0 && card.memory_bytes <= 0) continue;
    if (card.milli_free < MilliOn(request, card) || card.memory_free < MemoryOn(request, card)) {
      continue;
    }
    if (card.idle() && spare-- <= 0) continue;
    fitting.push_back(i);
  }
  return fitting;
}

CardSet GpuNode::Fitting(const GpuRequest& request) const {
  CardSet fitting = FirstFitting(request, cards.size());
  if (static_cast<int>(fitting.size()) < request.cards) fitting.clear();
  if (request.group == GpuGroupKind::kNone || !request.group_required) return fitting;
  CardSet grouped;
  for (const auto& [group, members] : GroupsWith(*this, fitting, request.group, request.cards)) {
    grouped.insert(grouped.end(), members.begin(), members.end());
  }
  absl::c_sort(grouped);
  return grouped;
}

bool GpuNode::Fits(const GpuRequest& request) const {
  if (request.cards == 0) return true;
  if (request.group != GpuGroupKind::kNone && request.group_required) {
    return !Fitting(request).empty();
  }
  const size_t wanted = static_cast<size_t>(request.cards);
  return FirstFitting(request, wanted).size() == wanted;
}

CardSet GpuNode::Choose(const GpuRequest& request, CardOrder order) const {
  CardSet from = Fitting(request);
  if (from.empty() || request.cards == 0) return {};
  // Close together if the request says so, or if the node declares what is close.
  for (const GpuGroupKind kind :
       {request.group, GpuGroupKind::kNvlink, GpuGroupKind::kPcie, GpuGroupKind::kNuma}) {
    if (kind == GpuGroupKind::kNone || request.cards == 1) continue;
    const std::map<int, CardSet> groups = GroupsWith(*this, from, kind, request.cards);
    if (groups.empty()) continue;
    from = std::min_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
             return a.second.size() < b.second.size();
           })->second;
    break;
  }
  const auto goes_first = [&](int a, int b) {
    const int64_t left = cards[a].milli_free, right = cards[b].milli_free;
    return order == CardOrder::kBinpack ? left < right : left > right;
  };
  if (!request.whole()) {
    if (request.cards == 1) return {*absl::c_min_element(from, goes_first)};
    absl::c_stable_sort(from, goes_first);
  }
  from.resize(request.cards);
  absl::c_sort(from);
  return from;
}

std::string GpuNode::WhyNot(const GpuRequest& request, bool& resolvable) const {
  resolvable = false;
  if (!problem.empty()) return absl::StrCat("node(s) had GPUs that cannot be read: ", problem);
  if (cards.empty()) return "node(s) had no GPU";
  if (!request.models.empty() && !absl::c_linear_search(request.models, model)) {
    return "node(s) had another GPU model";
  }
  const auto count = [&](auto fits) { return static_cast<int>(absl::c_count_if(cards, fits)); };
  if (request.memory_bytes > 0 && count([&](const GpuCard& card) {
                                    return card.memory_bytes >= request.memory_bytes;
                                  }) < request.cards) {
    return absl::c_all_of(cards, [](const GpuCard& card) { return card.memory_bytes == 0; })
               ? "node(s) did not say how much memory a GPU has"
               : "node(s) had GPUs with too little memory";
  }
  const int healthy = count([](const GpuCard& card) { return card.healthy; });
  if (std::min(healthy, usable) < request.cards) return "node(s) had too few healthy GPUs";
  GpuRequest anywhere = request;
  anywhere.group = GpuGroupKind::kNone;
  if (!Fitting(anywhere).empty()) {
    CardSet all;
    for (int i = 0; i < static_cast<int>(cards.size()); ++i) all.push_back(i);
    resolvable = !GroupsWith(*this, all, request.group, request.cards).empty();
    return absl::StrCat("node(s) had too few free GPUs on one ", KindName(request.group));
  }
  resolvable = true;
  return request.whole() ? "Insufficient free GPUs" : "Insufficient free share of one GPU";
}

void GpuNode::Take(const GpuRequest& request, const CardSet& taken) {
  for (const int position : taken) {
    GpuCard& card = cards[position];
    card.milli_free -= MilliOn(request, card);
    card.memory_free = SaturatingSubtract(card.memory_free, MemoryOn(request, card));
    ++card.pods;
  }
  if (request.cards > 0) ++pods_of_class[ClassOf(request)];
}

std::string DescribeCards(const GpuNode& node) {
  if (!node.problem.empty()) return absl::StrCat("cannot be read: ", node.problem);
  int spare = node.Spare();
  std::string text = absl::StrJoin(node.cards, ", ", [&](std::string* out, const GpuCard& card) {
    absl::StrAppend(out, card.index, ": ");
    if (!card.healthy) {
      absl::StrAppend(out, card.idle() ? "sick" : "sick and in use");
    } else if (card.idle()) {
      absl::StrAppend(out, spare-- > 0 ? "idle" : "not to be used");
    } else {
      absl::StrAppend(out, std::max<int64_t>(0, card.milli_free), " of 1000 free");
    }
  });
  return node.model.empty() ? text : absl::StrCat(node.model.view(), "; ", text);
}

std::string CardIndexes(const GpuNode& node, const CardSet& cards) {
  return absl::StrJoin(cards, "-", [&](std::string* out, int position) {
    absl::StrAppend(out, node.cards[position].index);
  });
}

}  // namespace berth
