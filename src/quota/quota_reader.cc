// SPDX-License-Identifier: Apache-2.0
// Reading ElasticQuotas and ClusterQuotas.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/scheduling_berth_dev.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/api/time.h"
#include "berth/api/value.h"
#include "berth/quota/quota_spec.h"

namespace berth {
namespace {

constexpr absl::string_view kParent = "quota.scheduling.koordinator.sh/parent";
constexpr absl::string_view kIsParent = "quota.scheduling.koordinator.sh/is-parent";
constexpr absl::string_view kAllowLent = "quota.scheduling.koordinator.sh/allow-lent-resource";
constexpr absl::string_view kSharedWeight = "quota.scheduling.koordinator.sh/shared-weight";
constexpr absl::string_view kNamespaces = "quota.scheduling.koordinator.sh/namespaces";
constexpr absl::string_view kMarks[] = {kParent,       kIsParent,   kAllowLent,
                                        kSharedWeight, kNamespaces, kQuotaParentLabel};
// Koordinator's that mean more than this reads.
constexpr absl::string_view kUnread[] = {
    "quota.scheduling.koordinator.sh/tree-id", "quota.scheduling.koordinator.sh/is-root",
    "quota.scheduling.koordinator.sh/total-resource", "quota.scheduling.koordinator.sh/guaranteed",
    "quota.scheduling.koordinator.sh/admission"};
constexpr absl::string_view kRoots[] = {"", "root", "koordinator-root-quota"};

template <class Map>
absl::string_view TextOf(const Map& map, absl::string_view key) {
  const auto found = map.find(std::string(key));
  return found == map.end() ? absl::string_view() : absl::string_view(found->second);
}

template <class Map>
bool Has(const Map& map, absl::string_view key) {
  return map.contains(std::string(key));
}

template <class T>
struct Word {
  absl::string_view text;
  T value;
};
constexpr Word<ReclaimStrategy> kStrategies[] = {{"Guarantee", ReclaimStrategy::kGuarantee},
                                                 {"FairShare", ReclaimStrategy::kFairShare},
                                                 {"Never", ReclaimStrategy::kNever}};
constexpr Word<ReclaimVictims> kVictims[] = {
    {"Any", ReclaimVictims::kAny},
    {"LowerPriority", ReclaimVictims::kLowerPriority},
    {"NotHigherPriority", ReclaimVictims::kNotHigherPriority}};
constexpr Word<QuotaPreemption> kPreemptions[] = {
    {"LowerPriority", QuotaPreemption::kLowerPriority},
    {"LowerOrNewerEqualPriority", QuotaPreemption::kLowerOrNewerEqualPriority},
    {"Never", QuotaPreemption::kNever}};
constexpr Word<QuotaFence> kFences[] = {{"None", QuotaFence::kNone},
                                        {"Out", QuotaFence::kOut},
                                        {"In", QuotaFence::kIn},
                                        {"Both", QuotaFence::kBoth}};
constexpr Word<QuotaOrderKey> kOrderKeys[] = {{"UnderGuarantee", QuotaOrderKey::kUnderGuarantee},
                                              {"UnderShare", QuotaOrderKey::kUnderShare},
                                              {"Priority", QuotaOrderKey::kPriority},
                                              {"Share", QuotaOrderKey::kShare},
                                              {"PodPriority", QuotaOrderKey::kPodPriority},
                                              {"Age", QuotaOrderKey::kAge}};
constexpr Word<QuotaQueueing> kQueueings[] = {{"BestEffortFIFO", QuotaQueueing::kBestEffortFifo},
                                              {"StrictFIFO", QuotaQueueing::kStrictFifo}};

// Reads one object; what cannot be read is reported and left at its default.
class SpecReader {
 public:
  SpecReader(const Object& object, Problems& problems) : object_(object), problems_(problems) {}

