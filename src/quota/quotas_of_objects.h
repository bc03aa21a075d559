// SPDX-License-Identifier: Apache-2.0
// What contradicts itself in the quotas of a cluster.
#ifndef BERTH_SRC_QUOTA_QUOTAS_OF_OBJECTS_H_
#define BERTH_SRC_QUOTA_QUOTAS_OF_OBJECTS_H_

#include <vector>

#include "berth/api/manifest.h"
#include "berth/api/problem.h"

namespace berth {

// What is wrong with the ElasticQuotas and ClusterQuotas among the objects, beside its nodes:
// limits that contradict each other, parents that do not exist, pods that two quotas select. Each
// with the place of the field that it is about, or of its quota. Empty without quotas. Quotas that
// could be read in part count as far as they could.
Problems CheckQuotasOf(const Manifests& manifests);

}  // namespace berth

#endif  // BERTH_SRC_QUOTA_QUOTAS_OF_OBJECTS_H_
