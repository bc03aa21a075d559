// SPDX-License-Identifier: Apache-2.0
// Required terms: kube-scheduler v1.35 interpodaffinity/filtering.go.
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/columns/node_verdicts.h"
#include "berth/columns/pod_table.h"
#include "berth/incremental/domain_counts.h"
#include "plugins/inter_pod_affinity/affinity_terms.h"

namespace berth {
namespace {

// A term of the pod being scheduled, and the pods that it matches.
struct OwnTerm {
  PodSelector selector;
  DomainCounts pods;
};

struct AffinityFilterState final : StateData {
  const NodeTable* nodes = nullptr;
  LabelSet namespace_labels;
  bool matches_own_affinity = false;
  // Pods count for affinity only if they match all of its terms: one selector, and the domains of
  // each term.
  PodSelector affinity_selector;
  std::vector<DomainCounts> affinity;
  std::vector<int64_t> in_affinity;  // of each term, all pods in its domains at first
  int64_t affinity_matches = 0;      // all that is in `affinity`
  std::vector<OwnTerm> anti_affinity;
  // Terms of running pods that match the pod: those of one topology key follow one another.
  std::vector<DomainCounts> existing_anti_affinity;

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<AffinityFilterState>(*this);
  }
};

constexpr StateKey<AffinityFilterState> kFilterState{"InterPodAffinity filter"};

// --- Counting ------------------------------------------------------------------------------------

// The terms of running pods that keep the pod off are rules of their own, which are followed change
// by change, unless they are more than so many.
constexpr size_t kMostExistingTerms = 8;

using ExistingTerms = absl::Span<const DomainCounts>;

// Calls use(terms) for each topology key.
template <class Use>
void ForEachKey(ExistingTerms existing, Use use) {
  while (!existing.empty()) {
    const Symbol key = existing.front().key();
    const auto end =
        absl::c_find_if(existing, [key](const auto& counts) { return counts.key() != key; });
    const size_t size = end - existing.begin();
    use(existing.first(size));
    existing.remove_prefix(size);
  }
}

// Those that have terms of one topology key: what comes or goes is added to any of these.
int64_t PodsIn(ExistingTerms terms, uint32_t domain) {
  int64_t pods = 0;
  for (const DomainCounts& counts : terms) pods += counts.at(domain);
  return pods;
}

// The anti-affinity of running pods against the pod; what has no matches is left out.
std::vector<DomainCounts> CountExisting(const PodInfo& pod, const LabelSet* namespace_labels,
                                        const NodeTable& nodes) {
  struct OfKey {
    Symbol key;
    const LabelColumn* column;
    std::vector<int64_t> counts;
    int64_t matches = 0;
  };
  const auto terms =
      nodes.pods().TermsAbout(pod, namespace_labels, TermKind::kRequiredAntiAffinity);
  std::vector<DomainCounts> existing;
  if (terms.size() <= kMostExistingTerms) {  // counted already
    for (const PodTerm* its : terms) {
      const Symbol key = its->term.topology_key;
      const LabelColumn& column = nodes.label_column(key);
      if (!its->counts.any_labelled(column)) continue;
      const auto last = std::find_if(existing.rbegin(), existing.rend(),
                                     [key](const auto& counts) { return counts.key() == key; });
      // The term stays as long as the cycle lasts.
      std::shared_ptr<const PodCounts> counts(std::shared_ptr<void>(), &its->counts);
      existing.insert(last == existing.rend() ? existing.end() : last.base(),
                      DomainCounts(key, column, std::move(counts)));
    }
    return existing;
  }
  std::vector<OfKey> keys;
  for (const PodTerm* its : terms) {
    const Symbol key = its->term.topology_key;
    auto it = absl::c_find_if(keys, [key](const OfKey& of_key) { return of_key.key == key; });
    if (it == keys.end()) {
      const LabelColumn& column = nodes.label_column(key);
      it = keys.insert(it, {key, &column, std::vector<int64_t>(column.values().size())});
    }
    it->matches += its->counts.AddToDomains(*it->column, 1, absl::MakeSpan(it->counts));
  }
  for (OfKey& of_key : keys) {
    if (of_key.matches == 0) continue;
    existing.emplace_back(of_key.key, *of_key.column, std::move(of_key.counts));
  }
  return existing;
}

void CountOwn(const PodInfo& pod, const NodeTable& nodes, const ObjectStore& objects,
              SelectedNamespaces& namespaces, AffinityFilterState& s) {
  for (const AffinityTerm& term : pod.required_anti_affinity_terms()) {
    PodSelector selector = namespaces.PodsOf(term, objects);
    std::shared_ptr<const PodCounts> pods = nodes.pods().Count(selector);
    const LabelColumn& column = nodes.label_column(term.topology_key);
    s.anti_affinity.push_back(
        {std::move(selector), DomainCounts(term.topology_key, column, std::move(pods))});
  }
  const absl::Span<const AffinityTerm> affinity = pod.required_affinity_terms();
  if (affinity.empty()) return;
  s.affinity_selector = namespaces.PodsOf(affinity[0], objects);
  for (const AffinityTerm& term : affinity.subspan(1)) {
    s.affinity_selector.Narrow(namespaces.PodsOf(term, objects));
  }
  s.matches_own_affinity = s.affinity_selector.Matches(pod);
  const std::shared_ptr<const PodCounts> pods = nodes.pods().Count(s.affinity_selector);
  for (const AffinityTerm& term : affinity) {
    const LabelColumn& column = nodes.label_column(term.topology_key);
    s.affinity.emplace_back(term.topology_key, column, pods);
    s.in_affinity.push_back(pods->total_labelled(column));
    s.affinity_matches += s.in_affinity.back();
  }
}

// --- Dry runs ------------------------------------------------------------------------------------

// Returns whether the node has the topology key.
bool AddTo(DomainCounts& counts, const NodeInfo& node, int64_t difference) {
  const std::optional<uint32_t> domain = counts.FindDomain(node.labels());
  if (domain.has_value()) counts.Add(*domain, difference);
  return domain.has_value();
}

// `changed` comes to `node` or goes, and perhaps has anti-affinity against `pod`.
void FollowItsTerms(const PodInfo& pod, const PodInfo& changed, const NodeInfo& node,
                    int64_t difference, AffinityFilterState& s) {
  std::vector<DomainCounts>& existing = s.existing_anti_affinity;
  for (const AffinityTerm& term : changed.required_anti_affinity_terms()) {
    if (!term.Matches(pod.namespace_name(), pod.labels(), &s.namespace_labels)) continue;
    const Symbol key = term.topology_key;
    auto it = absl::c_find_if(existing, [key](const auto& counts) { return counts.key() == key; });
    if (it == existing.end()) {
      it = existing.insert(it,
                           DomainCounts(key, s.nodes->label_column(key), std::vector<int64_t>()));
    }
    AddTo(*it, node, difference);
  }
}

// `changed` comes to `node` or goes, and perhaps matches terms of the pod.
void FollowOwnTerms(const PodInfo& changed, const NodeInfo& node, int64_t difference,
                    AffinityFilterState& s) {
  if (!s.affinity.empty() && s.affinity_selector.Matches(changed)) {
    for (DomainCounts& counts : s.affinity) {
      if (AddTo(counts, node, difference)) s.affinity_matches += difference;
    }
  }
  for (OwnTerm& term : s.anti_affinity) {
    if (term.selector.Matches(changed)) AddTo(term.pods, node, difference);
  }
}

void Follow(CycleState& state, const PodInfo& pod, const PodInfo& changed, const NodeInfo& node,
            int64_t difference) {
  AffinityFilterState* const s = state.FindMutable(kFilterState);
  if (s == nullptr) return;
  FollowItsTerms(pod, changed, node, difference, *s);
  FollowOwnTerms(changed, node, difference, *s);
}

// --- Judging -------------------------------------------------------------------------------------

// What keeps a pod off a node, in the order in which it is looked at.
enum class Verdict : uint8_t { kFits, kAffinity, kAntiAffinity, kExistingAntiAffinity };

Code CodeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return Code::kSuccess;
    case Verdict::kAffinity:
      return Code::kUnschedulableAndUnresolvable;
    case Verdict::kAntiAffinity:
    case Verdict::kExistingAntiAffinity:
      break;
  }
  return Code::kUnschedulable;
}

