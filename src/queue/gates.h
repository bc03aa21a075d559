// SPDX-License-Identifier: Apache-2.0
// What holds entries of the queue back: PreEnqueue plugins, and groups that are not ready.
#ifndef BERTH_SRC_QUEUE_GATES_H_
#define BERTH_SRC_QUEUE_GATES_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "berth/extensions/group.h"
#include "berth/framework/status.h"
#include "queue/entry_index.h"
#include "queue/queue_entry.h"
#include "queue/queue_profile.h"

namespace berth {

// Which gates are asked.
enum class GateCheck : uint8_t { kNone, kGroupOnly, kAll };

// Sorts the members of entries into those that may be tried and those that are held back. Belongs
// to the queue.
class Gates {
 public:
  // Everything outlives this. `groups` may be null if no profile has a group plugin.
  Gates(absl::Span<const QueueProfile> profiles, const Groups* groups, EntryIndex& entries)
      : profiles_(profiles), groups_(groups), entries_(entries) {}

  // Puts the pod among the members or the gated ones, whichever it belongs to.
  void Insert(QueueEntry& entry, PendingPod member);
  // Asks again about the gated members for which `asked` is true. Returns whether any may go on.
  bool Open(QueueEntry& entry, const std::function<bool(const PendingPod&)>& asked);
  // Whether the entry may be tried. If not, its gate says why.
  bool Passes(QueueEntry& entry, GateCheck check);
  // Whether some of its group run, and fewer than its minimum.
  bool RunsInPart(const QueueEntry& entry, const GroupSpec& spec) const;

 private:
  Status PodGate(const QueueEntry& entry, const PendingPod& member) const;
  Status GroupGate(const QueueEntry& entry) const;
  void AskPodGates(QueueEntry& entry);

  const absl::Span<const QueueProfile> profiles_;
  const Groups* const groups_;
  EntryIndex& entries_;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_GATES_H_
