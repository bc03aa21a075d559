// SPDX-License-Identifier: Apache-2.0
// FilterInputs: what the verdicts of a Filter plugin depend on besides the pod and the node, so
// that what it said of a node stands as long as that is the same.
#ifndef BERTH_INCREMENTAL_FILTER_INPUTS_H_
#define BERTH_INCREMENTAL_FILTER_INPUTS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/incremental/sign.h"

namespace berth {

// Texts, numbers and objects, in order. Equal if all of them are.
class FilterInputs {
 public:
  void Add(absl::string_view text) { values_.Add(text); }
  void Add(int64_t number) { values_.Add(number); }
  // An object as it is now: another version of it is another object. Null for one that is missing.
  // It is held, so that its address is not used again.
  void Add(std::shared_ptr<const void> object) { objects_.push_back(std::move(object)); }
  // All of another one.
  void Add(const FilterInputs& more) {
    values_.Add(more.values_.bytes());
    objects_.insert(objects_.end(), more.objects_.begin(), more.objects_.end());
  }

  bool empty() const { return values_.bytes().empty() && objects_.empty(); }
  friend bool operator==(const FilterInputs& a, const FilterInputs& b) {
    return a.values_.bytes() == b.values_.bytes() && a.objects_ == b.objects_;
  }

 private:
  PodSignature values_;
  std::vector<std::shared_ptr<const void>> objects_;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_FILTER_INPUTS_H_
