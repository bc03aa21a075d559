// SPDX-License-Identifier: Apache-2.0
// AssignmentSearch: backtracking over assignments of members to nodes, with a budget.
#ifndef BERTH_SRC_SEARCH_ASSIGNMENT_SEARCH_H_
#define BERTH_SRC_SEARCH_ASSIGNMENT_SEARCH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "berth/framework/node_info.h"

namespace berth {

// Pods of a group that nothing tells apart.
struct AssignmentClass {
  int members = 0;
  // Whether a sibling that is placed never lets such a pod onto a node that rejected it before: no
  // affinity, no spread constraint. Then it does not matter when the pod has its turn.
  bool only_competes = false;
};

// What the search moves in: a transaction that pods are placed in and taken out of, last in first
// out.
class AssignmentSpace {
 public:
  virtual ~AssignmentSpace() = default;

  virtual absl::Span<const AssignmentClass> classes() const = 0;
  // Where a pod of the class could be placed now, the most promising first.
  virtual std::vector<NodeRow> FeasibleRows(int pod_class) = 0;
  // Places one there. False, and nothing has changed, if a plugin refuses it after all.
  virtual bool Place(int pod_class, NodeRow row) = 0;
  // Takes back the last that was placed.
  virtual void Undo() = 0;
  // By class: whether so many placed members are enough.
  virtual bool IsEnough(absl::Span<const int> placed) const = 0;
  // How many more pods of the class have room now, at most. Only asked of one that only competes.
  virtual int Room(int pod_class, int enough) = 0;
};

// Depth first: for the class with the least room, its nodes in order; and for every class whose
// turn may matter, its nodes. What was tried in another order is not tried again. Deterministic.
class AssignmentSearch {
 public:
  enum class Outcome : uint8_t {
    kFound,      // it is placed
    kExhausted,  // there is none: all possibilities were tried
    kUndecided,  // the budget is spent
  };
  // `budget`: in steps; one for each pod placed and each thousand nodes evaluated.
  AssignmentSearch(AssignmentSpace& space, int nodes, int64_t budget)
      : space_(space), steps_of_evaluation_(1 + nodes / 1000), budget_(budget) {}

  // If it is not found, everything is taken back.
  Outcome Run();
  // How many pods were placed, in all that was tried.
  int64_t possibilities() const { return possibilities_; }
  // The most members that were placed at once.
  int most_placed() const { return most_placed_; }

 private:
  // What is placed, as (class, row), sorted; and how many of each class no more are to be.
  struct State {
    std::vector<std::pair<int, NodeRow>> placed;
    std::vector<int> count;
    std::vector<bool> closed;
  };
  bool Extend();
  bool TryRows(int pod_class);
  bool HasRoom(std::vector<int>& at_most);
  std::string KeyOf(const State& state) const;

  AssignmentSpace& space_;
  const int64_t steps_of_evaluation_;
  const int64_t budget_;
  int64_t steps_ = 0;
  int64_t possibilities_ = 0;
  int most_placed_ = 0;
  bool undecided_ = false;
  State state_;
  absl::flat_hash_set<std::string> tried_;
};

}  // namespace berth

#endif  // BERTH_SRC_SEARCH_ASSIGNMENT_SEARCH_H_
