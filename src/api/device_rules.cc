// SPDX-License-Identifier: Apache-2.0
// Implementation of device_rules.h, after kubernetes v1.35 pkg/apis/resource/validation and, for
// pods, pkg/apis/core/validation.
#include "api/device_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/field_error.h"
#include "api/object_rules.h"
#include "api/slice_rules.h"
#include "berth/api/resources.h"

namespace berth {
namespace {

// Those of a request, which v1beta1 has in the request itself, later versions in its `exactly`.
constexpr absl::string_view kFieldsOfExactly[] = {
    "deviceClassName", "selectors",   "allocationMode", "count",
    "adminAccess",     "tolerations", "capacity"};

// k8s.io/api resource/v1 types.go.
constexpr size_t kMostRequests = 32;
constexpr size_t kMostAlternatives = 8;
constexpr size_t kMostSelectors = 32;
constexpr size_t kMostTolerations = 16;
constexpr size_t kMostConstraints = 32;
constexpr size_t kMostConfigurations = 32;
constexpr size_t kMostUsersOfClaim = 256;

// Of classes, claims and their templates.
constexpr absl::string_view kNoLabel =
    " is no label; keys and values have letters, digits, '-', '_' and '.', up to 63, and a key may "
    "have DOMAIN/ before it";

class ClaimRules : ObjectRules {
 public:
  using ObjectRules::ObjectRules;

  // Of all kinds of resource.k8s.io.
  void ObjectName(Value metadata) {
    const Value name = metadata.Find("name");
    if (Text(name).empty() || IsDnsSubdomain(Text(name))) return;
    Refuse(name, metadata, absl::StrCat("metadata.name: ", Quoted(Text(name)), kNoObjectName));
  }

  void Claim(Value devices, const std::string& path) {
    AtMost(devices, "requests", path, kMostRequests);
    ForEach(devices, "requests", path, [&](Value request, const std::string& at) {
      Name(request, at, "");
      Request(request, at);
    });
    AtMost(devices, "constraints", path, kMostConstraints);
    ForEach(devices, "constraints", path, [&](Value constraint, const std::string& at) {
      References(constraint, at);
      Constraint(constraint, at);
    });
    Configurations(devices, path);
    ForEach(devices, "config", path,
            [&](Value config, const std::string& at) { References(config, at); });
  }

  // The metadata of a template, which claims made of it get.
  void Labels(Value metadata, const std::string& path) {
    for (const auto& label : metadata.Find("labels").items()) {
      if (IsLabelKey(label.key) && IsLabelValue(Text(label.value))) continue;
      Refuse(label.where, absl::StrCat(path, ".labels: ", Quoted(label.key), ": ",
                                       Quoted(Text(label.value)), kNoLabel));
    }
  }

  void TaintRule(Value spec, const std::string& path) {
    if (!IsSet(spec.Find("taint"))) Refuse({}, spec, path + ".taint: is missing");
    const Value selector = spec.Find("deviceSelector");
    const auto check = [&](absl::string_view field, bool (*is_good)(absl::string_view),
                           absl::string_view what) {
      const Value value = selector.Find(field);
      if (!IsSet(value) || is_good(Text(value))) return;
      Refuse(value, selector,
             absl::StrCat(path, ".deviceSelector.", field, ": ", Quoted(Text(value)), what));
    };
    check("driver", IsDriverName, kNoDriver);
    check("pool", IsPoolName, kNoPool);
    check("device", IsDnsLabel, kNoDnsLabel);
  }

  void Class(Value spec, const std::string& path) {
    Selectors(spec, path);
    Configurations(spec, path);
    const Value resource = spec.Find("extendedResourceName");
    if (Text(resource).empty() || IsExtendedResourceName(Text(resource))) return;
    Refuse(resource, spec,
           absl::StrCat(path, ".extendedResourceName: ", Quoted(Text(resource)),
                        " is no extended resource, so that the class stands for none; it is "
                        "DOMAIN/NAME, and the domain is not kubernetes.io"));
  }

