// Required terms: kube-scheduler v1.35 interpodaffinity/filtering.go.
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "plugins/inter_pod_affinity/affinity_terms.h"

namespace berth {
namespace {

// How often a term matched in a topology domain, by key and value of the node label. Entries that
// come to 0 go: whether there is any entry is part of the rules.
class DomainMatches {
 public:
  // A term with this topology key matched a pod on `node` `count` times.
  void Add(const NodeInfo& node, Symbol topology_key, int64_t count) {
    const Symbol* const value = node.labels().Find(topology_key);
    if (value == nullptr) return;
    const auto it = matches_.try_emplace({topology_key, *value}, 0).first;
    it->second += count;
    if (it->second == 0) matches_.erase(it);
  }
  bool empty() const { return matches_.empty(); }
  bool IsPositive(Symbol key, Symbol value) const {
    const auto it = matches_.find({key, value});
    return it != matches_.end() && it->second > 0;
  }
  std::vector<Symbol> Keys() const {
    std::vector<Symbol> keys;
    for (const auto& [domain, count] : matches_) {
      if (!absl::c_linear_search(keys, domain.first)) keys.push_back(domain.first);
    }
    return keys;
  }

 private:
  absl::flat_hash_map<std::pair<Symbol, Symbol>, int64_t> matches_;
};

// What does not change while pods come and go in dry runs.
struct IncomingPod {
  std::vector<AffinityTerm> affinity, anti_affinity;
  bool matches_own_affinity = false;
  LabelSet namespace_labels;
};

struct AffinityFilterState final : StateData {
  std::shared_ptr<const IncomingPod> incoming;
  DomainMatches existing_anti_affinity;  // terms of other pods that match the pod
  DomainMatches affinity;                // pods that match all of the pod's terms
  DomainMatches anti_affinity;           // pods that match a term of the pod

  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<AffinityFilterState>(*this);
  }
};

constexpr StateKey<AffinityFilterState> kFilterState{"InterPodAffinity filter"};

// `other` runs on `node` and has anti-affinity, perhaps against `pod`.
void CountItsTerms(const PodInfo& pod, const LabelSet* namespace_labels, const PodInfo& other,
                   const NodeInfo& node, int64_t count, DomainMatches& matches) {
  for (const AffinityTerm& term : other.required_anti_affinity_terms()) {
    if (term.Matches(pod.namespace_name(), pod.labels(), namespace_labels)) {
      matches.Add(node, term.topology_key, count);
    }
  }
}

// `other` runs on `node` and perhaps matches terms of the pod.
void CountOwnTerms(const PodInfo& other, const NodeInfo& node, int64_t count,
                   AffinityFilterState& s) {
  const IncomingPod& incoming = *s.incoming;
  if (MatchesAll(incoming.affinity, other)) {
    for (const AffinityTerm& term : incoming.affinity) {
      s.affinity.Add(node, term.topology_key, count);
    }
  }
  for (const AffinityTerm& term : incoming.anti_affinity) {
    if (Matches(term, other)) s.anti_affinity.Add(node, term.topology_key, count);
  }
}

void Follow(CycleState& state, const PodInfo& pod, const PodInfo& changed, const NodeInfo& node,
            int64_t difference) {
  AffinityFilterState* const s = state.FindMutable(kFilterState);
  if (s == nullptr) return;
  CountItsTerms(pod, &s->incoming->namespace_labels, changed, node, difference,
                s->existing_anti_affinity);
  CountOwnTerms(changed, node, difference, *s);
}

DomainMatches CountExisting(const PodInfo& pod, const LabelSet* namespace_labels,
                            const NodeTable& nodes) {
  DomainMatches matches;
  const absl::Span<const uint8_t> has_terms = nodes.has_pods_with_required_anti_affinity();
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    if (has_terms[row] == 0) continue;
    const NodeInfo& node = nodes.node(row);
    for (const auto& other : node.pods_with_required_anti_affinity()) {
      CountItsTerms(pod, namespace_labels, *other, node, 1, matches);
    }
  }
  return matches;
}

