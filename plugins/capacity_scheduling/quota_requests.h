// SPDX-License-Identifier: Apache-2.0
// What pods ask for, as lines of a tree of quotas count it: resources, GPUs in parts, devices of
// claims.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_REQUESTS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_REQUESTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/framework/handle.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"
#include "berth/quota/quota_devices.h"
#include "berth/quota/quota_tree.h"
#include "plugins/capacity_scheduling/claim_charges.h"
#include "plugins/capacity_scheduling/claimed_devices.h"

namespace berth {

// Whether the pod lets others evict it for their quotas; if not, it starts only within `min`.
bool IsPreemptible(const PodInfo& pod);

// Knows pods, claims, slices and classes, and no charge: which claims of a pod count is for whoever
// asks. What pods of one shape ask for is kept. Scheduling thread.
class QuotaRequests {
 public:
  // What a pod is charged if no other pod uses its claims.
  struct Amount {
    QuotaId quota;
    LineAmounts amounts;  // without claims
    std::vector<ClaimCharge> claims;
    friend bool operator==(const Amount&, const Amount&) = default;
  };

  // Both outlive this.
  QuotaRequests(Handle& handle, const QuotaTree& tree)
      : handle_(handle), tree_(tree), behind_resources_(handle) {}

  // What the pod asks for, with the claims that count. Valid until the next call.
  const PodAmounts& Of(const PodInfo& pod, CountsClaim counts) const;
  // Whether that is the same for all pods of its shape.
  static bool GoByShape(const PodInfo& pod);
  // What its claims are charged that have no devices yet, of those that count.
  PodAmounts OpenClaimsOf(const PodInfo& pod, CountsClaim counts) const;
  // On a node with these labels; null: on one that no line is limited to.
  Amount AmountOf(const PodInfo& pod, QuotaId quota, const LabelSet* node) const;

  // Reads slices anew.
  QuotaDevices::Difference ReadDevices();
  // What was kept by the tree before is forgotten.
  void Forget() { shapes_.clear(); }
  // What lines see of devices; as of the last ReadDevices().
  const QuotaDevices& devices() const { return devices_; }
  // What lines look for a node's labels in. Valid until it is asked about another node.
  const LabelSet& LabelsOf(const NodeInfo& node) const {
    return devices_.LabelsOf(node.name(), node.labels());
  }
  // Whether lines of the tree look at what slices offer.
  bool sees_devices() const {
    return absl::c_any_of(tree_.lines(), [](const QuotaLine& line) {
      return line.counts == QuotaLine::Counts::kGpu || !line.attribute().empty();
    });
  }
  // Whether devices stand for the resource on nodes that list none of it.
  bool AreDevices(ResourceId resource) const { return behind_resources_.Back(resource); }
  // Changes with what they stand for.
  uint64_t classes_version() const { return behind_resources_.version(); }
  // Whether the pod may ask for devices, by claims or resources.
  bool MayAskForDevices(const PodInfo& pod) const;
  // Whether the pod may be charged otherwise, with these claims, now that devices differ.
  bool Concerns(const QuotaDevices::Difference& difference, const PodInfo& pod,
                const std::vector<ClaimCharge>& claims) const;

 private:
  struct Shape {
    std::shared_ptr<const void> held;  // as long as it is, no other has its address
    PodAmounts amounts;
  };
  PodAmounts WithoutClaims(const PodInfo& pod) const;
  const api::ResourceClaim* FindClaim(absl::string_view key) const;  // "namespace/name"

  Handle& handle_;
  const QuotaTree& tree_;
  const DevicesBehindResources behind_resources_;
  QuotaDevices devices_;
  mutable uint64_t shapes_by_ = 0;  // DevicesBehindResources::version()
  mutable absl::flat_hash_map<const void*, Shape> shapes_;
  mutable PodAmounts with_annotations_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_QUOTA_REQUESTS_H_
