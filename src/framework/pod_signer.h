// SPDX-License-Identifier: Apache-2.0
// The signatures of pods under one profile, and what its verdicts and scores depend on.
#ifndef BERTH_SRC_FRAMEWORK_POD_SIGNER_H_
#define BERTH_SRC_FRAMEWORK_POD_SIGNER_H_

#include <array>
#include <cstddef>
#include <memory>

#include "berth/framework/pod_info.h"
#include "berth/incremental/sign.h"
#include "framework/hook.h"
#include "framework/profile_plugins.h"

namespace berth {

// Asks the Filter and Score plugins. Scheduling thread.
class PodSigner {
 public:
  // `plugins` outlives this.
  explicit PodSigner(const ProfilePlugins& plugins) : plugins_(plugins) {}

  // The signature over every Filter and Score plugin. Unschedulable, with the plugin that does not
  // sign, if pods like it must be evaluated one by one.
  Status Sign(const PodInfo& pod, PodSignature& signature) const;
  // The signature over those of them that look at one node at a time, and which they are: their
  // verdict on a node holds for every pod of this signature until the node changes.
  PluginMask SignForNodes(const PodInfo& pod, PodSignature& signature) const;
  // The part of it in which pods that share a spec (PodInfo::SharesSpec()) may differ.
  PluginMask SignForNodesExceptSpec(const PodInfo& pod, PodSignature& signature) const {
    return SignForNodes(pod, false, signature);
  }

  // Appends the signatures of `plugins`, which are some of those that signed for nodes.
  void SignBy(PluginMask plugins, const PodInfo& pod, PodSignature& signature) const;

  // What the verdicts and scores of `plugins` depend on.
  Aspects DependenciesOf(PluginMask plugins) const;
  // For the Filter plugin of that index in ProfilePlugins::filter.
  Aspects DependenciesOfFilter(size_t filter) const { return plugins_.signers[filter].depends_on; }

 private:
  // Appends the signatures of the plugins that sign the spec only, or of the others.
  PluginMask SignForNodes(const PodInfo& pod, bool spec_only, PodSignature& signature) const;

  const ProfilePlugins& plugins_;
  // Scratch of one call, and what was found last.
  mutable PodSignature plugin_signature_;
  struct SignedSpec {
    std::shared_ptr<const void> spec;  // held, so that its address is not used again
    PodSignature signature;
    PluginMask signed_by = 0;
  };
  mutable std::array<SignedSpec, 64> signed_specs_;  // the latest, by hash
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_POD_SIGNER_H_
