// Which pods' nodes are remembered: those of signatures that come again.
#ifndef BERTH_SRC_ENGINE_VERDICT_MEMORY_H_
#define BERTH_SRC_ENGINE_VERDICT_MEMORY_H_

#include <memory>
#include <string>

#include "engine/kind_memory.h"
#include "engine/ranked_nodes.h"
#include "engine/rejected_nodes.h"

namespace berth {

// Scheduling thread.
class VerdictMemory {
 public:
  // What is asked next is about pods like `pod` under the profile.
  void SetKind(const Framework& framework, const std::shared_ptr<const PodInfo>& pod);
  // The plugins that look at one node at a time and signed the pod.
  PluginMask plugins() const { return plugins_; }

  // The nodes in the order in which such pods like them, over `rows` nodes. Null if they are not
  // kept; if `add`, they are from now on, but for the first pod of a kind, which is not worth it.
  RankedNodes* Ranked(int rows, bool add);
  void ForgetRanked() { ranked_.Forget(signature_.bytes()); }

  // Why such pods fit nowhere; null if that is not kept. Where a rejection goes by more than what
  // `plugins()` signed, pods with another spec are another kind.
  RejectedNodes* Rejected(bool by_domains);
  // The same for a pod that was just rejected. The first of a kind is not worth it.
  RejectedNodes* AddRejected(bool by_domains, int rows);
  void ForgetRejected(bool by_domains) { rejected_.Forget(RejectedKind(by_domains)); }
  // Whether the last of such pods was rejected, as far as is known.
  bool WasRejected();
  // Such a pod was placed.
  void NotePlaced();

 private:
  const std::string& RejectedKind(bool by_domains);

  const Framework* framework_ = nullptr;
  std::shared_ptr<const PodInfo> pod_;
  PodSignature signature_;  // of the profile too
  PluginMask plugins_ = 0;
  std::string with_spec_;  // scratch
  KindMemory<RankedNodes> ranked_;
  KindMemory<RejectedNodes> rejected_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_VERDICT_MEMORY_H_
