// SPDX-License-Identifier: Apache-2.0
// PostFilterResult.
#include "berth/framework/postfilter.h"

#include <algorithm>

namespace berth {

std::vector<std::string> PostFilterResult::EquallyGoodNodes() const {
  std::vector<std::string> names;
  for (const int i : equally_good) names.push_back(candidates[i]->node);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace berth
