// SPDX-License-Identifier: Apache-2.0
// The arithmetic of what a pod requests.
//
// Quantities are added exactly and rounded once at the end: two containers of 500u make 1m, not 2m.
// And "requests 0" differs from "requests nothing". So lists of quantities are kept until the sum
// is done.
#include "values/pod_requests.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"

namespace berth {
namespace {

constexpr int64_t kDefaultMilliCpu = 100;
constexpr int64_t kDefaultMemoryBytes = 200 << 20;

using QuantityMap = google::protobuf::Map<std::string, api::Quantity>;

// A v1.ResourceList, by rising id.
class QuantityList {
 public:
  using Entry = std::pair<ResourceId, Quantity>;
  using Entries = absl::InlinedVector<Entry, 4>;

  const Quantity* Find(ResourceId id) const {
    const auto it = std::lower_bound(entries_.begin(), entries_.end(), id, HasLowerId);
    return it != entries_.end() && it->first == id ? &it->second : nullptr;
  }
  void Set(ResourceId id, const Quantity& quantity) {
    const auto it = std::lower_bound(entries_.begin(), entries_.end(), id, HasLowerId);
    if (it != entries_.end() && it->first == id) {
      it->second = quantity;
    } else {
      entries_.emplace(it, id, quantity);
    }
  }
  // Instead of what was there. No id twice.
  void Assign(Entries entries) {
    entries_ = std::move(entries);
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.first < b.first; });
  }
  void Add(const QuantityList& other) {
    Merge(other, [](Quantity& mine, const Quantity& quantity) { mine.Add(quantity); });
  }
  void Max(const QuantityList& other) {
    Merge(other, [](Quantity& mine, const Quantity& quantity) {
      if (mine < quantity) mine = quantity;
    });
  }
  void AddMissing(const QuantityList& other) {
    Merge(other, [](Quantity&, const Quantity&) {});
  }
  bool empty() const { return entries_.empty(); }

  ResourceVector Amounts() const {
    ResourceVector amounts;
    for (const auto& [id, quantity] : entries_) amounts.Set(id, AmountOf(id, quantity));
    return SchedulableResources(amounts);
  }
  friend auto begin(const QuantityList& list) { return list.entries_.begin(); }
  friend auto end(const QuantityList& list) { return list.entries_.end(); }

 private:
  static bool HasLowerId(const Entry& entry, ResourceId id) { return entry.first < id; }

  // combine(Quantity& mine, const Quantity& of_other) where both have one; else the one there is.
  template <class Combine>
  void Merge(const QuantityList& other, Combine combine) {
    const size_t size_before = entries_.size();
    size_t i = 0;
    for (const auto& [id, quantity] : other.entries_) {
      while (i < size_before && entries_[i].first < id) ++i;
      if (i < size_before && entries_[i].first == id) {
        combine(entries_[i].second, quantity);
      } else {
        entries_.emplace_back(id, quantity);
      }
    }
    const auto is_sorted = [&] {
      return size_before == 0 || entries_[size_before - 1].first < entries_[size_before].first;
    };
    if (entries_.size() == size_before || is_sorted()) return;
    std::inplace_merge(entries_.begin(),
                       entries_.begin() + static_cast<std::ptrdiff_t>(size_before), entries_.end(),
                       [](const Entry& a, const Entry& b) { return a.first < b.first; });
  }

  Entries entries_;
};

absl::Status ParseInto(const QuantityMap& map, absl::string_view path, QuantityList& list) {
  QuantityList::Entries entries;
  for (const auto& [name, message] : map) {
    absl::StatusOr<Quantity> quantity = Quantity::Parse(message.string());
    if (!quantity.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, "[", name, "]: ", quantity.status().message()));
    }
    entries.emplace_back(ResourceIdOf(name), *quantity);
  }
  list.Assign(std::move(entries));
  return absl::OkStatus();
}