  QuotaSpec ReadClusterQuota() {
    const auto& quota = object_.As<api::ClusterQuota>();
    const api::ClusterQuotaSpec& spec = quota.spec();
    Begin(quota.metadata());
    spec_.name = std::string(object_.name());
    spec_.parent = spec.parent();
    for (const std::string& name : spec.namespaces()) {
      spec_.namespaces.push_back(Symbol::Intern(name));
    }
    if (spec.has_namespace_selector()) {
      spec_.namespace_selector = Selector("spec.namespaceSelector", spec.namespace_selector());
    }
    if (spec.has_pod_selector()) {
      spec_.pod_selector = Selector("spec.podSelector", spec.pod_selector());
    }
    Amounts("spec.min", spec.min(), spec_.min);
    Amounts("spec.max", spec.max(), spec_.max);
    Amounts("spec.borrowingLimit", spec.borrowing_limit(), spec_.borrowing_limit);
    Amounts("spec.lendingLimit", spec.lending_limit(), spec_.lending_limit);
    std::map<std::string, std::string> weights;
    for (const auto& [name, quantity] : spec.weights()) weights[name] = quantity.string();
    for (const auto& [name, text] : weights) SetWeight("spec.weights", name, text);
    if (spec.has_weight()) spec_.weight = spec.weight();
    if (spec_.weight < 0) {
      Wrong("spec.weight: is negative");
      spec_.weight = 0;
    }
    spec_.priority = spec.priority();
    if (spec.has_history()) ReadHistory(spec.history());
    Choose("spec.reclaim.strategy", spec.reclaim().strategy(), kStrategies, spec_.reclaim);
    Choose("spec.reclaim.victims", spec.reclaim().victims(), kVictims, spec_.victims);
    Choose("spec.preemption", spec.preemption(), kPreemptions, spec_.preemption);
    Choose("spec.fence", spec.fence(), kFences, spec_.fence);
    Choose("spec.queueing", spec.queueing(), kQueueings, spec_.queueing);
    if (spec.min_runtime().has_reclaim()) {
      spec_.reclaim_min_runtime =
          DurationOf("spec.minRuntime.reclaim", spec.min_runtime().reclaim());
    }
    if (spec.min_runtime().has_preempt()) {
      spec_.preempt_min_runtime =
          DurationOf("spec.minRuntime.preempt", spec.min_runtime().preempt());
    }
    for (const std::string& word : spec.order()) {
      QuotaOrderKey key{};
      if (Choose("spec.order", word, kOrderKeys, key) && !absl::c_linear_search(spec_.order, key)) {
        spec_.order.push_back(key);
      }
    }
    return std::move(spec_);
  }

  // `parent` stays as it is written; Resolve() finds the quota.
  QuotaSpec ReadElasticQuota() {
    const auto& quota = object_.As<api::ElasticQuota>();
    const auto& labels = quota.metadata().labels();
    const auto& annotations = quota.metadata().annotations();
    Begin(quota.metadata());
    spec_.is_elastic_quota = true;
    spec_.name = std::string(object_.key());
    spec_.parent =
        std::string(TextOf(labels, Has(labels, kQuotaParentLabel) ? kQuotaParentLabel : kParent));
    if (absl::c_linear_search(kRoots, absl::string_view(spec_.parent))) spec_.parent.clear();
    if (Has(annotations, kNamespaces)) {
      ReadNamespaces(annotations.at(std::string(kNamespaces)));
    } else if (TextOf(labels, kIsParent) != "true") {
      spec_.namespaces.push_back(Symbol::Intern(object_.namespace_name()));
    }
    Amounts("spec.min", quota.spec().min(), spec_.min);
    Amounts("spec.max", quota.spec().max(), spec_.max);
    spec_.lends = TextOf(labels, kAllowLent) != "false";
    if (Has(annotations, kSharedWeight)) {
      ReadWeights(annotations.at(std::string(kSharedWeight)));
    } else {
      spec_.max_is_weight = true;
    }
    for (const absl::string_view key : kUnread) {
      if (Has(labels, key) || Has(annotations, key)) {
        Warn(absl::StrCat(key, ": is not read; docs/quota.md has what is"));
      }
    }
    return std::move(spec_);
  }

 private:
  void Begin(const api::ObjectMeta& meta) {
    spec_.where = object_.where();
    spec_.uid = std::string(object_.uid());
    if (meta.has_creation_timestamp()) spec_.creation_time = ToTime(meta.creation_timestamp());
  }
  void Wrong(std::string message) {
    problems_.AddError(object_.where(), object_.ToString(), std::move(message));
  }

  void Warn(std::string message) {
    problems_.AddWarning(object_.where(), object_.ToString(), std::move(message));
  }

