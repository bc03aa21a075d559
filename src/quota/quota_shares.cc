// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_shares.h.
#include "berth/quota/quota_shares.h"

#include <cstddef>

namespace berth {

QuotaShares::OfLine& QuotaShares::Line(int line) {
  if (lines_.empty()) lines_.resize(tree_.lines().size());
  OfLine& shares = lines_[line];
  if (shares.of_quota.empty()) {
    shares.of_quota.assign(tree_.size(), kUnknown);
    shares.of_children.assign(tree_.size(), kUnknown);
    shares.of_quota[QuotaTree::kCluster] = tree_.ShareOf(QuotaTree::kCluster, line);
  }
  return shares;
}

__int128 QuotaShares::Of(QuotaId quota, int line) {
  const OfLine& shares = Line(line);
  if (shares.of_quota[quota] == kUnknown) OfChildren(tree_.parent(quota), line);
  return shares.of_quota[quota];
}

// With the sum each of them is known.
__int128 QuotaShares::OfChildren(QuotaId quota, int line) {
  OfLine& shares = Line(line);
  __int128& sum = shares.of_children[quota];
  if (sum != kUnknown) return sum;
  const __int128 whole = Of(quota, line);
  sum = 0;
  const absl::Span<const QuotaId> children = tree_.children(quota);
  if (children.empty()) return sum;
  const std::vector<__int128> of_each = tree_.SharesBelow(quota, line, whole);
  for (size_t i = 0; i < of_each.size(); ++i) {
    shares.of_quota[children[i]] = of_each[i];
    sum += of_each[i];
  }
  return sum;
}

}  // namespace berth