// The first of a series of pods that like each other's company may run anywhere.
bool MayBeFirst(const AffinityFilterState& s) {
  return s.affinity_matches == 0 && s.matches_own_affinity;
}

bool HasPods(const DomainCounts& counts, const NodeInfo& node) {
  const std::optional<uint32_t> domain = counts.FindDomain(node.labels());
  return domain.has_value() && counts.at(*domain) > 0;
}

Verdict Judge(const AffinityFilterState& s, const NodeInfo& node) {
  for (const DomainCounts& counts : s.affinity) {
    if (!node.labels().Has(counts.key())) return Verdict::kAffinity;
    if (!HasPods(counts, node) && !MayBeFirst(s)) return Verdict::kAffinity;
  }
  for (const OwnTerm& term : s.anti_affinity) {
    if (HasPods(term.pods, node)) return Verdict::kAntiAffinity;
  }
  bool is_kept_off = false;
  ForEachKey(s.existing_anti_affinity, [&](ExistingTerms terms) {
    const std::optional<uint32_t> domain = terms.front().FindDomain(node.labels());
    is_kept_off |= domain.has_value() && PodsIn(terms, *domain) > 0;
  });
  return is_kept_off ? Verdict::kExistingAntiAffinity : Verdict::kFits;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> InterPodAffinity::Create(const PluginArgs& args,
                                                                 Handle& handle) {
  return std::make_unique<InterPodAffinity>(args.As<InterPodAffinityArgs>(), handle);
}

Status InterPodAffinity::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                                   PreFilterResult&) {
  if (!pod.pod_affinity_status().ok()) {
    return Status::UnschedulableAndUnresolvable(
        absl::StrCat("parsing pod: ", pod.pod_affinity_status().message()));
  }
  const bool has_terms =
      !pod.required_affinity_terms().empty() || !pod.required_anti_affinity_terms().empty();
  const LabelSet* const namespace_labels = handle_.objects().NamespaceLabels(pod.namespace_name());
  std::vector<DomainCounts> existing = CountExisting(pod, namespace_labels, nodes);
  if (existing.empty() && !has_terms) return Status::Skip();

  auto data = std::make_unique<AffinityFilterState>();
  data->nodes = &nodes;
  if (namespace_labels != nullptr) data->namespace_labels = *namespace_labels;
  data->existing_anti_affinity = std::move(existing);
  CountOwn(pod, nodes, handle_.objects(), namespaces_, *data);
  state.Write(kFilterState, std::move(data));
  return Status::Success();
}

