// SPDX-License-Identifier: Apache-2.0
// Which of a pod's requests a node must have room for, and how requests are signed.
#ifndef BERTH_PLUGINS_NODE_RESOURCES_REQUESTS_H_
#define BERTH_PLUGINS_NODE_RESOURCES_REQUESTS_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "berth/framework/pod_info.h"
#include "berth/incremental/resource_filter.h"
#include "berth/incremental/sign.h"

namespace berth {

// Amounts above 0: cpu, memory, ephemeral-storage, then the others by name.
using Requests = NeededResources::Requests;

// What `pod` requests of resources that kube-scheduler accounts for, without those extended
// resources that are ignored by name or by group (what stands before the "/").
Requests RequestsToFit(const PodInfo& pod,
                       const absl::flat_hash_set<std::string>& ignored_resources = {},
                       const absl::flat_hash_set<std::string>& ignored_groups = {});

void SignResources(const ResourceVector& amounts, PodSignature& signature);

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_RESOURCES_REQUESTS_H_
