// The terms of the pod being scheduled, made ready for matching, and rows judged by their labels.
#ifndef BERTH_PLUGINS_INTER_POD_AFFINITY_AFFINITY_TERMS_H_
#define BERTH_PLUGINS_INTER_POD_AFFINITY_AFFINITY_TERMS_H_

#include <vector>

#include "absl/types/span.h"
#include "berth/framework/node_table.h"
#include "berth/framework/object_store.h"
#include "berth/framework/pod_info.h"

namespace berth {

// Adds the namespaces that the term's namespaceSelector selects to those it names.
//
// The selector stays, and terms of the pod being scheduled are matched without namespace labels:
// kube-scheduler v1.35 means to drop it (mergeAffinityTermNamespacesIfNotEmpty) but drops it from a
// copy. So a namespaceSelector that selects namespaces without labels selects all of them.
void AddSelectedNamespaces(const ObjectStore& objects, AffinityTerm& term);

// Whether all of the terms match `pod`; no terms match nothing.
bool MatchesAll(absl::Span<const AffinityTerm> terms, const PodInfo& pod);

// Whether a term of the pod being scheduled matches `pod`.
inline bool Matches(const AffinityTerm& term, const PodInfo& pod) {
  return term.Matches(pod.namespace_name(), pod.labels(), nullptr);
}

// For each of `rows` what `judge` makes of its label, which is asked once for each distinct value
// if that is less work.
template <class T, class Judge>
std::vector<T> JudgeRows(const DictionaryColumn<LabelValue>& column, absl::Span<const NodeRow> rows,
                         Judge judge) {
  std::vector<T> result(rows.size());
  if (column.values().size() > rows.size()) {  // nearly every node has its own value
    for (size_t i = 0; i < rows.size(); ++i) result[i] = judge(column.at(rows[i]));
    return result;
  }
  std::vector<T> of_value;
  of_value.reserve(column.values().size());
  for (const LabelValue& value : column.values()) of_value.push_back(judge(value));
  for (size_t i = 0; i < rows.size(); ++i) result[i] = of_value[column.index(rows[i])];
  return result;
}

}  // namespace berth

#endif  // BERTH_PLUGINS_INTER_POD_AFFINITY_AFFINITY_TERMS_H_
