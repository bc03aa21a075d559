// SPDX-License-Identifier: Apache-2.0
// Implementation of tree_report.h.
#include "plugins/capacity_scheduling/tree_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/quantity.h"

namespace berth {
namespace {

int64_t ClampToInt64(__int128 amount) {
  return static_cast<int64_t>(std::clamp<__int128>(amount, std::numeric_limits<int64_t>::min(),
                                                   std::numeric_limits<int64_t>::max()));
}

// Quotas that have more of the line than they are guaranteed, the most first: "ClusterQuota a
// borrows 3, ClusterQuota b 2". A quota below which another borrows stands for itself no more.
std::string DescribeBorrowers(const QuotaTree& tree, int line) {
  std::vector<std::pair<__int128, QuotaId>> borrowers;
  for (QuotaId quota = QuotaTree::kCluster + 1; quota < tree.size(); ++quota) {
    const __int128 borrowed = tree.borrowed(quota, line);
    if (borrowed <= 0) continue;
    const bool is_borrowed_below = absl::c_any_of(
        tree.children(quota), [&](QuotaId child) { return tree.borrowed(child, line) > 0; });
    if (!is_borrowed_below) borrowers.emplace_back(-borrowed, quota);
  }
  constexpr size_t kMost = 3;
  const size_t told = std::min(kMost, borrowers.size());
  std::partial_sort(borrowers.begin(), borrowers.begin() + static_cast<std::ptrdiff_t>(told),
                    borrowers.end());
  std::string text;
  for (size_t i = 0; i < told; ++i) {
    const auto& [minus_borrowed, quota] = borrowers[i];
    const Quantity amount = tree.lines()[line].QuantityOf(ClampToInt64(-minus_borrowed));
    absl::StrAppend(&text, i == 0 ? "" : ", ", tree.spec(quota).subject(),
                    i == 0 ? " borrows " : " ", amount.ToString());
  }
  if (borrowers.size() > kMost) {
    absl::StrAppend(&text, ", and ", borrowers.size() - kMost, " others");
  }
  return text;
}

}  // namespace

std::string DescribeInFull(const QuotaTree& tree, const QuotaTree::Shortage& shortage) {
  std::string text = tree.ToString(shortage);
  if (shortage.kind != QuotaTree::Shortage::Kind::kBorrowed) return text;
  const std::string borrowers = DescribeBorrowers(tree, shortage.line);
  if (!borrowers.empty()) absl::StrAppend(&text, "; ", borrowers);
  return text;
}

const std::string& Borrowers::Of(int line) const {
  const bool may_keep = book_.what_ifs() == 0;
  if (!may_keep || version_ != book_.version()) texts_.clear();
  version_ = may_keep ? std::optional<uint64_t>(book_.version()) : std::nullopt;
  const auto [known, is_new] = texts_.try_emplace(line);
  if (is_new) known->second = DescribeBorrowers(book_.tree(), line);
  return known->second;
}

void DescribeShortage(const QuotaTree& tree, const QuotaTree::Shortage& shortage,
                      bool is_beyond_min, const Borrowers& borrowers, WaitingFor& waiting) {
  const QuotaLine& line = tree.lines()[shortage.line];
  // GPUs in parts are reported as whole ones.
  const int64_t unit = line.counts == QuotaLine::Counts::kGpu ? 1000 : 1;
  waiting.resource = line.ToString();
  waiting.needed = (shortage.needed + unit - 1) / unit;
  waiting.quota_used = ClampToInt64(shortage.used) / unit;
  waiting.quota_limit = ClampToInt64(shortage.limit) / unit;
  if (shortage.kind == QuotaTree::Shortage::Kind::kBorrowed && !is_beyond_min) {
    const std::string& text = borrowers.Of(shortage.line);
    if (!text.empty()) absl::StrAppend(&waiting.detail, "; ", text);
    return;
  }
  waiting.quota = tree.spec(shortage.quota).subject();
  if (!is_beyond_min) waiting.reason = WaitingReason::kQuotaMax;
  if (shortage.needed > shortage.limit) waiting.reason = WaitingReason::kQuotaMisconfigured;
}

std::vector<QuotaFigure> ReportTree(const QuotaTree& tree) {
  std::vector<QuotaFigure> figures;
  // All quotas together: what is guaranteed, and what the nodes have.
  for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
    const std::optional<int64_t> capacity = tree.capacity(line);
    if (!capacity.has_value()) continue;
    __int128 promised = 0;
    for (const QuotaId child : tree.children(QuotaTree::kCluster)) {
      promised += tree.guarantee(child, line);
    }
    const auto in_units = [&](__int128 amount) {
      return tree.lines()[line].QuantityOf(ClampToInt64(amount)).AsDouble();
    };
    figures.push_back({.quota = "",
                       .resource = tree.lines()[line].ToString(),
                       .min = in_units(promised),
                       .max = in_units(*capacity),
                       .used = in_units(tree.used(QuotaTree::kCluster, line))});
  }
  for (QuotaId quota = QuotaTree::kCluster + 1; quota < tree.size(); ++quota) {
    const QuotaSpec& spec = tree.spec(quota);
    for (size_t i = 0; i < tree.lines().size(); ++i) {
      const QuotaLine& line = tree.lines()[i];
      const std::optional<int64_t> min = spec.min.Find(line), max = spec.max.Find(line);
      if (!min.has_value() && !max.has_value()) continue;
      const auto in_units = [&line](int64_t amount) { return line.QuantityOf(amount).AsDouble(); };
      QuotaFigure& figure = figures.emplace_back();
      figure.quota = spec.name;
      figure.resource = line.ToString();
      if (min.has_value()) figure.min = in_units(*min);
      if (max.has_value()) figure.max = in_units(*max);
      figure.used = in_units(ClampToInt64(tree.used(quota, static_cast<int>(i))));
    }
  }
  return figures;
}

}  // namespace berth
