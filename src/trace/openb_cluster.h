// The trace as Kubernetes objects, and the books of what is placed, kept apart from the plugins'.
#ifndef BERTH_SRC_TRACE_OPENB_CLUSTER_H_
#define BERTH_SRC_TRACE_OPENB_CLUSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "berth/api/object.h"
#include "berth/configuration.h"
#include "berth/framework/registry.h"
#include "berth/gpu/fragmentation.h"
#include "trace/openb.h"

namespace berth {

// Of that node in the order of their ranks.
std::vector<Object> OpenbNodes(const OpenbTrace& trace);
// A whole card is the resource nvidia.com/gpu, a share gpu-share's annotations.
Object OpenbPodObject(const OpenbPod& pod, const std::string& name,
                      const std::string& scheduler_name);
// Gives `mix` to plugins that take an argument `typicalPods` and have none.
absl::Status GiveMix(const std::vector<TypicalPod>& mix, const Registry& registry,
                     KubeSchedulerConfiguration& configuration);

// What is placed where, by the records on the pods.
class OpenbBooks {
 public:
  explicit OpenbBooks(const OpenbTrace& trace);

  // `cards` as the annotation has them. InvalidArgument if they are not what the pod asks for, or
  // not free.
  absl::Status Place(const OpenbPod& pod, const std::string& node, const std::string& cards);
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

  TypicalMix mix_;
  std::vector<FreeGpus> free_;         // by node
  std::vector<double> fragmentation_;  // by node
  absl::flat_hash_map<std::string, size_t> node_of_;
  int64_t capacity_ = 0, allocated_ = 0, milli_cpu_ = 0, cpu_capacity_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_TRACE_OPENB_CLUSTER_H_
