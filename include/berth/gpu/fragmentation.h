// SPDX-License-Identifier: Apache-2.0
// How much of a node's free GPU the usual pods could not use: the measure of "Beware of
// Fragmentation" (USENIX ATC '23).
#ifndef BERTH_GPU_FRAGMENTATION_H_
#define BERTH_GPU_FRAGMENTATION_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"

namespace berth {

// What is free on a node. A card has 1000 milli-GPU.
struct FreeGpus {
  int64_t milli_cpu = 0;
  absl::InlinedVector<int64_t, 8> milli_gpu;  // by card
  Symbol model;

  int64_t total_milli_gpu() const;
  friend bool operator==(const FreeGpus&, const FreeGpus&) = default;
  template <class H>
  friend H AbslHashValue(H h, const FreeGpus& free) {
    return H::combine(std::move(h), free.milli_cpu, free.milli_gpu, free.model);
  }
};

// A kind of pod, and how many of it there are.
struct TypicalPod {
  int64_t milli_cpu = 0;
  int64_t milli_gpu = 0;       // of each card
  int64_t gpus = 0;            // 0: needs none
  std::vector<Symbol> models;  // allowed ones; empty: any
  double count = 0;
};

// A mix of pods: the kinds that make up most of the demand, with their shares.
class TypicalMix {
 public:
  struct Group {
    TypicalPod pod;
    double share;          // of the groups taken; they sum to 1
    size_t card_size = 0;  // index of its milli_gpu in card_sizes()
  };

  TypicalMix() = default;
  // Groups `pods` by everything but their count and takes the most frequent groups until they
  // cover `coverage` (0..1) of the pods. Equally frequent ones: more CPU, then more milli-GPU, then
  // more cards, then the later models first.
  TypicalMix(std::vector<TypicalPod> pods, double coverage);

  const std::vector<Group>& groups() const { return groups_; }
  // The different milli_gpu of the groups, rising.
  absl::Span<const int64_t> card_sizes() const { return card_sizes_; }

 private:
  std::vector<Group> groups_;
  std::vector<int64_t> card_sizes_;
};

// Milli-GPU that a pod of the mix could not use, on average: all that is free if it does not fit or
// needs none, else what is free on the cards that have too little for it. USENIX ATC '23,
// section 3. The sums are made in a fixed order, one for each way not to fit, so that results
// repeat exactly.
double Fragmentation(const TypicalMix& mix, const FreeGpus& free);

}  // namespace berth

#endif  // BERTH_GPU_FRAGMENTATION_H_
