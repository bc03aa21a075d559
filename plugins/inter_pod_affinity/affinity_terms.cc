// Terms of the pod being scheduled.
#include "plugins/inter_pod_affinity/affinity_terms.h"

#include "absl/algorithm/container.h"

namespace berth {

void AddSelectedNamespaces(const ObjectStore& objects, AffinityTerm& term) {
  const LabelSelector& selector = term.namespace_selector;
  if (selector.SelectsEverything() || selector.SelectsNothing()) return;
  for (const Object* object : objects.List(Kind::kNamespace)) {
    const Symbol name = Symbol::Intern(object->name());
    const LabelSet* const labels = objects.NamespaceLabels(name);
    if (labels != nullptr && selector.Matches(*labels)) term.namespaces.push_back(name);
  }
}

bool MatchesAll(absl::Span<const AffinityTerm> terms, const PodInfo& pod) {
  return !terms.empty() &&
         absl::c_all_of(terms, [&](const AffinityTerm& term) { return Matches(term, pod); });
}

}  // namespace berth
