// SPDX-License-Identifier: Apache-2.0
// What pods that are nominated to nodes will use once they run, summed up by namespace.
#ifndef BERTH_PLUGINS_CAPACITY_SCHEDULING_NOMINATED_USAGE_H_
#define BERTH_PLUGINS_CAPACITY_SCHEDULING_NOMINATED_USAGE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "berth/api/identity.h"
#include "berth/api/identity_map.h"
#include "berth/api/resources.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"
#include "berth/framework/handle.h"
#include "plugins/capacity_scheduling/quota_ledger.h"

namespace berth {

// Follows the nominations, so that a cycle costs what changed and how many namespaces there are.
// Scheduling thread.
class NominatedUsage {
 public:
  // What QuotaRequest() says of a nominated pod.
  struct Request {
    Symbol namespace_name;
    int32_t priority = 0;
    ResourceVector amount;
  };

  explicit NominatedUsage(const QuotaLedger& ledger) : ledger_(ledger) {}

  // Brings the sums in step. Nominations to nodes that do not exist count for nothing.
  void Refresh(const Nominator& nominator, const NodeTable& nodes);

  // The requests of a namespace's nominated pods.
  void ForEachNamespace(
      const std::function<void(Symbol namespace_name, const ResourceVector& sum)>& visit) const;
  // Sums up those of at least this priority.
  ResourceVector SumFrom(Symbol namespace_name, int32_t priority) const;
  // What the pod is charged, or null.
  const Request* Find(UidRef pod) const { return requests_.Find(pod); }

 private:
  struct Sum {
    int pods = 0;
    ResourceVector amount;
    void Add(const ResourceVector& more);
    void Subtract(const ResourceVector& less);
  };
  struct Account {
    Sum all;
    std::map<int32_t, Sum> by_priority;
  };

  void CatchUpWithNodes(const Nominator& nominator, const NodeTable& nodes);
  void Recount(Symbol node, const Nominator& nominator, const NodeTable& nodes);
  void RemoveFrom(Symbol node);

  const QuotaLedger& ledger_;
  uint64_t version_ = 0, order_version_ = 0;
  absl::flat_hash_map<Symbol, Account> accounts_;                  // by namespace
  absl::flat_hash_map<Symbol, std::vector<IdentityPtr>> pods_on_;  // by node
  absl::flat_hash_set<Symbol> missing_;  // nodes that pods are nominated to, and that do not exist
  IdentityMap<Request, ByUid> requests_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_CAPACITY_SCHEDULING_NOMINATED_USAGE_H_
