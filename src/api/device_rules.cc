// SPDX-License-Identifier: Apache-2.0
// Implementation of device_rules.h, after kubernetes v1.35 pkg/apis/resource/validation and, for
// pods, pkg/apis/core/validation.
#include "api/device_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/field_error.h"

namespace berth {
namespace {

constexpr absl::string_view kBeta1 = "v1beta1";
// Those of a request, which v1beta1 has in the request itself, later versions in its `exactly`.
constexpr absl::string_view kFieldsOfExactly[] = {
    "deviceClassName", "selectors",   "allocationMode", "count",
    "adminAccess",     "tolerations", "capacity"};

// k8s.io/api resource/v1 types.go.
constexpr size_t kMostRequests = 32;
constexpr size_t kMostAlternatives = 8;
constexpr size_t kMostDevicesOfSlice = 128;
constexpr size_t kMostUsersOfClaim = 256;

absl::string_view Text(Value value) { return value.AsString().value_or(""); }

bool IsSet(Value value) { return value && !value.IsNull(); }

bool IsLabel(absl::string_view text) {
  constexpr size_t kLongest = 63;
  const auto is_edge = [](unsigned char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c);
  };
  return !text.empty() && text.size() <= kLongest && is_edge(text.front()) &&
         is_edge(text.back()) &&
         absl::c_all_of(text, [&](unsigned char c) { return is_edge(c) || c == '-'; });
}

// The fields of one object, with what is wrong.
class Rules {
 public:
  Rules(absl::string_view version, Problems& problems)
      : is_beta1_(version == kBeta1), version_(version), problems_(problems) {}

  void Claim(Value devices, const std::string& path) {
    AtMost(devices, "requests", path, kMostRequests);
    std::set<std::string> requests;  // "REQUEST", "REQUEST/SUBREQUEST"
    ForEach(devices, "requests", path, [&](Value request, const std::string& at) {
      Name(request, at, requests, "");
      Request(request, at, requests);
    });
    ForEach(devices, "constraints", path, [&](Value constraint, const std::string& at) {
      References(constraint, at, requests);
      Constraint(constraint, at);
    });
    ForEach(devices, "config", path,
            [&](Value config, const std::string& at) { References(config, at, requests); });
  }

  // A driver's mistakes are warnings: the devices are offered to no pod, or all pods of the pool
  // are told.
  void Slice(Value spec, const std::string& path) {
    Nodes(spec, path);
    const bool has_devices = spec.Find("devices").size() > 0;
    if (has_devices && Text(spec.Find("driver")).empty()) {
      Warn({}, spec, path + ".driver: is missing");
    }
    if (has_devices && Text(spec.Find("pool").Find("name")).empty()) {
      Warn(spec.Find("pool"), spec, path + ".pool.name: is missing");
    }
    if (spec.Find("devices").size() > kMostDevicesOfSlice) {
      Warn(spec.Find("devices"), spec,
           absl::StrCat(path, ".devices: an API server takes at most ", kMostDevicesOfSlice,
                        " in a slice; a pool may have several slices"));
    }
    const bool of_device = spec.Find("perDeviceNodeSelection").AsBool().value_or(false);
    std::set<std::string> names;
    ForEach(spec, "devices", path, [&](Value device, const std::string& at) {
      Device(device, at);
      if (of_device) NodesOfDevice(device, at);
      const std::string name(Text(device.Find("name")));
      if (names.insert(name).second) return;
      Warn(device.Find("name"), device,
           absl::StrCat(at, ".name: ", Quoted(name),
                        " is there a second time, so that the pool is invalid"));
    });
  }

  void Users(Value status) {
    AtMost(status, "reservedFor", "status", kMostUsersOfClaim);
    const Value users = status.Find("reservedFor");
    if (users.size() > 0 && !IsSet(status.Find("allocation"))) {
      Warn(users, status, "status.reservedFor: the claim has no allocation that could be reserved");
    }
  }

