// Which pods' nodes are remembered: those of signatures that come again.
#ifndef BERTH_SRC_ENGINE_VERDICT_MEMORY_H_
#define BERTH_SRC_ENGINE_VERDICT_MEMORY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "engine/ranked_nodes.h"

namespace berth {

// Scheduling thread.
class VerdictMemory {
 public:
  // What is remembered for pods like `pod` under the profile, over `rows` nodes. Null if nothing
  // is: the first pod of a kind is not worth it.
  RankedNodes* Find(const Framework& framework, const std::shared_ptr<const PodInfo>& pod,
                    int rows);
  void Forget(const RankedNodes& ranked);

 private:
  struct Entry {
    std::unique_ptr<RankedNodes> ranked;
    uint64_t last_use;
  };
  using Entries = absl::node_hash_map<std::string, Entry>;

  void MakeRoom(int rows);

  PodSignature signature_;  // scratch
  uint64_t uses_ = 0;
  Entries entries_;  // by profile and signature
  // The one that was used last: pods mostly come in runs of alike ones. Null: look for it.
  Entries::value_type* last_ = nullptr;
  absl::flat_hash_set<std::string> seen_once_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_VERDICT_MEMORY_H_
