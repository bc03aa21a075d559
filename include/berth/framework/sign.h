// SignPlugin: what of a pod, a node and the cluster a plugin reads. Pods with equal signatures get
// equal verdicts, so that verdicts can be shared and remembered.
#ifndef BERTH_FRAMEWORK_SIGN_H_
#define BERTH_FRAMEWORK_SIGN_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// The parts of the world a verdict may depend on; a bit set.
using Aspects = uint32_t;
struct Aspect {
  static constexpr Aspects kNothing = 0;
  static constexpr Aspects kNodeName = 1u << 0;
  static constexpr Aspects kNodeLabels = 1u << 1;
  static constexpr Aspects kNodeTaints = 1u << 2;
  static constexpr Aspects kNodeUnschedulable = 1u << 3;
  static constexpr Aspects kNodeAllocatable = 1u << 4;
  static constexpr Aspects kNodeRequested = 1u << 5;  // requests and number of its pods
  static constexpr Aspects kNodePorts = 1u << 6;
  static constexpr Aspects kNodeImages = 1u << 7;
  static constexpr Aspects kNodePods = 1u << 8;     // anything else about the pods on the node
  static constexpr Aspects kNodeOther = 1u << 9;    // annotations, conditions ...
  static constexpr Aspects kOtherNodes = 1u << 10;  // pods or labels of other nodes
  static constexpr Aspects kObjects = 1u << 11;     // Services, claims, quotas ...
  // How many nodes there are, how many of them have an image, and its size:
  // NodeTable::image_node_count() and image_size_bytes().
  static constexpr Aspects kImageSpread = 1u << 12;
  static constexpr Aspects kEverything = ~0u;
};

// Collects what identifies a pod to the plugins. Equal bytes mean equal pods.
class PodSignature {
 public:
  // Adds one value, length-prefixed, so that neighbouring values cannot run together.
  void Add(absl::string_view value);
  void Add(int64_t value);

  const std::string& bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

 private:
  std::string bytes_;
};

class SignPlugin {
 public:
  virtual ~SignPlugin() = default;

  // Adds everything of `pod` that this plugin's verdicts and scores read. Unschedulable if pods
  // like it must not share verdicts.
  virtual Status SignPod(const PodInfo& pod, PodSignature& signature) const = 0;

  // What else its verdicts and scores read.
  virtual Aspects DependsOn() const = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_SIGN_H_
