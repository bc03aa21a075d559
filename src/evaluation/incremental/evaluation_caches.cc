// SPDX-License-Identifier: Apache-2.0
// Implementation of evaluation_caches.h.
#include "evaluation/incremental/evaluation_caches.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace berth {
namespace {

// A row takes some 50 bytes.
constexpr size_t kMaxScoresRows = size_t{8} << 20;
constexpr size_t kMaxScoresBySpecRows = size_t{2} << 20;
// A row takes 20 to 40 bytes, more where there are many classes.
constexpr size_t kMaxNodeClassesRows = size_t{4} << 20;
// A row takes 5 bytes, and one for each rule in whose topology it is a domain of its own; what the
// verdicts depend on takes some hundred bytes a class, 2 KiB for pods with very many volumes.
constexpr size_t kMaxRejectionsRows = size_t{16} << 20;
constexpr size_t kMinEntries = 8;

// An entry of fewer than kFew rows counts as one of kFew.
size_t MostEntries(size_t most_rows, int rows) {
  constexpr int kFew = 1024;
  return std::max(kMinEntries, most_rows / static_cast<size_t>(std::max(rows, kFew)));
}

}  // namespace

void EvaluationCaches::SelectClass(const EvaluationRequest& request) {
  const Framework& framework = request.framework;
  const std::shared_ptr<const PodInfo>& pod = request.pod;
  scores_.SetVersion(request.nodes.version());
  node_classes_.SetVersion(request.nodes.version());
  PodSignature& beside_spec = scratch_;
  beside_spec.clear();
  const PluginMask signed_by = framework.signer().SignForNodesExceptSpec(*pod, beside_spec);
  beside_spec.Add(static_cast<int64_t>(signed_by));
  const bool is_like_last = framework_ == &framework && pod_->SharesSpec(*pod) &&
                            except_spec_.bytes() == beside_spec.bytes();
  pod_ = pod;
  if (is_like_last) return;
  framework_ = &framework;
  std::swap(except_spec_, beside_spec);
  signature_.clear();
  signature_.Add(framework.profile().scheduler_name);
  plugins_ = framework.signer().SignForNodes(*pod, signature_);
  key_ = ClassKey(signature_.bytes(), nullptr);
  key_with_spec_ = ClassKey(signature_.bytes(), pod->shared_spec().get());
}

ScoreCache* EvaluationCaches::Scores(int rows, bool add) {
  // So many changed rows take as long as a pod that is scored first.
  const uint64_t max_gap = 16 + static_cast<uint64_t>(rows) / 128;
  if (ScoreCache* const scores = scores_.Find(key_); scores != nullptr) {
    // To make it again costs as much as ten such pods.
    if (scores_.gap() > 3 * max_gap) {
      scores_.Forget(key_);
      return nullptr;
    }
    return scores_.behind() <= ScoreCache::MaxChangedRows(rows) ? scores : nullptr;
  }
  if (!add) return nullptr;
  return scores_.Add(
      key_, MostEntries(kMaxScoresRows, rows),
      [&] { return std::make_unique<ScoreCache>(*framework_, pod_, plugins_, 0, scores_scratch_); },
      0, max_gap);
}

ScoreCache* EvaluationCaches::ScoresBySpec() {
  const bool all_signed = (framework_->dependencies().object_filters() & ~plugins_) == 0;
  return all_signed ? nullptr : scores_by_spec_.Find(key_with_spec_);
}

void EvaluationCaches::AddScoresBySpec(int rows) {
  // A pod with a claim of its own that is tried again is like no other.
  const size_t pod_hash = absl::HashOf(pod_->uid());
  scores_by_spec_.Add(
      key_with_spec_, MostEntries(kMaxScoresBySpecRows, rows),
      [&] {
        return std::make_unique<ScoreCache>(*framework_, pod_, plugins_,
                                            framework_->dependencies().object_filters() & ~plugins_,
                                            scores_scratch_);
      },
      pod_hash);
}

NodeEquivalenceClasses* EvaluationCaches::NodeClasses(const ScoreCache& scores,
                                                      const std::vector<DomainSum>& sums,
                                                      const NodeTable& nodes) {
  scratch_.clear();
  DomainGroupings::Identify(sums, nodes, scratch_);
  const ClassKey key(scratch_.bytes(), &scores);
  NodeEquivalenceClasses* const classes = node_classes_.Find(key);
  if (classes != nullptr) return classes;
  return node_classes_.Add(key, MostEntries(kMaxNodeClassesRows, nodes.size()),
                           [] { return std::make_unique<NodeEquivalenceClasses>(); });
}

RejectionCache* EvaluationCaches::AddRejections(bool by_spec, int rows) {
  if (RejectionCache* const rejections = Rejections(by_spec); rejections != nullptr)
    return rejections;
  return rejections_.Add(KeyOf(by_spec), MostEntries(kMaxRejectionsRows, rows),
                         [&] { return std::make_unique<RejectionCache>(*framework_, plugins_); });
}

bool EvaluationCaches::WasRejected() {
  if (rejections_.empty() && rejections_.saw_nothing()) return false;
  for (const bool by_spec : {false, true}) {
    const RejectionCache* const rejections = Rejections(by_spec);
    if (rejections != nullptr ? rejections->last_pod_was_rejected()
                              : rejections_.Saw(KeyOf(by_spec))) {
      return true;
    }
  }
  return false;
}

void EvaluationCaches::SetPlaced() {
  for (const bool by_spec : {false, true}) {
    rejections_.ForgetFirstUse(KeyOf(by_spec));
    if (RejectionCache* const rejections = Rejections(by_spec); rejections != nullptr) {
      rejections->set_last_pod_was_rejected(false);
    }
  }
}

}  // namespace berth
