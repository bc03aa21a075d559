// SPDX-License-Identifier: Apache-2.0
// Implementation of references_of_objects.h.
#include "devices/references_of_objects.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "api/near_miss.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

// The objects of one kind.
struct Known {
  absl::string_view kind;
  std::set<std::string> keys;                                    // "namespace/name", or "name"
  std::map<std::string, std::string, std::less<>> namespace_of;  // the first, by name
};

class References {
 public:
  explicit References(const Manifests& manifests) {
    for (const Object& object : manifests.objects) {
      for (auto& [kind, known] : known_) {
        if (object.kind() != kind) continue;
        known.keys.emplace(object.key());
        known.namespace_of.emplace(object.name(), object.namespace_name());
      }
    }
    for (const Object& object : manifests.objects) Check(object);
  }

  Problems Take() {
    Problems problems;
    for (auto& [name, warning] : warnings_) {
      if (warning.objects > 1) {
        absl::StrAppend(&warning.problem.message, " (and ", warning.objects - 1,
                        " more like this)");
      }
      problems.Add(std::move(warning.problem));
    }
    problems.SortByLocation();
    return problems;
  }

 private:
  struct Warning {
    Problem problem;  // about the first
    int objects = 0;
  };

  void Check(const Object& object) {
    switch (object.kind()) {
      case Kind::kPod:
        return CheckPod(object);
      case Kind::kResourceClaim:
        if (object.As<api::ResourceClaim>().status().has_allocation()) return;
        return CheckClasses(object, "spec", object.As<api::ResourceClaim>().spec());
      case Kind::kResourceClaimTemplate:
        return CheckClasses(object, "spec.spec",
                            object.As<api::ResourceClaimTemplate>().spec().spec());
      case Kind::kResourceSlice:
        return Expect(object, "spec.nodeName", Kind::kNode, "",
                      object.As<api::ResourceSlice>().spec().node_name());
      default:
        return;
    }
  }

  void CheckPod(const Object& object) {
    const auto& spec = object.packed()->shape()->spec();
    if (spec.resource_claims().empty()) return;
    std::set<std::string> made;  // references that have their claim
    bool waits = true;
    object.packed()->ReadOwn([&](const api::Pod& own) {
      waits = own.spec().node_name().empty() && !HasEnded(own.status());
      for (const auto& status : own.status().resource_claim_statuses()) made.insert(status.name());
    });
    if (!waits) return;
    for (int i = 0; i < spec.resource_claims_size(); ++i) {
      const api::PodResourceClaim& reference = spec.resource_claims(i);
      const std::string at = absl::StrCat("spec.resourceClaims[", i, "]");
      if (reference.has_resource_claim_name()) {
        Expect(object, at + ".resourceClaimName", Kind::kResourceClaim, object.namespace_name(),
               reference.resource_claim_name(), "resourceClaimTemplateName");
      } else if (!made.contains(reference.name())) {
        Expect(object, at + ".resourceClaimTemplateName", Kind::kResourceClaimTemplate,
               object.namespace_name(), reference.resource_claim_template_name(),
               "resourceClaimName");
      }
    }
  }

  void CheckClasses(const Object& object, absl::string_view path,
                    const api::ResourceClaimSpec& spec) {
    for (int i = 0; i < spec.devices().requests_size(); ++i) {
      const api::DeviceRequest& request = spec.devices().requests(i);
      const std::string at = absl::StrCat(path, ".devices.requests[", i, "]");
      Expect(object, at + ".exactly.deviceClassName", Kind::kDeviceClass, "",
             request.exactly().device_class_name());
      for (int j = 0; j < request.first_available_size(); ++j) {
        Expect(object, absl::StrCat(at, ".firstAvailable[", j, "].deviceClassName"),
               Kind::kDeviceClass, "", request.first_available(j).device_class_name());
      }
    }
  }

  // `other_field`: of the pod's reference, for a claim instead of a template, and the reverse.
  void Expect(const Object& object, const std::string& field, Kind kind,
              absl::string_view namespace_name, const std::string& name,
              absl::string_view other_field = "") {
    const Known& known = known_.at(kind);
    if (name.empty() || (known.keys.empty() && other_field.empty())) return;
    const std::string key = namespace_name.empty() ? name : absl::StrCat(namespace_name, "/", name);
    if (known.keys.contains(key)) return;
    Warning& warning = warnings_[absl::StrCat(known.kind, " ", key)];
    if (warning.objects++ > 0) return;
    warning.problem = {.where = object.where(),
                       .subject = object.ToString(),
                       .message = absl::StrCat(field, ": there is no ", known.kind, " ", key,
                                               Hint(kind, key, name, other_field)),
                       .severity = Severity::kWarning};
  }

  std::string Hint(Kind kind, const std::string& key, const std::string& name,
                   absl::string_view other_field) const {
    const Known& known = known_.at(kind);
    if (const auto elsewhere = known.namespace_of.find(name);
        elsewhere != known.namespace_of.end()) {
      return absl::StrCat("; there is one in namespace ", elsewhere->second);
    }
    if (!other_field.empty()) {
      const Known& other = known_.at(kind == Kind::kResourceClaim ? Kind::kResourceClaimTemplate
                                                                  : Kind::kResourceClaim);
      if (other.keys.contains(key)) {
        return absl::StrCat("; there is a ", other.kind, " of that name: write ", other_field);
      }
    }
    return DidYouMean(key, std::vector<std::string>(known.keys.begin(), known.keys.end()));
  }

  std::map<Kind, Known> known_ = {
      {Kind::kNode, {"Node", {}, {}}},
      {Kind::kDeviceClass, {"DeviceClass", {}, {}}},
      {Kind::kResourceClaim, {"ResourceClaim", {}, {}}},
      {Kind::kResourceClaimTemplate, {"ResourceClaimTemplate", {}, {}}},
  };
  std::map<std::string, Warning> warnings_;  // by kind and key of what is missing
};

}  // namespace

Problems CheckDeviceReferencesOf(const Manifests& manifests) {
  return References(manifests).Take();
}

}  // namespace berth
