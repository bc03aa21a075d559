// Who waits for events: entries of which plugins think alike are asked about as one.
#ifndef BERTH_SRC_QUEUE_WAITING_KINDS_H_
#define BERTH_SRC_QUEUE_WAITING_KINDS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "queue/plugin_events.h"
#include "queue/queued_group.h"

namespace berth {

// Entries that wait for the same plugins in the same way. An event that concerns one of them and is
// about none of their pods concerns all. Not empty, unless it was taken out.
struct WaitingKind {
  // What they have in common. `who`: what their pods share (PodInfo::shared_spec()), which any of
  // them keeps alive; or the entry itself, if it has nobody like it.
  struct Key {
    const void* who = nullptr;
    absl::InlinedVector<uint32_t, 8> role;  // what they wait for, in any numbers

    friend bool operator==(const Key&, const Key&) = default;
    template <class H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.who, key.role);
    }
  };
  Key key;
  absl::InlinedVector<PluginSlot, 8> slots;
  struct Waiting {
    QueuedGroup* entry;
    uint64_t sequence;  // the entry's, at hand
  };
  std::vector<Waiting> entries;  // in no order; of a kind that was taken out, gaps among them
  int32_t priority = 0;          // of their pods, or of one of a group
  uint64_t number = 0;           // by order of creation
  bool is_indexed = true;        // false once it was taken out
};

// Belongs to the queue.
class WaitingKinds {
 public:
  // `slots`: how many plugins there are.
  explicit WaitingKinds(int slots) : waiting_for_(slots) {}

  // From now on the entry waits for the plugins `slots`, together with those that have this key.
  void Set(QueuedGroup& entry, WaitingKind::Key key, absl::Span<const PluginSlot> slots);
  void Remove(QueuedGroup& entry);
  // Takes the kind out with all that are of it: those that become like them are of another kind.
  // Its entries can still be removed, which leaves gaps but at the end.
  std::unique_ptr<WaitingKind> TakeOut(WaitingKind& kind);

  // Those that wait for one of `slots`, each once, the oldest first. Until the next change.
  std::vector<WaitingKind*> WaitingFor(absl::Span<const PluginSlot> slots) const;

  bool empty() const { return kinds_.empty(); }
  // For tests: whether the kinds and their lists agree, with so many entries in all.
  bool IsConsistent(size_t entries) const;

 private:
  absl::flat_hash_map<WaitingKind::Key, std::unique_ptr<WaitingKind>> kinds_;
  std::vector<absl::flat_hash_set<WaitingKind*>> waiting_for_;  // by slot
  uint64_t next_number_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_WAITING_KINDS_H_
