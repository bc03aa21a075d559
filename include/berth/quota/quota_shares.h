// SPDX-License-Identifier: Apache-2.0
// The shares of quotas of a tree, each worked out when it is asked for.
#ifndef BERTH_QUOTA_QUOTA_SHARES_H_
#define BERTH_QUOTA_QUOTA_SHARES_H_

#include <vector>

#include "berth/quota/quota_tree.h"

namespace berth {

// Looks up each share once: as long as that is what is wanted, the tree may change meanwhile.
class QuotaShares {
 public:
  // `tree` outlives this, and has the same quotas and lines meanwhile.
  explicit QuotaShares(const QuotaTree& tree) : tree_(tree) {}

  // QuotaTree::ShareOf().
  __int128 Of(QuotaId quota, int line);
  // Of its children together.
  __int128 OfChildren(QuotaId quota, int line);

 private:
  static constexpr __int128 kUnknown = -1;
  // Of one line, by quota.
  struct OfLine {
    std::vector<__int128> of_quota, of_children;
  };
  OfLine& Line(int line);

  const QuotaTree& tree_;
  std::vector<OfLine> lines_;  // empty where nothing was asked for
};

}  // namespace berth

#endif  // BERTH_QUOTA_QUOTA_SHARES_H_
