// SPDX-License-Identifier: Apache-2.0
// Whose pods are whose: the quota of a tree that a pod belongs to (docs/quota.md, "Whose pods").
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_POD_QUOTAS_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_POD_QUOTAS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"
#include "berth/framework/pod_info.h"
#include "berth/quota/quota_tree.h"

namespace berth {

// Answers by what quotas, pods and namespaces say; charges are no part of it. An answer is kept for
// all pods that share a spec. Scheduling thread.
class PodQuotas {
 public:
  // Both outlive this; a tree without quotas has no pods.
  PodQuotas(const Handle& handle, const QuotaTree& tree) : handle_(handle), tree_(tree) {}

  // The tree is another one.
  void ReadTree();
  // Namespaces have other labels.
  void ForgetPods() { belongings_.clear(); }
  // Absent if the pod is of none.
  std::optional<QuotaId> Of(const PodInfo& pod) const;

 private:
  struct Belonging {
    std::shared_ptr<const void> held;  // as long as it is, no other has its address
    std::optional<QuotaId> quota;
  };
  std::optional<QuotaId> Find(const PodInfo& pod) const;

  const Handle& handle_;
  const QuotaTree& tree_;
  absl::flat_hash_map<Symbol, std::vector<QuotaId>> naming_;  // ClusterQuotas, by namespace named
  std::vector<QuotaId> selecting_;                            // those that name none
  absl::flat_hash_map<Symbol, QuotaId> elastic_;              // by namespace
  absl::flat_hash_map<Symbol, QuotaId> elastic_by_name_;
  mutable absl::flat_hash_map<const void*, Belonging> belongings_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_POD_QUOTAS_H_
