// Implementation of evaluation_caches.h.
#include "evaluation/incremental/evaluation_caches.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace berth {
namespace {

// A row takes some 50 bytes.
constexpr size_t kMaxRankedRows = size_t{8} << 20;
constexpr size_t kMaxRankedByObjectsRows = size_t{2} << 20;
// A row takes some 40 bytes, more where there are many classes.
constexpr size_t kMaxAlikeRows = size_t{4} << 20;
// A row takes 5 bytes, 9 more where a resource is short, and one for each rule in whose topology it
// is a domain of its own; what the verdicts go by takes some hundred bytes a kind, 2 KiB for pods
// with very many volumes.
constexpr size_t kMaxRejectedRows = size_t{16} << 20;
constexpr size_t kMinEntries = 8;

// An entry of few rows takes as much as if it had some more.
size_t MostEntries(size_t most_rows, int rows) {
  constexpr int kFew = 1024;
  return std::max(kMinEntries, most_rows / static_cast<size_t>(std::max(rows, kFew)));
}

}  // namespace

void EvaluationCaches::SetKind(const Framework& framework,
                               const std::shared_ptr<const PodInfo>& pod) {
  PodSignature& beside_spec = scratch_;
  beside_spec.clear();
  const PluginMask signed_by = framework.SignForNodesBesideSpec(*pod, beside_spec);
  beside_spec.Add(static_cast<int64_t>(signed_by));
  const bool is_like_last = framework_ == &framework && pod_->SharesSpec(*pod) &&
                            beside_spec_.bytes() == beside_spec.bytes();
  pod_ = pod;
  if (is_like_last) return;
  framework_ = &framework;
  std::swap(beside_spec_, beside_spec);
  signature_.clear();
  signature_.Add(framework.profile().scheduler_name);
  plugins_ = framework.SignForNodes(*pod, signature_);
  kind_ = PodClass(signature_.bytes(), nullptr);
  kind_with_spec_ = PodClass(signature_.bytes(), pod->shared_spec().get());
}

ScoreCache* EvaluationCaches::Ranked(int rows, bool add) {
  ScoreCache* const ranked = ranked_.Find(kind_);
  if (ranked != nullptr || !add) return ranked;
  return ranked_.Add(kind_, MostEntries(kMaxRankedRows, rows),
                     [&] { return std::make_unique<ScoreCache>(*framework_, pod_, plugins_); });
}

ScoreCache* EvaluationCaches::RankedByObjects() {
  const bool all_signed = (framework_->ObjectFilters() & ~plugins_) == 0;
  return all_signed ? nullptr : ranked_by_objects_.Find(kind_with_spec_);
}

void EvaluationCaches::AddRankedByObjects(int rows) {
  // A pod with a claim of its own that is tried again is like no other.
  const size_t asker = absl::HashOf(pod_->uid());
  ranked_by_objects_.Add(
      kind_with_spec_, MostEntries(kMaxRankedByObjectsRows, rows),
      [&] {
        return std::make_unique<ScoreCache>(*framework_, pod_, plugins_,
                                            framework_->ObjectFilters() & ~plugins_);
      },
      asker);
}

NodeEquivalenceClasses* EvaluationCaches::Alike(const ScoreCache& ranked,
                                                const std::vector<DomainSum>& sums,
                                                const NodeTable& nodes) {
  scratch_.clear();
  NodeEquivalenceClasses::Identify(sums, nodes, scratch_);
  const PodClass kind(scratch_.bytes(), &ranked);
  NodeEquivalenceClasses* const alike = alike_.Find(kind);
  if (alike != nullptr) return alike;
  return alike_.Add(kind, MostEntries(kMaxAlikeRows, nodes.size()),
                    [] { return std::make_unique<NodeEquivalenceClasses>(); });
}

RejectionCache* EvaluationCaches::AddRejected(bool by_spec, int rows) {
  if (RejectionCache* const rejected = Rejected(by_spec); rejected != nullptr) return rejected;
  return rejected_.Add(KindOf(by_spec), MostEntries(kMaxRejectedRows, rows),
                       [&] { return std::make_unique<RejectionCache>(*framework_, plugins_); });
}

bool EvaluationCaches::WasRejected() {
  if (rejected_.empty() && rejected_.saw_nothing()) return false;
  for (const bool by_spec : {false, true}) {
    const RejectionCache* const rejected = Rejected(by_spec);
    if (rejected != nullptr ? rejected->was_last() : rejected_.Saw(KindOf(by_spec))) {
      return true;
    }
  }
  return false;
}

void EvaluationCaches::NotePlaced() {
  for (const bool by_spec : {false, true}) {
    rejected_.ForgetSeen(KindOf(by_spec));
    if (RejectionCache* const rejected = Rejected(by_spec); rejected != nullptr) {
      rejected->set_was_last(false);
    }
  }
}

}  // namespace berth
