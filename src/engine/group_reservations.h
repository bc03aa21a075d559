// SPDX-License-Identifier: Apache-2.0
// GroupReservations: a group that has waited for long gets nodes that no other pod uses beyond the
// time at which it can start on them.
#ifndef BERTH_SRC_ENGINE_GROUP_RESERVATIONS_H_
#define BERTH_SRC_ENGINE_GROUP_RESERVATIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/clock.h"
#include "berth/framework/placement.h"
#include "engine/attempt.h"
#include "engine/cluster_state.h"
#include "engine/entry_scheduler.h"
#include "engine/framework_set.h"
#include "engine/pod_end_times.h"

namespace berth {

// Known ends of running pods make a timeline. The first group that fails although it has waited for
// GroupSpec::reserve_after gets the earliest time on it at which it would be placed whole, were
// all pods gone that will have ended by then, and its places of that attempt. Until it starts,
// pods of the same or a lower priority use these nodes only if they end before that time, or if
// the group still has its places beside them. There is one reservation at a time; each failed
// attempt of its group makes it again. docs/groups.md. Scheduling thread.
class GroupReservations {
 public:
  // `retry` gets the uids of pods that were kept off reserved nodes that are free now, or
  // whose reservation needs a new plan; may be null. All outlive this.
  GroupReservations(ClusterState& cluster, const FrameworkSet& profiles,
                    EntryScheduler& entry_scheduler, const Clock& clock,
                    std::function<void(absl::string_view uid)> retry);

  // As EntryScheduler::Run(), with what is reserved in mind.
  AttemptResult Run(const AttemptRequest& request, EventIntake* intake = nullptr);
  // After the change was applied.
  void Changed(const ClusterChange& change);
  bool is_active() const { return reservation_.has_value(); }
  // Ends the reservation, if there is one.
  void Release();

 private:
  using PodPtr = std::shared_ptr<const PodInfo>;
  struct Place {
    PodPtr pod;
    Symbol node;
  };
  struct Reservation {
    AttemptRequest request;  // of the group
    int32_t priority = 0;    // the lowest of its members
    absl::Time from;         // when its places are free
    std::vector<Place> places;

    bool Has(Symbol node) const;
    std::vector<std::string> NodeNames() const;  // each once, as they are in `places`
    std::string Title() const;
  };
  struct Ending {
    absl::Time end;
    PodPtr pod;
  };
  struct Timeline {
    std::vector<Ending> ends;  // the earliest first
    int unknown = 0;           // pods without a known end
  };

  bool Concerns(const AttemptRequest& request, absl::Time now) const;
  AttemptResult RunBeside(const AttemptRequest& request, absl::Time now);
  // The nodes that are not reserved, and reserved ones on which sums leave room for `beside`, if
  // not null.
  NodePlacement OpenNodes(const PodInfo* beside, absl::Time now) const;
  bool HasRoomBeside(const PodInfo& pod, NodeRow row, absl::Time now) const;
  // Whether the group has its places at its time beside what is placed now.
  bool Holds(const AttemptResult& result, absl::Time now);
  void ReportBlockedPods(AttemptResult& result);

  void Consider(const AttemptRequest& request, AttemptResult& result, absl::Time now);
  Timeline MakeTimeline(const std::string& group, absl::Time now) const;
  // When and where the group would be whole, and how many cycles it took to find out.
  std::optional<Reservation> Plan(const AttemptRequest& request, const Timeline& timeline,
                                  int& cycles);
  void Adopt(Reservation reservation);
  bool IsLost(const Reservation& reservation) const;
  void RetryBlockedPods();
  void RetryHolder();

  ClusterState& cluster_;
  const FrameworkSet& profiles_;
  EntryScheduler& entry_scheduler_;
  const Clock& clock_;
  const std::function<void(absl::string_view)> retry_;
  bool enabled_ = false;
  PodEndTimes end_times_;
  std::optional<Reservation> reservation_;
  absl::flat_hash_set<std::string> blocked_pods_;  // uids
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_RESERVATIONS_H_
