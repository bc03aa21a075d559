// SPDX-License-Identifier: Apache-2.0
// Nominations and evictions that members of a group decided, while the attempt lasts.
#ifndef BERTH_SRC_ENGINE_GROUP_PREEMPTIONS_H_
#define BERTH_SRC_ENGINE_GROUP_PREEMPTIONS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/framework/postfilter.h"
#include "engine/cluster_state.h"

namespace berth {

// The members of a group are tried in one attempt. What is decided for one of them is counted in
// the cluster state while the attempt lasts, so that the next members see it, as single pods would.
// At the end it is rolled back; the engine then carries it out or drops it. Belongs to the
// scheduling thread.
class GroupPreemptions {
 public:
  explicit GroupPreemptions(ClusterState& cluster) : cluster_(cluster) {}
  ~GroupPreemptions() { RollBack(); }
  GroupPreemptions(const GroupPreemptions&) = delete;
  GroupPreemptions& operator=(const GroupPreemptions&) = delete;

  // The pod is nominated to that node; "": to none, e.g. because it was placed.
  void Nominate(const std::shared_ptr<const PodInfo>& pod, absl::string_view node_name);
  // The pod preempts: it is nominated, nominations of lower priority to its node end, and its
  // victims count as terminating.
  void Preempt(const std::shared_ptr<const PodInfo>& preemptor, const PostFilterResult& plan,
               absl::Time now);
  // In reverse order.
  void RollBack();

 private:
  struct Nomination {
    std::shared_ptr<const PodInfo> pod;
    std::string node_name;  // before; "" for none
  };

  ClusterState& cluster_;
  std::vector<Nomination> nominations_;
  std::vector<std::shared_ptr<const PodInfo>> terminating_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_GROUP_PREEMPTIONS_H_