  void Users(Value status) {
    AtMost(status, "reservedFor", "status", kMostUsersOfClaim);
    const Value users = status.Find("reservedFor");
    if (users.size() > 0 && !IsSet(status.Find("allocation"))) {
      Warn(users, status, "status.reservedFor: the claim has no allocation that could be reserved");
    }
    const Value devices = status.Find("allocation").Find("devices");
    ForEach(devices, "results", "status.allocation.devices",
            [&](Value result, const std::string& at) {
              for (const absl::string_view field : {"driver", "pool", "device"}) {
                if (!Text(result.Find(field)).empty()) continue;
                Warn(result.Find(field), result, absl::StrCat(at, ".", field, ": is missing"));
              }
              const Value request = result.Find("request");
              if (requests_.count(std::string(Text(request))) > 0) return;
              Warn(request, result, absl::StrCat(at, ".request: ", NoRequest(Text(request))));
            });
  }

  // Classes, requests and subrequests.
  void Selectors(Value owner, const std::string& path) {
    AtMost(owner, "selectors", path, kMostSelectors);
    ForEach(owner, "selectors", path, [&](Value selector, const std::string& at) {
      if (IsSet(selector.Find("cel"))) return;
      Refuse({}, selector, at + ": has no cel, and no device can match it");
    });
  }

 private:
  // Of requests and subrequests.
  void Name(Value owner, const std::string& path, const std::string& before) {
    const Value name = owner.Find("name");
    if (!IsSet(name)) return Error({}, owner, path + ".name: is missing");
    const std::string text(Text(name));
    if (!IsDnsLabel(text)) {
      return Error(name, owner, absl::StrCat(path, ".name: ", Quoted(text), kNoDnsLabel));
    }
    if (requests_.insert(before + text).second) return;
    Error(name, owner, absl::StrCat(path, ".name: ", Quoted(text), " is there a second time"));
  }

  void Request(Value request, const std::string& path) {
    const Value list = request.Find("firstAvailable");
    const Value exactly = request.Find("exactly");
    const auto set =
        std::find_if(std::begin(kFieldsOfExactly), std::end(kFieldsOfExactly),
                     [&](absl::string_view field) { return IsSet(request.Find(field)); });
    const bool has_fields = set != std::end(kFieldsOfExactly);
    if (!is_beta1() && has_fields) {
      Error(request.Find(*set), request,
            absl::StrCat(path, ".", *set, ": stands in `exactly` in resource.k8s.io/", version(),
                         "; in the request itself only in v1beta1"));
    } else if (is_beta1() && IsSet(exactly)) {
      Error(exactly, request,
            path +
                ".exactly: is not in resource.k8s.io/v1beta1, where its fields stand in the "
                "request itself; write the object as v1");
    } else if (IsSet(list) && (has_fields || IsSet(exactly))) {
      Error(list, request,
            absl::StrCat(path, ".firstAvailable: cannot stand beside ",
                         is_beta1() ? *set : "exactly", "; a request has one of them"));
    }
    if (!IsSet(exactly) && !has_fields && list.size() == 0) {
      Refuse({}, request,
             absl::StrCat(path, ": asks for nothing; it has one of ",
                          is_beta1() ? "deviceClassName" : "exactly", " and firstAvailable"));
    }
    if (IsSet(exactly)) Exact(exactly, path + ".exactly");
    if (is_beta1() && has_fields && list.size() == 0) Exact(request, path);
    AtMost(request, "firstAvailable", path, kMostAlternatives);
    const std::string name(Text(request.Find("name")));
    ForEach(request, "firstAvailable", path, [&](Value alternative, const std::string& at) {
      Name(alternative, at, name + "/");
      Exact(alternative, at);
    });
  }

