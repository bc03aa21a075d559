// SPDX-License-Identifier: Apache-2.0
// Implementation of surplus_by_node.h.
#include "plugins/capacity_scheduling/surplus_by_node.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"

namespace berth {

const VictimUnit& SurplusByNode::unit(int number) const {
  return IsMade(number) ? made(number).unit : listed_.unit(number);
}

bool SurplusByNode::Before(int a, int b) const {
  if (ListedOf(a) != ListedOf(b)) return listed_.Before(ListedOf(a), ListedOf(b));
  if (a == b) return false;
  const int of_a = IsMade(a) ? made(a).member : made(b).place;
  const int of_b = IsMade(b) ? made(b).member : made(a).place;
  return of_a < of_b;
}

std::vector<int> SurplusByNode::OfGang(int number) {
  if (!IsMade(number)) return listed_.OfGang(number);
  std::vector<int> of_gang(made(number).end - made(number).begin);
  absl::c_iota(of_gang, made(number).begin);
  return of_gang;
}

int SurplusByNode::ForRow(int number, NodeRow row) {
  const OfRow* const split = Row(row);
  if (split == nullptr) return number;
  const auto other = split->in_place_of.find(number);
  return other == split->in_place_of.end() ? number : other->second;
}

const SurplusByNode::OfRow* SurplusByNode::Row(NodeRow row) {
  if (const auto known = rows_.find(row); known != rows_.end()) return known->second.get();
  const std::vector<int>& listed = listed_.OnRow(row);
  const auto is_core = [this](int number) {
    const VictimUnit& unit = listed_.unit(number);
    return unit.pods.size() > 1 && !unit.group.empty();
  };
  if (absl::c_none_of(listed, is_core)) return nullptr;
  OfRow split;
  for (const int number : listed) {
    if (is_core(number)) Split(number, nodes_.node(row).name(), split);
  }
  std::unique_ptr<const OfRow>& added = rows_[row];
  if (split.in_place_of.empty()) return nullptr;
  for (const int number : listed) {
    if (!split.in_place_of.contains(number)) split.units.push_back(number);
  }
  absl::c_sort(split.units, [this](int a, int b) { return Before(a, b); });
  added = std::make_unique<const OfRow>(std::move(split));
  return added.get();
}

// Exchanges those who go alone for members on the node, as far as there are any among the core.
void SurplusByNode::Split(int core, Symbol node, OfRow& of_row) {
  std::vector<int> gang = listed_.OfGang(core);
  absl::c_sort(gang, [this](int a, int b) { return listed_.Before(a, b); });
  const size_t alone = gang.size() - 1;
  const bool is_plain = gang.back() == core && absl::c_all_of(gang, [&](int number) {
                          return number == core || listed_.unit(number).pods.size() == 1;
                        });
  if (alone == 0 || !is_plain) return;
  struct Member {
    std::shared_ptr<const PodInfo> pod;
    Symbol node;
    int place;
  };
  std::vector<Member> members;
  for (const int number : gang) {
    const VictimUnit& unit = listed_.unit(number);
    for (size_t i = 0; i < unit.pods.size(); ++i) {
      members.push_back({unit.pods[i], unit.nodes[i], static_cast<int>(members.size())});
    }
  }
  const auto is_here = [&](const Member& member) { return member.node == node; };
  const auto rest = members.begin() + static_cast<std::ptrdiff_t>(alone);
  const auto elsewhere = absl::c_count_if(absl::MakeSpan(members).first(alone),
                                          [&](const Member& member) { return !is_here(member); });
  if (elsewhere == 0 || std::none_of(rest, members.end(), is_here)) return;
  std::stable_partition(members.begin(), members.end(), is_here);
  std::sort(rest, members.end(),
            [](const Member& a, const Member& b) { return a.place < b.place; });
  const int begin = kFirstMade + static_cast<int>(made_.size());
  const int end = begin + static_cast<int>(gang.size());
  for (size_t i = 0; i < gang.size(); ++i) {
    const size_t last = i == alone ? members.size() : i + 1;
    Made made{.unit = {.group = listed_.unit(core).group},
              .listed = gang[i],
              .place = static_cast<int>(i),
              .member = members[i].place,
              .begin = begin,
              .end = end};
    for (size_t j = i; j < last; ++j) {
      made.unit.pods.push_back(members[j].pod);
      made.unit.nodes.push_back(members[j].node);
    }
    const int number = begin + static_cast<int>(i);
    of_row.in_place_of[gang[i]] = number;
    if (absl::c_linear_search(made.unit.nodes, node)) of_row.units.push_back(number);
    made_.push_back(std::move(made));
  }
}

}  // namespace berth
