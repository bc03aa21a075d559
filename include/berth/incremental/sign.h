// SPDX-License-Identifier: Apache-2.0
// SignPlugin: what of a pod, a node and the cluster a plugin reads. Pods with equal signatures get
// equal verdicts, so that verdicts can be shared and cached.
#ifndef BERTH_INCREMENTAL_SIGN_H_
#define BERTH_INCREMENTAL_SIGN_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/columns/aspects.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

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

  // Whether SignPod() reads nothing but what pods share that PodInfo::SharesSpec(): spec, labels
  // and namespace. They are signed once, however many they are. Always the same.
  virtual bool SignsSpecOnly() const { return false; }

  // What else its verdicts and scores read; always the same. Without kOtherNodes and kObjects the
  // framework caches them node by node between cycles: then PreFilter and PreScore must not look at
  // nodes, and NormalizeScores must map each score by its value and the lowest and highest one
  // only. ScoreNodes may be called for nodes that the filters reject; its errors then count for
  // nothing.
  virtual Aspects DependsOn() const = 0;
};

}  // namespace berth

#endif  // BERTH_INCREMENTAL_SIGN_H_
