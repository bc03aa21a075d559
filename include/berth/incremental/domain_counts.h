// SPDX-License-Identifier: Apache-2.0
// DomainCounts: the pods in each topology domain as a cycle sees them, and as its dry runs do.
#ifndef BERTH_INCREMENTAL_DOMAIN_COUNTS_H_
#define BERTH_INCREMENTAL_DOMAIN_COUNTS_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"
#include "berth/columns/node_table.h"
#include "berth/columns/pod_counts.h"

namespace berth {

// A domain is the index of a label value in column(). Meant for CycleState: copies are cheap, and
// what is added to one stays in it. Valid for the cycle in which it was made.
class DomainCounts {
 public:
  // The pods that `pods` counts, by the label `key`, whose column is `column`.
  DomainCounts(Symbol key, const LabelColumn& column, std::shared_ptr<const PodCounts> pods)
      : key_(key),
        column_(&column),
        pods_(pods.get()),
        counts_(pods->of_domains(column)),
        nodes_(pods->nodes_of_domains(column)),
        owner_(std::move(pods)) {}
  // Counts of the caller's own; domains beyond their end have no pods.
  DomainCounts(Symbol key, const LabelColumn& column, std::vector<int64_t> counts)
      : key_(key), column_(&column), nodes_(column.row_counts()) {
    auto owned = std::make_shared<const std::vector<int64_t>>(std::move(counts));
    counts_ = *owned;
    owner_ = std::move(owned);
  }

  Symbol key() const { return key_; }
  const LabelColumn& column() const { return *column_; }

  // The domain of a node with these labels; absent if it lacks the label. A value that no node of
  // the table has is a domain without pods.
  std::optional<uint32_t> FindDomain(const LabelSet& labels) const {
    const Symbol* const value = labels.Find(key_);
    if (value == nullptr) return std::nullopt;
    return column_->Find({true, *value}).value_or(static_cast<uint32_t>(column_->values().size()));
  }
  // Calls use(domain, at(domain)) for each value of column().
  template <class Use>
  void ForEach(Use use) const {
    const auto size = static_cast<uint32_t>(column_->values().size());
    const uint32_t counted = std::min(size, static_cast<uint32_t>(counts_.size()));
    if (added_.empty()) {  // without a branch a domain
      for (uint32_t domain = 0; domain < counted; ++domain) use(domain, counts_[domain]);
      for (uint32_t domain = counted; domain < size; ++domain) use(domain, int64_t{0});
    } else {
      for (uint32_t domain = 0; domain < size; ++domain) use(domain, at(domain));
    }
  }
  int64_t at(uint32_t domain) const {
    int64_t count = domain < counts_.size() ? counts_[domain] : 0;
    for (const auto& [added, difference] : added_) {
      if (added == domain) count += difference;
    }
    return count;
  }

  // Whether there is a node in `domain` whose pods are counted.
  bool HasNodes(uint32_t domain) const { return domain < nodes_.size() && nodes_[domain] > 0; }

  // The minimum over the domains for which HasNodes(); and all in domains. Both
  // without what was added.
  MinimumPods FindMinimum() const {
    if (pods_ != nullptr) return pods_->minimum(*column_);
    MinimumPods minimum;
    ForEachCounted([&](uint32_t domain, int64_t count) {
      if (HasNodes(domain)) minimum.Include(count);
    });
    return minimum;
  }
  int64_t CountAll() const {
    if (pods_ != nullptr) return pods_->total_labelled(*column_);
    int64_t total = 0;
    ForEachCounted([&](uint32_t, int64_t count) { total += count; });
    return total;
  }

  // For what-if questions.
  void Add(uint32_t domain, int64_t difference) {
    for (auto& [added, sum] : added_) {
      if (added == domain) {
        sum += difference;
        return;
      }
    }
    added_.emplace_back(domain, difference);
  }
  // What was added: domains, each once, with the sum.
  absl::Span<const std::pair<uint32_t, int64_t>> added() const { return added_; }

  // What is counted, if it is just that: null of the caller's own counts, and once something was
  // added.
  std::shared_ptr<const PodCounts> pods() const {
    return HasVersion() ? std::shared_ptr<const PodCounts>(owner_, pods_) : nullptr;
  }
  // For callers that keep something by domain from one cycle to another: as PodCounts::version()
  // and ChangesSince(). Absent of the caller's own counts, and once something was added.
  std::optional<PodCounts::Version> version() const {
    return HasVersion() ? std::optional(pods_->version(*column_)) : std::nullopt;
  }
  std::optional<absl::Span<const PodCounts::Change>> ChangesSince(
      const PodCounts::Version& version) const {
    return HasVersion() ? pods_->ChangesSince(*column_, version) : std::nullopt;
  }

 private:
  // Calls use(domain, count) for each domain, without what was added.
  template <class Use>
  void ForEachCounted(Use use) const {
    for (uint32_t domain = 0; domain < column_->values().size(); ++domain) {
      if (!column_->values()[domain].present) continue;
      use(domain, domain < counts_.size() ? counts_[domain] : 0);
    }
  }
  bool HasVersion() const { return pods_ != nullptr && added_.empty(); }

  Symbol key_;
  const LabelColumn* column_;
  const PodCounts* pods_ = nullptr;  // null: own counts
  absl::Span<const int64_t> counts_;
  absl::Span<const int> nodes_;        // how many there are
  std::shared_ptr<const void> owner_;  // of counts_
  absl::InlinedVector<std::pair<uint32_t, int64_t>, 2> added_;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_DOMAIN_COUNTS_H_
