// SPDX-License-Identifier: Apache-2.0
// Which pods belong together with a pod, by the Services and the controller it belongs to.
#ifndef BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_DEFAULT_SELECTOR_H_
#define BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_DEFAULT_SELECTOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/api/labels.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"

namespace berth {

// The selectors of all Services, parsed again only when a Service changed. Scheduling thread only.
class DefaultSelectors {
 public:
  // The selectors, ANDed, of the Services that select `pod` and of the ReplicationController,
  // ReplicaSet or StatefulSet that controls it; selects everything if there is none.
  LabelSelector For(const PodInfo& pod, const ObjectStore& objects);

 private:
  void Refresh(const ObjectStore& objects);

  // The selectors of a namespace, each under the label of it that the fewest of them require.
  using ByLabel = absl::flat_hash_map<LabelSet::Entry, std::vector<LabelSet>>;

  std::optional<uint64_t> version_;  // of the Services that services_ holds
  absl::flat_hash_map<Symbol, ByLabel> services_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_DEFAULT_SELECTOR_H_
