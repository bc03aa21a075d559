// SPDX-License-Identifier: Apache-2.0
// What people are told of a tree of quotas. Scheduling thread.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_REPORT_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_REPORT_H_

#include <string>
#include <vector>

#include "berth/extensions/quota_report.h"
#include "berth/extensions/waiting.h"
#include "berth/quota/quota_tree.h"

namespace berth {

// The shortage, and which quotas borrow what would be left.
std::string DescribeInFull(const QuotaTree& tree, const QuotaTree::Shortage& shortage);

// Sets the reason and the amounts of a pod that waits for it. `is_beyond_min`: the pod may not
// borrow, and its quota's guarantee is too small.
void DescribeShortage(const QuotaTree& tree, const QuotaTree::Shortage& shortage,
                      bool is_beyond_min, WaitingFor& waiting);

// Guarantee, limit and use of each line: of the cluster, and of each quota that names the line.
std::vector<QuotaFigure> ReportTree(const QuotaTree& tree);

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_TREE_REPORT_H_