Status InterPodAffinity::AddPod(CycleState& state, const PodInfo& pod, const PodInfo& added,
                                const NodeInfo& node) {
  Follow(state, pod, added, node, 1);
  return Status::Success();
}

Status InterPodAffinity::RemovePod(CycleState& state, const PodInfo& pod, const PodInfo& removed,
                                   const NodeInfo& node) {
  Follow(state, pod, removed, node, -1);
  return Status::Success();
}

Status InterPodAffinity::Filter(const CycleState& state, const PodInfo&,
                                const NodeInfo& node) const {
  const absl::StatusOr<const AffinityFilterState*> read = state.Read(kFilterState);
  if (!read.ok()) return Status::Error(read.status());
  const AffinityFilterState* const s = *read;
  switch (Judge(*s, node)) {
    case Verdict::kFits:
      break;
    case Verdict::kAffinity:
      return Status::UnschedulableAndUnresolvable("node(s) didn't match pod affinity rules");
    case Verdict::kAntiAffinity:
      return Status::Unschedulable("node(s) didn't match pod anti-affinity rules");
    case Verdict::kExistingAntiAffinity:
      return Status::Unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");
  }
  return Status::Success();
}

// The first rule that keeps the pod off a node gives it its code, so the last one is written first.
Status InterPodAffinity::FilterNodes(const CycleState& state, const PodInfo&, const NodeTable&,
                                     NodeVerdicts& verdicts) const {
  const absl::StatusOr<const AffinityFilterState*> read = state.Read(kFilterState);
  if (!read.ok()) return Status::Error(read.status());
  const AffinityFilterState* const s = *read;
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  // Rejects the nodes of the domains of which `rejects` says true.
  const auto apply = [&](const DomainCounts& counts, Verdict verdict, auto rejects) {
    counts.column().JudgeRows(rows, rejects, [&](size_t i, bool rejected) {
      if (rejected) verdicts.Set(rows[i], CodeOf(verdict), static_cast<uint8_t>(verdict));
    });
  };
  const auto keep_off = [&](const DomainCounts& counts, Verdict verdict, auto pods_in) {
    apply(counts, verdict, [&](uint32_t domain) {
      return counts.column().values()[domain].present && pods_in(domain) > 0;
    });
  };
  ForEachKey(s->existing_anti_affinity, [&](ExistingTerms terms) {
    keep_off(terms.front(), Verdict::kExistingAntiAffinity,
             [&](uint32_t domain) { return PodsIn(terms, domain); });
  });
  for (const OwnTerm& term : s->anti_affinity) {
    keep_off(term.pods, Verdict::kAntiAffinity,
             [&](uint32_t domain) { return term.pods.at(domain); });
  }
  const bool may_be_first = MayBeFirst(*s);
  for (const DomainCounts& counts : s->affinity) {
    apply(counts, Verdict::kAffinity, [&](uint32_t domain) {
      const bool near = may_be_first || counts.at(domain) > 0;
      return !counts.column().values()[domain].present || !near;
    });
  }
  return Status::Success();
}

