// SPDX-License-Identifier: Apache-2.0
// TaintIndex: lists of taints by what a pod must tolerate of them at least.
#ifndef BERTH_PLUGINS_TAINT_TOLERATION_TAINT_INDEX_H_
#define BERTH_PLUGINS_TAINT_TOLERATION_TAINT_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/api/symbol.h"
#include "berth/api/taints.h"
#include "berth/columns/node_table.h"

namespace berth {

// By the key of the first taint that prevents scheduling. A pod that tolerates no taint of that key
// tolerates none of these lists. Follows NodeTable::taints(), whose values it does not forget while
// they have their indexes.
class TaintIndex {
 public:
  void Refresh(const NodeTable& nodes);

  // As of the last Refresh(): calls visit(index in NodeTable::taints()) for the lists without such
  // a taint, and for those whose first one has a key of `tolerations`, each once. False, without a
  // call, if a toleration is for every key.
  template <class Visit>
  bool ForEachCandidate(absl::Span<const Toleration> tolerations, Visit visit) const;

 private:
  using Lists = std::vector<uint32_t>;

  uint64_t table_ = 0, numbering_ = 0;
  size_t seen_ = 0;  // so many values
  Lists harmless_;
  absl::flat_hash_map<Symbol, Lists> by_key_;
};

template <class Visit>
bool TaintIndex::ForEachCandidate(absl::Span<const Toleration> tolerations, Visit visit) const {
  for (const Toleration& toleration : tolerations) {
    if (toleration.key.empty()) return false;
  }
  for (const uint32_t list : harmless_) visit(list);
  for (size_t i = 0; i < tolerations.size(); ++i) {
    const Symbol key = tolerations[i].key;
    bool is_first = true;
    for (size_t j = 0; j < i; ++j) is_first &= tolerations[j].key != key;
    const auto lists = is_first ? by_key_.find(key) : by_key_.end();
    if (lists == by_key_.end()) continue;
    for (const uint32_t list : lists->second) visit(list);
  }
  return true;
}

}  // namespace berth

#endif  // BERTH_PLUGINS_TAINT_TOLERATION_TAINT_INDEX_H_
