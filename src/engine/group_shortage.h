// SPDX-License-Identifier: Apache-2.0
// Proofs by sums that a group has no place: the nodes together have too little left for as many of
// its members as it takes.
#ifndef BERTH_SRC_ENGINE_GROUP_SHORTAGE_H_
#define BERTH_SRC_ENGINE_GROUP_SHORTAGE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "berth/incremental/resource_filter.h"
#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "framework/nominated_rows.h"
#include "search/packing.h"

namespace berth {

struct GroupShortage {
  std::shared_ptr<const PodInfo> pod;  // one of those for which there is too little
  // If `members`:
  Symbol plugin;               // the filter that rejects for want of it
  NeededResources needed;      // by each of them
  int64_t members = 0;         // so many of them it takes at least
  int64_t room = 0;            // of them, at most
  bool of_one_kind = false;    // all pending members need the same
  bool even_if_empty = false;  // no eviction would help
  std::string finding;         // the proof in words
};

// What a ResourceFilter says that each pod like `pod` takes; absent if none says.
struct PodNeed {
  NeededResources needed;
  Symbol plugin;
};
std::optional<PodNeed> FindNeed(const Framework& framework, const NodeTable& nodes,
                                const PodInfo& pod);

// Absent if sums prove nothing. Costs a look at some columns; a group that finds room at once costs
// little.
std::optional<GroupShortage> FindShortage(const AttemptRequest& request, const NodeTable& nodes);

// The request's members by what they need. Absent if there are not several kinds of them and
// plugins count nothing that they need, or if there are too many kinds.
std::optional<PackingBound> PackingOf(const AttemptRequest& request, const NodeTable& nodes);
// A proof that there is room for members of each kind, but not for enough together, or not with
// what plugins count. Absent if there is none. Costs more than FindShortage(): for a group that did
// not find room.
std::optional<GroupShortage> FindShortageTogether(const AttemptRequest& request,
                                                  const NodeTable& nodes);

// How many pods of at least `priority` that need so much have room where the request allows, at
// most, beside what is held for pods nominated by others. Counts no further than `enough`.
class RoomBesideNominated {
 public:
  RoomBesideNominated(const AttemptRequest& request, const ClusterState& cluster);
  int64_t For(const NeededResources& needed, int32_t priority, int64_t enough) const;

 private:
  const AttemptRequest& request_;
  const NodeTable& nodes_;
  const NominatedRows& nominated_;
  std::vector<NodeRow> own_rows_;  // where members are nominated to
};

// Whether FindShortage() would find one if nominated pods ran.
bool IsShortBesideNominated(const AttemptRequest& request, const ClusterState& cluster);

// The same for a request that allows all nodes, asked again and again while pods come and go: an
// answer costs the nodes that changed since the last one. Scheduling thread.
class ShortageWatch {
 public:
  // Both outlive this.
  ShortageWatch(const AttemptRequest& request, const ClusterState& cluster);
  bool IsShort();

 private:
  struct Kind {
    NeededResources needed;
    int32_t priority = 0;
    int64_t least = 0;  // so many of them have to find room
    std::vector<int64_t> by_row;
    int64_t sum = 0;
  };
  void CountAll();
  void Count(Kind& kind, const NominatedRows& nominated, NodeRow row) const;

  const AttemptRequest& request_;
  const ClusterState& cluster_;
  std::vector<Kind> kinds_;
  std::vector<NodeRow> own_rows_;
  uint64_t table_ = 0, version_ = 0;  // NodeTable::id() and version()
  uint64_t nominations_ = 0;
};

// Why a member does not fit once as many as have room are placed, as a cycle would say it then, but
// without placing them. For a shortage of members that are all alike. Absent if other filters have
// more to say than that: then cycles must tell.
std::optional<PodFailure> ExplainShortage(const AttemptRequest& request,
                                          const GroupShortage& shortage,
                                          const ClusterState& cluster);

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_SHORTAGE_H_
