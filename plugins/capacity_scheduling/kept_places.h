// SPDX-License-Identifier: Apache-2.0
// Quotas below their share that wait for more than others give back at once.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_KEPT_PLACES_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_KEPT_PLACES_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "plugins/capacity_scheduling/quota_book.h"

namespace berth {

// Large jobs beside small ones: each GPU that frees is too little for the large one, and goes to
// the next small one, whoever's turn it is. So a pod whose quota may evict nobody for its share has
// a place kept where others have more than theirs: it is nominated there, and waits for them to
// end. Of each quota one pod at a time, once nothing of the quota has started for kPatience, and
// not for longer than kWithoutProgress after somebody made way last: then others have that long.
// Which quotas and where TreeAdmission decides; this says when. Scheduling thread.
class KeptPlaces {
 public:
  static constexpr absl::Duration kPatience = absl::Minutes(1), kWithoutProgress = absl::Hours(1);

  // Both outlive this.
  KeptPlaces(const Handle& handle, const QuotaBook& book) : handle_(handle), book_(book) {}

  // The pod was refused. Whether a place may be kept for it, or still be.
  bool MayKeep(const PodInfo& pod, QuotaId quota);
  // A place is: so many pods have to end.
  void Keep(const PodInfo& pod, QuotaId quota, size_t awaited);
  // None is to be had.
  void GiveUp(QuotaId quota) { Pause(quota, kPatience); }
  void OnAssigned(const PodInfo& pod);

 private:
  struct OfQuota {
    absl::Time since;                              // nothing of it has started
    IdentityPtr pod;                               // for which a place is kept, or null
    size_t awaited = 0;                            // the fewest so far
    absl::Time progress;                           // when that fell last
    absl::Time not_before = absl::InfinitePast();  // is another place kept
  };
  void Pause(QuotaId quota, absl::Duration pause);

  const Handle& handle_;
  const QuotaBook& book_;
  absl::flat_hash_map<QuotaId, OfQuota> quotas_;  // of the tree of that version
  uint64_t tree_version_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_KEPT_PLACES_H_
