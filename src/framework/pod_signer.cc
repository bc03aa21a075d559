// SPDX-License-Identifier: Apache-2.0
// Implementation of pod_signer.h.
#include "framework/pod_signer.h"

#include <memory>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr PluginPoint kSignPod{"SignPod",
                               Codes(Code::kUnschedulable, Code::kUnschedulableAndUnresolvable),
                               "signing with plugin \"$0\": $1"};

}  // namespace

// Each plugin's part is one value of the whole, so that parts cannot run together.
Status PodSigner::Sign(const PodInfo& pod, PodSignature& signature) const {
  for (const Signer& hook : plugins_.signers) {
    if (hook.plugin == nullptr) {
      return Status::Unschedulable(
                 absl::StrCat("plugin \"", hook.name.view(), "\" does not sign pods"))
          .WithPlugin(hook.name);
    }
    plugin_signature_.clear();
    Status status = plugins_.calls.Guarded(
        kSignPod, hook.name, [&] { return hook.plugin->SignPod(pod, plugin_signature_); });
    if (!status.ok()) return status;
    signature.Add(plugin_signature_.bytes());
  }
  return Status::Success();
}

PluginMask PodSigner::SignForNodes(const PodInfo& pod, PodSignature& signature) const {
  std::shared_ptr<const void> spec = pod.shared_spec();
  SignedSpec& known = signed_specs_[absl::Hash<const void*>()(spec.get()) % signed_specs_.size()];
  if (known.spec != spec) {
    known.spec = std::move(spec);
    known.signature.clear();
    known.signed_by = SignForNodes(pod, true, known.signature);
  }
  signature.Add(known.signature.bytes());
  const PluginMask signed_by = known.signed_by | SignForNodes(pod, false, signature);
  signature.Add(static_cast<int64_t>(signed_by));
  return signed_by;
}

PluginMask PodSigner::SignForNodes(const PodInfo& pod, bool spec_only,
                                   PodSignature& signature) const {
  PluginMask signed_by = 0;
  for (const Signer& hook : plugins_.signers) {
    if (!hook.node_by_node() || hook.signs_spec_only != spec_only) continue;
    plugin_signature_.clear();
    const Status status = plugins_.calls.Guarded(
        kSignPod, hook.name, [&] { return hook.plugin->SignPod(pod, plugin_signature_); });
    if (!status.ok()) continue;
    signature.Add(plugin_signature_.bytes());
    signed_by |= MaskOf(hook);
  }
  return signed_by;
}

void PodSigner::SignBy(PluginMask plugins, const PodInfo& pod, PodSignature& signature) const {
  for (const Signer& hook : plugins_.signers) {
    if ((plugins & MaskOf(hook)) == 0) continue;
    plugin_signature_.clear();
    // It has signed before; one that does not any more signs for a pod like no other.
    const Status status = plugins_.calls.Guarded(
        kSignPod, hook.name, [&] { return hook.plugin->SignPod(pod, plugin_signature_); });
    signature.Add(plugin_signature_.bytes());
    if (!status.ok()) signature.Add(pod.uid());
  }
}

Aspects PodSigner::DependenciesOf(PluginMask plugins) const {
  Aspects aspects = Aspect::kNothing;
  for (const Signer& hook : plugins_.signers) {
    if (plugins & MaskOf(hook)) aspects |= hook.depends_on;
  }
  return aspects;
}

}  // namespace berth
