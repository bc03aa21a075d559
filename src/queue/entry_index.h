// SPDX-License-Identifier: Apache-2.0
// Which entries there are, and which pod is in which.
#ifndef BERTH_SRC_QUEUE_ENTRY_INDEX_H_
#define BERTH_SRC_QUEUE_ENTRY_INDEX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "api/prefetch.h"
#include "berth/api/identity_map.h"
#include "berth/framework/pod_info.h"
#include "queue/queue_entry.h"

namespace berth {

// Belongs to the queue.
class EntryIndex {
 public:
  // The key of the entry that the pod belongs to.
  static std::string KeyOf(const PodInfo& pod, const std::optional<std::string>& group);

  const QueueEntry* Find(absl::string_view key) const;
  QueueEntry* Find(absl::string_view key) {
    return const_cast<QueueEntry*>(std::as_const(*this).Find(key));
  }
  // The entry that has the pod, or null.
  const QueueEntry* FindByPod(UidRef pod) const {
    const QueueEntry* const single = single_pods_.Find(pod);
    if (single != nullptr && single->has_pending_pod) return single;
    const GroupPlace* const place = places_in_groups_.Find(pod);
    return place == nullptr ? nullptr : place->entry;
  }
  QueueEntry* FindByPod(UidRef pod) {
    return const_cast<QueueEntry*>(std::as_const(*this).FindByPod(pod));
  }
  // The entry that `pod` belongs to, and whether it is new: then it is in no place yet.
  std::pair<QueueEntry*, bool> FindOrCreate(const PodInfo& pod,
                                            const std::optional<std::string>& group);
  void Erase(QueueEntry& entry);

  // The pod is in the entry from now on, with that PendingPod::arrival.
  void List(QueueEntry& entry, const IdentityPtr& pod, uint64_t arrival);
  // Its member, gated or not, or null.
  PendingPod* FindMember(QueueEntry& entry, UidRef pod) const;
  // The same among those that may be tried.
  const PendingPod* FindTriable(const QueueEntry& entry, UidRef pod) const;
  void RemoveMember(QueueEntry& entry, UidRef pod);
  // Takes out the members that an update in flight made members of another entry.
  std::vector<PendingPod> TakeStrayMembers(QueueEntry& entry);

  int size() const;  // pods
  // Calls `visit` for every entry, in no order.
  template <class Visit>
  void ForEach(const Visit& visit) const {
    single_pods_.ForEach([&](const Identity&, const QueueEntry& entry) { visit(entry); });
    for (const auto& [key, entry] : groups_) visit(*entry);
  }
  // For a pod on its own.
  void Prefetch(const Identity& pod, Fetch what) const {
    MapPrefetcher::Prefetch(single_pods_, {pod}, what);
  }

 private:
  // Of a pod in a group. A group may have thousands of members: they are found by their order.
  struct GroupPlace {
    QueueEntry* entry = nullptr;
    uint64_t arrival = 0;
  };

  // Which list the pod is in, and where; nowhere if the list is null.
  struct MemberPlace {
    std::vector<PendingPod>* list = nullptr;
    std::vector<PendingPod>::iterator at;
  };
  MemberPlace PlaceOf(QueueEntry& entry, UidRef pod) const;
  void Unlist(QueueEntry& entry, UidRef pod);

  IdentityMap<QueueEntry, ByUid> single_pods_;
  absl::flat_hash_map<std::string, std::unique_ptr<QueueEntry>> groups_;  // by key
  IdentityMap<GroupPlace, ByUid> places_in_groups_;                       // in the above
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_ENTRY_INDEX_H_
