// SPDX-License-Identifier: Apache-2.0
// Another rule about racks, for step 5: a pod may ask for hardware of some generation at least, and
// of what will do, the oldest is best. It looks at one node at a time and at no other.
#ifndef BERTH_EXAMPLES_RACK_PLUGIN_GENERATION_H_
#define BERTH_EXAMPLES_RACK_PLUGIN_GENERATION_H_

#include <algorithm>

#include "absl/strings/numbers.h"
#include "berth/api/symbol.h"
#include "berth/framework/filter.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"

class RackGeneration : public berth::Plugin, public berth::FilterPlugin, public berth::ScorePlugin {
 public:
  absl::string_view Name() const override { return "RackGeneration"; }

  berth::Status Filter(const berth::CycleState&, const berth::PodInfo& pod,
                       const berth::NodeInfo& node) const override {
    if (Number(node.labels(), Generation()) >= Number(pod.labels(), MinGeneration())) {
      return berth::Status::Success();
    }
    return berth::Status::UnschedulableAndUnresolvable("node(s) were of an older generation");
  }
  absl::StatusOr<int64_t> Score(const berth::CycleState&, const berth::PodInfo&,
                                const berth::NodeInfo& node) const override {
    const int64_t generation = Number(node.labels(), Generation());
    return berth::kMaxNodeScore - std::min<int64_t>(10 * generation, berth::kMaxNodeScore);
  }

 protected:
  static berth::Symbol Generation() {  // of a node
    static const berth::Symbol label = berth::Symbol::Intern("example.com/generation");
    return label;
  }
  static berth::Symbol MinGeneration() {  // of a pod
    static const berth::Symbol label = berth::Symbol::Intern("example.com/min-generation");
    return label;
  }
  // What the label says; 0 without it, or if it says no number from 0 to 1000.
  static int64_t Number(const berth::LabelSet& labels, berth::Symbol key) {
    const berth::Symbol* const label = labels.Find(key);
    int64_t number = 0;
    if (label == nullptr || !absl::SimpleAtoi(label->view(), &number)) return 0;
    return number >= 0 && number <= 1000 ? number : 0;
  }
};

// Step 5: what is read of the pod is signed, what is read of the node is named.
class RackGenerationSigned final : public RackGeneration, public berth::SignPlugin {
 public:
  absl::string_view Name() const override { return "RackGenerationSigned"; }

  berth::Status SignPod(const berth::PodInfo& pod, berth::PodSignature& signature) const override {
    signature.Add(Number(pod.labels(), MinGeneration()));
    return berth::Status::Success();
  }
  bool SignsSpecOnly() const override { return true; }
  berth::Aspects DependsOn() const override { return berth::Aspect::kNodeLabels; }
};

#endif  // BERTH_EXAMPLES_RACK_PLUGIN_GENERATION_H_
