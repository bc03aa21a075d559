// SPDX-License-Identifier: Apache-2.0
// What a simulation came to, for machines and for people.
#ifndef BERTH_SRC_APP_SIMULATION_REPORT_H_
#define BERTH_SRC_APP_SIMULATION_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "app/trouble_report.h"
#include "berth/api/resources.h"
#include "berth/simulation.h"

namespace berth {

struct RunFigures {
  double load_seconds = 0;      // reading, parsing and taking in the cluster
  double schedule_seconds = 0;  // from all pending pods queued to the last decision
  struct {
    double p50, p90, p99, max;
  } cycle_us = {};
  int64_t peak_rss_bytes = 0;
  bool interrupted = false;  // ended before everything was decided
};

// How many rows are shown of tables that have a row for each pod, group or reason.
enum class Rows : uint8_t { kSome, kAll };

// Records which pods are pending when it is made; Finish() reads what became of them.
class SimulationReport {
 public:
  explicit SimulationReport(Simulation& simulation);

  int64_t pending_at_start() const { return static_cast<int64_t>(pods_.size()); }
  void Finish(const RunFigures& figures);

  // The shape of docs/simulate.md, one line.
  std::string ToJson() const;
  // What ran out of `kSome` rows says how to get the rest.
  std::string ToTable(Rows rows = Rows::kSome) const;
  const TroubleReport& troubles() const { return troubles_; }

 private:
  struct PodLine {
    std::string pod, uid;
    std::string node;                             // empty: not bound
    absl::Duration after = absl::ZeroDuration();  // from the start to its binding
    std::string group;                            // of pods that are not bound
    std::string reason;                           // of pods that are not bound
    std::string alone;                            // Scheduler::WhyAlone()
    std::optional<WaitingFor> waiting;
  };
  struct ResourceLine {
    int64_t allocatable = 0;
    int64_t used = 0;
    int64_t milli_used = 0;  // besides, in thousandths
  };
  // What is free of an extended resource.
  struct FreeLines {
    std::map<int64_t, int> by_node;  // free units on a node → how many nodes have so many
    int64_t milli_of_parts = 0;      // of units that a pod has a part of, in thousandths
    int nodes_with_parts = 0;
  };

  void ReadPods();
  void ReadNodes();
  void ReadParts(const ResourceUsage& usage);
  std::string PlacementTable(Rows rows) const;
  std::string EvictionTable(Rows rows) const;
  std::string GroupTable(Rows rows) const;
  std::string PendingTable(Rows rows) const;
  std::string ResourceTable() const;
  std::string FragmentTables() const;
  std::string AloneTable(Rows rows) const;
  std::string CounterTable() const;

  Simulation& simulation_;
  const absl::Time start_;
  std::vector<PodLine> pods_;  // in the order of the input
  std::vector<PodGroupState> groups_;
  std::vector<std::string> evicted_;
  std::map<std::string, ResourceLine> resources_;  // by name
  std::map<std::string, FreeLines> free_;          // the same
  TroubleReport troubles_;
  std::map<std::string, int64_t> plugin_counters_;
  int64_t bound_ = 0;
  int nodes_ = 0;
  RunFigures figures_;
};

}  // namespace berth

#endif  // BERTH_SRC_APP_SIMULATION_REPORT_H_
