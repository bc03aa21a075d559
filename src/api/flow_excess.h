// SPDX-License-Identifier: Apache-2.0
// What a YAML text may not hold because of how yaml-cpp reads it.
#ifndef BERTH_SRC_API_FLOW_EXCESS_H_
#define BERTH_SRC_API_FLOW_EXCESS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace berth {

inline constexpr int64_t kMaxFlowValues = 500'000;  // of one flow collection

struct FlowExcess {
  size_t offset;
  std::string message;
};

// The first place where the flow collections of `text` ([a, {b: c}]) are nested deeper than
// kMaxDepth or have more values than kMaxFlowValues. yaml-cpp splits the outermost one into tokens,
// a hundred bytes and more each, before it reports anything of it, so that its events come too late
// to stop at. Block scalars, quoted text and comments do not count.
std::optional<FlowExcess> FindFlowExcess(absl::string_view text);

}  // namespace berth

#endif  // BERTH_SRC_API_FLOW_EXCESS_H_