  // Nothing if it is reported; or has no text, as it was reported when the object was read.
  std::optional<std::pair<QuotaLine, Quantity>> Read(absl::string_view field,
                                                     absl::string_view name,
                                                     absl::string_view text) {
    const std::optional<QuotaLine> line = QuotaLine::Parse(name);
    if (!line.has_value()) {
      Wrong(absl::StrCat(field, "[", name,
                         "]: is no line; that is a resource, \"gpu\", \"pods\", or for devices of "
                         "claims CLASS",
                         kDevicesOfClass,
                         ", with one label of nodes behind it or "
                         "none: gpu{model=H100}; for GPUs and devices of claims also an attribute: "
                         "gpu{attribute:gpu.nvidia.com/architecture=Hopper}"));
      return std::nullopt;
    }
    if (text.empty()) return std::nullopt;
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(text);
    if (!quantity.ok() || quantity->IsNegative()) {
      Wrong(absl::StrCat(field, "[", name,
                         "]: ", quantity.ok() ? "is negative" : quantity.status().message()));
      return std::nullopt;
    }
    return std::pair(*line, *quantity);
  }
  void SetAmount(absl::string_view field, absl::string_view name, absl::string_view text,
                 QuotaAmounts& amounts) {
    const auto read = Read(field, name, text);
    if (!read.has_value()) return;
    const auto& [line, quantity] = *read;
    const int64_t amount = line.Amount(quantity);
    amounts.Set(line, amount);
    const Quantity counted = line.QuantityOf(amount);
    // Thousandths of what is written as the most that 64 bits hold may be more than they hold.
    if (Quantity::FromValue(std::numeric_limits<int64_t>::max()) < quantity) {
      Warn(absl::StrCat(field, "[", name, "]: ", text,
                        " is more than can be counted, and taken as ", counted.ToString(),
                        "; write that, or less"));
    } else if (counted != quantity && quantity < Quantity::FromValue(int64_t{1} << 53)) {
      Warn(absl::StrCat(field, "[", name, "]: ", text,
                        " is finer than it is counted, and taken as ", counted.ToString(),
                        "; write that, or less"));
    }
    if (!line.attribute().empty() && !absl::StrContains(line.attribute(), '/')) {
      Warn(absl::StrCat(field, "[", name, "]: names no driver, and counts devices of every driver ",
                        "that has an attribute of that name; write attribute:DRIVER/",
                        line.attribute()));
    }
  }
  // A plain number, in thousandths.
  void SetWeight(absl::string_view field, absl::string_view name, absl::string_view text) {
    if (const auto read = Read(field, name, text); read.has_value()) {
      spec_.weights.Set(read->first, read->second.MilliValue());
    }
  }
  // By name, so that nothing depends on the order of a map.
  template <class QuantityMap>
  void Amounts(absl::string_view field, const QuantityMap& map, QuotaAmounts& amounts) {
    std::map<std::string, std::string> sorted;
    for (const auto& [name, quantity] : map) sorted[name] = quantity.string();
    for (const auto& [name, text] : sorted) SetAmount(field, name, text, amounts);
  }

  std::optional<LabelSelector> Selector(absl::string_view field,
                                        const api::LabelSelector& message) {
    absl::StatusOr<LabelSelector> selector = LabelSelector::FromProto(&message);
    if (selector.ok()) return *std::move(selector);
    Wrong(absl::StrCat(field, ": ", selector.status().message()));
    return LabelSelector::Nothing();
  }

  template <class T, size_t N>
  bool Choose(absl::string_view field, const std::string& text, const Word<T> (&words)[N],
              T& value) {
    if (text.empty()) return false;
    for (const Word<T>& word : words) {
      if (word.text != text) continue;
      value = word.value;
      return true;
    }
    Wrong(absl::StrCat(field, ": \"", text, "\" is none of ",
                       absl::StrJoin(words, ", ", [](std::string* out, const Word<T>& word) {
                         absl::StrAppend(out, word.text);
                       })));
    return false;
  }

  std::optional<absl::Duration> DurationOf(absl::string_view field, const std::string& text) {
    const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
    if (duration.ok() && *duration >= absl::ZeroDuration()) return *duration;
    Wrong(absl::StrCat(field, ": \"", text, "\" is no length of time, such as 90s or 4h"));
    return std::nullopt;
  }

  void ReadHistory(const api::QuotaHistory& history) {
    if (history.half_life().empty()) return Wrong("spec.history: lacks halfLife, such as 4h");
    spec_.half_life = DurationOf("spec.history.halfLife", history.half_life());
    if (spec_.half_life == absl::ZeroDuration()) {
      Wrong("spec.history.halfLife: is 0");
      spec_.half_life.reset();
    }
    if (!history.has_factor()) return;
    const absl::StatusOr<Quantity> factor = Quantity::Parse(history.factor());
    if (!factor.ok() || factor->IsNegative() || factor->Value() > 1000) {
      return Wrong("spec.history.factor: is no number from 0 to 1000");
    }
    spec_.history_milli = factor->MilliValue();
  }

