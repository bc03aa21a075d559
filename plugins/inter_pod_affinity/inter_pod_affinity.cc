// SPDX-License-Identifier: Apache-2.0
// Required terms: kube-scheduler v1.35 interpodaffinity/filtering.go.
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/columns/pod_table.h"
#include "plugins/inter_pod_affinity/affinity_terms.h"

namespace berth {
namespace {

// --- The rules -----------------------------------------------------------------------------------

constexpr DomainRejection kFarFromPods = {Code::kUnschedulableAndUnresolvable,
                                          "node(s) didn't match pod affinity rules"};
constexpr DomainRejection kNearPods = {Code::kUnschedulable,
                                       "node(s) didn't match pod anti-affinity rules"};
constexpr DomainRejection kKeptOffByPods = {
    Code::kUnschedulable, "node(s) didn't satisfy existing pods anti-affinity rules"};

// Near pods that match all terms of the pod. The first of a series of pods that match their own
// terms may run anywhere.
DomainRule Affinity(bool matches_itself) {
  return {.limit = matches_itself ? DomainLimit::AtLeastOneOrFirst() : DomainLimit::AtLeastOne(),
          .otherwise = kFarFromPods,
          .without_key = kFarFromPods};
}
// Not near pods that match a term of the pod.
DomainRule AntiAffinity() { return {.limit = DomainLimit::AtMost(0), .otherwise = kNearPods}; }
// Not near pods that have a term which the pod matches.
DomainRule ExistingAntiAffinity() {
  return {.limit = DomainLimit::AtMost(0), .otherwise = kKeptOffByPods};
}

// --- The pods that count -------------------------------------------------------------------------

void ListAffinity(const PodInfo& pod, const ObjectStore& objects, SelectedNamespaces& namespaces,
                  DomainRules& rules) {
  const absl::Span<const AffinityTerm> terms = pod.required_affinity_terms();
  if (terms.empty()) return;
  PodSelector match_all = namespaces.PodsOf(terms[0], objects);
  for (const AffinityTerm& term : terms.subspan(1)) {
    match_all.Narrow(namespaces.PodsOf(term, objects));
  }
  const DomainRule rule = Affinity(match_all.Matches(pod));
  for (const AffinityTerm& term : terms) {
    rules.Add({.topology_key = term.topology_key, .selector = match_all}, rule);
  }
}

void ListAntiAffinity(const PodInfo& pod, const ObjectStore& objects,
                      SelectedNamespaces& namespaces, DomainRules& rules) {
  for (const AffinityTerm& term : pod.required_anti_affinity_terms()) {
    rules.Add({.topology_key = term.topology_key, .selector = namespaces.PodsOf(term, objects)},
              AntiAffinity());
  }
}

// Terms of running pods are rules of their own, which are followed change by change, unless they
// are more than so many: then there is one a topology key. What has no matches is left out.
constexpr size_t kMostExistingTerms = 8;

void ListExistingAntiAffinity(const PodInfo& pod, const LabelSet* namespace_labels,
                              DomainRules& rules) {
  const NodeTable& nodes = rules.nodes();
  auto terms = nodes.pods().TermsAbout(pod, namespace_labels, TermKind::kRequiredAntiAffinity);
  absl::c_stable_sort(terms, [](const PodTerm* a, const PodTerm* b) {
    return a->term.topology_key.id() < b->term.topology_key.id();
  });
  if (terms.size() <= kMostExistingTerms) {
    for (const PodTerm* its : terms) {
      const LabelColumn& column = nodes.label_column(its->term.topology_key);
      if (!its->counts.any_labelled(column)) continue;
      // The term stays as long as the cycle lasts.
      std::shared_ptr<const PodCounts> counts(std::shared_ptr<void>(), &its->counts);
      rules.Add(DomainCounts(its->term.topology_key, column, std::move(counts)),
                ExistingAntiAffinity());
    }
    return;
  }
  for (auto its = terms.begin(); its != terms.end();) {
    const Symbol key = (*its)->term.topology_key;
    const LabelColumn& column = nodes.label_column(key);
    std::vector<int64_t> counts(column.values().size());
    int64_t matches = 0;
    for (; its != terms.end() && (*its)->term.topology_key == key; ++its) {
      matches += (*its)->counts.AddToDomains(column, 1, absl::MakeSpan(counts));
    }
    if (matches > 0)
      rules.Add(DomainCounts(key, column, std::move(counts)), ExistingAntiAffinity());
  }
}

// In a dry run, `difference` more pods on `node` have a term with this key that the pod matches.
// They are added to any rule about such terms: that of another term rejects nodes just so. None
// counts fewer than no pods.
void CountExistingTerm(Symbol key, const NodeInfo& node, int64_t difference, DomainRules& rules) {
  for (int i = 0; i < rules.size(); ++i) {
    const DomainCounts& counts = rules.counts(i);
    if (counts.key() != key || !rules.Rejects(i, kKeptOffByPods)) continue;
    const std::optional<uint32_t> domain = counts.FindDomain(node.labels());
    if (!domain.has_value()) return;
    if (counts.at(*domain) + difference >= 0) return rules.AddPods(i, node, difference);
  }
  rules.Add(DomainCounts(key, rules.nodes().label_column(key), std::vector<int64_t>()),
            ExistingAntiAffinity());
  rules.AddPods(rules.size() - 1, node, difference);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> InterPodAffinity::Create(const PluginArgs& args,
                                                                 Handle& handle) {
  handle.Watch(Kind::kNamespace);
  return std::make_unique<InterPodAffinity>(args.As<InterPodAffinityArgs>(), handle);
}

Status InterPodAffinity::ListRules(const PodInfo& pod, const NodeTable&, DomainRules& rules) {
  if (!pod.pod_affinity_status().ok()) {
    return Status::UnschedulableAndUnresolvable(
        absl::StrCat("parsing pod: ", pod.pod_affinity_status().message()));
  }
  const ObjectStore& objects = handle_.objects();
  ListAffinity(pod, objects, namespaces_, rules);
  ListAntiAffinity(pod, objects, namespaces_, rules);
  ListExistingAntiAffinity(pod, objects.NamespaceLabels(pod.namespace_name()), rules);
  return Status::Success();
}

void InterPodAffinity::CountOtherPods(const PodInfo& pod, const PodInfo& changed,
                                      const NodeInfo& node, int64_t difference,
                                      DomainRules& rules) const {
  if (changed.required_anti_affinity_terms().empty()) return;
  const LabelSet* const labels = handle_.objects().NamespaceLabels(pod.namespace_name());
  const LabelSet none;
  for (const AffinityTerm& term : changed.required_anti_affinity_terms()) {
    const bool matches =
        term.Matches(pod.namespace_name(), pod.labels(), labels != nullptr ? labels : &none);
    if (matches) CountExistingTerm(term.topology_key, node, difference, rules);
  }
}

Status InterPodAffinity::SignPod(const PodInfo& pod, PodSignature& signature) const {
  if (!pod.pod_affinity_status().ok() || !pod.required_affinity_terms().empty() ||
      !pod.required_anti_affinity_terms().empty() || !pod.preferred_affinity_terms().empty() ||
      !pod.preferred_anti_affinity_terms().empty()) {
    return Status::Unschedulable("pods with InterPodAffinity are not signable");
  }
  signature.Add(int64_t{pod.namespace_name().id()});
  signature.Add(static_cast<int64_t>(pod.labels().size()));
  for (const auto& [key, value] : pod.labels().entries()) {
    signature.Add(int64_t{key.id()});
    signature.Add(int64_t{value.id()});
  }
  return Status::Success();
}

}  // namespace berth
