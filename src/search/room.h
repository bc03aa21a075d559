// SPDX-License-Identifier: Apache-2.0
// Room: for how many pods nodes have enough left, by sums over columns. What it says is an upper
// bound, so that "too little room" is a proof.
#ifndef BERTH_SRC_SEARCH_ROOM_H_
#define BERTH_SRC_SEARCH_ROOM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "berth/incremental/resource_filter.h"
#include "framework/nominated_rows.h"

namespace berth {

// How many pods that need so much fit on the node of `row` at most, as its other pods are; 0 if
// none.
int64_t RoomOnRow(const NeededResources& needed, const NodeTable& nodes, NodeRow row);

// On all nodes together, beside the pods that are there, or if there were none. Counts no further
// than `enough`.
int64_t Room(const NeededResources& needed, const NodeTable& nodes, int64_t enough);
int64_t RoomIfEmpty(const NeededResources& needed, const NodeTable& nodes, int64_t enough);
// The same on some nodes.
int64_t Room(const NeededResources& needed, const NodeTable& nodes, absl::Span<const NodeRow> rows,
             int64_t enough);
int64_t RoomIfEmpty(const NeededResources& needed, const NodeTable& nodes,
                    absl::Span<const NodeRow> rows, int64_t enough);
// The same if the pods of a lower priority than that were gone. Costs a look at each of these and
// at the pods beside them.
int64_t RoomWithoutPodsBelow(const NeededResources& needed, const NodeTable& nodes,
                             int32_t priority, int64_t enough);
int64_t RoomWithoutPodsBelow(const NeededResources& needed, const NodeTable& nodes,
                             absl::Span<const NodeRow> rows, int32_t priority, int64_t enough);
// On each node, by row.
void RoomByRow(const NeededResources& needed, const NodeTable& nodes, std::vector<double>& room);

// Of what Room() says on all nodes, so much at least is held for pods of at least `priority` that
// are nominated to nodes. Those on `own_rows` do not count.
int64_t HeldRoom(const NeededResources& needed, const NodeTable& nodes,
                 const NominatedRows& nominated, int32_t priority,
                 absl::Span<const NodeRow> own_rows);

// The same of one of these nodes.
int64_t HeldRoomOnRow(const NeededResources& needed, const NodeTable& nodes,
                      const NominatedRows& nominated, int32_t priority,
                      absl::Span<const NodeRow> own_rows, NodeRow row);

// What of it is the shortest: the resource (or "pods") of which alone there is room for the fewest.
struct ShortResource {
  std::string name;
  int64_t per_pod = 0;
  int64_t room = 0;      // pods, by this resource alone
  int64_t all_free = 0;  // on all nodes; stops at the end of int64
};
ShortResource FindShortResource(const NeededResources& needed, const NodeTable& nodes);
ShortResource FindShortResource(const NeededResources& needed, const NodeTable& nodes,
                                absl::Span<const NodeRow> rows);

}  // namespace berth

#endif  // BERTH_SRC_SEARCH_ROOM_H_
