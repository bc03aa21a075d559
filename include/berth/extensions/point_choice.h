// SPDX-License-Identifier: Apache-2.0
// PointChoice: a class of plugins of which an instance serves some of the class's extension points.
#ifndef BERTH_EXTENSIONS_POINT_CHOICE_H_
#define BERTH_EXTENSIONS_POINT_CHOICE_H_

#include <string>

#include "berth/config/profile.h"

namespace berth {

// For plugins that stand for something else, such as a process that says what it serves. Without it
// a plugin serves the points whose interfaces its class has.
class PointChoice {
 public:
  virtual ~PointChoice() = default;

  // Whether this instance serves the point, whose interface its class has. Always the same.
  virtual bool Serves(ExtensionPoint point) const = 0;
  // For a profile that enables it at a point that it does not serve, or whose interface its class
  // does not have: why that is so; empty: nothing is known.
  virtual std::string WhyNot(ExtensionPoint /*point*/) const { return ""; }
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_POINT_CHOICE_H_
