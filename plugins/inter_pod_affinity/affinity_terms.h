// SPDX-License-Identifier: Apache-2.0
// Which pods the terms of the pod being scheduled are about.
#ifndef BERTH_PLUGINS_INTER_POD_AFFINITY_AFFINITY_TERMS_H_
#define BERTH_PLUGINS_INTER_POD_AFFINITY_AFFINITY_TERMS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "berth/columns/pod_table.h"
#include "berth/framework/pod_info.h"
#include "berth/handle/object_store.h"

namespace berth {

// The namespaces that selectors select, found again only when a Namespace changed. Scheduling
// thread only.
class SelectedNamespaces {
 public:
  // The pods that a term of the pod being scheduled is about: in the namespaces that it names and
  // those that its namespaceSelector selects.
  //
  // As in kube-scheduler v1.35, a namespaceSelector that selects namespaces without labels selects
  // all of them: upstream means to drop the selector once its namespaces are found
  // (mergeAffinityTermNamespacesIfNotEmpty) but drops it from a copy, and then matches it against
  // no labels.
  PodSelector PodsOf(const AffinityTerm& term, const ObjectStore& objects);

 private:
  const std::vector<Symbol>& Find(const LabelSelector& selector, const ObjectStore& objects);

  std::optional<uint64_t> version_;  // of the Namespaces
  absl::flat_hash_map<LabelSelector, std::vector<Symbol>> found_;
};

// Whether a term of the pod being scheduled matches `pod`, but for its namespaceSelector.
inline bool Matches(const AffinityTerm& term, const PodInfo& pod) {
  return term.Matches(pod.namespace_name(), pod.labels(), nullptr);
}

}  // namespace berth

#endif  // BERTH_PLUGINS_INTER_POD_AFFINITY_AFFINITY_TERMS_H_
