// SPDX-License-Identifier: Apache-2.0
// EveryProfilePlugin: a plugin that all profiles of a scheduler need, or none.
#ifndef BERTH_EXTENSIONS_EVERY_PROFILE_H_
#define BERTH_EXTENSIONS_EVERY_PROFILE_H_

#include "absl/strings/string_view.h"

namespace berth {

// A Filter plugin that keeps books of what nodes have and NodeResourcesFit does not see. Profiles
// share the nodes, so pods of a profile without it would be given what is taken. A configuration
// where some profiles have it at Filter and others do not is refused.
class EveryProfilePlugin {
 public:
  virtual ~EveryProfilePlugin() = default;

  // What a profile without it does wrong, after "without it ": "a GPU is given away twice".
  virtual absl::string_view WhyEveryProfile() const = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_EVERY_PROFILE_H_
