// What searches came to, kept for pods that are alike.
#ifndef BERTH_SRC_PREEMPTION_DRY_RUN_MEMORY_H_
#define BERTH_SRC_PREEMPTION_DRY_RUN_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "preemption/remembered_runs.h"
#include "preemption/standings.h"

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

 private:
  struct Entry {
    std::unique_ptr<RememberedSearch> search;
    uint64_t last_use;
  };

  void MakeRoom(int rows);

  uint64_t uses_ = 0;
  absl::flat_hash_map<std::string, Entry> entries_;
  absl::flat_hash_set<std::string> seen_once_;
};

}  // namespace berth

#endif  // BERTH_SRC_PREEMPTION_DRY_RUN_MEMORY_H_
