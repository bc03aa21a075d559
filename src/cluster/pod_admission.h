// SPDX-License-Identifier: Apache-2.0
// What an API server makes of a pod that is written.
#ifndef BERTH_SRC_CLUSTER_POD_ADMISSION_H_
#define BERTH_SRC_CLUSTER_POD_ADMISSION_H_

#include "absl/time/time.h"
#include "berth/api/admission.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/object.h"
#include "berth/cluster.h"

namespace berth {

// The packed pod with its uid, its priority and, if it has gates, the condition that says so.
// `stored`: the pod of that name that is there, or null.
Object AdmitPod(Object pod, const Object* stored, const Admission& admission, absl::Time now);

void ApplyCondition(const PodStatusPatch& patch, absl::Time now, api::PodStatus& status);

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_POD_ADMISSION_H_
