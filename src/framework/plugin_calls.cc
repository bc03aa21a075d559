// SPDX-License-Identifier: Apache-2.0
// Implementation of plugin_calls.h: what becomes of a plugin's answer that is not Success.
#include "framework/plugin_calls.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"

namespace berth {
namespace {

bool Contains(uint32_t codes, Code code) {
  return static_cast<uint8_t>(code) < 32 && (codes >> static_cast<uint8_t>(code) & 1) != 0;
}

// "Success, Skip, or Error"
std::string Supported(uint32_t codes) {
  std::vector<absl::string_view> names = {CodeName(Code::kSuccess)};
  for (const Code code : {Code::kUnschedulable, Code::kUnschedulableAndUnresolvable, Code::kWait,
                          Code::kSkip, Code::kPending}) {
    if (Contains(codes, code)) names.push_back(CodeName(code));
  }
  return absl::StrCat(absl::StrJoin(names, ", "), names.size() > 1 ? "," : "", " or ",
                      CodeName(Code::kError));
}

}  // namespace

Status PluginCalls::NotSuccess(const PluginPoint& point, Symbol plugin, Status status) const {
  if (status.IsError()) {
    return Status::Error(absl::Substitute(point.error_text, plugin.view(), status.message()))
        .WithPlugin(plugin);
  }
  if (Contains(point.codes, status.code())) return std::move(status).WithPlugin(plugin);
  return Unsupported(point, plugin, status.code());
}

Status PluginCalls::Unsupported(const PluginPoint& point, Symbol plugin, Code code) const {
  const std::string text = absl::StrCat("returned \"", CodeName(code),
                                        "\", which is unsupported. It is supposed to return ",
                                        Supported(point.codes), " status");
  return BadAnswer(point, plugin, text);
}

Status PluginCalls::BadAnswer(const PluginPoint& point, Symbol plugin,
                              absl::string_view text) const {
  fault_log_.AddFault(plugin, point.name, text);
  return Status::Error(absl::Substitute(point.unsupported_text, plugin.view(), text))
      .WithPlugin(plugin);
}

Status PluginCalls::Threw(const PluginPoint& point, Symbol plugin, absl::string_view what) const {
  fault_log_.AddFault(plugin, point.name, ThrewText(what));
  return Status::Error(
             absl::StrCat("plugin \"", plugin.view(), "\" threw in ", point.name, ": ", what))
      .WithPlugin(plugin);
}

}  // namespace berth
