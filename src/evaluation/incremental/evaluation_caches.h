// Which pods' nodes are remembered: those of signatures that come again.
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
  // What is asked next is about pods like `pod` under the profile.
  void SetKind(const Framework& framework, const std::shared_ptr<const PodInfo>& pod);
  // The plugins that look at one node at a time and signed the pod.
  PluginMask plugins() const { return plugins_; }

  // The nodes in the order in which such pods like them, over `rows` nodes. Null if they are not
  // kept; if `add`, they are from now on, but for the first pod of a kind, which is not worth it.
  ScoreCache* Ranked(int rows, bool add);
  // The same for pods of the spec, with what filters made of the nodes that go by objects. Null if
  // that is not kept.
  ScoreCache* RankedByObjects();
  // Such filters were asked about many nodes for this pod: what they say is kept from now on, but
  // not for one pod of a spec alone.
  void AddRankedByObjects(int rows);
  void ForgetRanked() {
    ranked_.Forget(kind_);
    ranked_by_objects_.Forget(kind_with_spec_);
  }

  // The nodes of `ranked` in classes by what `sums` tell apart. Null if they are not kept: they are
  // from the second pod on that asks, if there is room.
  NodeEquivalenceClasses* Alike(const ScoreCache& ranked, const std::vector<DomainSum>& sums,
                                const NodeTable& nodes);

  // Why such pods fit nowhere; null if that is not kept. Where a rejection goes by more than what
  // `plugins()` signed, pods with another spec are another kind.
  RejectionCache* Rejected(bool by_spec) { return rejected_.Find(KindOf(by_spec)); }
  bool KeepsRejected() { return Rejected(false) != nullptr || Rejected(true) != nullptr; }
  // The same for a pod that is rejected, or most likely will be; from now on it is kept, but for
  // the first of a kind, which is not worth it. Once a cycle.
  RejectionCache* AddRejected(bool by_spec, int rows);
  void ForgetRejected(bool by_spec) { rejected_.Forget(KindOf(by_spec)); }
  // Whether the last of such pods was rejected, as far as is known.
  bool WasRejected();
  // Such a pod was placed.
  void NotePlaced();

 private:
  // The address stands for the spec. Should another one come to stand there, RejectionCache finds
  // rules that are not its own, or another spec than the one it keeps, and judges what differs.
  const PodClass& KindOf(bool by_spec) const { return by_spec ? kind_with_spec_ : kind_; }

  const Framework* framework_ = nullptr;
  std::shared_ptr<const PodInfo> pod_;
  PodSignature signature_;    // of the profile too
  PodSignature beside_spec_;  // the part that pods of one spec do not share
  PodSignature scratch_;
  PluginMask plugins_ = 0;
  PodClass kind_{"", nullptr}, kind_with_spec_{"", nullptr};  // of signature_'s bytes
  EquivalenceCache<ScoreCache> ranked_, ranked_by_objects_;
  EquivalenceCache<NodeEquivalenceClasses> alike_;
  EquivalenceCache<RejectionCache> rejected_;
};

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_EVALUATION_CACHES_H_