  // Classes, requests and subrequests.
  void Selectors(Value owner, const std::string& path) {
    ForEach(owner, "selectors", path, [&](Value selector, const std::string& at) {
      if (IsSet(selector.Find("cel"))) return;
      Warn({}, selector, at + ": has no cel, and no device can match it");
    });
  }

 private:
  void Error(Value at, Value otherwise, std::string message) {
    problems_.AddError(at ? at.where() : otherwise.where(), "", std::move(message));
  }
  void Warn(Value at, Value otherwise, std::string message) {
    problems_.AddWarning(at ? at.where() : otherwise.where(), "", std::move(message));
  }

  static void ForEach(Value owner, absl::string_view field, const std::string& path,
                      absl::FunctionRef<void(Value, const std::string&)> visit) {
    size_t index = 0;
    for (const Value element : owner.Find(field).elements()) {
      visit(element, IndexPath(ChildPath(path, field), index++));
    }
  }

  void AtMost(Value owner, absl::string_view field, const std::string& path, size_t most) {
    const Value list = owner.Find(field);
    if (list.size() <= most) return;
    Error(list, owner,
          absl::StrCat(path, ".", field, ": has ", list.size(), " entries, and may have ", most));
  }

  // Of requests and subrequests.
  void Name(Value owner, const std::string& path, std::set<std::string>& names,
            const std::string& before) {
    const Value name = owner.Find("name");
    if (!IsSet(name)) return Error({}, owner, path + ".name: is missing");
    const std::string text(Text(name));
    if (!IsLabel(text)) {
      return Error(name, owner,
                   absl::StrCat(path, ".name: ", Quoted(text),
                                " is no name; it has lower case letters, digits and '-', up to "
                                "63, and begins and ends with a letter or digit"));
    }
    if (names.insert(before + text).second) return;
    Error(name, owner, absl::StrCat(path, ".name: ", Quoted(text), " is there a second time"));
  }

  void Request(Value request, const std::string& path, std::set<std::string>& requests) {
    const Value list = request.Find("firstAvailable");
    const Value exactly = request.Find("exactly");
    const auto set =
        std::find_if(std::begin(kFieldsOfExactly), std::end(kFieldsOfExactly),
                     [&](absl::string_view field) { return IsSet(request.Find(field)); });
    const bool has_fields = set != std::end(kFieldsOfExactly);
    if (!is_beta1_ && has_fields) {
      Error(request.Find(*set), request,
            absl::StrCat(path, ".", *set, ": stands in `exactly` in resource.k8s.io/", version_,
                         "; in the request itself only in v1beta1"));
    } else if (is_beta1_ && IsSet(exactly)) {
      Error(exactly, request,
            path +
                ".exactly: is not in resource.k8s.io/v1beta1, where its fields stand in the "
                "request itself; write the object as v1");
    } else if (IsSet(list) && (has_fields || IsSet(exactly))) {
      Error(list, request,
            absl::StrCat(path, ".firstAvailable: cannot stand beside ",
                         is_beta1_ ? *set : "exactly", "; a request has one of them"));
    }
    if (IsSet(exactly)) Exact(exactly, path + ".exactly");
    if (is_beta1_ && has_fields) Exact(request, path);
    AtMost(request, "firstAvailable", path, kMostAlternatives);
    const std::string name(Text(request.Find("name")));
    ForEach(request, "firstAvailable", path, [&](Value alternative, const std::string& at) {
      Name(alternative, at, requests, name + "/");
      Exact(alternative, at);
    });
  }

  // A scheduler says what is wrong with a class or a count that is less than 1.
  void Exact(Value request, const std::string& path) {
    Selectors(request, path);
    const Value count = request.Find("count");
    if (Text(request.Find("allocationMode")) == "All" && count.AsInt64().value_or(0) != 0) {
      Error(count, request,
            path + ".count: cannot be set with allocationMode All, which takes all there are");
    }
  }

