// SPDX-License-Identifier: Apache-2.0
// The watch of an in-memory cluster: delivers changes to the scheduler, with the faults of a bad
// day.
#ifndef BERTH_SRC_CLUSTER_WATCH_STREAM_H_
#define BERTH_SRC_CLUSTER_WATCH_STREAM_H_

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "berth/cluster.h"
#include "berth/cluster_faults.h"
#include "cluster/chance.h"

namespace berth {

// Threads: guarded by the cluster's mutex.
class WatchStream {
 public:
  // `list` gives all objects that there are, in the order in which they are to be delivered.
  explicit WatchStream(std::function<std::vector<Object>()> list) : list_(std::move(list)) {}

  // Delivers what exists, then kSynced, then whatever is pushed; objects of `kinds` only.
  void Start(WatchSink& sink, const std::vector<Kind>& kinds);
  void Stop();
  // Events that are held back stay so.
  void SetFaults(const ClusterFaults& faults);

  enum class Change { kCreated, kChanged, kDeleted };
  // The object has changed, just now. Call it when the change is made.
  void Push(Change change, Object object, absl::Time now);
  // Loses what is held back, and delivers everything again.
  void Relist();

  // When the first event that is held back is due; InfiniteFuture if there is none.
  absl::Time NextDue() const;
  // Delivers the first event that is held back.
  void DeliverNext();

 private:
  struct Held {
    Change change;
    Object object;
  };
  using Name = std::pair<Kind, std::string>;

  bool IsWanted(const Object& object) const { return wanted_[static_cast<size_t>(object.kind())]; }
  void AppendWanted(std::vector<Object> objects, std::vector<WatchEvent>& events) const;
  void Send(Change change, Object object, absl::Time now, double delayed);
  void Deliver(Change change, Object object);

  const std::function<std::vector<Object>()> list_;
  WatchSink* sink_ = nullptr;
  std::array<bool, kMostKinds> wanted_{};  // by kind
  ClusterFaults faults_;
  Chance chance_{0};
  // By due time, then in order of arrival. No event comes before an earlier one of its object.
  std::multimap<absl::Time, Held> held_;
  std::map<Name, std::multiset<absl::Time>> due_of_;  // of objects with events in held_
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_WATCH_STREAM_H_
