// SPDX-License-Identifier: Apache-2.0
// Implementation of quorum.h.
#include "search/quorum.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace berth {

Quorum::Quorum(const GroupSpec& spec, absl::Span<const int> running)
    : missing_(std::max(0, spec.min_member - std::accumulate(running.begin(), running.end(), 0))),
      running_(running.empty() ? 0 : running.front()),
      min_member_(spec.min_member),
      min_subgroups_(spec.min_subgroups) {
  int roots = 0;
  for (size_t i = 0; i < spec.subgroups.size(); ++i) {
    const Subgroup& subgroup = spec.subgroups[i];
    const int runs = i + 1 < running.size() ? running[i + 1] : 0;
    // A plugin that names no part before this one names none.
    const bool has_parent = subgroup.parent >= 0 && subgroup.parent < static_cast<int>(i);
    parts_.push_back({.parent = has_parent ? subgroup.parent + 1 : 0,
                      .missing = std::max(0, subgroup.min_member - runs),
                      .running = runs,
                      .min_subgroups = subgroup.min_subgroups});
    roots += static_cast<int>(!has_parent);
  }
  if (min_subgroups_ == 0) min_subgroups_ = roots;
}

// A part comes after the one that it is in.
std::vector<bool> Quorum::PartsThatStart(absl::Span<const int> placed) const {
  std::vector<bool> starts(counts(), true);
  std::vector<int> starting_below(counts(), 0);
  for (int part = counts() - 1; part > 0; --part) {
    const Part& rules = parts_[part - 1];
    starts[part] = placed[part] >= rules.missing && starting_below[part] >= rules.min_subgroups;
    starting_below[rules.parent] += static_cast<int>(starts[part]);
  }
  for (int part = 1; part < counts(); ++part) {
    starts[part] = starts[part] && starts[parts_[part - 1].parent];
  }
  return starts;
}

bool Quorum::IsReachedBy(absl::Span<const int> placed) const {
  if (!has_parts()) return placed.front() >= missing_;
  const std::vector<bool> starts = PartsThatStart(placed);
  int members = running_ + placed.front();
  int roots = 0;
  for (int part = 1; part < counts(); ++part) {
    if (!starts[part]) continue;
    members += parts_[part - 1].running + placed[part];
    roots += static_cast<int>(parts_[part - 1].parent == 0);
  }
  return members >= min_member_ && roots >= min_subgroups_;
}

bool Quorum::IsWithin(int part, int ancestor) const {
  while (part != 0 && part != ancestor) part = ParentOf(part);
  return part == ancestor;
}

Quorum Quorum::OfPart(int part) const {
  Quorum of = *this;
  of.missing_ = std::max(1, MissingIn(part));
  of.running_ = of.min_member_ = 0;
  of.min_subgroups_ = 1;  // this one
  for (int other = 1; other < counts(); ++other) {
    if (!IsWithin(other, part)) of.parts_[other - 1].missing = std::numeric_limits<int>::max();
  }
  of.parts_[part - 1].parent = 0;
  return of;
}

}  // namespace berth
