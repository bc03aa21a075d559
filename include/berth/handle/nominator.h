// SPDX-License-Identifier: Apache-2.0
// Nominated pods: which pod is to run where once room is made.
#ifndef BERTH_HANDLE_NOMINATOR_H_
#define BERTH_HANDLE_NOMINATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"
#include "berth/framework/pod_info.h"

namespace berth {

// The pods that are to run on a node once room is made there. They count for other pods of equal
// or lower priority.
class Nominator {
 public:
  virtual ~Nominator() = default;
  // Nominated to the node, highest priority first. Valid until a nomination to that node changes.
  virtual absl::Span<const std::shared_ptr<const PodInfo>> NominatedPods(
      Symbol node_name) const = 0;
  // The node `pod` is nominated to; empty if none.
  virtual std::string NominatedNode(const PodInfo& pod) const = 0;
  // Later nominations are higher; of a pod that is not nominated 0. One that a plan ended and that
  // is back since has its own.
  virtual uint64_t OrderOf(const PodInfo&) const { return 0; }
  // Every nominated pod, by node name.
  virtual void ForEach(
      const std::function<void(const PodInfo& pod, absl::string_view node_name)>& visit) const = 0;

  // Grows with every change.
  virtual uint64_t version() const = 0;
  // The nodes whose nominated pods changed after `version`, oldest first, a node once for each
  // change. Absent if so much changed since that it is no longer kept.
  virtual std::optional<absl::Span<const Symbol>> ChangesSince(uint64_t version) const = 0;
};

}  // namespace berth

#endif  // BERTH_HANDLE_NOMINATOR_H_
