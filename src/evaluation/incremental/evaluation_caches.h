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

namespace berth {

// Scheduling thread.
class EvaluationCaches {
 public:
  // The calls that follow are about the class of `pod` under the profile.
  void SetClass(const Framework& framework, const std::shared_ptr<const PodInfo>& pod);
  // The plugins that look at one node at a time and signed the pod.
  PluginMask plugins() const { return plugins_; }

  // The class's scores of `rows` nodes. Null if they are not kept; if `add`, they are from now on,
  // but not for the first pod of a class, which would not pay.
  ScoreCache* Scores(int rows, bool add);
  // The same for pods of one spec, with the verdicts of filters that depend on cluster objects.
  // Null if they are not kept.
  ScoreCache* ScoresBySpec();
  // Such filters were asked about many nodes for this pod: their verdicts are kept from now on, but
  // not for one pod of a spec alone.
  void AddScoresBySpec(int rows);
  void ForgetScores() {
    scores_.Forget(class_);
    scores_by_spec_.Forget(class_with_spec_);
  }

  // The nodes of `scores` in classes by what `sums` tell apart. Null if they are not kept: they are
  // from the second pod on that needs them, if there is room.
  NodeEquivalenceClasses* NodeClasses(const ScoreCache& scores, const std::vector<DomainSum>& sums,
                                      const NodeTable& nodes);

  // Why no node is feasible for the class; null if that is not kept. `by_spec`: the rejections
  // depend on more than plugins() signed, so that pods of another spec are another class.
  RejectionCache* Rejections(bool by_spec) { return rejections_.Find(ClassOf(by_spec)); }
  bool HasRejections() { return Rejections(false) != nullptr || Rejections(true) != nullptr; }
  // The same for a pod that is rejected, or most likely will be; from now on it is kept, but not
  // for the first of a class, which would not pay. Once a cycle.
  RejectionCache* AddRejections(bool by_spec, int rows);
  void ForgetRejections(bool by_spec) { rejections_.Forget(ClassOf(by_spec)); }
  // Whether the last pod of the class was rejected, as far as is known.
  bool WasRejected();
  // A pod of the class was placed.
  void SetPlaced();

 private:
  // The address stands for the spec. Should another spec come to that address, RejectionCache finds
  // rules that are not its own, or another spec than its own, and judges what differs.
  const PodClass& ClassOf(bool by_spec) const { return by_spec ? class_with_spec_ : class_; }

  const Framework* framework_ = nullptr;
  std::shared_ptr<const PodInfo> pod_;
  PodSignature signature_;    // of the profile too
  PodSignature except_spec_;  // the part that pods of one spec do not share
  PodSignature scratch_;
  PluginMask plugins_ = 0;
  PodClass class_{"", nullptr}, class_with_spec_{"", nullptr};  // of signature_'s bytes
  EquivalenceCache<ScoreCache> scores_, scores_by_spec_;
  EquivalenceCache<NodeEquivalenceClasses> node_classes_;
  EquivalenceCache<RejectionCache> rejections_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_EVALUATION_CACHES_H_