  // The one value of an annotation; no value if it is not JSON.
  std::optional<Document> Json(absl::string_view key, const std::string& text) {
    Problems problems;
    std::vector<Document> documents = ReadDocuments(text, "", problems);
    if (problems.ok() && documents.size() == 1) return std::move(documents.front());
    Wrong(absl::StrCat(key, ": is not JSON"));
    return std::nullopt;
  }
  void ReadNamespaces(const std::string& text) {
    const std::optional<Document> json = Json(kNamespaces, text);
    if (!json.has_value()) return;
    if (!json->root().IsSequence()) return Wrong(absl::StrCat(kNamespaces, ": is no list"));
    for (const Value name : json->root().elements()) {
      if (name.IsString()) spec_.namespaces.push_back(Symbol::Intern(name.text()));
    }
  }
  void ReadWeights(const std::string& text) {
    const std::optional<Document> json = Json(kSharedWeight, text);
    if (!json.has_value()) return;
    if (!json->root().IsMap()) return Wrong(absl::StrCat(kSharedWeight, ": is no map"));
    for (const Value::Item item : json->root().items()) {
      SetWeight(kSharedWeight, item.key, item.value.text());
    }
  }

  const Object& object_;
  Problems& problems_;
  QuotaSpec spec_;
};

// ElasticQuotas name their parent without its namespace.
void ResolveParents(std::vector<QuotaSpec>& specs, Problems& problems) {
  std::multimap<std::string, const QuotaSpec*> elastic;  // by name without namespace
  std::map<std::string, const QuotaSpec*> all;
  for (const QuotaSpec& spec : specs) {
    all.emplace(spec.name, &spec);
    if (spec.is_elastic_quota) elastic.emplace(spec.name.substr(spec.name.find('/') + 1), &spec);
  }
  for (QuotaSpec& spec : specs) {
    if (!spec.is_elastic_quota || spec.parent.empty()) continue;
    const auto [first, end] = elastic.equal_range(spec.parent);
    const auto found = std::distance(first, end) + (all.contains(spec.parent) ? 1 : 0);
    if (found > 1) {
      problems.AddWarning(spec.where, spec.subject(),
                          absl::StrCat("several quotas are called \"", spec.parent,
                                       "\", its parent; the oldest is taken"));
    }
    if (first != end) spec.parent = first->second->name;
  }
}

}  // namespace

void QuotaAmounts::Set(const QuotaLine& line, int64_t amount) {
  for (auto& [named, value] : entries_) {
    if (named == line) {
      value = amount;
      return;
    }
  }
  entries_.emplace_back(line, amount);
}

std::optional<int64_t> QuotaAmounts::Find(const QuotaLine& line) const {
  for (const auto& [named, value] : entries_) {
    if (named == line) return value;
  }
  return std::nullopt;
}

std::string QuotaSpec::subject() const {
  return absl::StrCat(is_elastic_quota ? "ElasticQuota " : "ClusterQuota ", name);
}

bool QuotaSpec::SaysTheSameAs(const QuotaSpec& other) const {
  const auto fields = [](const QuotaSpec& s) {
    return std::tie(s.name, s.parent, s.is_elastic_quota, s.creation_time, s.uid, s.namespaces,
                    s.namespace_selector, s.pod_selector, s.min, s.max, s.borrowing_limit,
                    s.lending_limit, s.weights, s.lends, s.weight, s.max_is_weight, s.priority,
                    s.half_life, s.history_milli, s.reclaim, s.victims, s.preemption, s.fence,
                    s.reclaim_min_runtime, s.preempt_min_runtime, s.order, s.queueing);
  };
  return fields(*this) == fields(other);
}

bool IsMarkedForTree(const Object& elastic_quota) {
  const api::ObjectMeta& meta = elastic_quota.As<api::ElasticQuota>().metadata();
  return absl::c_any_of(kMarks, [&](absl::string_view key) {
    return Has(meta.labels(), key) || Has(meta.annotations(), key);
  });
}

std::vector<QuotaSpec> ReadQuotas(absl::Span<const Object* const> objects, Problems& problems) {
  std::vector<QuotaSpec> specs;
  for (const Object* object : objects) {
    if (object->kind() == Kind::kClusterQuota) {
      specs.push_back(SpecReader(*object, problems).ReadClusterQuota());
    } else if (object->kind() == Kind::kElasticQuota) {
      specs.push_back(SpecReader(*object, problems).ReadElasticQuota());
    }
  }
  // Stable: those of which neither is known stay in the order in which they came.
  std::stable_sort(specs.begin(), specs.end(), [](const QuotaSpec& a, const QuotaSpec& b) {
    return std::tie(a.creation_time, a.uid) < std::tie(b.creation_time, b.uid);
  });
  ResolveParents(specs, problems);
  return specs;
}

}  // namespace berth
