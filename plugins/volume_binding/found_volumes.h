// SPDX-License-Identifier: Apache-2.0
// On which nodes claims without a volume find a free one.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_FOUND_VOLUMES_H_
#define BERTH_PLUGINS_VOLUME_BINDING_FOUND_VOLUMES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "berth/columns/node_table.h"
#include "plugins/volume_binding/assumed_volumes.h"
#include "plugins/volume_binding/pod_volumes.h"
#include "plugins/volume_binding/volumes_by_class.h"

namespace berth {

// FindFreeVolume() for many rows. It keeps, for claims that ask for the same, the volume that it
// found for each row: as long as that one is free, the row has one. So a row is looked at again
// when its volume is taken or its labels change; and those without a volume when one becomes free.
// Threads: the scheduling thread.
class FoundVolumes {
 public:
  // For each of `rows`, 1 if there is a free volume for the claim, else 0. Only for claims to which
  // none is promised.
  std::vector<uint8_t> Find(const DelayedClaim& claim, const VolumesByClass& volumes,
                            const AssumedVolumes& assumed, const NodeTable& nodes,
                            absl::Span<const NodeRow> rows);

 private:
  // What is kept for claims that ask for the same.
  struct Kept {
    std::string request;  // RequestOf() the claim
    uint64_t last_use = 0;
    // What it is as of.
    uint64_t volume_slots = 0, table_id = 0, table_version = 0, became_free = 0, reverted = 0;
    std::vector<int> slot_by_row;  // VolumesByClass::FreeAt(), or one of those below
  };
  static constexpr int kNone = -1, kUnknown = -2;
  static constexpr size_t kMostKept = 8;

  Kept& KeptFor(const DelayedClaim& claim);
  static void CatchUp(const DelayedClaim& claim, const VolumesByClass& volumes,
                      const AssumedVolumes& assumed, const NodeTable& nodes, Kept& kept);

  std::vector<Kept> kept_;
  uint64_t uses_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_FOUND_VOLUMES_H_
