// SPDX-License-Identifier: Apache-2.0
// What a plugin says about a pod: the codes of the Scheduling Framework, with reasons for people.
#ifndef BERTH_FRAMEWORK_STATUS_H_
#define BERTH_FRAMEWORK_STATUS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"

namespace berth {

// The numbers are kube-scheduler's. What each means at each extension point, and when the pod is
// tried again: docs/plugins.md, "What a status does to the pod".
enum class Code : uint8_t {
  // From PreEnqueue: the pod enters the queue. Else the next plugin, or the next point, follows.
  kSuccess = 0,
  // The attempt failed; nothing is known about the pod. It is tried again after a backoff, without
  // an event. From PreEnqueue: gated, as every code but Success. From PostFilter: the pod waits as
  // the filters said.
  kError = 1,
  // Rejected, but evicting other pods might help. The pod waits for an event that a rejecting
  // plugin registered and whose hint agrees, then for its backoff.
  kUnschedulable = 2,
  // Rejected, and no eviction would help. The pod waits as after Unschedulable.
  kUnschedulableAndUnresolvable = 3,
  // Permit: the pod is held until it is allowed. If it is rejected or times out, it is tried again
  // after its backoff, without an event. PreBind: the binding waits, and is polled.
  kWait = 4,
  // PreFilter, PreScore, PreBindPreFlight, Bind: not a pod of this plugin, which is skipped. No
  // consequence for the queue.
  kSkip = 5,
  // Rejected for now by something outside the pod. From Reserve or Permit: the pod is tried again
  // at the event, without backoff. From Filter as Unschedulable, and no eviction would help.
  kPending = 6,
};

// The code as kube-scheduler spells it: "Success", "UnschedulableAndUnresolvable" ...
absl::string_view CodeName(Code code);

// A verdict: a code, the plugin that gave it and its reasons. Success costs nothing to make, move
// or copy: what only failures have is kept apart. One that was moved from keeps code and plugin. A
// value type; no thread rules.
class Status {
 public:
  Status() = default;  // Success
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;
  Status(const Status& other) : code_(other.code_), plugin_(other.plugin_) {
    if (other.reasons_ != nullptr) CopyReasons(other);
  }
  Status& operator=(const Status& other) { return *this = Status(other); }

  static Status Success() { return Status(); }
  static Status Skip() { return Status(Code::kSkip); }
  static Status Wait() { return Status(Code::kWait); }
  static Status Unschedulable(std::string reason);
  static Status UnschedulableAndUnresolvable(std::string reason);
  static Status Pending(std::string reason);
  static Status Error(std::string message);
  static Status Error(const absl::Status& status) { return Error(std::string(status.message())); }
  // Any code with any number of reasons.
  static Status Make(Code code, std::vector<std::string> reasons);

  Code code() const { return code_; }
  bool ok() const { return code_ == Code::kSuccess; }
  bool IsSkip() const { return code_ == Code::kSkip; }
  bool IsWait() const { return code_ == Code::kWait; }
  bool IsError() const { return code_ == Code::kError; }
  // Unschedulable, UnschedulableAndUnresolvable or Pending.
  bool IsRejected() const;

  absl::Span<const std::string> reasons() const {
    return reasons_ == nullptr ? absl::Span<const std::string>() : *reasons_;
  }
  void AddReason(std::string reason);
  // The reasons joined by ", ".
  std::string message() const;

  // The plugin that gave the verdict; set by the framework, empty before that.
  absl::string_view plugin() const { return plugin_.view(); }
  Symbol plugin_symbol() const { return plugin_; }
  void SetPlugin(Symbol plugin) { plugin_ = plugin; }
  Status WithPlugin(Symbol plugin) && {
    plugin_ = plugin;
    return std::move(*this);
  }

  // "Unschedulable by NodeResourcesFit: Insufficient cpu", for logs and test failures.
  std::string ToString() const;

  friend bool operator==(const Status& a, const Status& b) {
    return a.code_ == b.code_ && a.plugin_ == b.plugin_ && a.reasons() == b.reasons();
  }

 private:
  using Reasons = absl::InlinedVector<std::string, 1>;

  explicit Status(Code code) : code_(code) {}
  static Status Because(Code code, std::string reason);
  void CopyReasons(const Status& other);

  Code code_ = Code::kSuccess;
  Symbol plugin_;
  std::unique_ptr<Reasons> reasons_;  // null if there are none
};
static_assert(sizeof(Status) <= 16, "every call into a plugin returns one");

}  // namespace berth

#endif  // BERTH_FRAMEWORK_STATUS_H_