struct ContainerRequests {
  bool is_init = false;
  bool is_sidecar = false;
  QuantityList spec;
  QuantityList effective;  // with what its status says of a resize
};

// Everything of a pod that the sums are made of.
struct ParsedPod {
  std::vector<ContainerRequests> containers;  // in pod order, then init containers
  QuantityList pod_level;                     // supported resources only
  QuantityList overhead;
};

bool IsPodLevelResource(ResourceId id) {
  return id == kCpu || id == kMemory || IsHugePageResourceName(ResourceName(id));
}

bool IsResizeInfeasible(const api::PodStatus& status) {
  for (const api::PodCondition& condition : status.conditions()) {
    if (condition.type() == "PodResizePending") return condition.reason() == "Infeasible";
  }
  return false;
}

// The status of the container of that name; names are shared with init containers, whose statuses
// win. Null if there is none or it says nothing of resources.
const api::ContainerStatus* FindResizeStatus(const api::PodStatus& status,
                                             const std::string& container) {
  const api::ContainerStatus* found = nullptr;
  for (const auto* statuses : {&status.container_statuses(), &status.init_container_statuses()}) {
    for (const api::ContainerStatus& candidate : *statuses) {
      if (candidate.name() == container) found = &candidate;
    }
  }
  return found != nullptr && found->has_resources() ? found : nullptr;
}

// With its length, so that no two lists of texts look the same.
void AppendTo(std::string& text, absl::string_view part) {
  absl::StrAppend(&text, part.size(), ":", part);
}

// In order of the names, as maps have none.
void AppendTo(std::string& text, const QuantityMap& map) {
  std::vector<std::pair<absl::string_view, absl::string_view>> entries;
  for (const auto& [name, quantity] : map) entries.emplace_back(name, quantity.string());
  std::sort(entries.begin(), entries.end());
  absl::StrAppend(&text, "{");
  for (const auto& [name, quantity] : entries) {
    AppendTo(text, name);
    AppendTo(text, quantity);
  }
  absl::StrAppend(&text, "}");
}

absl::Status ApplyResize(const api::Pod& pod, const std::string& name,
                         ContainerRequests& container) {
  const api::ContainerStatus* status = FindResizeStatus(pod.status(), name);
  if (status == nullptr) return absl::OkStatus();
  QuantityList actual, allocated;
  absl::Status parsed = ParseInto(status->resources().requests(),
                                  "status.containerStatuses.resources.requests", actual);
  if (!parsed.ok()) return parsed;
  parsed = ParseInto(status->allocated_resources(), "status.containerStatuses.allocatedResources",
                     allocated);
  if (!parsed.ok()) return parsed;
  if (IsResizeInfeasible(pod.status())) container.effective = QuantityList();
  container.effective.Max(actual);
  container.effective.Max(allocated);
  return absl::OkStatus();
}

