// SPDX-License-Identifier: Apache-2.0
// What a quota says, whether an ElasticQuota or a ClusterQuota says it; docs/quota.md has the
// meaning.
#ifndef BERTH_QUOTA_QUOTA_SPEC_H_
#define BERTH_QUOTA_QUOTA_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/labels.h"
#include "berth/api/object.h"
#include "berth/api/problem.h"
#include "berth/api/symbol.h"
#include "berth/quota/quota_line.h"

namespace berth {

// On pods: the ClusterQuota they belong to. On ElasticQuotas: what they are below.
inline constexpr absl::string_view kQuotaLabel = "scheduling.berth.dev/quota";
inline constexpr absl::string_view kQuotaParentLabel = "scheduling.berth.dev/parent";
// Koordinator's.
inline constexpr absl::string_view kKoordinatorQuotaLabel = "quota.scheduling.koordinator.sh/name";
inline constexpr absl::string_view kAlibabaQuotaLabel = "alibabacloud.com/quota-name";
inline constexpr absl::string_view kPreemptibleLabel =
    "quota.scheduling.koordinator.sh/preemptible";

// Amounts in the order in which they were written; a line named with 0 is something else than one
// that is not named.
class QuotaAmounts {
 public:
  void Set(const QuotaLine& line, int64_t amount);
  std::optional<int64_t> Find(const QuotaLine& line) const;
  absl::Span<const std::pair<QuotaLine, int64_t>> entries() const { return entries_; }
  friend bool operator==(const QuotaAmounts&, const QuotaAmounts&) = default;

 private:
  std::vector<std::pair<QuotaLine, int64_t>> entries_;
};

enum class ReclaimStrategy : uint8_t { kGuarantee, kFairShare, kNever };
enum class ReclaimVictims : uint8_t { kAny, kLowerPriority, kNotHigherPriority };
enum class QuotaPreemption : uint8_t { kLowerPriority, kLowerOrNewerEqualPriority, kNever };
enum class QuotaFence : uint8_t { kNone, kOut, kIn, kBoth };
enum class QuotaOrderKey : uint8_t {
  kUnderGuarantee,  // with the pod it stays within min
  kUnderShare,      // with the pod it stays within its fair share
  kPriority,        // of the quota, higher first
  kShare,           // the smaller dominant share, the pod counted in, by weight
  kPodPriority,     // of its first pod
  kAge,             // of its first pod
};
enum class QuotaQueueing : uint8_t { kBestEffortFifo, kStrictFifo };

struct QuotaSpec {
  std::string name;    // "team-a"; of an ElasticQuota "namespace/name"
  std::string parent;  // name of another; empty: the cluster
  bool is_elastic_quota = false;
  absl::Time creation_time = absl::InfinitePast();
  std::string uid;
  SourceLocation where;

  // --- Whose pods ---
  std::vector<Symbol> namespaces;
  std::optional<LabelSelector> namespace_selector, pod_selector;

  // --- How much ---
  QuotaAmounts min, max, borrowing_limit, lending_limit;
  QuotaAmounts weights;  // in thousandths
  bool lends = true;     // false: a lending limit of 0 on every line
  int64_t weight = 1;
  bool max_is_weight = false;  // of lines that `weights` does not name: Koordinator's default
  int32_t priority = 0;
  std::optional<absl::Duration> half_life;  // of its children's usage
  int64_t history_milli = 1000;             // the factor, in thousandths

  // --- Who may go ---
  ReclaimStrategy reclaim = ReclaimStrategy::kGuarantee;
  ReclaimVictims victims = ReclaimVictims::kAny;
  QuotaPreemption preemption = QuotaPreemption::kLowerPriority;
  QuotaFence fence = QuotaFence::kNone;
  std::optional<absl::Duration> reclaim_min_runtime, preempt_min_runtime;

  // --- In which order ---
  std::vector<QuotaOrderKey> order;  // empty: the default
  QuotaQueueing queueing = QuotaQueueing::kBestEffortFifo;

  // "ClusterQuota team-a", "ElasticQuota ns/name": as messages call it.
  std::string subject() const;
  // Whether pods can belong to it without naming it.
  bool selects_pods() const {
    return !namespaces.empty() || namespace_selector.has_value() || pod_selector.has_value();
  }
  // Whether both say the same; where and when they were written does not count.
  bool SaysTheSameAs(const QuotaSpec& other) const;
};

// Whether an ElasticQuota has a mark of a tree: the label of a parent, or any of Koordinator's
// that this reads.
bool IsMarkedForTree(const Object& elastic_quota);

// Reads the quotas of a cluster, by creation time and uid. What cannot be read is left out of its
// quota and reported. `objects` are ElasticQuotas and ClusterQuotas, others are ignored.
std::vector<QuotaSpec> ReadQuotas(absl::Span<const Object* const> objects, Problems& problems);

// What contradicts itself in a set of quotas: unknown parents and cycles, min above max, children
// above their parent, two quotas that select the same pods, a sum of min above what the nodes have
// (`capacity` by line; lines without an entry are not checked), which is told of the first. The
// subject of each problem is that of a quota.
void CheckQuotas(absl::Span<const QuotaSpec> specs, const QuotaAmounts& capacity,
                 Problems& problems);

// Lines that name a DeviceClass that is not among `classes`: they count nothing. A warning for each
// field, of which the subject is the quota. Nothing if there are no classes at all: where they are
// not known, none is missing.
void CheckClassesOfLines(absl::Span<const QuotaSpec> specs, absl::Span<const std::string> classes,
                         Problems& problems);

}  // namespace berth

#endif  // BERTH_QUOTA_QUOTA_SPEC_H_
