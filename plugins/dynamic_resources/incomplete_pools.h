// SPDX-License-Identifier: Apache-2.0
// Pools of devices of which slices are missing.
#ifndef BERTH_PLUGINS_DYNAMIC_RESOURCES_INCOMPLETE_POOLS_H_
#define BERTH_PLUGINS_DYNAMIC_RESOURCES_INCOMPLETE_POOLS_H_

#include <cstdint>
#include <optional>

#include "berth/handle/object_store.h"

namespace berth {

// Whether any pool has other than as many slices of its newest generation as they say; remembered
// as long as slices stay. Scheduling thread.
class IncompletePools {
 public:
  bool Any(const ObjectStore& objects);

 private:
  std::optional<uint64_t> version_;
  bool any_ = false;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_DYNAMIC_RESOURCES_INCOMPLETE_POOLS_H_