  void References(Value owner, const std::string& path, const std::set<std::string>& requests) {
    ForEach(owner, "requests", path, [&](Value name, const std::string& at) {
      if (requests.count(std::string(Text(name))) > 0) return;
      Error(name, owner,
            absl::StrCat(at, ": ", Quoted(Text(name)), " is no request of this claim; it has ",
                         requests.empty() ? "none" : absl::StrJoin(requests, ", ")));
    });
  }

  void Constraint(Value constraint, const std::string& path) {
    const Value match = constraint.Find("matchAttribute");
    const Value distinct = constraint.Find("distinctAttribute");
    if (IsSet(match) && IsSet(distinct)) {
      Error(distinct, constraint,
            path + ".distinctAttribute: cannot stand beside matchAttribute; write two constraints");
    }
    for (const auto& [value, field] :
         {std::pair(match, ".matchAttribute"), std::pair(distinct, ".distinctAttribute")}) {
      const absl::string_view name = Text(value);
      if (!IsSet(value) || absl::c_count(name, '/') == 1) continue;
      Error(value, constraint,
            absl::StrCat(path, field, ": ", Quoted(name),
                         " has no domain; write it as DOMAIN/NAME, mostly the driver's"));
    }
  }

  // The fields of a slice, or of a device of one, that say for which nodes it is.
  static std::vector<absl::string_view> NodeFields(Value owner) {
    std::vector<absl::string_view> set;
    for (const absl::string_view field : {"nodeName", "nodeSelector"}) {
      const Value value = owner.Find(field);
      if (IsSet(value) && !(value.IsString() && Text(value).empty())) set.push_back(field);
    }
    for (const absl::string_view field : {"allNodes", "perDeviceNodeSelection"}) {
      if (owner.Find(field).AsBool().value_or(false)) set.push_back(field);
    }
    return set;
  }

  void NodesOfDevice(Value device, const std::string& path) {
    const Value basic = device.Find("basic");
    const Value fields = IsSet(basic) ? basic : device;
    const std::vector<absl::string_view> set = NodeFields(fields);
    if (set.size() == 1) return;
    if (set.empty()) {
      return Warn({}, device,
                  path +
                      ": is for no node; with perDeviceNodeSelection it has one of nodeName, "
                      "nodeSelector and allNodes");
    }
    Error(fields.Find(set[1]), device,
          absl::StrCat(path, ".", set[1], ": cannot stand beside ", set[0],
                       "; a device says in one way for which nodes it is"));
  }

  void Nodes(Value spec, const std::string& path) {
    const std::vector<absl::string_view> set = NodeFields(spec);
    if (set.size() > 1) {
      Error(spec.Find(set[1]), spec,
            absl::StrCat(path, ".", set[1], ": cannot stand beside ", set[0],
                         "; a slice says in one way for which nodes it is"));
    } else if (set.empty() && spec.Find("devices").size() > 0) {
      Warn({}, spec,
           path +
               ": is for no node; it has none of nodeName, nodeSelector, allNodes and "
               "perDeviceNodeSelection");
    }
  }

  void Device(Value device, const std::string& path) {
    const Value basic = device.Find("basic");
    if (!is_beta1_ && IsSet(basic)) {
      Error(basic, device,
            absl::StrCat(path, ".basic: is not in resource.k8s.io/", version_,
                         ", where its fields stand in the device itself; only v1beta1 has it"));
    } else if (is_beta1_ && !IsSet(basic)) {
      for (const absl::string_view field : {"attributes", "capacity"}) {
        if (!IsSet(device.Find(field))) continue;
        return Error(device.Find(field), device,
                     absl::StrCat(path, ".", field, ": stands in `basic` in resource.k8s.io/",
                                  "v1beta1; write the object as v1, or move it there"));
      }
    }
    const Value fields = IsSet(basic) ? basic : device;
    const std::string below = IsSet(basic) ? path + ".basic" : path;
    for (const Value::Item& attribute : fields.Find("attributes").items()) {
      Attribute(attribute, below);
    }
  }

