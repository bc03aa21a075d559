// SPDX-License-Identifier: Apache-2.0
// Read access to every object of the cluster that is not a pod or a node: Services, claims,
// budgets, PodGroups ...
#ifndef BERTH_HANDLE_OBJECT_STORE_H_
#define BERTH_HANDLE_OBJECT_STORE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/identity.h"
#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/object.h"
#include "berth/api/symbol.h"

namespace berth {

// Belongs to the scheduling thread. What it returns is valid until the next change, that is, to
// the end of the extension point.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // The object, or null. `namespace_name` is empty for cluster-wide kinds.
  virtual const Object* Find(Kind kind, absl::string_view namespace_name,
                             absl::string_view name) const = 0;
  // All objects of a kind, in the order in which the scheduler learned of them.
  virtual std::vector<const Object*> List(Kind kind) const = 0;
  // Changes whenever an object of the kind does: recompute what you derived when it does.
  virtual uint64_t version(Kind kind) const = 0;
  // The objects of the kind that came, changed or went after `version`, oldest first, one once for
  // each change. Absent if so much changed since that it is no longer kept.
  virtual std::optional<absl::Span<const IdentityPtr>> ChangesSince(Kind kind,
                                                                    uint64_t version) const = 0;
  // Labels of a Namespace, or null if there is no such object.
  virtual const LabelSet* NamespaceLabels(Symbol namespace_name) const = 0;

  template <class T>
  const T* Find(absl::string_view namespace_name, absl::string_view name) const {
    const Object* object = Find(kKindOf<T>, namespace_name, name);
    return object == nullptr ? nullptr : &object->As<T>();
  }
};

}  // namespace berth

#endif  // BERTH_HANDLE_OBJECT_STORE_H_
