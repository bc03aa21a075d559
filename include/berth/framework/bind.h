// SPDX-License-Identifier: Apache-2.0
// The PreBind, Bind and PostBind extension points: make a decision real.
#ifndef BERTH_FRAMEWORK_BIND_H_
#define BERTH_FRAMEWORK_BIND_H_

#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/kinds.h"
#include "berth/framework/cycle_state.h"
#include "berth/framework/pod_info.h"
#include "berth/framework/status.h"

namespace berth {

// PreBind, Bind and PostBind run on the binding executor, each pod's calls in order, several pods
// at once: guard what pods share. `state` belongs to the pod. The other two run on the scheduling
// thread.
class PreBindPlugin {
 public:
  virtual ~PreBindPlugin() = default;

  // Runs before the pod waits for Permit, and says whether PreBind has anything to do: Success,
  // Skip (PreBind is left out) or an error.
  virtual Status PreBindPreFlight(CycleState& state, const PodInfo& pod,
                                  absl::string_view node_name);

  // Work that must be done before the pod may be bound, such as provisioning a volume. Anything
  // but Success and Wait fails the binding: the placement is undone and the pod is queued again.
  // Wait: the rest is up to others, and PollPreBind() says when it is done. Better than blocking,
  // which takes a thread from other bindings.
  virtual Status PreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) = 0;

  // Whether what PreBind() waits for has happened: Success, Wait for "not yet", or what
  // fails the binding. Runs on the scheduling thread: at once, every second, and when an object has
  // changed that PollWhenChanged() named. Then the next plugin's PreBind runs.
  virtual Status PollPreBind(CycleState& state, const PodInfo& pod, absl::string_view node_name);
};

// For PreBind: PollPreBind() is called as soon as this object, which is neither a pod nor a node,
// has changed. `key` is "namespace/name", or "name".
void PollWhenChanged(CycleState& state, Kind kind, absl::string_view key);
// What was named so: kinds and keys.
absl::Span<const std::pair<Kind, std::string>> ObjectsToPollFor(const CycleState& state);

// What is written with the binding, in one step: no watcher sees the pod on its node without it.
struct BindMetadata {
  std::map<std::string, std::string> annotations;
  std::map<std::string, std::string> labels;  // one that the pod has already stays as it is
};
// Any plugin may add to it from Reserve to PreBind; DefaultBinder hands it over with the binding. A
// later value of a key replaces an earlier one.
void AnnotateWithBind(CycleState& state, absl::string_view key, absl::string_view value);
void LabelWithBind(CycleState& state, absl::string_view key, absl::string_view value);
const BindMetadata& BindMetadataOf(const CycleState& state);

class BindPlugin {
 public:
  virtual ~BindPlugin() = default;

  // Binds the pod, with its BindMetadataOf(), or returns Skip to leave it to the next Bind plugin.
  // If all skip, it fails.
  virtual Status Bind(CycleState& state, const PodInfo& pod, absl::string_view node_name) = 0;
};

class PostBindPlugin {
 public:
  virtual ~PostBindPlugin() = default;

  // The pod is bound; nothing can be undone any more.
  virtual void PostBind(CycleState& state, const PodInfo& pod, absl::string_view node_name) = 0;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_BIND_H_
