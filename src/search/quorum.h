// SPDX-License-Identifier: Apache-2.0
// What of a group has to be placed for it to start: its minimum, and the minima of its parts.
#ifndef BERTH_SRC_SEARCH_QUORUM_H_
#define BERTH_SRC_SEARCH_QUORUM_H_

#include <vector>

#include "absl/types/span.h"
#include "berth/extensions/group.h"

namespace berth {

// A value. Members are counted by part: at 0 those that are in none, at 1 + i those of
// GroupSpec::subgroups[i].
class Quorum {
 public:
  // A group without parts that starts with so many more members.
  Quorum() = default;
  explicit Quorum(int missing) : missing_(missing) {}
  // `running`: how many members of each part run.
  Quorum(const GroupSpec& spec, absl::Span<const int> running);

  // How many more members it takes, whatever part they are in; 0 if the group has started.
  int missing() const { return missing_; }
  bool has_parts() const { return !parts_.empty(); }
  // The size of what is counted by part.
  int counts() const { return static_cast<int>(parts_.size()) + 1; }

  // How many more members of that part its own minimum takes, whether it has to start or not.
  int MissingIn(int part) const { return part == 0 ? 0 : parts_[part - 1].missing; }
  // Which parts start when so many more members of each are placed: those that have their members
  // and enough subgroups that start, in a part that starts, too. At 0: true.
  std::vector<bool> PartsThatStart(absl::Span<const int> placed) const;
  // Whether the group starts then.
  bool IsReachedBy(absl::Span<const int> placed) const;

  // The part that it is right below; 0 for one without.
  int ParentOf(int part) const { return parts_[part - 1].parent; }
  bool IsWithin(int part, int ancestor) const;
  // What that part needs to start where its parent has. The others count for nothing, but keep
  // their numbers.
  Quorum OfPart(int part) const;

 private:
  struct Part {
    int parent = 0;         // counted by part
    int missing = 0;        // members
    int running = 0;        // members
    int min_subgroups = 0;  // that must start
  };

  int missing_ = 1;
  int running_ = 0;        // in no part
  int min_member_ = 0;     // of the group, with those that run
  int min_subgroups_ = 0;  // of those without a parent
  std::vector<Part> parts_;
};

}  // namespace berth

#endif  // BERTH_SRC_SEARCH_QUORUM_H_
