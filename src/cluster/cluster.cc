// SPDX-License-Identifier: Apache-2.0
// What the cluster port has of its own.
#include "berth/cluster.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace berth {

std::string RecordedEvent::note() const {
  if (assigned_to.empty()) return text;
  return absl::StrCat("Successfully assigned ", regarding->key(), " to ", assigned_to.view());
}

absl::Status Cluster::Update(const ObjectUpdate& update) {
  return absl::UnimplementedError(
      absl::StrCat("this cluster takes no updates of ", Plural(update.object.kind())));
}

absl::Status Cluster::Edit(const ObjectEdit& edit) {
  return absl::UnimplementedError(
      absl::StrCat("this cluster takes no edits of ", Plural(edit.object->kind())));
}

absl::StatusOr<Object> Cluster::Create(const Object& object) {
  return absl::UnimplementedError(
      absl::StrCat("this cluster takes no new ", Plural(object.kind())));
}

absl::Status Cluster::Delete(const Identity& object) {
  return absl::UnimplementedError(absl::StrCat("this cluster deletes no ", Plural(object.kind())));
}

}  // namespace berth