absl::Status ParseContainers(const api::Pod& pod, bool init, std::vector<ContainerRequests>& out) {
  const auto& containers = init ? pod.spec().init_containers() : pod.spec().containers();
  for (int i = 0; i < containers.size(); ++i) {
    const api::Container& container = containers[i];
    ContainerRequests& parsed = out.emplace_back();
    parsed.is_init = init;
    parsed.is_sidecar = init && container.restart_policy() == "Always";
    if (!container.resources().requests().empty()) {
      absl::Status status = ParseInto(container.resources().requests(),
                                      absl::StrCat("spec.", init ? "initContainers" : "containers",
                                                   "[", i, "].resources.requests"),
                                      parsed.spec);
      if (!status.ok()) return status;
    }
    parsed.effective = parsed.spec;
    // A pod that has no node yet has nothing allocated; NodeResourcesFit does not look there
    // either. It is read all the same, since it counts as soon as the pod is assumed.
    const bool resizable = !init || parsed.is_sidecar;
    if (resizable) {
      ContainerRequests later;
      const bool counts = !pod.spec().node_name().empty();
      absl::Status status = ApplyResize(pod, container.name(), counts ? parsed : later);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ParsedPod> Parse(const api::Pod& pod) {
  ParsedPod parsed;
  for (const bool init : {false, true}) {
    absl::Status status = ParseContainers(pod, init, parsed.containers);
    if (!status.ok()) return status;
  }
  QuantityList pod_level;
  absl::Status status =
      ParseInto(pod.spec().resources().requests(), "spec.resources.requests", pod_level);
  if (!status.ok()) return status;
  for (const auto& [id, quantity] : pod_level) {
    if (IsPodLevelResource(id)) parsed.pod_level.Set(id, quantity);
  }
  status = ParseInto(pod.spec().overhead(), "spec.overhead", parsed.overhead);
  if (!status.ok()) return status;
  return parsed;
}

// kube-scheduler v1.35 component-helpers/resource/helpers.go AggregateContainerRequests.
// `list` says which requests of a container count, `missing` what a container requests of a
// resource it does not name.
QuantityList SumOfContainers(const ParsedPod& pod, QuantityList ContainerRequests::*list,
                             const QuantityList& missing) {
  QuantityList sum, running_sidecars, most_while_starting;
  for (const ContainerRequests& container : pod.containers) {
    QuantityList requests = container.*list;
    requests.AddMissing(missing);
    if (!container.is_init) {
      sum.Add(requests);
      continue;
    }
    if (container.is_sidecar) {
      sum.Add(requests);
      running_sidecars.Add(requests);
      most_while_starting.Max(running_sidecars);
    } else {
      requests.Add(running_sidecars);
      most_while_starting.Max(requests);
    }
  }
  sum.Max(most_while_starting);
  return sum;
}

enum class PodLevel { kCount, kIgnore };

// kube-scheduler v1.35 component-helpers/resource/helpers.go PodRequests.
QuantityList Total(const ParsedPod& pod, QuantityList ContainerRequests::*list, PodLevel pod_level,
                   const QuantityList& missing) {
  QuantityList total = SumOfContainers(pod, list, missing);
  if (pod_level == PodLevel::kCount) {
    for (const auto& [id, quantity] : pod.pod_level) total.Set(id, quantity);
  }
  total.Add(pod.overhead);
  return total;
}

}  // namespace

ResourceVector SchedulableResources(const ResourceVector& amounts) {
  ResourceVector result;
  amounts.ForEach([&](ResourceId id, int64_t amount) {
    if (id <= kEphemeralStorage || IsScalarResourceName(ResourceName(id))) result.Set(id, amount);
  });
  return result;
}

absl::StatusOr<PodRequests> ComputePodRequests(const api::Pod& pod) {
  absl::StatusOr<ParsedPod> parsed = Parse(pod);
  if (!parsed.ok()) return parsed.status();

  QuantityList defaults;
  defaults.Set(kCpu, Quantity::FromMilliValue(kDefaultMilliCpu));
  defaults.Set(kMemory, Quantity::FromValue(kDefaultMemoryBytes));

  PodRequests result;
  const QuantityList requests =
      Total(*parsed, &ContainerRequests::effective, PodLevel::kCount, QuantityList());
  result.requests = requests.Amounts();

  // kube-scheduler v1.35 framework/types.go CalculateResource: of a pod with pod-level requests,
  // only a resource that nothing of it requests gets defaults; and of the sum with defaults, only
  // cpu and memory count.
  QuantityList missing;
  for (const auto& [id, quantity] : defaults) {
    if (parsed->pod_level.empty() || requests.Find(id) == nullptr) missing.Set(id, quantity);
  }
  result.nonzero_requests = result.requests;
  if (!missing.empty()) {
    const ResourceVector nonzero =
        Total(*parsed, &ContainerRequests::effective, PodLevel::kCount, missing).Amounts();
    for (const ResourceId id : {kCpu, kMemory}) result.nonzero_requests.Set(id, nonzero.Get(id));
  }

  // kube-scheduler v1.35 noderesources/resource_allocation.go calculatePodResourceRequest: its
  // scorer for NodeResourcesFit never learns of the feature gates.
  result.nonzero_scoring_requests =
      Total(*parsed, &ContainerRequests::spec, PodLevel::kIgnore, defaults).Amounts();
  return result;
}

namespace {

struct QosSums {
  QuantityList requests, limits;
  bool all_limited = true;  // each container limits both cpu and memory
};

// Cpu and memory of `map`; what is not above 0 does not count.
absl::StatusOr<QuantityList> ParseForQos(const QuantityMap& map, absl::string_view path) {
  QuantityList list, counted;
  absl::Status status = ParseInto(map, path, list);
  if (!status.ok()) return status;
  for (const auto& [id, quantity] : list) {
    const bool positive = !quantity.IsZero() && !quantity.IsNegative();
    if ((id == kCpu || id == kMemory) && positive) counted.Set(id, quantity);
  }
  return counted;
}

absl::Status AddForQos(const api::ResourceRequirements& resources, absl::string_view path,
                       QosSums& sums) {
  absl::StatusOr<QuantityList> requests =
      ParseForQos(resources.requests(), absl::StrCat(path, ".requests"));
  if (!requests.ok()) return requests.status();
  absl::StatusOr<QuantityList> limits =
      ParseForQos(resources.limits(), absl::StrCat(path, ".limits"));
  if (!limits.ok()) return limits.status();
  sums.requests.Add(*requests);
  sums.limits.Add(*limits);
  if (limits->Find(kCpu) == nullptr || limits->Find(kMemory) == nullptr) sums.all_limited = false;
  return absl::OkStatus();
}

bool SameAmounts(const QuantityList& a, const QuantityList& b) {
  for (const ResourceId id : {kCpu, kMemory}) {
    const Quantity* in_a = a.Find(id);
    const Quantity* in_b = b.Find(id);
    if ((in_a == nullptr) != (in_b == nullptr)) return false;
    if (in_a != nullptr && *in_a != *in_b) return false;
  }
  return true;
}

}  // namespace

std::string ResizesOf(const api::PodStatus& status) {
  std::string text;
  bool says_anything = false;
  for (const auto* statuses : {&status.container_statuses(), &status.init_container_statuses()}) {
    for (const api::ContainerStatus& container : *statuses) {
      AppendTo(text, container.name());
      if (!container.has_resources()) continue;
      says_anything = true;
      AppendTo(text, container.resources().requests());
      AppendTo(text, container.allocated_resources());
    }
  }
  if (!says_anything) return "";
  if (IsResizeInfeasible(status)) absl::StrAppend(&text, "infeasible");
  return text;
}

// kubernetes v1.35 pkg/apis/core/v1/helper/qos/qos.go.
absl::StatusOr<QosClass> ComputeQosClass(const api::Pod& pod) {
  const std::string& given = pod.status().qos_class();
  if (given == "Guaranteed") return QosClass::kGuaranteed;
  if (given == "Burstable") return QosClass::kBurstable;
  if (given == "BestEffort") return QosClass::kBestEffort;

  QosSums sums;
  absl::Status status;
  if (pod.spec().has_resources()) {
    status = AddForQos(pod.spec().resources(), "spec.resources", sums);
  } else {
    for (const auto* containers : {&pod.spec().containers(), &pod.spec().init_containers()}) {
      for (const api::Container& container : *containers) {
        status.Update(
            AddForQos(container.resources(), absl::StrCat("container ", container.name()), sums));
      }
    }
  }
  if (!status.ok()) return status;
  if (sums.requests.empty() && sums.limits.empty()) return QosClass::kBestEffort;
  return sums.all_limited && SameAmounts(sums.requests, sums.limits) ? QosClass::kGuaranteed
                                                                     : QosClass::kBurstable;
}

}  // namespace berth
