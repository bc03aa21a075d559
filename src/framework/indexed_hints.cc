// SPDX-License-Identifier: Apache-2.0
// Implementation of indexed_hints.h.
#include "berth/incremental/indexed_hints.h"

namespace berth {
namespace {

uint64_t ValueOf(Symbol key, Symbol value) { return uint64_t{key.id()} << 32 | value.id(); }

}  // namespace

bool AppendLabelsOfNewPod(const ObjectChange& change, std::vector<uint64_t>& values) {
  if (change.new_pod == nullptr || change.old_pod != nullptr) return false;
  for (const auto& [key, value] : change.new_pod->labels().entries()) {
    values.push_back(ValueOf(key, value));
  }
  return true;
}

bool AppendSelectorValues(const LabelSelector& selector, std::vector<uint64_t>& values) {
  if (selector.SelectsNothing()) return true;
  const LabelRequirement* fewest = nullptr;
  for (const LabelRequirement& requirement : selector.requirements()) {
    if (requirement.op() != SelectorOperator::kIn) continue;
    if (fewest == nullptr || requirement.values().size() < fewest->values().size()) {
      fewest = &requirement;
    }
  }
  if (fewest == nullptr) return false;
  for (const Symbol value : fewest->values()) values.push_back(ValueOf(fewest->key(), value));
  return true;
}

}  // namespace berth
