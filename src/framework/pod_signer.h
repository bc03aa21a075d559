// SPDX-License-Identifier: Apache-2.0
// The signatures of pods under one profile, and what its verdicts and scores depend on.
#ifndef BERTH_SRC_FRAMEWORK_POD_SIGNER_H_
#define BERTH_SRC_FRAMEWORK_POD_SIGNER_H_

#include <array>
#include <memory>
#include <vector>

#include "berth/framework/pod_info.h"
#include "berth/incremental/sign.h"
#include "framework/hook.h"
#include "framework/plugin_calls.h"

namespace berth {

// Asks the Filter and Score plugins. Scheduling thread.
class PodSigner {
 public:
  // `plugin` is null if it does not sign.
  struct Signer : Hook<const SignPlugin> {
    Aspects depends_on = Aspect::kEverything;
    bool signs_spec_only = false;
    bool node_by_node() const {
      return plugin != nullptr && (depends_on & (Aspect::kOtherNodes | Aspect::kObjects)) == 0;
    }
  };

  // `calls` outlives this.
  explicit PodSigner(const PluginCalls& calls) : calls_(calls) {}
  // Of the profile's Filter plugins, then of its other Score plugins, each in order.
  void Add(const Signer& signer) { signers_.push_back(signer); }

  // As Framework::SignPod() and SignForNodes().
  Status Sign(const PodInfo& pod, PodSignature& signature) const;
  PluginMask SignForNodes(const PodInfo& pod, PodSignature& signature) const;
  // Appends what the signers that look at the spec only, or the others, say of a pod.
  PluginMask SignForNodes(const PodInfo& pod, bool spec_only, PodSignature& signature) const;

  Aspects DependenciesOf(PluginMask plugins) const;
  // Of the Filter plugin of that index in Framework::filter().
  Aspects DependenciesOfFilter(size_t filter) const { return signers_[filter].depends_on; }

 private:
  const PluginCalls& calls_;
  std::vector<Signer> signers_;
  // Scratch of one call, and what was found last.
  mutable PodSignature plugin_signature_;
  struct SignedSpec {
    std::shared_ptr<const void> spec;  // kept, so that no other comes to stand in its place
    PodSignature signature;
    PluginMask signed_by = 0;
  };
  mutable std::array<SignedSpec, 64> signed_specs_;  // the latest, by hash
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_POD_SIGNER_H_
