// SPDX-License-Identifier: Apache-2.0
// Implementation of admin_access_of_objects.h, after kubernetes v1.35 pkg/registry/resource,
// AuthorizedForAdmin.
#include "devices/admin_access_of_objects.h"

#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "api/object_meta.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

constexpr absl::string_view kLabel = "resource.kubernetes.io/admin-access";

// The field of the first request with it; empty if none has it.
std::string AdminAccess(absl::string_view path, const api::ResourceClaimSpec& spec) {
  for (int i = 0; i < spec.devices().requests_size(); ++i) {
    if (!spec.devices().requests(i).exactly().admin_access()) continue;
    return absl::StrCat(path, ".devices.requests[", i, "].exactly.adminAccess");
  }
  return "";
}

std::string AdminAccess(const Object& object) {
  if (object.kind() == Kind::kResourceClaim) {
    return AdminAccess("spec", object.As<api::ResourceClaim>().spec());
  }
  if (object.kind() == Kind::kResourceClaimTemplate) {
    return AdminAccess("spec.spec", object.As<api::ResourceClaimTemplate>().spec().spec());
  }
  return "";
}

bool IsStored(const api::ObjectMeta& meta) {
  return !meta.uid().empty() || !meta.resource_version().empty();
}

}  // namespace

Problems CheckAdminAccessOf(const Manifests& manifests) {
  absl::flat_hash_set<absl::string_view> without;  // namespaces, the label
  for (const Object& object : manifests.objects) {
    if (object.kind() != Kind::kNamespace) continue;
    const auto& labels = object.As<api::Namespace>().metadata().labels();
    const auto label = labels.find(std::string(kLabel));
    if (label == labels.end() || label->second != "true") without.insert(object.name());
  }
  Problems problems;
  if (without.empty()) return problems;
  for (const Object& object : manifests.objects) {
    if (object.kind() == Kind::kPod || !without.contains(object.namespace_name())) continue;
    const std::string field = AdminAccess(object);
    if (field.empty()) continue;
    const auto place =
        manifests.places_of_device_fields.find(absl::StrCat(object.where().ToString(), " ", field));
    problems.Add(
        {.where = place == manifests.places_of_device_fields.end() ? object.where() : place->second,
         .subject = object.ToString(),
         .message = absl::StrCat(field, ": is refused in namespace ", object.namespace_name(),
                                 ", which has no label ", kLabel, ": \"true\"; give it that label"),
         .severity = IsStored(ObjectMetaOf(object.kind(), object.message())) ? Severity::kWarning
                                                                             : Severity::kError});
  }
  return problems;
}

}  // namespace berth