  // Of the device at `path`.
  void Attribute(const Value::Item& attribute, const std::string& path) {
    absl::InlinedVector<absl::string_view, 4> set;
    for (const absl::string_view type : {"int", "bool", "string", "version"}) {
      if (IsSet(attribute.value.Find(type))) set.push_back(type);
    }
    if (set.size() == 1) return;
    const std::string at = absl::StrCat(path, ".attributes[", attribute.key, "]");
    if (set.size() > 1) {
      problems_.AddError(attribute.where, "",
                         absl::StrCat(at, ": has one value, not ", absl::StrJoin(set, " and ")));
    } else {
      problems_.AddWarning(attribute.where, "",
                           at + ": has no value; it has one of int, bool, string and version");
    }
  }

  const bool is_beta1_;
  const absl::string_view version_;
  Problems& problems_;
};

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
  Rules rules(version, problems);
  const Value spec = object.Find("spec");
  if (kind == Kind::kDeviceClass) {
    rules.Selectors(spec, "spec");
  } else if (kind == Kind::kResourceClaim) {
    rules.Claim(spec.Find("devices"), "spec.devices");
    rules.Users(object.Find("status"));
  } else if (kind == Kind::kResourceClaimTemplate) {
    rules.Claim(spec.Find("spec").Find("devices"), "spec.spec.devices");
  } else if (kind == Kind::kResourceSlice) {
    rules.Slice(spec, "spec");
  } else if (kind == Kind::kPod) {
    CheckClaimReferences(spec, "spec", problems);
  }
}

void CheckClaimReferences(Value pod_spec, const std::string& path, Problems& problems) {
  std::set<absl::string_view> names;
  size_t index = 0;
  for (const Value reference : pod_spec.Find("resourceClaims").elements()) {
    const std::string at = absl::StrCat(path, ".resourceClaims[", index++, "]");
    const auto error = [&](Value field, absl::string_view message) {
      problems.AddError(field ? field.where() : reference.where(), "", absl::StrCat(at, message));
    };
    const Value name = reference.Find("name");
    const Value claim = reference.Find("resourceClaimName");
    const Value claim_template = reference.Find("resourceClaimTemplateName");
    if (Text(name).empty()) {
      error(name, ".name: is missing");
    } else if (!names.insert(Text(name)).second) {
      error(name, absl::StrCat(".name: ", Quoted(Text(name)), " is there a second time"));
    }
    if (IsSet(claim) && IsSet(claim_template)) {
      error(claim_template,
            ".resourceClaimTemplateName: cannot stand beside resourceClaimName; a reference has "
            "one of them");
    } else if (!IsSet(claim) && !IsSet(claim_template)) {
      error({}, ": names no claim; it has one of resourceClaimName and resourceClaimTemplateName");
    }
  }
  for (const absl::string_view list : {"initContainers", "containers"}) {
    size_t place = 0;
    for (const Value container : pod_spec.Find(list).elements()) {
      size_t number = 0;
      for (const Value use : container.Find("resources").Find("claims").elements()) {
        const Value name = use.Find("name");
        if (names.count(Text(name)) == 0) {
          problems.AddError(
              name ? name.where() : use.where(), "",
              absl::StrCat(
                  path, ".", list, "[", place, "].resources.claims[", number,
                  "].name: ", Quoted(Text(name)), " is none of the pod's resourceClaims",
                  names.empty() ? ", of which it has none" : ": " + absl::StrJoin(names, ", ")));
        }
        ++number;
      }
      ++place;
    }
  }
}

std::map<std::string, SourceLocation> PlacesOfSelectors(Kind kind, Value object) {
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
    AddSelectors(exactly ? exactly : request, at + ".exactly", places);
    size_t place = 0;
    for (const Value alternative : request.Find("firstAvailable").elements()) {
      AddSelectors(alternative, absl::StrCat(at, ".firstAvailable[", place++, "]"), places);
    }
  }
  return places;
}

}  // namespace berth
