// SPDX-License-Identifier: Apache-2.0
// Implementation of slice_rules.h, after kubernetes v1.35 pkg/apis/resource/validation.
#include "api/slice_rules.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/capacity_policy_rules.h"
#include "api/field_error.h"
#include "api/node_selector_rules.h"
#include "api/object_rules.h"

namespace berth {
namespace {

// k8s.io/api resource/v1 types.go.
constexpr size_t kMostDevices = 128;
constexpr size_t kMostDevicesWithTaintsOrCounters = 64;
constexpr size_t kMostAttributesAndCapacities = 32;
constexpr size_t kLongestAttribute = 64;
constexpr size_t kMostTaints = 16;
constexpr size_t kMostCounterSets = 8;
constexpr size_t kMostCountersOfSet = 32;
constexpr size_t kMostSetsOfDevice = 2;
constexpr size_t kMostBindingConditions = 4;

constexpr absl::string_view kLabel =
    " is no name; it has lower case letters, digits and '-', up to 63, and begins and ends with a "
    "letter or digit";

class SliceRules : ObjectRules {
 public:
  using ObjectRules::ObjectRules;

  void Slice(Value spec, const std::string& path) {
    Nodes(spec, path);
    Pool(spec, path);
    const Value counters = spec.Find("sharedCounters");
    const Value devices = spec.Find("devices");
    if (IsSet(counters) && IsSet(devices)) {
      Refuse(counters, spec,
             path +
                 ".sharedCounters: cannot stand beside devices; write a slice of its own for them, "
                 "in the same pool, and count it in resourceSliceCount");
    }
    CounterSets(spec, path);
    const bool of_device = spec.Find("perDeviceNodeSelection").AsBool().value_or(false);
    bool has_more = false;  // what makes large devices
    std::set<absl::string_view> names;
    ForEach(spec, "devices", path, [&](Value device, const std::string& at) {
      const Value basic = device.Find("basic");
      const Value fields = IsSet(basic) ? basic : device;
      has_more |= fields.Find("taints").size() > 0 || fields.Find("consumesCounters").size() > 0;
      Form(device, basic, at);
      Device(fields, IsSet(basic) ? at + ".basic" : at);
      NodesOfDevice(device, fields, at, of_device);
      NameOfDevice(device, at, names);
    });
    const size_t most = has_more ? kMostDevicesWithTaintsOrCounters : kMostDevices;
    if (devices.size() <= most) return;
    Refuse(devices, spec,
           absl::StrCat(path, ".devices: an API server takes at most ", most, " in a slice",
                        has_more ? " with taints or counters" : "",
                        "; a pool may have several slices"));
  }