std::shared_ptr<const IncomingPod> Prepare(const PodInfo& pod, const LabelSet* namespace_labels,
                                           const ObjectStore& objects) {
  auto incoming = std::make_shared<IncomingPod>();
  incoming->affinity.assign(pod.required_affinity_terms().begin(),
                            pod.required_affinity_terms().end());
  incoming->anti_affinity.assign(pod.required_anti_affinity_terms().begin(),
                                 pod.required_anti_affinity_terms().end());
  for (AffinityTerm& term : incoming->affinity) AddSelectedNamespaces(objects, term);
  for (AffinityTerm& term : incoming->anti_affinity) AddSelectedNamespaces(objects, term);
  incoming->matches_own_affinity = MatchesAll(incoming->affinity, pod);
  if (namespace_labels != nullptr) incoming->namespace_labels = *namespace_labels;
  return incoming;
}

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
  return s.affinity.empty() && s.incoming->matches_own_affinity;
}

Verdict Judge(const AffinityFilterState& s, const NodeInfo& node) {
  bool near_all = true;
  for (const AffinityTerm& term : s.incoming->affinity) {
    const Symbol* const value = node.labels().Find(term.topology_key);
    if (value == nullptr) return Verdict::kAffinity;
    near_all = near_all && s.affinity.IsPositive(term.topology_key, *value);
  }
  if (!near_all && !MayBeFirst(s)) return Verdict::kAffinity;
  if (!s.anti_affinity.empty()) {
    for (const AffinityTerm& term : s.incoming->anti_affinity) {
      const Symbol* const value = node.labels().Find(term.topology_key);
      if (value != nullptr && s.anti_affinity.IsPositive(term.topology_key, *value)) {
        return Verdict::kAntiAffinity;
      }
    }
  }
  if (!s.existing_anti_affinity.empty()) {
    for (const auto& [key, value] : node.labels().entries()) {
      if (s.existing_anti_affinity.IsPositive(key, value)) return Verdict::kExistingAntiAffinity;
    }
  }
  return Verdict::kFits;
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
  DomainMatches existing = CountExisting(pod, namespace_labels, nodes);
  if (existing.empty() && !has_terms) return Status::Skip();

  auto data = std::make_unique<AffinityFilterState>();
  data->incoming = Prepare(pod, namespace_labels, handle_.objects());
  data->existing_anti_affinity = std::move(existing);
  for (NodeRow row = 0; row < nodes.size() && has_terms; ++row) {
    const NodeInfo& node = nodes.node(row);
    for (const auto& other : node.pods()) CountOwnTerms(*other, node, 1, *data);
  }
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
  const AffinityFilterState* const s = state.Find(kFilterState);
  BERTH_CHECK(s != nullptr);
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

Status InterPodAffinity::FilterNodes(const CycleState& state, const PodInfo&,
                                     const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const AffinityFilterState* const s = state.Find(kFilterState);
  BERTH_CHECK(s != nullptr);
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  const bool may_be_first = MayBeFirst(*s);
  std::vector<Verdict> verdict_of(rows.size(), Verdict::kFits);
  // Later rules are weaker: they keep what an earlier one said.
  const auto apply = [&](Symbol key, auto judge) {
    const std::vector<Verdict> of_key = JudgeRows<Verdict>(nodes.label_column(key), rows, judge);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (verdict_of[i] == Verdict::kFits) verdict_of[i] = of_key[i];
    }
  };
  for (const AffinityTerm& term : s->incoming->affinity) {
    apply(term.topology_key, [&](const LabelValue& label) {
      const bool near = may_be_first || s->affinity.IsPositive(term.topology_key, label.value);
      return label.present && near ? Verdict::kFits : Verdict::kAffinity;
    });
  }
  const auto keep_off = [&](Symbol key, const DomainMatches& matches, Verdict verdict) {
    apply(key, [&](const LabelValue& label) {
      return label.present && matches.IsPositive(key, label.value) ? verdict : Verdict::kFits;
    });
  };
  if (!s->anti_affinity.empty()) {
    for (const AffinityTerm& term : s->incoming->anti_affinity) {
      keep_off(term.topology_key, s->anti_affinity, Verdict::kAntiAffinity);
    }
  }
  for (const Symbol key : s->existing_anti_affinity.Keys()) {
    keep_off(key, s->existing_anti_affinity, Verdict::kExistingAntiAffinity);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (verdict_of[i] != Verdict::kFits) verdicts.Set(rows[i], CodeOf(verdict_of[i]));
  }
  return Status::Success();
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
