// SPDX-License-Identifier: Apache-2.0
// The cards of one node: what is free on each, which fit a request, and which to take.
#ifndef BERTH_PLUGINS_GPU_GPU_NODE_H_
#define BERTH_PLUGINS_GPU_GPU_NODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/framework/node_info.h"
#include "berth/gpu/fragmentation.h"
#include "plugins/gpu/gpu_request.h"

namespace berth {

struct GpuCard {
  int index = 0;
  bool healthy = true;
  int64_t memory_bytes = 0;               // 0: not known
  int numa = -1, pcie = -1, nvlink = -1;  // the groups it is in; -1: not declared

  int64_t milli_free = kMilliPerGpu;  // below 0 if others gave it away twice
  int64_t memory_free = 0;
  int pods = 0;

  bool idle() const { return pods == 0; }
  int group(GpuGroupKind kind) const;
};

// Positions in GpuNode::cards, ascending. Empty: none fit.
using CardSet = absl::InlinedVector<int, 8>;

// Which of the cards that fit is taken first. For whole cards it is the one with the lowest index.
enum class CardOrder : uint8_t { kBinpack, kSpread };  // least, or most, left

struct GpuNode {
  Symbol model;
  std::vector<GpuCard> cards;  // by index
  // How many cards may be in use: fewer than there are if some are sick and it is not said which.
  int usable = 0;
  // Cards' worth of pods that run here and fit on no card.
  int homeless = 0;
  // Pods by class: shares, and 1, 2, 4, 8 or any other number of whole cards.
  enum Class { kShare, kOne, kTwo, kFour, kEight, kOther, kClasses };
  int pods_of_class[kClasses] = {};

  // Why the description of the cards cannot be understood; then none may be given away.
  std::string problem;

  // From the Node object: labels, capacity and allocatable, or the annotation
  // berth.dev/gpu-devices; or from Koordinator's Device of that name, which may be null.
  // docs/gpu.md says which.
  static GpuNode Of(const NodeSpec& spec, const api::Device* device,
                    const std::vector<ResourceId>& whole_resources);

  // How many idle cards may still be taken into use; there may be fewer.
  int Spare() const;
  // milli-GPU left on the cards that may be used, and on all of them together.
  FreeGpus Free(int64_t milli_cpu) const;
  static Class ClassOf(const GpuRequest& request);

  // The cards on which the request fits, one by one; with group_required, those of groups that
  // have enough of them.
  CardSet Fitting(const GpuRequest& request) const;
  bool Fits(const GpuRequest& request) const;
  // Takes `request.cards` of the fitting ones, of one group if that can be had: of the smallest
  // such group.
  CardSet Choose(const GpuRequest& request, CardOrder order) const;
  // Why it does not fit, in words, and whether fewer pods would help.
  std::string WhyNot(const GpuRequest& request, bool& resolvable) const;

  void Take(const GpuRequest& request, const CardSet& cards);
  // What the request takes of a card.
  int64_t MilliOn(const GpuRequest& request, const GpuCard& card) const;
  int64_t MemoryOn(const GpuRequest& request, const GpuCard& card) const;

 private:
  // The first of those on which the request fits, no more than `most`, wherever they are grouped.
  CardSet FirstFitting(const GpuRequest& request, size_t most) const;
};

// "0: 400 free, 1: idle, 2: sick".
std::string DescribeCards(const GpuNode& node);
// "0-3": the indexes of the cards, as the annotation has them.
std::string CardIndexes(const GpuNode& node, const CardSet& cards);

}  // namespace berth

#endif  // BERTH_PLUGINS_GPU_GPU_NODE_H_
