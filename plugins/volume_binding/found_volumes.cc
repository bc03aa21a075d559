// SPDX-License-Identifier: Apache-2.0
// Implementation of found_volumes.h.
#include "plugins/volume_binding/found_volumes.h"

#include <algorithm>
#include <utility>

namespace berth {

std::vector<uint8_t> FoundVolumes::Find(const DelayedClaim& claim, const VolumesByClass& volumes,
                                        const AssumedVolumes& assumed, const NodeTable& nodes,
                                        absl::Span<const NodeRow> rows) {
  Kept& kept = KeptFor(claim);
  CatchUp(claim, volumes, assumed, nodes, kept);
  std::vector<uint8_t> found(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    int& slot = kept.slot_by_row[rows[i]];
    if (slot == kNone) continue;
    if (slot >= 0) {
      const api::PersistentVolume* const volume = volumes.FreeAt(slot);
      found[i] = volume != nullptr && assumed.ClaimOf(*volume) == nullptr;
      if (found[i] != 0) continue;
    }
    const ParsedVolume* const volume = FindFreeVolume(claim, assumed, nodes.node(rows[i]).labels());
    slot = volume == nullptr ? kNone : volume->slot;
    found[i] = volume != nullptr;
  }
  return found;
}

FoundVolumes::Kept& FoundVolumes::KeptFor(const DelayedClaim& claim) {
  std::string request = RequestOf(claim);
  auto kept = std::find_if(kept_.begin(), kept_.end(),
                           [&](const Kept& one) { return one.request == request; });
  if (kept == kept_.end() && kept_.size() < kMostKept) kept = kept_.emplace(kept);
  if (kept == kept_.end()) {
    kept = std::min_element(kept_.begin(), kept_.end(),
                            [](const Kept& a, const Kept& b) { return a.last_use < b.last_use; });
  }
  if (kept->request != request) *kept = Kept{.request = std::move(request)};
  kept->last_use = ++uses_;
  return *kept;
}

void FoundVolumes::CatchUp(const DelayedClaim& claim, const VolumesByClass& volumes,
                           const AssumedVolumes& assumed, const NodeTable& nodes, Kept& kept) {
  std::vector<int>& slots = kept.slot_by_row;
  const auto changes = kept.volume_slots == volumes.slots_id() && kept.table_id == nodes.id()
                           ? nodes.ChangesSince(kept.table_version)
                           : std::nullopt;
  if (!changes.has_value() || slots.size() != static_cast<size_t>(nodes.size())) {
    slots.assign(nodes.size(), kUnknown);
  } else {
    for (const RowChange& change : *changes) {
      if ((change.aspects & Aspect::kNodeLabels) != 0) slots[change.row] = kUnknown;
    }
    const bool others_are_free = kept.became_free != claim.volumes->became_free() ||
                                 kept.reverted != assumed.reverted_volumes();
    if (others_are_free) std::replace(slots.begin(), slots.end(), kNone, kUnknown);
  }
  kept.volume_slots = volumes.slots_id();
  kept.table_id = nodes.id();
  kept.table_version = nodes.version();
  kept.became_free = claim.volumes->became_free();
  kept.reverted = assumed.reverted_volumes();
}

}  // namespace berth