 private:
  void Pool(Value spec, const std::string& path) {
    const Value pool = spec.Find("pool");
    const Value driver = spec.Find("driver");
    if (Text(driver).empty()) Refuse(driver, spec, path + ".driver: is missing");
    if (!Text(driver).empty() && !IsDriverName(Text(driver))) {
      Refuse(driver, spec, absl::StrCat(path, ".driver: ", Quoted(Text(driver)), kNoDriver));
    }
    const absl::string_view name = Text(pool.Find("name"));
    if (name.empty()) Refuse(pool, spec, path + ".pool.name: is missing");
    if (!name.empty() && !IsPoolName(name)) {
      Refuse(pool.Find("name"), spec, absl::StrCat(path, ".pool.name: ", Quoted(name), kNoPool));
    }
    const Value count = pool.Find("resourceSliceCount");
    if (!IsSet(count)) {
      Refuse(pool, spec,
             path +
                 ".pool.resourceSliceCount: is missing, so that the pool is never complete; it is "
                 "the number of its slices");
    } else if (count.AsInt64().value_or(1) < 1) {
      Refuse(count, spec,
             absl::StrCat(path, ".pool.resourceSliceCount: is ", count.text(),
                          ", so that the pool is never complete; it is the number of its slices"));
    }
    const Value generation = pool.Find("generation");
    if (generation.AsInt64().value_or(0) < 0) {
      Refuse(generation, spec, path + ".pool.generation: is negative; it counts from 0");
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

  void Nodes(Value spec, const std::string& path) {
    const std::vector<absl::string_view> set = NodeFields(spec);
    if (set.size() > 1) {
      Error(spec.Find(set[1]), spec,
            absl::StrCat(path, ".", set[1], ": cannot stand beside ", set[0],
                         "; a slice says in one way for which nodes it is"));
    } else if (set.empty()) {
      Refuse({}, spec,
             path +
                 ": is for no node; it has none of nodeName, nodeSelector, allNodes and "
                 "perDeviceNodeSelection");
    }
    NodeName(spec, path);
    const Value terms = spec.Find("nodeSelector").Find("nodeSelectorTerms");
    if (IsSet(spec.Find("nodeSelector")) && terms.size() != 1) {
      Refuse(terms, spec,
             absl::StrCat(path, ".nodeSelector.nodeSelectorTerms: has ", terms.size(),
                          " terms; the selector of a slice has one"));
    }
    Terms(terms, path);
  }

  // Of a slice or a device of one.
  void NodeName(Value owner, const std::string& path) {
    const Value name = owner.Find("nodeName");
    if (Text(name).empty() || IsDnsSubdomain(Text(name))) return;
    Refuse(name, owner,
           absl::StrCat(path, ".nodeName: ", Quoted(Text(name)), " is no name of a node"));
  }
  void Terms(Value terms, const std::string& path) {
    CheckNodeSelectorTerms(terms, path + ".nodeSelector.nodeSelectorTerms",
                           [&](SelectorFault fault, Value field, std::string message) {
                             if (fault == SelectorFault::kRefused) {
                               Refuse(field, terms, std::move(message));
                             } else {
                               Warn(field, terms, std::move(message));
                             }
                           });
  }

  void NodesOfDevice(Value device, Value fields, const std::string& path, bool of_device) {
    const std::vector<absl::string_view> set = NodeFields(fields);
    if (!of_device) {
      if (set.empty()) return;
      return Refuse(
          fields.Find(set[0]), device,
          absl::StrCat(path, ".", set[0],
                       ": is only for slices with perDeviceNodeSelection: true; the slice "
                       "says for which nodes its devices are"));
    }
    NodeName(fields, path);
    const Value selector = fields.Find("nodeSelector");
    const Value terms = selector.Find("nodeSelectorTerms");
    if (IsSet(selector) && terms.size() == 0) {
      Refuse(selector, device, path + ".nodeSelector.nodeSelectorTerms: has none");
    }
    Terms(terms, path);
    if (set.size() == 1) return;
    if (set.empty()) {
      return Refuse({}, device,
                    path +
                        ": is for no node; with perDeviceNodeSelection it has one of nodeName, "
                        "nodeSelector and allNodes");
    }
    Error(fields.Find(set[1]), device,
          absl::StrCat(path, ".", set[1], ": cannot stand beside ", set[0],
                       "; a device says in one way for which nodes it is"));
  }

  // Whether `basic` stands where the version has it.
  void Form(Value device, Value basic, const std::string& path) {
    if (!is_beta1() && IsSet(basic)) {
      return Error(basic, device,
                   absl::StrCat(path, ".basic: is not in resource.k8s.io/", version(),
                                ", where its fields stand in the device itself; only v1beta1 has "
                                "it"));
    }
    if (!is_beta1() || IsSet(basic)) return;
    for (const absl::string_view field : {"attributes", "capacity"}) {
      if (!IsSet(device.Find(field))) continue;
      return Error(device.Find(field), device,
                   absl::StrCat(path, ".", field, ": stands in `basic` in resource.k8s.io/",
                                "v1beta1; write the object as v1, or move it there"));
    }
  }

  void NameOfDevice(Value device, const std::string& path, std::set<absl::string_view>& names) {
    const Value name = device.Find("name");
    if (!IsDnsLabel(Text(name))) {
      return Refuse(name, device,
                    IsSet(name) ? absl::StrCat(path, ".name: ", Quoted(Text(name)), kLabel)
                                : path + ".name: is missing");
    }
    if (names.insert(Text(name)).second) return;
    Refuse(name, device,
           absl::StrCat(path, ".name: ", Quoted(Text(name)),
                        " is there a second time, so that the pool is invalid"));
  }

  void Device(Value fields, const std::string& path) {
    const Value attributes = fields.Find("attributes");
    const Value capacity = fields.Find("capacity");
    const size_t count = attributes.size() + capacity.size();
    if (count > kMostAttributesAndCapacities) {
      Refuse(attributes, fields,
             absl::StrCat(path, ": has ", count, " attributes and capacities, and may have ",
                          kMostAttributesAndCapacities));
    }
    for (const Value::Item& attribute : attributes.items()) {
      QualifiedName(attribute, path, "attributes");
      Attribute(attribute, path);
    }
    const bool is_shared = fields.Find("allowMultipleAllocations").AsBool().value_or(false);
    for (const Value::Item& one : capacity.items()) {
      QualifiedName(one, path, "capacity");
      const Value policy = one.value.Find("requestPolicy");
      if (!IsSet(policy)) continue;
      const std::string at = absl::StrCat(path, ".capacity[", one.key, "].requestPolicy");
      if (!is_shared) {
        Refuse(policy, fields, at + ": is only for devices with allowMultipleAllocations: true");
        continue;
      }
      CheckCapacityPolicy(one.value, [&](Value field, absl::string_view message) {
        Refuse(field, policy, absl::StrCat(at, message));
      });
    }
    AtMost(fields, "taints", path, kMostTaints);
    ForEach(fields, "taints", path, [&](Value taint, const std::string& at) { Taint(taint, at); });
    Counters(fields, path);
    BindingConditions(fields, path);
  }

  void QualifiedName(const Value::Item& item, const std::string& path, absl::string_view field) {
    if (IsQualifiedName(item.key)) return;
    Refuse(
        item.where,
        absl::StrCat(path, ".", field, "[", item.key, "]: ", Quoted(item.key),
                     " is no name; it has letters, digits and '_', up to 32, with DOMAIN/ before "
                     "it if it is not the driver's own"));
  }

  void Attribute(const Value::Item& attribute, const std::string& path) {
    absl::InlinedVector<absl::string_view, 4> set;
    for (const absl::string_view type : {"int", "bool", "string", "version"}) {
      if (IsSet(attribute.value.Find(type))) set.push_back(type);
    }
    const auto at = [&] { return absl::StrCat(path, ".attributes[", attribute.key, "]"); };
    if (set.empty()) {
      return Refuse(attribute.where, at() +
                                         ": has no value; it has one of int, bool, string and "
                                         "version");
    }
    if (set.size() > 1) {
      return Error(attribute.where,
                   absl::StrCat(at(), ": has one value, not ", absl::StrJoin(set, " and ")));
    }
    const Value value = attribute.value.Find(set[0]);
    if (Text(value).size() > kLongestAttribute) {
      Refuse(value, {},
             absl::StrCat(at(), ".", set[0], ": has ", Text(value).size(),
                          " characters, and may have ", kLongestAttribute));
    }
    if (set[0] != "version" || !value.IsString() || IsSemanticVersion(Text(value))) return;
    Refuse(value, {},
           absl::StrCat(at(), ".version: ", Quoted(Text(value)),
                        " is no version by semver.org, so that selectors that compare it fail; it "
                        "has three numbers, as 1.2.0"));
  }

 public:
  void Taint(Value taint, const std::string& path) {
    const Value key = taint.Find("key");
    if (!Text(key).empty() && !IsLabelKey(Text(key))) {
      Refuse(
          key, taint,
          absl::StrCat(path, ".key: ", Quoted(Text(key)), " is no key of a label; it has letters, ",
                       "digits, '-', '_' and '.', up to 63, and may have DOMAIN/ before it"));
    }
    const Value value = taint.Find("value");
    if (IsLabelValue(Text(value))) return;
    Refuse(value, taint,
           absl::StrCat(path, ".value: ", Quoted(Text(value)), " is no value of a label; it has ",
                        "letters, digits, '-', '_' and '.', up to 63"));
  }

 private:
  void CounterSets(Value spec, const std::string& path) {
    AtMost(spec, "sharedCounters", path, kMostCounterSets);
    std::set<absl::string_view> names;
    ForEach(spec, "sharedCounters", path,
            [&](Value set, const std::string& at) { CounterSet(set, "name", at, names); });
  }

  void Counters(Value fields, const std::string& path) {
    AtMost(fields, "consumesCounters", path, kMostSetsOfDevice);
    std::set<absl::string_view> names;
    ForEach(fields, "consumesCounters", path,
            [&](Value set, const std::string& at) { CounterSet(set, "counterSet", at, names); });
  }

  // `field` has its name: of the set itself, or of its use.
  void CounterSet(Value set, absl::string_view field, const std::string& path,
                  std::set<absl::string_view>& names) {
    const Value name = set.Find(field);
    if (!IsDnsLabel(Text(name))) {
      Refuse(name, set,
             IsSet(name) ? absl::StrCat(path, ".", field, ": ", Quoted(Text(name)), kLabel)
                         : absl::StrCat(path, ".", field, ": is missing"));
    } else if (!names.insert(Text(name)).second) {
      Refuse(name, set,
             absl::StrCat(path, ".", field, ": ", Quoted(Text(name)), " is there a second time"));
    }
    const Value counters = set.Find("counters");
    if (counters.size() == 0) Refuse(counters, set, path + ".counters: has none");
    AtMost(set, "counters", path, kMostCountersOfSet);
    for (const Value::Item& counter : counters.items()) {
      if (IsDnsLabel(counter.key)) continue;
      Refuse(counter.where,
             absl::StrCat(path, ".counters[", counter.key, "]: ", Quoted(counter.key), kLabel));
    }
  }

  void BindingConditions(Value fields, const std::string& path) {
    const Value wait = fields.Find("bindingConditions");
    const Value fail = fields.Find("bindingFailureConditions");
    AtMost(fields, "bindingConditions", path, kMostBindingConditions);
    AtMost(fields, "bindingFailureConditions", path, kMostBindingConditions);
    if ((wait.size() > 0) != (fail.size() > 0)) {
      const bool waits = wait.size() > 0;
      Refuse(waits ? wait : fail, fields,
             absl::StrCat(path, waits ? ".bindingConditions" : ".bindingFailureConditions",
                          ": needs ", waits ? "bindingFailureConditions" : "bindingConditions",
                          " beside it; a device has both or none"));
    }
    std::set<absl::string_view> seen;
    for (const absl::string_view field : {"bindingConditions", "bindingFailureConditions"}) {
      ForEach(fields, field, path, [&](Value condition, const std::string& at) {
        if (!IsLabelKey(Text(condition))) {
          Refuse(condition, fields,
                 absl::StrCat(at, ": ", Quoted(Text(condition)), " is no type of a condition"));
        } else if (!seen.insert(Text(condition)).second) {
          Refuse(condition, fields,
                 absl::StrCat(at, ": ", Quoted(Text(condition)), " is there a second time"));
        }
      });
    }
  }
};

}  // namespace

void CheckResourceSlice(absl::string_view version, Value slice, Problems& problems) {
  SliceRules(version, IsStored(slice), problems).Slice(slice.Find("spec"), "spec");
}

void CheckDeviceTaint(Value taint, const std::string& path, bool is_stored, Problems& problems) {
  SliceRules("v1", is_stored, problems).Taint(taint, path);
}

}  // namespace berth
