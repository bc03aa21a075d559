// SPDX-License-Identifier: Apache-2.0
// What people are told of a tree of quotas. Scheduling thread.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_REPORT_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/extensions/quota_report.h"
#include "berth/extensions/waiting.h"
#include "berth/quota/quota_tree.h"
#include "plugins/capacity_scheduling/quota_book.h"

namespace berth {

// Which quotas borrow, in words. Many pods wait for one line, so it is kept while nothing changes.
class Borrowers {
 public:
  // `book` outlives this.
  explicit Borrowers(const QuotaBook& book) : book_(book) {}
  // Valid until the next call.
  const std::string& Of(int line) const;

 private:
  const QuotaBook& book_;
  // By line, as long as QuotaBook::version() is that; absent if what-if changes were in it.
  mutable absl::flat_hash_map<int, std::string> texts_;
  mutable std::optional<uint64_t> version_;
};

// The shortage, and which quotas borrow what would be left.
std::string DescribeInFull(const QuotaTree& tree, const QuotaTree::Shortage& shortage);

// Sets the reason and the amounts of a pod that waits for it. `is_beyond_min`: the pod may not
// borrow, and its quota's guarantee is too small.
void DescribeShortage(const QuotaTree& tree, const QuotaTree::Shortage& shortage,
                      bool is_beyond_min, const Borrowers& borrowers, WaitingFor& waiting);

// Guarantee, limit and use of each line: of the cluster, and of each quota that names the line.
std::vector<QuotaFigure> ReportTree(const QuotaTree& tree);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_REPORT_H_
