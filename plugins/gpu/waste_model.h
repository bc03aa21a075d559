// SPDX-License-Identifier: Apache-2.0
// What a node is still worth to a mix of pods, and what is scarce in the cluster: the model behind
// GpuExpectedWaste.
#ifndef BERTH_PLUGINS_GPU_WASTE_MODEL_H_
#define BERTH_PLUGINS_GPU_WASTE_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "berth/gpu/fragmentation.h"
#include "plugins/gpu/card_runs.h"

namespace berth {

// Integers throughout but for one ratio a price, so that results repeat exactly. Amounts are in
// milli-GPU unless said otherwise. Scheduling thread.
class WasteModel {
 public:
  static constexpr int kSequences = 32;  // K
  static constexpr int kLength = 64;     // T: pods offered by each
  static constexpr int64_t kPriceUnit = 128;
  static constexpr int64_t kLossUnit = 2 * kPriceUnit * kSequences;  // 1 milli-GPU in Loss()

  WasteModel() = default;
  // The mix is taken whole. The sequences are drawn with SplitMix64, seed 1, stratified: at each
  // position the K draws come from K equal parts of the mix.
  explicit WasteModel(const TypicalMix& mix);

  // W - 1/2 * sum of price * room, in 1 / kLossUnit milli-GPU: what is lost if the node stays as it
  // is, less what is scarce in the cluster and still there. W is what is left, on average, after
  // each of the K sequences has filled the node: pods that do not fit are skipped, a share takes
  // the card with the least left that is enough.
  int64_t Loss(const FreeGpus& free) const;

  // A kind of room that pods of the mix need.
  struct Kind {
    int64_t cards = 0;           // > 1: so many idle cards together
    std::vector<Symbol> models;  // of one of these models; empty: any
    int64_t at_least = 0;        // > 0: cards with so much left
    int64_t cpu_block = 0;       // > 0: so much milli-CPU, for pods without GPU
    int64_t demand = 0;          // of the mix for it
    int64_t price = 0;           // in 1/kPriceUnit, 0..kPriceUnit
  };
  // How much room of that kind is free; CPU blocks in the milli-GPU that go with so much CPU.
  int64_t Room(const Kind& kind, const FreeGpus& free) const;
  const std::vector<Kind>& kinds() const { return kinds_; }

  // Sets every price to min(1, D / S)^4, S being all room of the kind in the cluster and D the
  // demand for it while the idle GPUs are being filled. Returns whether any changed.
  bool SetPrices(const std::vector<FreeGpus>& cluster, int64_t idle);

 private:
  struct Group {
    int64_t milli_cpu, milli_gpu, gpus;
    std::vector<Symbol> models;
    int64_t count;
  };

  void FindKinds(const std::vector<Group>& cpu_groups);
  void DrawSequences();
  FreeGpus WithoutSpareCards(const FreeGpus& sorted) const;
  // What the pods of the sequence take of a node with these cards.
  int64_t Filled(const std::vector<int>& sequence, const FreeGpus& free, CardRuns cards) const;
  int64_t PricedRoom(const FreeGpus& free) const;

  std::vector<Group> groups_;                // those with GPUs
  std::vector<std::vector<int>> sequences_;  // of indexes into groups_
  int64_t most_filled_ = 0;                  // cards that the pods of one of them ask for at most
  std::vector<Kind> kinds_;
  int64_t gpu_demand_ = 0, cpu_of_gpu_pods_ = 0;  // G, Cg
  int64_t min_cpu_ = 0, min_gpu_ = 0;
  using Key = absl::InlinedVector<int64_t, 10>;  // model, milli-CPU, cards by what they have left
  struct Known {
    int64_t waste = 0;  // summed over the sequences
    int64_t loss = 0;
    uint64_t prices = 0;  // of which the loss is
  };
  uint64_t price_version_ = 1;
  mutable absl::flat_hash_map<Key, Known> memo_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_WASTE_MODEL_H_
