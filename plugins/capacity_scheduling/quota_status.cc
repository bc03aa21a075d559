// SPDX-License-Identifier: Apache-2.0
// Implementation of quota_status.h.
#include "plugins/capacity_scheduling/quota_status.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
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

// In thousandths of what the line counts in: a mean is no whole number.
void SetMean(const QuotaLine& line, double amount, StatusAmounts& amounts) {
  const double milli = std::clamp(amount * line.QuantityOf(1).AsDouble() * 1000, 0.0, 9e18);
  amounts[line.ToString()].set_string(Quantity::FromMilliValue(std::llround(milli)).ToString());
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

// What was used lately changes with time alone: it is told with the rest, and is no reason to
// write.
bool SameStatus(const api::ClusterQuotaStatus& a, const api::ClusterQuotaStatus& b) {
  return SameAmounts(a.used(), b.used()) && SameAmounts(a.share(), b.share()) &&
         SameAmounts(a.borrowed(), b.borrowed()) && SameAmounts(a.guarantee(), b.guarantee());
}

constexpr char kConsistent[] = "Consistent";
constexpr char kNoContradiction[] = "NoContradiction";
// As the schema has it.
constexpr size_t kLongestMessage = 32768;

// Brings the condition Consistent up to date with what is wrong with the quota, which may be
// nothing. Others stay as they are. Returns whether something changed.
bool SetConsistent(const std::string& wrong, absl::Time now, api::ClusterQuota& quota) {
  api::ClusterQuotaStatus& status = *quota.mutable_status();
  const auto found =
      std::find_if(status.mutable_conditions()->begin(), status.mutable_conditions()->end(),
                   [](const auto& other) { return other.type() == kConsistent; });
  const bool is_new = found == status.mutable_conditions()->end();
  if (is_new && wrong.empty()) return false;
  api::Condition& condition = is_new ? *status.add_conditions() : *found;
  const std::string before = condition.SerializeAsString();
  const char* const state = wrong.empty() ? "True" : "False";
  if (condition.status() != state) {
    condition.mutable_last_transition_time()->set_seconds(absl::ToUnixSeconds(now));
    condition.mutable_last_transition_time()->clear_nanos();
  }
  condition.set_type(kConsistent);
  condition.set_status(state);
  condition.set_reason(wrong.empty() ? std::string(kNoContradiction)
                                     : std::string(kContradictoryQuota));
  condition.set_message(wrong.substr(0, kLongestMessage));
  if (quota.metadata().generation() > 0) {
    condition.set_observed_generation(quota.metadata().generation());
  }
  return condition.SerializeAsString() != before;
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
  book_.Advance();
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
      if (!tree.HasHistory(quota)) continue;
      SetMean(of, tree.UsedLately(quota, line), *status.mutable_used_lately());
      status.mutable_used_lately_time()->set_seconds(absl::ToUnixSeconds(last_));
    }
    const auto& quota_object = object->As<api::ClusterQuota>();
    const auto found = told_->wrong.find(object->uid());
    const std::string wrong = found == told_->wrong.end() ? "" : found->second;
    bool differs = !SameStatus(quota_object.status(), status);
    if (!wrong.empty() || quota_object.status().conditions_size() > 0) {
      api::ClusterQuota with_condition = quota_object;
      differs |= SetConsistent(wrong, last_, with_condition);
    }
    if (!differs) continue;
    if (written == kMostWrites) {
      next_ = quota;
      return SetTimer();
    }
    ++written;
    handle_.EditSoon({object->identity(), ObjectUpdate::Part::kStatus,
                      [status = std::move(status), wrong,
                       now = last_](google::protobuf::Message& latest) mutable {
                        auto& quota = static_cast<api::ClusterQuota&>(latest);
                        const bool new_condition = SetConsistent(wrong, now, quota);
                        if (!new_condition && SameStatus(quota.status(), status)) {
                          return absl::AlreadyExistsError("the status says so already");
                        }
                        *status.mutable_conditions() = quota.status().conditions();
                        *quota.mutable_status() = status;
                        return absl::OkStatus();
                      }});
  }
}

}  // namespace berth
