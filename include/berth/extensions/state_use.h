// SPDX-License-Identifier: Apache-2.0
// StateUsePlugin: a plugin that says which of its points read what another of them writes.
#ifndef BERTH_EXTENSIONS_STATE_USE_H_
#define BERTH_EXTENSIONS_STATE_USE_H_

#include "absl/types/span.h"
#include "berth/config/profile.h"

namespace berth {

// At `reader` the plugin reads from CycleState what it writes at `writer`.
struct StateUse {
  ExtensionPoint reader, writer;
};

// Filter after PreFilter and Score after PreScore need no declaration: a profile that has the
// second of them without the first is warned of. For other pairs, such as Score or Reserve after
// PreFilter, a plugin derives from this and declares them. Its profiles are then warned of
// just the pairs that it declares.
class StateUsePlugin {
 public:
  virtual ~StateUsePlugin() = default;

  // Valid as long as the plugin.
  virtual absl::Span<const StateUse> StateUses() const = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_STATE_USE_H_
