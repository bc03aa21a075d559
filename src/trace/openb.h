// SPDX-License-Identifier: Apache-2.0
// The OpenB trace (Alibaba cluster-trace-gpu-v2023): nodes with GPUs, pods that ask for shares of
// them or for several, and the order in which the pods arrive.
#ifndef BERTH_SRC_TRACE_OPENB_H_
#define BERTH_SRC_TRACE_OPENB_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "berth/gpu/fragmentation.h"

namespace berth {

struct OpenbNode {
  std::string name, model;
  int64_t milli_cpu = 0, memory_mib = 0;
  int gpus = 0;
};

struct OpenbPod {
  std::string name;
  int64_t milli_cpu = 0, memory_mib = 0;
  int gpus = 0;
  int64_t milli_gpu = 0;  // of each
  std::string models;     // "V100M16|V100M32"; empty: any
  // Seconds from the start of the trace; -1: not in the list.
  int64_t created = -1, deleted = -1, scheduled = -1;

  int64_t demand() const { return gpus * milli_gpu; }
};

struct OpenbTrace {
  std::vector<OpenbNode> nodes;
  std::vector<OpenbPod> pods;   // the list
  std::vector<int> arrivals;    // positions in `pods`; they repeat
  std::vector<int> node_ranks;  // of each node: of equally good nodes the one with the lowest wins

  int64_t capacity_milli() const;
  // The list as a mix, which policies may know. The order they may not.
  std::vector<TypicalPod> Mix() const;
};

// Reads openb_node_list_gpu_node.csv and openb_pod_list_<list>.csv of `folder`. The sequence is
// that of orders/<list>_<seed>.pods.txt and .nodes.txt if they are there, else drawn with
// SplitMix64 from the seed: the list shuffled, then filled up with copies to 130 % of the GPUs, or
// cut to that. Errors name the file, and the line.
absl::StatusOr<OpenbTrace> ReadOpenb(const std::string& folder, const std::string& list,
                                     uint64_t seed);

}  // namespace berth

#endif  // BERTH_SRC_TRACE_OPENB_H_
