// SPDX-License-Identifier: Apache-2.0
// Implementation of taint_index.h.
#include "plugins/taint_toleration/taint_index.h"

#include "absl/algorithm/container.h"

namespace berth {

void TaintIndex::Refresh(const NodeTable& nodes) {
  const DictionaryColumn<TaintList>& taints = nodes.taints();
  if (table_ != nodes.id() || numbering_ != taints.numbering()) {
    table_ = nodes.id();
    numbering_ = taints.numbering();
    seen_ = 0;
    harmless_.clear();
    by_key_.clear();
  }
  for (; seen_ < taints.values().size(); ++seen_) {
    const TaintList& list = taints.values()[seen_];
    const auto first = absl::c_find_if(list, PreventsScheduling);
    (first == list.end() ? harmless_ : by_key_[first->key]).push_back(static_cast<uint32_t>(seen_));
  }
}

}  // namespace berth
