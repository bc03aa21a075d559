// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_quotas.h.
#include "plugins/capacity_scheduling/pod_quotas.h"

#include <string>

namespace berth {
namespace {

constexpr size_t kMostBelongings = 4096;  // that are kept

}  // namespace

void PodQuotas::ReadTree() {
  naming_.clear();
  selecting_.clear();
  elastic_.clear();
  elastic_by_name_.clear();
  belongings_.clear();
  for (QuotaId quota = 1; quota < tree_.size(); ++quota) {
    const QuotaSpec& spec = tree_.spec(quota);
    if (spec.is_elastic_quota) {
      for (const Symbol name : spec.namespaces) elastic_.try_emplace(name, quota);
      elastic_by_name_.try_emplace(Symbol::Intern(spec.name.substr(spec.name.find('/') + 1)),
                                   quota);
      continue;
    }
    for (const Symbol name : spec.namespaces) naming_[name].push_back(quota);
    if (spec.namespace_selector.has_value() || (spec.namespaces.empty() && spec.selects_pods())) {
      selecting_.push_back(quota);
    }
  }
}

std::optional<QuotaId> PodQuotas::Of(const PodInfo& pod) const {
  const std::shared_ptr<const void> spec = pod.shared_spec();
  const auto known = belongings_.find(spec.get());
  if (known != belongings_.end()) return known->second.quota;
  if (belongings_.size() >= kMostBelongings) belongings_.clear();
  return (belongings_[spec.get()] = {spec, Find(pod)}).quota;
}

std::optional<QuotaId> PodQuotas::Find(const PodInfo& pod) const {
  if (const Symbol* const name = pod.labels().Find(kQuotaLabel)) {
    if (const std::optional<QuotaId> quota = tree_.Find(name->view())) return quota;
  }
  for (const absl::string_view label : {kKoordinatorQuotaLabel, kAlibabaQuotaLabel}) {
    const Symbol* const name = pod.labels().Find(label);
    if (name == nullptr) continue;
    const auto elastic = elastic_by_name_.find(*name);
    if (elastic != elastic_by_name_.end()) return elastic->second;
    if (const std::optional<QuotaId> quota = tree_.Find(name->view())) return quota;
  }
  const Symbol own = pod.namespace_name();
  std::optional<QuotaId> oldest;
  const auto consider = [&](QuotaId quota) {
    const QuotaSpec& spec = tree_.spec(quota);
    if (spec.pod_selector.has_value() && !spec.pod_selector->Matches(pod.labels())) return;
    if (!oldest.has_value() || quota < *oldest) oldest = quota;
  };
  if (const auto named = naming_.find(own); named != naming_.end()) {
    for (const QuotaId quota : named->second) consider(quota);
  }
  for (const QuotaId quota : selecting_) {
    const std::optional<LabelSelector>& selector = tree_.spec(quota).namespace_selector;
    if (selector.has_value()) {
      const LabelSet* const labels = handle_.objects().NamespaceLabels(own);
      if (!selector->Matches(labels == nullptr ? LabelSet() : *labels)) continue;
    }
    consider(quota);
  }
  if (oldest.has_value()) return oldest;
  const auto elastic = elastic_.find(own);
  return elastic == elastic_.end() ? std::nullopt : std::optional<QuotaId>(elastic->second);
}

}  // namespace berth