void InterPodAffinity::FilterDomains(const CycleState& state,
                                     std::vector<DomainVerdictRule>& rules) const {
  const AffinityFilterState* const s = state.Find(kFilterState);
  BERTH_CHECK(s != nullptr);
  // `without_label`: what is said of nodes that are in no domain.
  const auto add = [&](const DomainCounts& counts, Verdict with_pods, Verdict without_pods,
                       Verdict without_label) {
    rules.push_back({.counts = counts,
                     .limits = {.most = 0,
                                .above_max = static_cast<uint8_t>(with_pods),
                                .others = static_cast<uint8_t>(without_pods),
                                .without_label = static_cast<uint8_t>(without_label)}});
  };
  const Verdict far = MayBeFirst(*s) ? Verdict::kFits : Verdict::kAffinity;
  for (const DomainCounts& counts : s->affinity) {
    add(counts, Verdict::kFits, far, Verdict::kAffinity);
  }
  for (const OwnTerm& term : s->anti_affinity) {
    add(term.pods, Verdict::kAntiAffinity, Verdict::kFits, Verdict::kFits);
  }
  for (const DomainCounts& counts : s->existing_anti_affinity) {
    add(counts, Verdict::kExistingAntiAffinity, Verdict::kFits, Verdict::kFits);
  }
}

// The pods that a term counts in a domain are all that matters there, but for the first of a series
// of pods: it may run anywhere if there are no others, and there may be none without those of this
// domain.
bool InterPodAffinity::DescribeDomainsForDryRun(const CycleState& state, const PodInfo&,
                                                std::vector<DomainExcessRule>& rules,
                                                FilterInputs& basis) const {
  const AffinityFilterState* const s = state.Find(kFilterState);
  if (s == nullptr) return false;
  for (size_t i = 0; i < s->affinity.size(); ++i) {
    // Never 0: without pods in a domain the pod may be kept out, and with them they may go.
    rules.push_back({.counts = s->affinity[i],
                     .limits = {.most = -1, .whole = s->in_affinity[i], .without_label = -1}});
  }
  for (const OwnTerm& term : s->anti_affinity) rules.push_back({.counts = term.pods});
  for (const DomainCounts& counts : s->existing_anti_affinity) rules.push_back({.counts = counts});
  basis.Add(handle_.objects().version(Kind::kNamespace));  // terms select by its labels
  return true;
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