  void Tolerations(Value request, const std::string& path) {
    AtMost(request, "tolerations", path, kMostTolerations);
    ForEach(request, "tolerations", path, [&](Value toleration, const std::string& at) {
      const Value key = toleration.Find("key");
      if (!Text(key).empty() && !IsLabelKey(Text(key))) {
        Refuse(key, toleration,
               absl::StrCat(at, ".key: ", Quoted(Text(key)), " is no key of a label"));
      }
      const Value value = toleration.Find("value");
      if (Text(toleration.Find("operator")) == "Exists") {
        if (Text(value).empty()) return;
        Refuse(value, toleration, at + ".value: cannot be set with operator Exists");
      } else if (!IsLabelValue(Text(value))) {
        Refuse(value, toleration,
               absl::StrCat(at, ".value: ", Quoted(Text(value)), " is no value of a label"));
      }
    });
  }

  // Of requests and subrequests.
  void Exact(Value request, const std::string& path) {
    DeviceClassName(request, path);
    Selectors(request, path);
    Tolerations(request, path);
    const Value count = request.Find("count");
    const int64_t devices = count.AsInt64().value_or(0);
    if (Text(request.Find("allocationMode")) == "All" && devices != 0) {
      Error(count, request,
            path + ".count: cannot be set with allocationMode All, which takes all there are");
    } else if (devices < 0) {
      Refuse(count, request, absl::StrCat(path, ".count: is ", devices, "; it is at least 1"));
    }
  }

  void DeviceClassName(Value request, const std::string& path) {
    const Value name = request.Find("deviceClassName");
    if (Text(name).empty()) {
      Refuse(name, request, path + ".deviceClassName: is missing");
    } else if (!IsDnsSubdomain(Text(name))) {
      Refuse(name, request,
             absl::StrCat(path, ".deviceClassName: ", Quoted(Text(name)),
                          " is no name of a class; it is the name of a DNS domain, as "
                          "gpu.example.com"));
    }
  }

  void References(Value owner, const std::string& path) {
    AtMost(owner, "requests", path, kMostRequests);
    std::set<absl::string_view> names;
    ForEach(owner, "requests", path, [&](Value name, const std::string& at) {
      if (requests_.count(std::string(Text(name))) == 0) {
        Error(name, owner, absl::StrCat(at, ": ", NoRequest(Text(name))));
      } else if (!names.insert(Text(name)).second) {
        Refuse(name, owner, absl::StrCat(at, ": ", Quoted(Text(name)), " is there a second time"));
      }
    });
  }

  std::string NoRequest(absl::string_view name) const {
    return absl::StrCat(Quoted(name), " is no request of this claim; it has ",
                        requests_.empty() ? "none" : absl::StrJoin(requests_, ", "));
  }

  // Of claims and classes.
  void Configurations(Value owner, const std::string& path) {
    AtMost(owner, "config", path, kMostConfigurations);
    ForEach(owner, "config", path, [&](Value config, const std::string& at) {
      const Value opaque = config.Find("opaque");
      if (!IsSet(opaque)) return Refuse({}, config, at + ".opaque: is missing");
      const Value driver = opaque.Find("driver");
      if (Text(driver).empty()) {
        Refuse(driver, opaque, at + ".opaque.driver: is missing");
      } else if (!IsDriverName(Text(driver))) {
        Refuse(driver, opaque,
               absl::StrCat(at, ".opaque.driver: ", Quoted(Text(driver)), kNoDriver));
      }
      if (!opaque.Find("parameters").IsMap()) {
        const Value parameters = opaque.Find("parameters");
        Refuse(parameters, opaque,
               at + (IsSet(parameters) ? ".opaque.parameters: is no map"
                                       : ".opaque.parameters: is missing; it is a map"));
      }
    });
  }

