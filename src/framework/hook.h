// SPDX-License-Identifier: Apache-2.0
// The plugins of a profile, and sets of them.
#ifndef BERTH_SRC_FRAMEWORK_HOOK_H_
#define BERTH_SRC_FRAMEWORK_HOOK_H_

#include <cstdint>

#include "berth/api/symbol.h"

namespace berth {

class ScoreExtensions;
class UniformScorePlugin;

// A plugin at one extension point of this profile.
template <class P>
struct Hook {
  P* plugin;
  Symbol name;
  int index;  // of the plugin in the profile; the key of skip sets
  // Score only:
  int64_t weight = 0;
  int64_t resolution = 1;
  const ScoreExtensions* extensions = nullptr;  // null: it does not normalize
  const UniformScorePlugin* uniform = nullptr;  // null: it is none
};

// Plugins of a profile, as bits by Hook::index.
using PluginMask = uint64_t;
inline constexpr PluginMask kAllPlugins = ~PluginMask{0};

// The set of one plugin; also its bit in CycleState::Skips.
template <class P>
PluginMask MaskOf(const Hook<P>& hook) {
  return PluginMask{1} << hook.index;
}

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_HOOK_H_
