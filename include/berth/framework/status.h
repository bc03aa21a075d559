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

// The numbers are kube-scheduler's.
enum class Code : uint8_t {
  kSuccess = 0,
  kError = 1,                         // the attempt failed; nothing is known about the pod
  kUnschedulable = 2,                 // rejected, but evicting other pods might help
  kUnschedulableAndUnresolvable = 3,  // rejected, and no eviction would help
  kWait = 4,                          // Permit only: hold the pod back until allowed
  kSkip = 5,                          // PreFilter, PreScore, PreBindPreFlight, Bind: not my pod
  kPending = 6,                       // rejected for now by something outside the pod
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
