// SPDX-License-Identifier: Apache-2.0
// A packing policy: a score plugin that also says which cards a pod gets.
#ifndef BERTH_PLUGINS_GPU_GPU_POLICY_H_
#define BERTH_PLUGINS_GPU_GPU_POLICY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "berth/extensions/explain.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"
#include "plugins/gpu/gpu_inventory.h"
#include "plugins/gpu/gpu_node.h"

namespace berth {

// A pod as a policy sees it.
struct GpuPod {
  int64_t milli_cpu = 0;
  GpuRequest request;
};

// A node as a policy sees it, before the pod is on it.
struct GpuPlace {
  const GpuNode& node;
  int64_t milli_cpu;  // free
  int64_t all_milli_cpu = 0;
  // Those of the entry, if the node is as the inventory has it.
  int slot = -1;
  uint64_t version = 0;
};

// The place of a node: the first takes it as it is given, the other as the inventory has it.
inline GpuPlace PlaceOf(const GpuInventory::Entry& entry) {
  return {entry.node, entry.milli_cpu, entry.all_milli_cpu};
}
inline GpuPlace PlaceInInventory(const GpuInventory::Entry& entry) {
  return {entry.node, entry.milli_cpu, entry.all_milli_cpu, entry.slot, entry.version};
}

// What a policy works out of a node alone, kept until the node changes.
template <class T>
class KeptByNode {
 public:
  // make() gives the value for the place. Valid until the next call.
  template <class Make>
  const T& Of(const GpuPlace& place, Make make) {
    if (place.slot < 0) return passing_ = make();
    if (slots_.size() <= static_cast<size_t>(place.slot)) slots_.resize(place.slot + 1);
    Kept& kept = slots_[place.slot];
    if (kept.version != place.version) kept = {place.version, make()};
    return kept.value;
  }
  void Clear() { slots_.clear(); }

 private:
  struct Kept {
    uint64_t version = 0;
    T value;
  };
  std::vector<Kept> slots_;
  T passing_;
};

struct GpuChoice {
  int64_t score = 0;  // in steps of 1/ScoreResolution()
  CardSet cards;      // positions; empty for a pod that needs none, or that does not fit
};

// Base of the policies. A policy is a pure function of place and pod; its verdicts are kept for
// a class of pods, and only nodes that changed are evaluated again. Scheduling thread.
class GpuPolicy : public Plugin,
                  public PreScorePlugin,
                  public ScorePlugin,
                  public SignPlugin,
                  public ExplainPlugin {
 public:
  explicit GpuPolicy(Handle& handle);
  ~GpuPolicy() override;

  virtual GpuChoice Choose(const GpuPlace& place, const GpuPod& pod) const = 0;

  Status PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                  absl::Span<const NodeRow> feasible) override;
  absl::StatusOr<int64_t> Score(const CycleState& state, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  // The cards that this policy would take.
  std::vector<NodeNote> ExplainNode(const CycleState& state, const PodInfo& pod,
                                    const NodeInfo& node) const override;

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  Aspects DependsOn() const override {
    return Aspect::kNodeAllocatable | Aspect::kNodeRequested | Aspect::kNodePods |
           Aspect::kNodeLabels | Aspect::kNodeOther;
  }

 protected:
  // Whether it tells nodes apart for pods without GPU; if not, it is left out for them.
  virtual bool ScoresCpuPods() const { return true; }
  // Called once a cycle, before the nodes are filtered. Returns a number that changes when verdicts
  // that were made before no longer hold.
  virtual uint64_t Prepare() { return 0; }
  // Whether verdicts follow what the policy learned from other pods: then only its own
  // memory, which knows when they change, may keep them.
  virtual bool Learns() const { return false; }

  GpuInventory& inventory() const { return *inventory_; }
  // Cards by the usual rule: a share goes to the card with the least left that is enough, whole
  // cards are the idle ones with the lowest indexes.
  static CardSet UsualCards(const GpuPlace& place, const GpuPod& pod) {
    return place.node.Choose(pod.request, CardOrder::kBinpack);
  }
  // The cards on which a share fits, one of each class of equal cards: the first.
  static CardSet DifferentCards(const GpuNode& node, const GpuRequest& request);

 private:
  struct Memo {                      // of one class of pods
    std::vector<uint64_t> versions;  // of the entry that was evaluated, by its slot
    std::vector<int64_t> scores;
    uint64_t last_use = 0;
  };
  Memo& MemoOf(const GpuPod& pod) const;

  Handle& handle_;
  std::shared_ptr<GpuInventory> inventory_;
  uint64_t epoch_ = 0;
  mutable uint64_t uses_ = 0;
  mutable absl::flat_hash_map<std::string, Memo> memos_;
};

// The request of the cycle's pod, read once a cycle by whichever plugin comes first.
const GpuPod& GpuPodOf(CycleState& state, const PodInfo& pod, const GpuInventory& inventory);
// For a state in which it was not read yet: null.
const GpuPod* FindGpuPod(const CycleState& state);

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_GPU_POLICY_H_
