// SPDX-License-Identifier: Apache-2.0
// An attempt on an entry of the queue: what is asked for, what came of it, and what that means to
// the pods and to the queue.
#ifndef BERTH_SRC_ENGINE_ATTEMPT_H_
#define BERTH_SRC_ENGINE_ATTEMPT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/extensions/group.h"
#include "berth/framework/placement.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/work_budget.h"
#include "engine/binder.h"
#include "engine/rejection_reasons.h"
#include "framework/framework.h"
#include "group/group_index.h"
#include "queue/queue_entry.h"
#include "search/quorum.h"

namespace berth {

// Asked after each member that was tried in a placement.
class PlacementWatch {
 public:
  virtual ~PlacementWatch() = default;
  // Whether it makes sense to go on there.
  virtual bool Continues(int placed, int remaining) const = 0;
};

// Lets in what happened while a long attempt on a group goes on: between two of its members, as
// between two pods that are tried on their own.
class EventIntake {
 public:
  // Due each time that so much was done, in steps of WorkBudget.
  explicit EventIntake(int64_t steps) : steps_(steps) {}
  virtual ~EventIntake() = default;

  int64_t steps() const { return steps_; }
  // Takes in events that wait. Returns false if the group or a pod of the attempt changed, or is
  // gone: then nothing is decided, and the attempt ends as one that yielded.
  virtual bool TakeIn(const Binder::Members& placed) = 0;

 private:
  const int64_t steps_;
};

// What to try.
struct AttemptRequest {
  const Framework* framework = nullptr;
  AttemptHistory history;
  std::string group;  // "namespace/name"; empty for a single pod
  // Pending, in the order in which they would be tried one by one.
  absl::InlinedVector<std::shared_ptr<const PodInfo>, 1> pods;
  // How many of them must be placed for any to be; the rest is placed if there is room.
  int minimum = 1;
  // For a group: the same, and what its parts need. By pod: which part it is in, as the quorum
  // counts them; empty if the group has no parts.
  Quorum quorum;
  std::vector<int> parts;
  int percentage_of_nodes_to_score = 0;
  WorkBudget work_budget;          // of each pod's cycle; unlimited for more than one pod
  int64_t group_search_steps = 0;  // SchedulerOptions
  int most_moves = 0;              // MovesPods
  absl::Time now;                  // of more than one pod: when victims are expected to leave
  // For a group that plugins place: the only nodes that count; null: all do.
  const NodePlacement* placement = nullptr;
  const PlacementWatch* watch = nullptr;  // null: not asked for
  bool plans_evictions = true;  // false: the question is what fits beside the pods that are there

  int PartOf(size_t pod) const { return parts.empty() ? 0 : parts[pod]; }
  // For a group with parts: how many of these pods are in each, as the quorum counts them.
  std::vector<int> CountByPart(const Binder::Members& placed) const;
  // For each of these pods, whether its part starts if they are all that is placed.
  std::vector<bool> FindStartingParts(const Binder::Members& placed) const;
  // Whether a group, or a single pod, starts with these.
  bool IsReachedBy(const Binder::Members& placed) const {
    return static_cast<int>(placed.size()) >= minimum &&
           (!quorum.has_parts() || quorum.IsReachedBy(CountByPart(placed)));
  }

