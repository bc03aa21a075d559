// SPDX-License-Identifier: Apache-2.0
// What a plugin ignores of the objects of a cluster, as it is configured.
#ifndef BERTH_EXTENSIONS_UNREAD_FIELDS_H_
#define BERTH_EXTENSIONS_UNREAD_FIELDS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/object.h"

namespace berth {

struct UnreadField {
  // Why, in a word, which is static: the name of a feature gate. Said once for all objects.
  absl::string_view cause;
  // "its taints keep nobody off: feature gate DRADeviceTaints of DynamicResources is off".
  std::string message;
};

// Optional, for plugins with arguments that decide what they read.
class UnreadFields {
 public:
  virtual ~UnreadFields() = default;

  // Fields of the object that would matter to pods and do not. Called once an object, when a
  // cluster is read from files.
  virtual std::vector<UnreadField> UnreadIn(const Object& object) const = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_UNREAD_FIELDS_H_
