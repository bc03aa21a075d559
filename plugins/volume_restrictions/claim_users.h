// SPDX-License-Identifier: Apache-2.0
// Which nodes have pods that use a claim: one index a scheduler.
#ifndef BERTH_PLUGINS_VOLUME_RESTRICTIONS_CLAIM_USERS_H_
#define BERTH_PLUGINS_VOLUME_RESTRICTIONS_CLAIM_USERS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"

namespace berth {

// Keeps no names of claims: every pod with the same hash is asked. Threads: the scheduling thread.
class ClaimUsers {
 public:
  // Whether a pod on a node of the table uses the claim "namespace/name". Costs what changed since
  // the last call, and a look at every node if nodes came or went.
  bool Has(absl::string_view claim, const NodeTable& nodes);

 private:
  struct Node {
    uint64_t generation = 0;       // as it was read
    std::vector<uint64_t> claims;  // hashes, sorted
    bool seen = false;
  };

  void Sync(const NodeTable& nodes);
  void ReadAll(const NodeTable& nodes);
  void Read(const NodeInfo& info);
  void Replace(Symbol name, Node& node, std::vector<uint64_t> claims);

  absl::flat_hash_map<Symbol, Node> nodes_;
  absl::flat_hash_map<uint64_t, absl::InlinedVector<Symbol, 2>> users_;  // by hash
  uint64_t table_ = 0;                                                   // NodeTable::id()
  uint64_t table_version_ = 0;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_RESTRICTIONS_CLAIM_USERS_H_
