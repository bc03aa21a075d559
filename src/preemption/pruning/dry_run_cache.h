// What searches came to, kept for pods that are alike.
#ifndef BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_CACHE_H_
#define BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_CACHE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "preemption/pruning/dry_run_results.h"
#include "preemption/pruning/potential_nodes.h"

namespace berth {

// For pods of one kind, priority and key of the rules.
struct RememberedSearch {
  RememberedRuns runs;
  Standings standings;
};

// For each kind of pod that comes again; the first of a kind is not worth it. Scheduling thread.
class DryRunMemory {
 public:
  // What is remembered under `key`, over `rows` nodes. Null if nothing is to be.
  RememberedSearch* Find(const std::string& key, int rows);

  // Whether a search under `key`, the last that Find() was asked for, may stop and go on later: if
  // more is known than when one stopped before, or that is not so for the first few times, as what
  // a search found out may be forgotten before it goes on. So every search ends.
  bool MayStop(const std::string& key);
  // A search was done.
  void Done(const std::string& key);

 private:
  struct Entry {
    std::unique_ptr<RememberedSearch> search;
    uint64_t last_use = 0;
    int known_at_stop = -1;
    int setbacks = 0;
  };

  void MakeRoom(int rows);

  uint64_t uses_ = 0;
  absl::flat_hash_map<std::string, Entry> entries_;
  absl::flat_hash_set<std::string> seen_once_;
  std::string stopped_once_;  // the last key of which nothing was to be remembered
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_PRUNING_DRY_RUN_CACHE_H_