 private:
  std::vector<int> PartsOf(const Binder::Members& placed) const;
};

// Fills in of a request for a group with these pods: their order, the minimum and the parts.
void DescribeGroup(const GroupPlugin& plugin, const Groups& groups, AttemptRequest& request);
// Whether as many of the group run as it takes for it to start.
bool IsWhole(const GroupPlugin& plugin, const GroupSpec& spec, const GroupMembers& members);

// Why one pod was not placed.
struct PodFailure {
  std::shared_ptr<const PodInfo> pod;
  Status status;                          // with the plugin to blame first
  std::vector<Symbol> rejecting_plugins;  // empty: the attempt failed with an error
  std::string message;                    // of its FailedScheduling event
  // In `message`: why PostFilter found no place either, up to the end.
  size_t post_filter_begins = std::string::npos;
  // The plugins whose PreFilter said Skip, if nodes were filtered.
  PluginMask skipped = 0;
  // What becomes of its nomination: "" clears it, absent leaves it.
  std::optional<std::string> nominated_node = std::nullopt;
  // `message` as values for programs (docs/explained_waiting.md). Pods with the same failure share
  // it.
  WaitingPtr waiting = nullptr;
  // For a group's member, while the attempt lasts.
  bool post_filter_ran = false;  // or there is nothing to ask it
  bool may_fit_later = false;    // beside siblings that are placed after this
  int placed_before = 0;         // how many had been
};

// What was found out about a place for a group as a whole.
enum class GroupAnswer : uint8_t {
  kNone,        // no more than the failures of its members say
  kPlaced,      // the minimum was reached
  kPlan,        // it will be once the victims of its plan have gone
  kInfeasible,  // proven: no assignment of its members to nodes exists now
  kUndecided,   // the budget of the search is spent, or MemberChoices says what was not tried
};

// What was found out about moving pods for a group.
enum class MovesAnswer : uint8_t {
  kNone,       // it was not asked, or too little is free
  kFewest,     // it helps, and no fewer moves do: proven
  kSome,       // it helps; perhaps fewer moves would do
  kNoHelp,     // proven: so many moves do not help
  kUndecided,  // not all ways were tried
};

struct AttemptResult {
  // Whether the minimum was reached: `placed` stands, and `failed` are pods beyond it. If not,
  // nothing is placed, and `failed` says why, at least once.
  bool minimum_reached = false;
  StartOrder order = StartOrder::kByImportance;  // of a group, if it was
  GroupAnswer answer = GroupAnswer::kNone;       // of a group
  std::string finding;                           // the same in words, with its numbers
  std::string evictions_finding;       // that evictions do not make room, or for how many members
  bool evictions_are_in_vain = false;  // it is proven
  int placeable_by_evictions = 0;      // of a group that missed its minimum, as far as was tried
  MovesAnswer moves = MovesAnswer::kNone;
  std::string moves_finding;   // that moving pods does not make room, or may
  int64_t possibilities = 0;   // how many placements the search tried
  int64_t eviction_steps = 0;  // of group_search_steps, what the search for evictions took
  Binder::Members placed;      // reserved, and permitted or waiting
  std::vector<PodFailure> failed;
  // What PostFilter would do for failed pods: to be carried out.
  struct Plan {
    std::shared_ptr<const PodInfo> pod;
    PostFilterResult result;
    // If its victims are moved, no less important than it: to which node each.
    std::vector<std::string> move_to = {};
  };
  absl::InlinedVector<Plan, 1> plans;
  // For a group that gets a reservation: on which nodes, from when.
  std::vector<std::string> reserved_nodes;
  absl::Time reserved_from = absl::InfiniteFuture();
  absl::Time retry_at = absl::InfiniteFuture();  // when time alone may have helped
  // It yielded (WorkBudget): nothing was decided, the same is to be tried again.
  bool yielded = false;
  int cycles = 0;
  int post_filters = 0;  // how often PostFilter was asked, to the end
  int most_placed = 0;   // the most pods that were placed at once
  int hopeless = 0;      // of `failed`, how many no sibling can help; while the attempt lasts
};

// What `result` says of a pod that has no place. If it says nothing yet: `message`, and that it
// waits for what the first one waits for.
PodFailure& FailureOf(const std::shared_ptr<const PodInfo>& pod, absl::string_view message,
                      AttemptResult& result);
// The pods of the plans are nominated; plans without victims are no more than that.
void NominatePods(std::vector<AttemptResult::Plan> plans, AttemptResult& result);
// Fewer pods than the minimum: nothing is tried.
AttemptResult TooFewMembers(const AttemptRequest& request);
// A group missed its minimum: each of its pods fails with it, those too that would have fitted.
void FailEveryMember(const AttemptRequest& request, const GroupMembers& group,
                     AttemptResult& result);
// What the queue waits for: any change that may help any of the pods that were rejected, and for a
// group also a change of the group itself.
Rejection DescribeRejection(const AttemptRequest& request, const AttemptResult& result);
// Why a group missed its minimum, as its plugin puts it.
Status WhyGroupFailed(const AttemptRequest& request, const GroupMembers& group,
                      const AttemptResult& result);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_ATTEMPT_H_
