// SPDX-License-Identifier: Apache-2.0
// What has happened in a scenario: its timeline, and what expectations about the past ask for.
#ifndef BERTH_SRC_TESTING_SCENARIO_HISTORY_H_
#define BERTH_SRC_TESTING_SCENARIO_HISTORY_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "berth/api/resources.h"
#include "berth/in_memory_cluster.h"
#include "berth/scheduler.h"
#include "berth/testing/scenario.h"

namespace berth::testing {

// Hears of everything from the cluster and the scheduler. Pods are named by "namespace/name".
class ScenarioHistory {
 public:
  explicit ScenarioHistory(std::vector<ScenarioEvent>& timeline) : timeline_(timeline) {}

  void Add(absl::Duration time, std::string object, std::string what);
  void OnIncident(const InMemoryCluster::Incident& incident, absl::Duration time);
  void OnAttempt(const AttemptRecord& attempt, absl::Duration time);

  int64_t attempts() const { return attempts_; }
  int64_t attempts_of(const std::string& pod) const { return Count(attempts_of_, pod); }
  int64_t bindings_of(const std::string& pod) const { return Count(bindings_of_, pod); }
  int64_t refusals_of(const std::string& pod) const { return Count(refusals_of_, pod); }
  int64_t evictions_of(const std::string& pod) const { return Count(evictions_of_, pod); }
  int64_t bindings() const { return bindings_; }
  int64_t refusals() const { return refusals_; }
  bool WasBound(const std::string& pod, const std::string& node) const {
    return bound_.contains({pod, node});
  }
  // The first time that a node had more on it than it has, or that one pod was bound twice; empty
  // if that never happened.
  const std::string& overcommitted() const { return overcommitted_; }
  const std::string& bound_twice() const { return bound_twice_; }
  // The events for people about a pod, or about another object, "ClusterQuota team"; in order.
  absl::Span<const RecordedEvent> EventsOf(const std::string& object) const {
    const auto events = events_.find(object);
    return events == events_.end() ? absl::Span<const RecordedEvent>() : events->second;
  }

 private:
  using Counts = std::map<std::string, int64_t>;
  static int64_t Count(const Counts& counts, const std::string& pod) {
    const auto it = counts.find(pod);
    return it == counts.end() ? 0 : it->second;
  }
  struct Node {
    ResourceVector allocatable, used;
    int64_t allowed_pods = 0, pods = 0;
    bool exists = false;
  };
  struct Running {
    std::string node;
    ResourceVector requests;
  };

  void TakeIn(const Object& object, bool deleted, absl::Duration time);
  void TakeInPod(const Object& object, bool deleted, absl::Duration time);
  void CheckRoom(const std::string& pod, const Running& running, absl::Duration time);

  std::vector<ScenarioEvent>& timeline_;
  int64_t attempts_ = 0, bindings_ = 0, refusals_ = 0;
  Counts attempts_of_, bindings_of_, refusals_of_, evictions_of_;
  Counts bindings_of_uid_;
  std::set<std::pair<std::string, std::string>> bound_;
  std::map<std::string, Node> nodes_;
  std::map<std::string, Running> running_;  // by uid
  std::string overcommitted_, bound_twice_;
  std::map<std::string, std::vector<RecordedEvent>> events_;  // by what they are about
};

}  // namespace berth::testing

#endif  // BERTH_SRC_TESTING_SCENARIO_HISTORY_H_
