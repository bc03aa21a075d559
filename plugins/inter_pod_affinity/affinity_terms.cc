// SPDX-License-Identifier: Apache-2.0
// Terms of the pod being scheduled.
#include "plugins/inter_pod_affinity/affinity_terms.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace berth {
namespace {

// Selectors that are cached; clusters use a handful.
constexpr size_t kMaxSelectors = 256;

bool ById(Symbol a, Symbol b) { return a.id() < b.id(); }

}  // namespace

const std::vector<Symbol>& SelectedNamespaces::Find(const LabelSelector& selector,
                                                    const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kNamespace);
  if (version_ != version || found_.size() > kMaxSelectors) found_.clear();
  version_ = version;
  const auto [it, is_new] = found_.try_emplace(selector);
  if (!is_new) return it->second;
  for (const Object* object : objects.List(Kind::kNamespace)) {
    const Symbol name = Symbol::Intern(object->name());
    const LabelSet* const labels = objects.NamespaceLabels(name);
    if (labels != nullptr && selector.Matches(*labels)) it->second.push_back(name);
  }
  absl::c_sort(it->second, ById);
  return it->second;
}

PodSelector SelectedNamespaces::PodsOf(const AffinityTerm& term, const ObjectStore& objects) {
  PodSelector pods{.labels = term.selector};
  const LabelSelector& selector = term.namespace_selector;
  if (selector.Matches(LabelSet())) {
    pods.any_namespace = true;
    return pods;
  }
  pods.namespaces = term.namespaces;
  absl::c_sort(pods.namespaces, ById);
  if (!selector.SelectsNothing()) {
    const std::vector<Symbol>& selected = Find(selector, objects);
    const size_t named = pods.namespaces.size();
    pods.namespaces.insert(pods.namespaces.end(), selected.begin(), selected.end());
    std::inplace_merge(pods.namespaces.begin(), pods.namespaces.begin() + named,
                       pods.namespaces.end(), ById);
  }
  pods.namespaces.erase(std::unique(pods.namespaces.begin(), pods.namespaces.end()),
                        pods.namespaces.end());
  return pods;
}

}  // namespace berth