  void Constraint(Value constraint, const std::string& path) {
    const Value match = constraint.Find("matchAttribute");
    const Value distinct = constraint.Find("distinctAttribute");
    if (!IsSet(match) && !IsSet(distinct)) {
      Refuse({}, constraint, path + ": has neither matchAttribute nor distinctAttribute");
    } else if (IsSet(match) && IsSet(distinct)) {
      Error(distinct, constraint,
            path + ".distinctAttribute: cannot stand beside matchAttribute; write two constraints");
    }
    for (const auto& [value, field] :
         {std::pair(match, ".matchAttribute"), std::pair(distinct, ".distinctAttribute")}) {
      const absl::string_view name = Text(value);
      if (!IsSet(value)) continue;
      if (absl::c_count(name, '/') != 1) {
        Error(value, constraint,
              absl::StrCat(path, field, ": ", Quoted(name),
                           " has no domain; write it as DOMAIN/NAME, mostly the driver's"));
      } else if (!IsQualifiedName(name)) {
        Refuse(value, constraint,
               absl::StrCat(path, field, ": ", Quoted(name),
                            " is no name; behind the domain it has letters, digits and '_', up to "
                            "32"));
      }
    }
  }

  std::set<std::string> requests_;  // of the claim: "REQUEST", "REQUEST/SUBREQUEST"
};

// Of pods and their templates.
class ReferenceRules : ObjectRules {
 public:
  ReferenceRules(bool is_stored, Problems& problems) : ObjectRules("v1", is_stored, problems) {}

  void Check(Value pod_spec, const std::string& path) {
    std::set<absl::string_view> names;
    ForEach(pod_spec, "resourceClaims", path, [&](Value reference, const std::string& at) {
      const Value name = reference.Find("name");
      if (Text(name).empty()) {
        Error(name, reference, at + ".name: is missing");
      } else if (!names.insert(Text(name)).second) {
        Error(name, reference,
              absl::StrCat(at, ".name: ", Quoted(Text(name)), " is there a second time"));
      } else if (!IsDnsLabel(Text(name))) {
        Refuse(name, reference, absl::StrCat(at, ".name: ", Quoted(Text(name)), kNoDnsLabel));
      }
      Claim(reference, at);
    });
    for (const absl::string_view list : {"initContainers", "containers"}) {
      ForEach(pod_spec, list, path, [&](Value container, const std::string& at) {
        std::set<std::string> used;
        ForEach(container.Find("resources"), "claims", at + ".resources",
                [&](Value use, const std::string& place) { Use(use, place, names, used); });
      });
    }
  }

 private:
  void Claim(Value reference, const std::string& path) {
    const Value claim = reference.Find("resourceClaimName");
    const Value claim_template = reference.Find("resourceClaimTemplateName");
    if (IsSet(claim) && IsSet(claim_template)) {
      Error(claim_template, reference,
            path +
                ".resourceClaimTemplateName: cannot stand beside resourceClaimName; a reference "
                "has one of them");
    } else if (!IsSet(claim) && !IsSet(claim_template)) {
      Refuse({}, reference,
             path +
                 ": names no claim; it has one of resourceClaimName and "
                 "resourceClaimTemplateName");
    }
    for (const absl::string_view field : {"resourceClaimName", "resourceClaimTemplateName"}) {
      const Value name = reference.Find(field);
      if (!IsSet(name) || IsDnsSubdomain(Text(name))) continue;
      Refuse(name, reference,
             absl::StrCat(path, ".", field, ": ", Quoted(Text(name)), kNoObjectName));
    }
  }

