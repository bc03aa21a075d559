// SPDX-License-Identifier: Apache-2.0
// The trace as Kubernetes objects, and the books of what is placed, kept apart from the plugins'.
#ifndef BERTH_SRC_TRACE_OPENB_CLUSTER_H_
#define BERTH_SRC_TRACE_OPENB_CLUSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "berth/api/object.h"
#include "berth/configuration.h"
#include "berth/framework/registry.h"
#include "berth/gpu/fragmentation.h"
#include "trace/openb.h"

namespace berth {

// The nodes of the trace, in the order of their ranks.
std::vector<Object> OpenbNodes(const OpenbTrace& trace);
// How pods ask for a share of a card.
enum class OpenbShares : uint8_t { kAnnotations, kWholeCards };
// Annotations if the profile enables GpuDevices; to others only whole cards mean something.
OpenbShares SharesFor(const Profile& profile);
// A whole card is the resource nvidia.com/gpu, a share gpu-share's annotations or a whole card.
Object OpenbPodObject(const OpenbPod& pod, const std::string& name,
                      const std::string& scheduler_name, OpenbShares shares);
// Gives `mix` to plugins that take an argument `typicalPods` and have none.
absl::Status GiveMix(const std::vector<TypicalPod>& mix, const Registry& registry,
                     KubeSchedulerConfiguration& configuration);

// What is placed where, by the records on the pods. A pod without a record, of a profile that knows
// no cards, is counted on the first idle ones.
class OpenbBooks {
 public:
  OpenbBooks(const OpenbTrace& trace, OpenbShares shares);

  // `cards` as the annotation has them; returns those that the pod is counted on. InvalidArgument
  // if they are not what the pod asks for, or not free.
  absl::StatusOr<std::string> Place(const OpenbPod& pod, const std::string& node,
                                    std::string cards);
  void Remove(const OpenbPod& pod, const std::string& node, const std::string& cards);

  int64_t capacity() const { return capacity_; }
  int64_t allocated() const { return allocated_; }  // milli-GPU
  int64_t milli_cpu() const { return milli_cpu_; }  // requested
  int64_t cpu_capacity() const { return cpu_capacity_; }
  // milli-GPU, over all nodes.
  double fragmentation() const;

 private:
  absl::Status Change(const OpenbPod& pod, const std::string& node, const std::string& cards,
                      int64_t sign);

  std::string FirstIdle(const OpenbPod& pod, const std::string& node) const;

  const OpenbShares shares_;
  TypicalMix mix_;
  std::vector<FreeGpus> free_;         // by node
  std::vector<double> fragmentation_;  // by node
  absl::flat_hash_map<std::string, size_t> node_of_;
  int64_t capacity_ = 0, allocated_ = 0, milli_cpu_ = 0, cpu_capacity_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_TRACE_OPENB_CLUSTER_H_
