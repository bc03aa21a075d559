// SPDX-License-Identifier: Apache-2.0
// An extender whose answers a test gives as functions.
#ifndef BERTH_TESTS_EXTENDER_SCRIPTED_EXTENDER_H_
#define BERTH_TESTS_EXTENDER_SCRIPTED_EXTENDER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "berth/extensions/extender.h"

namespace berth {

using NodeNames = std::vector<std::string>;

// What has no function it cannot be asked.
class ScriptedExtender final : public SchedulerExtender {
 public:
  std::string name = "http://extender.test";
  bool ignorable = false;
  int64_t weight_of_scores = 1;
  std::function<bool(const PodInfo&)> interested = [](const PodInfo&) { return true; };
  std::function<absl::StatusOr<FilterResult>(const PodInfo&, const NodeNames&)> filter;
  std::function<Priorities(const PodInfo&, const NodeNames&)> prioritize;
  std::function<absl::StatusOr<std::map<std::string, Victims>>(
      const PodInfo&, const std::map<std::string, NodeNames>& pods_of_node)>
      preempt;
  std::function<absl::Status(const PodInfo&, absl::string_view)> bind;
  std::vector<std::string> asked;  // "filter default/p a b"

  absl::string_view Name() const override { return name; }
  bool IsIgnorable() const override { return ignorable; }
  bool IsInterested(const PodInfo& pod) const override { return interested(pod); }
  bool IsFilter() const override { return filter != nullptr; }
  bool IsPrioritizer() const override { return prioritize != nullptr; }
  bool SupportsPreemption() const override { return preempt != nullptr; }
  bool IsBinder() const override { return bind != nullptr; }
  int64_t weight() const override { return weight_of_scores; }

  absl::StatusOr<FilterResult> Filter(const PodInfo& pod,
                                      absl::Span<const NodeInfo* const> nodes) override {
    return filter(pod, Note("filter", pod, nodes));
  }
  std::function<Priorities()> Prioritize(const PodInfo& pod,
                                         absl::Span<const NodeInfo* const> nodes) override {
    return [this, &pod, names = Note("prioritize", pod, nodes)] { return prioritize(pod, names); };
  }
  absl::StatusOr<std::map<std::string, Victims>> ProcessPreemption(
      const PodInfo& pod, absl::Span<const PreemptionCandidate* const> candidates) override {
    std::map<std::string, NodeNames> pods;
    for (const PreemptionCandidate* candidate : candidates) {
      for (const auto& victim : candidate->victims) pods[candidate->node].push_back(victim->uid());
    }
    asked.push_back("preempt " + pod.key());
    return preempt(pod, pods);
  }
  absl::Status Bind(const PodInfo& pod, absl::string_view node_name) override {
    asked.push_back("bind " + pod.key() + " " + std::string(node_name));
    return bind(pod, node_name);
  }

 private:
  NodeNames Note(const std::string& what, const PodInfo& pod,
                 absl::Span<const NodeInfo* const> nodes) {
    NodeNames names;
    std::string line = what + " " + pod.key();
    for (const NodeInfo* node : nodes) {
      names.emplace_back(node->name().view());
      line += " " + names.back();
    }
    asked.push_back(std::move(line));
    return names;
  }
};

}  // namespace berth

#endif  // BERTH_TESTS_EXTENDER_SCRIPTED_EXTENDER_H_