  // `used`: what the container uses so far, "NAME" or "NAME/REQUEST".
  void Use(Value use, const std::string& path, const std::set<absl::string_view>& names,
           std::set<std::string>& used) {
    const Value name = use.Find("name");
    const absl::string_view request = Text(use.Find("request"));
    if (!request.empty() && !IsDnsLabel(request)) {
      Refuse(use.Find("request"), use,
             absl::StrCat(path, ".request: ", Quoted(request), kNoDnsLabel));
    }
    const std::string what =
        request.empty() ? std::string(Text(name)) : absl::StrCat(Text(name), "/", request);
    if (used.count(std::string(Text(name))) > 0 || !used.insert(what).second) {
      Refuse(name, use, absl::StrCat(path, ": ", Quoted(what), " is there a second time"));
    }
    if (names.count(Text(name)) > 0) return;
    Error(
        name, use,
        absl::StrCat(path, ".name: ", Quoted(Text(name)), " is none of the pod's resourceClaims",
                     names.empty() ? ", of which it has none" : ": " + absl::StrJoin(names, ", ")));
  }
};

bool IsOfResourceGroup(Kind kind) {
  return kind == Kind::kDeviceClass || kind == Kind::kResourceClaim ||
         kind == Kind::kResourceClaimTemplate || kind == Kind::kResourceSlice ||
         kind == Kind::kDeviceTaintRule;
}

void AddSelectors(Value owner, const std::string& path,
                  std::map<std::string, SourceLocation>& places) {
  size_t index = 0;
  for (const Value selector : owner.Find("selectors").elements()) {
    const Value expression = selector.Find("cel").Find("expression");
    const std::string field = absl::StrCat(path, ".selectors[", index++, "].cel.expression");
    if (expression) places.emplace(field, expression.where());
  }
}

}  // namespace

void CheckDeviceRules(Kind kind, absl::string_view version, Value object, Problems& problems) {
  ClaimRules rules(version, IsStored(object), problems);
  const Value spec = object.Find("spec");
  if (IsOfResourceGroup(kind)) rules.ObjectName(object.Find("metadata"));
  if (kind == Kind::kDeviceClass) {
    rules.Class(spec, "spec");
  } else if (kind == Kind::kResourceClaim) {
    rules.Claim(spec.Find("devices"), "spec.devices");
    rules.Users(object.Find("status"));
  } else if (kind == Kind::kResourceClaimTemplate) {
    rules.Labels(spec.Find("metadata"), "spec.metadata");
    rules.Claim(spec.Find("spec").Find("devices"), "spec.spec.devices");
  } else if (kind == Kind::kResourceSlice) {
    CheckResourceSlice(version, object, problems);
  } else if (kind == Kind::kDeviceTaintRule) {
    rules.TaintRule(spec, "spec");
    CheckDeviceTaint(spec.Find("taint"), "spec.taint", IsStored(object), problems);
  } else if (kind == Kind::kPod) {
    CheckClaimReferences(spec, "spec", object, problems);
  }
}

void CheckClaimReferences(Value pod_spec, const std::string& path, Value object,
                          Problems& problems) {
  ReferenceRules(IsStored(object), problems).Check(pod_spec, path);
}

std::map<std::string, SourceLocation> PlacesOfDeviceFields(Kind kind, Value object) {
  std::map<std::string, SourceLocation> places;
  Value devices = object.Find("spec");
  std::string path = "spec";
  if (kind == Kind::kDeviceClass) {
    AddSelectors(devices, path, places);
    return places;
  }
  if (kind == Kind::kResourceClaimTemplate) {
    devices = devices.Find("spec");
    path += ".spec";
  } else if (kind != Kind::kResourceClaim) {
    return places;
  }
  devices = devices.Find("devices");
  path += ".devices";
  size_t index = 0;
  for (const Value request : devices.Find("requests").elements()) {
    const std::string at = absl::StrCat(path, ".requests[", index++, "]");
    const Value exactly = request.Find("exactly");
    const Value fields = exactly ? exactly : request;
    AddSelectors(fields, at + ".exactly", places);
    if (const Value admin = fields.Find("adminAccess")) {
      places.emplace(at + ".exactly.adminAccess", admin.where());
    }
    size_t place = 0;
    for (const Value alternative : request.Find("firstAvailable").elements()) {
      AddSelectors(alternative, absl::StrCat(at, ".firstAvailable[", place++, "]"), places);
    }
  }
  return places;
}

}  // namespace berth
