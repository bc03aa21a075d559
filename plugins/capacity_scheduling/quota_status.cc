// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_status.h.
#include "plugins/capacity_scheduling/quota_status.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "berth/api/object_update.h"
#include "berth/api/quantity.h"
#include "berth/api/scheduling_berth_dev.pb.h"

namespace berth {
namespace {

using StatusAmounts = google::protobuf::Map<std::string, api::Quantity>;

void SetAmount(const QuotaLine& line, __int128 amount, StatusAmounts& amounts) {
  const auto clamped =
      static_cast<int64_t>(std::clamp<__int128>(amount, 0, std::numeric_limits<int64_t>::max()));
  amounts[line.ToString()].set_string(line.QuantityOf(clamped).ToString());
}

bool SameAmounts(const StatusAmounts& a, const StatusAmounts& b) {
  if (a.size() != b.size()) return false;
  return std::all_of(a.begin(), a.end(), [&](const auto& entry) {
    const auto other = b.find(entry.first);
    if (other == b.end()) return false;
    if (other->second.string() == entry.second.string()) return true;
    const auto left = Quantity::Parse(entry.second.string());
    const auto right = Quantity::Parse(other->second.string());
    return left.ok() && right.ok() && *left == *right;
  });
}

bool SameStatus(const api::ClusterQuotaStatus& a, const api::ClusterQuotaStatus& b) {
  return SameAmounts(a.used(), b.used()) && SameAmounts(a.share(), b.share()) &&
         SameAmounts(a.borrowed(), b.borrowed()) && SameAmounts(a.guarantee(), b.guarantee());
}

}  // namespace

void QuotaStatus::Begin() {
  begun_ = true;
  book_.Refresh();
  Touch();
}

// Soon after the first change, so that those of one burst are in one status.
void QuotaStatus::SetTimer() {
  timer_is_set_ = true;
  const absl::Time now = handle_.clock().Now();
  handle_.RunAt(plugin_, std::max(now + absl::Seconds(1), last_ + kPause), [this] { WriteAll(); });
}

// With the tree as of the last attempt: the nodes that Handle has between attempts may be older
// than what was charged.
void QuotaStatus::WriteAll() {
  timer_is_set_ = false;
  last_ = handle_.clock().Now();
  book_.RefreshNominations();
  const QuotaTree& tree = book_.tree();
  std::vector<std::vector<__int128>> shares;  // by line and quota
  for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
    shares.push_back(tree.SharesOf(line));
  }
  int written = 0;
  QuotaId quota = next_;
  for (QuotaId seen = 1; seen < tree.size(); ++seen, ++quota) {
    if (quota >= tree.size()) quota = 1;
    if (tree.spec(quota).is_elastic_quota) continue;
    const Object* const object =
        handle_.objects().Find(Kind::kClusterQuota, "", tree.spec(quota).name);
    if (object == nullptr) continue;
    api::ClusterQuotaStatus status;
    for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
      const __int128 whole = tree.guarantee(QuotaTree::kCluster, line);
      if (!tree.Concerns(quota, line) || whole >= QuotaTree::kUnlimited) continue;
      const QuotaLine& of = tree.lines()[line];
      SetAmount(of, tree.used(quota, line), *status.mutable_used());
      SetAmount(of, shares[line][quota], *status.mutable_share());
      SetAmount(of, tree.guarantee(quota, line), *status.mutable_guarantee());
      SetAmount(of, tree.borrowed(quota, line), *status.mutable_borrowed());
    }
    if (SameStatus(object->As<api::ClusterQuota>().status(), status)) continue;
    if (written == kMostWrites) {
      next_ = quota;
      return SetTimer();
    }
    ++written;
    handle_.EditSoon({object->identity(), ObjectUpdate::Part::kStatus,
                      [status = std::move(status)](google::protobuf::Message& latest) {
                        api::ClusterQuotaStatus& old =
                            *static_cast<api::ClusterQuota&>(latest).mutable_status();
                        if (SameStatus(old, status)) {
                          return absl::AlreadyExistsError("the status says so already");
                        }
                        old = status;
                        return absl::OkStatus();
                      }});
  }
}

}  // namespace berth
