// SPDX-License-Identifier: Apache-2.0
// The caches of the incremental evaluator, by equivalence class of pods.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_EVALUATION_CACHES_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_EVALUATION_CACHES_H_

#include <memory>
#include <vector>

#include "evaluation/incremental/equivalence_cache.h"
#include "evaluation/incremental/node_equivalence_classes.h"
#include "evaluation/incremental/rejection_cache.h"
#include "evaluation/incremental/score_cache.h"
#include "evaluation/node_evaluator.h"

namespace berth {

// Scheduling thread.
class EvaluationCaches {
 public:
  // The calls that follow are about the class of the request's pod under its profile.
  void SelectClass(const EvaluationRequest& request);
  // The plugins that depend on one node at a time and signed the pod.
  PluginMask plugins() const { return plugins_; }

  // The class's scores of `rows` nodes. Null if they are not kept; if `add`, they are from now on,
  // but only for a class that keeps coming back: else it would not pay. Null too if so many rows
  // changed since the last pod of the class that all would be evaluated again.
  ScoreCache* Scores(int rows, bool add);
  // The same for pods of one spec, with the verdicts of filters that depend on cluster objects.
  // Null if they are not kept.
  ScoreCache* ScoresBySpec();
  // Such filters filtered many nodes for this pod: their verdicts are cached from now on, but not
  // for the only pod of a spec.
  void AddScoresBySpec(int rows);
  void ForgetScores() {
    scores_.Forget(key_);
    scores_by_spec_.Forget(key_with_spec_);
  }

  // The nodes of `scores` in equivalence classes by `sums`. Null if they are not kept: they are
  // from the second pod on that needs them, if there is room.
  NodeEquivalenceClasses* NodeClasses(const ScoreCache& scores, const std::vector<DomainSum>& sums,
                                      const NodeTable& nodes);

  // Why no node is feasible for the class; null if that is not cached. `by_spec`: the rejections
  // depend on more than plugins() signed, so pods of another spec are another class.
  RejectionCache* Rejections(bool by_spec) { return rejections_.Find(KeyOf(by_spec)); }
  bool HasRejections() { return Rejections(false) != nullptr || Rejections(true) != nullptr; }
  // The same for a pod that is rejected, or probably will be; from now on it is cached, but not for
  // the first pod of a class, for which it would not pay. Once a cycle.
  RejectionCache* AddRejections(bool by_spec, int rows);
  void ForgetRejections(bool by_spec) { rejections_.Forget(KeyOf(by_spec)); }
  // Whether the last pod of the class was rejected, if that is known.
  bool WasRejected();
  // A pod of the class was placed.
  void SetPlaced();

 private:
  // The address identifies the spec. If another spec gets that address, RejectionCache compares
  // rules and specs, finds that they differ, and filters again. A ScoreCache keeps its pod, so its
  // spec's address stays taken.
  const ClassKey& KeyOf(bool by_spec) const { return by_spec ? key_with_spec_ : key_; }

  const Framework* framework_ = nullptr;
  std::shared_ptr<const PodInfo> pod_;
  PodSignature signature_;    // of the profile too
  PodSignature except_spec_;  // the part that pods of one spec do not share
  PodSignature scratch_;
  PluginMask plugins_ = 0;
  ClassKey key_{"", nullptr}, key_with_spec_{"", nullptr};  // of signature_'s bytes
  ScoreCache::Scratch scores_scratch_;
  EquivalenceCache<ScoreCache> scores_, scores_by_spec_;
  EquivalenceCache<NodeEquivalenceClasses> node_classes_;
  EquivalenceCache<RejectionCache> rejections_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_EVALUATION_CACHES_H_
