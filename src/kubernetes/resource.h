// SPDX-License-Identifier: Apache-2.0
// Kinds as resources of an API server: their paths, and how they are written there.
#ifndef BERTH_SRC_KUBERNETES_RESOURCE_H_
#define BERTH_SRC_KUBERNETES_RESOURCE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/identity.h"
#include "berth/api/kinds.h"

namespace berth {

// Defined by a CustomResourceDefinition, or registered, and then perhaps: it need not be there, and
// is read and written in JSON only.
bool IsCustomResource(Kind kind);
// A custom resource, or a built-in one that servers before Kubernetes 1.34 do not have: as if there
// were no objects of the kind.
bool MayBeAbsent(Kind kind);

// "/api/v1/pods", "/apis/storage.k8s.io/v1/csinodes": all of the kind.
std::string CollectionPath(Kind kind);
// "/api/v1/namespaces/default/pods/p".
std::string ObjectPath(const Identity& object);
// Where objects of the kind are created; `namespace_name` is empty for kinds that have none.
std::string CollectionPath(Kind kind, absl::string_view namespace_name);

// A query value, with what is special in a URL escaped.
std::string QueryEscape(absl::string_view text);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_RESOURCE_H_
