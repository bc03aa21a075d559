// SPDX-License-Identifier: Apache-2.0
// Implementation of quotas_of_objects.h.
#include "quota/quotas_of_objects.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/amounts.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/framework/node_info.h"
#include "berth/quota/quota_devices.h"
#include "berth/quota/quota_spec.h"
#include "berth/quota/quota_tree.h"

namespace berth {
namespace {

// Whether devices of one of the classes may stand for the resource.
bool MayBeDevices(const QuotaLine& line, const std::vector<Object>& objects) {
  if (line.counts != QuotaLine::Counts::kResource) return false;
  const absl::string_view name = ResourceName(line.resource);
  return absl::StartsWith(name, kDeviceClassResourcePrefix) ||
         absl::c_any_of(objects, [name](const Object& object) {
           return object.kind() == Kind::kDeviceClass &&
                  object.As<api::DeviceClass>().spec().extended_resource_name() == name;
         });
}

// By line, what the nodes have, where that is known.
QuotaAmounts CapacityOf(const std::vector<Object>& objects, absl::Span<const QuotaLine> lines) {
  QuotaAmounts capacity;
  std::vector<const Object*> slices;
  for (const Object& object : objects) {
    if (object.kind() == Kind::kResourceSlice) slices.push_back(&object);
  }
  QuotaDevices devices;
  devices.Read(slices, lines);
  std::vector<QuotaLine> known;
  for (const QuotaLine& line : lines) {
    if (line.has_known_capacity() && !MayBeDevices(line, objects)) known.push_back(line);
  }
  for (const Object& object : objects) {
    if (object.kind() != Kind::kNode) continue;
    const auto node = NodeSpec::Create(object.Share<api::Node>());
    if (!node.ok()) continue;
    PodAmounts amounts;
    amounts.resources = (*node)->allocatable;
    amounts.gpu_milli = GpuMilliOf((*node)->allocatable);
    devices.AddGpus(Symbol::Intern(object.name()), amounts);
    for (const QuotaLine& line : known) {
      const int64_t more = line.OfNode((*node)->labels, amounts, (*node)->allowed_pods);
      capacity.Set(line, SaturatingAdd(capacity.Find(line).value_or(0), more));
    }
  }
  return capacity;
}

// Namespaces that one quota selects by their labels and an older one as well, where no selector of
// pods tells the two apart. `specs` in the order of their age.
void CheckNamespaces(const std::vector<Object>& objects, absl::Span<const QuotaSpec> specs,
                     Problems& problems) {
  for (const Object& object : objects) {
    if (object.kind() != Kind::kNamespace) continue;
    const Symbol name = Symbol::Intern(object.name());
    const LabelSet labels = LabelSet::FromMap(object.As<api::Namespace>().metadata().labels());
    const auto selects = [&](const QuotaSpec& spec) {
      return absl::c_linear_search(spec.namespaces, name) ||
             (spec.namespace_selector.has_value() && spec.namespace_selector->Matches(labels));
    };
    const QuotaSpec* first = nullptr;
    for (const QuotaSpec& spec : specs) {
      if (spec.is_elastic_quota || !selects(spec)) continue;
      if (first == nullptr) {
        first = &spec;
        continue;
      }
      const bool is_told =
          spec.namespace_selector == first->namespace_selector ||
          !(spec.namespace_selector.has_value() || first->namespace_selector.has_value());
      if (is_told || spec.pod_selector != first->pod_selector) continue;
      problems.AddWarning(spec.where, spec.subject(),
                          absl::StrCat("selects the pods of namespace ", name.view(), ", as ",
                                       first->subject(), " does, which is older and has them"));
    }
  }
}

// Selectors of namespaces that match none of those among the objects, if there are any.
void CheckSelectorsOfNamespaces(const std::vector<Object>& objects,
                                absl::Span<const QuotaSpec> specs, Problems& problems) {
  std::vector<LabelSet> namespaces;
  for (const Object& object : objects) {
    if (object.kind() != Kind::kNamespace) continue;
    namespaces.push_back(LabelSet::FromMap(object.As<api::Namespace>().metadata().labels()));
  }
  if (namespaces.empty()) return;
  for (const QuotaSpec& spec : specs) {
    const std::optional<LabelSelector>& selector = spec.namespace_selector;
    if (!selector.has_value() || *selector == LabelSelector::Nothing()) continue;
    if (absl::c_any_of(namespaces, [&](const LabelSet& l) { return selector->Matches(l); }))
      continue;
    problems.AddWarning(spec.where, spec.subject(),
                        absl::StrCat("spec.namespaceSelector: matches none of the ",
                                     namespaces.size(), " namespaces that are given"));
  }
}

// Namespaces that a quota names, and that are not among the objects, if there are any; nor has a
// pod among them one of that name.
void CheckNamesOfNamespaces(const std::vector<Object>& objects, absl::Span<const QuotaSpec> specs,
                            Problems& problems) {
  std::set<absl::string_view> known;
  bool any_given = false;
  for (const Object& object : objects) {
    if (object.kind() == Kind::kPod) known.insert(object.namespace_name());
    if (object.kind() != Kind::kNamespace) continue;
    known.insert(object.name());
    any_given = true;
  }
  if (!any_given) return;
  for (const QuotaSpec& spec : specs) {
    if (spec.is_elastic_quota) continue;
    for (const Symbol name : spec.namespaces) {
      if (known.contains(name.view())) continue;
      problems.AddWarning(spec.where, spec.subject(),
                          absl::StrCat("spec.namespaces: there is no namespace \"", name.view(),
                                       "\" among those that are given"));
    }
  }
}

// Pods whose label names a quota that does not exist: they are of another one, or of none. Told of
// the first for each name.
void CheckPodsNames(const std::vector<Object>& objects, absl::Span<const QuotaSpec> specs,
                    Problems& problems) {
  std::set<absl::string_view> clusters, all;  // ElasticQuotas without their namespace
  for (const QuotaSpec& spec : specs) {
    absl::string_view name = spec.name;
    if (spec.is_elastic_quota) {
      name.remove_prefix(name.find('/') + 1);
    } else {
      clusters.insert(name);
    }
    all.insert(name);
  }
  std::map<std::pair<absl::string_view, std::string>, std::pair<const Object*, int>> unknown;
  for (const Object& object : objects) {
    if (object.kind() != Kind::kPod) continue;
    object.packed()->ReadOwn([&](const api::Pod& pod) {  // As() would keep what it unpacks
      const auto& labels = pod.metadata().labels();
      for (const absl::string_view label :
           {kQuotaLabel, kKoordinatorQuotaLabel, kAlibabaQuotaLabel}) {
        const auto named = labels.find(std::string(label));
        const auto& known = label == kQuotaLabel ? clusters : all;
        if (named == labels.end() || known.contains(named->second)) continue;
        ++unknown.try_emplace({label, named->second}, &object, 0).first->second.second;
      }
    });
  }
  for (const auto& [name, pods] : unknown) {
    problems.AddWarning(
        pods.first->where(), pods.first->ToString(),
        absl::StrCat("metadata.labels[\"", name.first, "\"]: there is no quota \"", name.second,
                     "\", so the label does not count",
                     pods.second == 1 ? "" : absl::StrCat("; of ", pods.second, " pods")));
  }
}

// Where the field stands with which the message begins: "spec.min[gpu]: …", "spec.min[gpu] is …".
SourceLocation PlaceOf(const Problem& problem, const Manifests& manifests) {
  const std::string object = absl::StrCat(problem.where.ToString(), " ");
  const absl::string_view message = problem.message;
  constexpr size_t kLongestField = 512;
  for (size_t end = std::min(message.size(), kLongestField); end > 0; --end) {
    if (end < message.size() && !absl::StrContains(": [", message[end])) continue;
    const auto place =
        manifests.fields_of_quotas.find(absl::StrCat(object, message.substr(0, end)));
    if (place != manifests.fields_of_quotas.end()) return place->second;
  }
  if (!absl::StrContains(message, "its parent")) return problem.where;
  const auto parent = manifests.fields_of_quotas.find(object + "spec.parent");
  return parent == manifests.fields_of_quotas.end() ? problem.where : parent->second;
}

}  // namespace

Problems CheckQuotasOf(const Manifests& manifests) {
  std::vector<const Object*> quotas;
  for (const Object& object : manifests.objects) {
    if (object.kind() == Kind::kElasticQuota || object.kind() == Kind::kClusterQuota) {
      quotas.push_back(&object);
    }
  }
  for (const Object& object : manifests.quotas_in_part) quotas.push_back(&object);
  Problems problems, placed;
  if (quotas.empty()) return placed;
  const std::vector<QuotaSpec> specs = ReadQuotas(quotas, problems);
  // Nodes may be among what could not be read.
  QuotaAmounts capacity;
  if (manifests.problems.ok()) capacity = CapacityOf(manifests.objects, QuotaTree(specs).lines());
  CheckQuotas(specs, capacity, problems);
  CheckNamespaces(manifests.objects, specs, problems);
  CheckSelectorsOfNamespaces(manifests.objects, specs, problems);
  CheckNamesOfNamespaces(manifests.objects, specs, problems);
  CheckPodsNames(manifests.objects, specs, problems);
  std::vector<std::string> classes;
  for (const Object& object : manifests.objects) {
    if (object.kind() == Kind::kDeviceClass) classes.emplace_back(object.name());
  }
  CheckClassesOfLines(specs, classes, problems);
  for (Problem problem : problems) {
    const bool is_told = absl::c_any_of(manifests.problems, [&](const Problem& told) {
      return told.subject == problem.subject && told.message == problem.message;
    });
    if (is_told) continue;
    problem.where = PlaceOf(problem, manifests);
    placed.Add(std::move(problem));
  }
  return placed;
}

}  // namespace berth
