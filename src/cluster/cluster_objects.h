// SPDX-License-Identifier: Apache-2.0
// The objects of an in-memory cluster, for controllers that run in it.
#ifndef BERTH_SRC_CLUSTER_CLUSTER_OBJECTS_H_
#define BERTH_SRC_CLUSTER_CLUSTER_OBJECTS_H_

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"

namespace berth {

// What is written is delivered to all watchers of the cluster.
class ClusterObjects {
 public:
  virtual ~ClusterObjects() = default;

  // Null if there is none. `key` is "namespace/name", or "name".
  virtual const Object* Find(Kind kind, absl::string_view key) const = 0;
  virtual std::vector<Object> List(Kind kind) const = 0;  // oldest first
  virtual void Put(Object object) = 0;
  virtual void Remove(Kind kind, absl::string_view key) = 0;

  template <class T>
  std::shared_ptr<const T> Share(absl::string_view key) const {
    const Object* const object = Find(kKindOf<T>, key);
    return object == nullptr ? nullptr : object->Share<T>();
  }
};

}  // namespace berth

#endif  // BERTH_SRC_CLUSTER_CLUSTER_OBJECTS_H_
