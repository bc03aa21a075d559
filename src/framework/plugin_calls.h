// SPDX-License-Identifier: Apache-2.0
// Calls into plugins: what an extension point accepts as an answer, and what becomes of a plugin
// that throws or answers anything else.
#ifndef BERTH_SRC_FRAMEWORK_PLUGIN_CALLS_H_
#define BERTH_SRC_FRAMEWORK_PLUGIN_CALLS_H_

#include <cstdint>
#include <exception>
#include <utility>

#include "absl/strings/string_view.h"
#include "berth/api/symbol.h"
#include "berth/framework/status.h"
#include "framework/fault_log.h"

namespace berth {

// A set of codes. Success and Error belong to every point and need not be named.
template <class... SomeCodes>
constexpr uint32_t Codes(SomeCodes... codes) {
  return ((1u << static_cast<uint8_t>(codes)) | ... | 0u);
}
constexpr uint32_t kRejections =
    Codes(Code::kUnschedulable, Code::kUnschedulableAndUnresolvable, Code::kPending);

// How a point treats its plugins' answers. The texts are kube-scheduler's; $0 is the plugin, $1 its
// message.
struct PluginPoint {
  absl::string_view name;                           // "Filter"
  uint32_t codes;                                   // that mean something here
  absl::string_view error_text;                     // of an Error
  absl::string_view unsupported_text = error_text;  // of a code that means nothing here
};

// Makes the calls. Threads: any.
class PluginCalls {
 public:
  // `fault_log`, which counts what goes wrong, outlives this.
  explicit PluginCalls(FaultLog& fault_log) : fault_log_(fault_log) {}

  // Runs `call`, which returns a plugin's Status. The result is Success; one of the point's codes
  // with the plugin's name set; or an Error with name and full text.
  template <class Call>
  Status Guarded(const PluginPoint& point, Symbol plugin, const Call& call) const;
  // The same for the points that cannot fail: a plugin that throws is counted, nothing else.
  template <class Call>
  void GuardedVoid(absl::string_view point, Symbol plugin, const Call& call) const;
  // The result of a code that is not Success at that point.
  Status NotSuccess(const PluginPoint& point, Symbol plugin, Status status) const;
  // The Error for a code that the point does not know.
  Status Unsupported(const PluginPoint& point, Symbol plugin, Code code) const;
  // The Error that comes of an answer that is not of this point, for the reason in `text`.
  Status BadAnswer(const PluginPoint& point, Symbol plugin, absl::string_view text) const;
  Status Threw(const PluginPoint& point, Symbol plugin, absl::string_view what) const;

 private:
  FaultLog& fault_log_;
};

template <class Call>
Status PluginCalls::Guarded(const PluginPoint& point, Symbol plugin, const Call& call) const {
  try {
    Status status = call();
    if (status.ok()) return status;
    if (status.IsSkip() && (point.codes & Codes(Code::kSkip)) != 0) {  // the most frequent one
      status.SetPlugin(plugin);
      return status;
    }
    return NotSuccess(point, plugin, std::move(status));
  } catch (const std::exception& error) {
    return Threw(point, plugin, error.what());
  } catch (...) {
    return Threw(point, plugin, "not a std::exception");
  }
}

template <class Call>
void PluginCalls::GuardedVoid(absl::string_view point, Symbol plugin, const Call& call) const {
  try {
    call();
  } catch (const std::exception& error) {
    fault_log_.AddFault(plugin, point, ThrewText(error.what()));
  } catch (...) {
    fault_log_.AddFault(plugin, point, ThrewText("not a std::exception"));
  }
}

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_PLUGIN_CALLS_H_
