// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_limits.h.
#include "plugins/capacity_scheduling/quota_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {

std::optional<QuotaTree::Shortage> BeyondMin(const QuotaTree& tree, const PodInfo& pod,
                                             QuotaId quota, const LineAmounts& charge,
                                             const LineAmounts& avoidable) {
  if (IsPreemptible(pod)) return std::nullopt;
  for (const auto& [line, most] : charge) {
    const int64_t amount = most - AmountOfLine(avoidable, line);
    if (amount == 0) continue;
    const __int128 used = tree.used(quota, line), min = tree.guarantee(quota, line);
    if (!tree.Concerns(quota, line) || used + amount <= min) continue;
    return QuotaTree::Shortage{
        .quota = quota, .line = line, .needed = amount, .used = used, .limit = min};
  }
  return std::nullopt;
}

std::string BeyondMinToString(const QuotaTree& tree, const QuotaTree::Shortage& beyond_min) {
  const QuotaLine& line = tree.lines()[beyond_min.line];
  const auto text = [&](__int128 amount) {
    return line.QuantityOf(static_cast<int64_t>(amount)).ToString();
  };
  return absl::StrCat(tree.spec(beyond_min.quota).subject(), " uses ", text(beyond_min.used),
                      " of its min, ", text(beyond_min.limit), " ", line.ToString(), "; needs ",
                      text(beyond_min.needed), ", and the pod is not preemptible");
}

std::shared_ptr<const DeviceLimitsOfPod> DeviceLimitsOf(const QuotaBook& book, const PodInfo& pod) {
  const QuotaTree& tree = book.tree();
  if (!book.has_tree() || pod.spec().resource_claims().empty()) return nullptr;
  const std::optional<QuotaId> quota = book.QuotaOf(pod);
  if (!quota.has_value()) return nullptr;
  const PodAmounts claims = book.OpenClaimsOf(pod);
  if (claims.possible.empty() && claims.possible_gpu_milli == 0) return nullptr;
  const PodAmounts& request = book.RequestOf(pod);
  const bool only_within_min = !IsPreemptible(pod);
  auto limits = std::make_shared<DeviceLimitsOfPod>();
  for (int i = 0; i < static_cast<int>(tree.lines().size()); ++i) {
    const QuotaLine& line = tree.lines()[i];
    if (claims.PossibleOf(line) == 0 || !tree.Concerns(*quota, i)) continue;
    const int64_t asked = claims.Of(line), all = request.Of(line);
    __int128 left = tree.WithinBounds(*quota, i);
    if (only_within_min) left = std::min(left, tree.guarantee(*quota, i) - tree.used(*quota, i));
    left -= all - asked;
    if (asked <= left) continue;
    const LineAmounts charge = {{i, all}};
    const auto shortage = tree.FindShortage(*quota, charge);
    const auto beyond = BeyondMin(tree, pod, *quota, charge);
    const auto left_to_claims = static_cast<int64_t>(std::max<__int128>(0, left));
    limits->limits.push_back(
        {.limit = {.amount_of =
                       [&devices = book.devices(), line](const DeviceId& device,
                                                         const api::DeviceClass& of) {
                         return devices.ChargeOf(device, of, line);
                       },
                   .left = left_to_claims},
         .covers = [line](const LabelSet& node) { return !line.mark.empty() || line.Covers(node); },
         .why = shortage.has_value() ? book.ToString(*shortage)
                : beyond.has_value() ? BeyondMinToString(tree, *beyond)
                                     : ""});
    absl::StrAppend(&limits->text, line.ToString(), " ", left_to_claims, "\n");
  }
  return limits->limits.empty() ? nullptr : limits;
}

}  // namespace berth
