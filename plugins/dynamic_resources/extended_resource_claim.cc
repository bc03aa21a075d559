// SPDX-License-Identifier: Apache-2.0
// Implementation of extended_resource_claim.h.
#include "plugins/dynamic_resources/extended_resource_claim.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/devices/device_allocator.h"

namespace berth {
namespace {

constexpr char kAnnotation[] = "resource.kubernetes.io/extended-resource-claim";

struct Container {
  const api::Container* message;
  bool is_short_lived;  // an init container that ends before the others begin
};

std::vector<Container> ContainersOf(const api::PodSpec& spec) {
  std::vector<Container> containers;
  for (const api::Container& init : spec.init_containers()) {
    containers.push_back({&init, init.restart_policy() != "Always"});
  }
  for (const api::Container& container : spec.containers()) {
    containers.push_back({&container, false});
  }
  return containers;
}

// More than any claim may ask for, and so few that sums do not overflow.
constexpr int64_t kTooMany = int64_t{1} << 40;

// At most kTooMany. Upstream (Quantity.AsInt64) takes an amount that int64 cannot hold, or that is
// not whole, for none, and then fails to bind the pod: here the pod is told.
int64_t AmountIn(const api::Container& container, const std::string& resource) {
  const auto& requests = container.resources().requests();
  const auto found = requests.find(resource);
  if (found == requests.end()) return 0;
  const absl::StatusOr<Quantity> amount = Quantity::Parse(found->second.string());
  return amount.ok() ? std::clamp<int64_t>(amount->Value(), 0, kTooMany) : 0;
}

// As an API server says it, which lets no such pod through; empty if the amount is whole.
std::string WhyNotWhole(const api::Container& container, const std::string& resource) {
  const auto& requests = container.resources().requests();
  const auto found = requests.find(resource);
  if (found == requests.end()) return "";
  const absl::StatusOr<Quantity> amount = Quantity::Parse(found->second.string());
  if (!amount.ok() || amount->Compare(Quantity::FromValue(amount->Value())) >= 0) return "";
  return absl::StrCat("container ", container.name(), ": ", resource, ": Invalid value: \"",
                      found->second.string(), "\": must be an integer");
}

// "container-C-request-R": the place of the container, and of the resource among its requests by
// name.
std::string RequestName(const api::Container& container, size_t place,
                        const std::string& resource) {
  const auto& requests = container.resources().requests();
  const auto before =
      absl::c_count_if(requests, [&](const auto& request) { return request.first < resource; });
  return absl::StrCat("container-", place, "-request-", before);
}

struct Request {
  std::string name;
  int64_t count = 0;
};

// createRequestsAndMappings, of one resource.
class RequestsOfResource {
 public:
  RequestsOfResource(absl::Span<const Container> containers, std::string resource)
      : containers_(containers), resource_(std::move(resource)), long_lived_(containers.size()) {
    for (size_t i = 0; i < containers.size(); ++i) {
      if (!containers[i].is_short_lived) Add(i, {}, long_lived_[i], of_long_lived_);
    }
    std::set<std::string> short_lived;  // names
    for (size_t i = 0; i < containers.size(); ++i) {
      if (!containers[i].is_short_lived) continue;
      Request request;
      Add(i, absl::MakeConstSpan(long_lived_).subspan(i), request, of_short_lived_);
      if (request.count == 0) continue;
      short_lived.insert(request.name);
      if (most_.count < request.count) most_ = request;
    }
    // One after another they use the devices of the one that needs the most.
    for (Mapping& mapping : of_short_lived_) {
      if (short_lived.contains(mapping.request)) mapping.request = most_.name;
    }
  }

  template <class Visit>
  void ForEachRequest(Visit visit) const {
    if (most_.count > 0) visit(most_);
    for (const Request& request : long_lived_) {
      if (request.count > 0) visit(request);
    }
  }
  template <class Visit>
  void ForEachMapping(Visit visit) const {
    for (const Mapping& mapping : of_long_lived_) visit(mapping.container, mapping.request);
    for (const Mapping& mapping : of_short_lived_) visit(mapping.container, mapping.request);
  }

 private:
  struct Mapping {
    std::string container, request;
  };

  // createResourceRequestAndMappings.
  void Add(size_t place, absl::Span<const Request> reusable, Request& request,
           std::vector<Mapping>& mappings) const {
    const api::Container& container = *containers_[place].message;
    const int64_t wanted = AmountIn(container, resource_);
    if (wanted == 0) return;
    int64_t sum = 0;
    for (const Request& other : reusable) {
      if (other.count == 0) continue;
      sum += other.count;
      mappings.push_back({container.name(), other.name});
      if (sum >= wanted) return;
    }
    request = {RequestName(container, place, resource_), wanted - sum};
    mappings.push_back({container.name(), request.name});
  }

  const absl::Span<const Container> containers_;
  const std::string resource_;
  std::vector<Request> long_lived_;  // by container; count 0: none
  Request most_;                     // of short-lived ones
  std::vector<Mapping> of_long_lived_, of_short_lived_;
};

}  // namespace

std::vector<ExtendedResource> ExtendedResourcesOf(const PodInfo& pod,
                                                  const ExtendedResourceClasses& classes) {
  std::vector<ExtendedResource> resources;
  bool is_any_backed = false;
  pod.requests().ForEach([&](ResourceId id, int64_t amount) {
    if (id <= kEphemeralStorage || amount <= 0 || !IsDeviceResourceName(ResourceName(id))) return;
    resources.push_back({id, classes.ClassOf(id)});
    is_any_backed |= resources.back().device_class != nullptr;
  });
  if (!is_any_backed) return {};
  absl::c_sort(resources, [](const ExtendedResource& a, const ExtendedResource& b) {
    return ResourceName(a.id) < ResourceName(b.id);
  });
  return resources;
}

bool RequestsDeviceResources(const PodInfo& pod) {
  bool has_any = false;
  pod.requests().ForEach([&](ResourceId id, int64_t) {
    has_any |= id > kEphemeralStorage && IsDeviceResourceName(ResourceName(id));
  });
  return has_any;
}

void SignExtendedResources(const PodInfo& pod, PodSignature& signature) {
  const bool has_any = RequestsDeviceResources(pod);
  signature.Add(int64_t{has_any});
  if (!has_any) return;
  for (const Container& container : ContainersOf(pod.spec())) {
    std::vector<std::pair<std::string, std::string>> requests;
    for (const auto& [name, amount] : container.message->resources().requests()) {
      requests.emplace_back(name, amount.string());
    }
    absl::c_sort(requests);
    signature.Add(container.message->name());
    signature.Add(int64_t{container.is_short_lived});
    signature.Add(static_cast<int64_t>(requests.size()));
    for (const auto& [name, amount] : requests) {
      signature.Add(name);
      signature.Add(amount);
    }
  }
}

Object MakeSpecialClaim(const PodInfo& pod) {
  auto claim = std::make_shared<api::ResourceClaim>();
  api::ObjectMeta& metadata = *claim->mutable_metadata();
  metadata.set_namespace_(std::string(pod.namespace_name().view()));
  metadata.set_name(kSpecialClaimName);
  metadata.set_generate_name(absl::StrCat(pod.name(), "-extended-resources-"));
  metadata.set_uid(absl::StrCat(kSpecialClaimName, "/", pod.uid()));
  (*metadata.mutable_annotations())[kAnnotation] = "true";
  api::OwnerReference& owner = *metadata.add_owner_references();
  owner.set_api_version("v1");
  owner.set_kind("Pod");
  owner.set_name(std::string(pod.name()));
  owner.set_uid(pod.uid());
  owner.set_controller(true);
  return Object::Of(std::move(claim));
}

bool IsInMemory(const Object& claim) { return claim.name() == kSpecialClaimName; }

absl::string_view SpecialClaimOwner(const api::ResourceClaim& claim) {
  const auto& annotations = claim.metadata().annotations();
  const auto found = annotations.find(kAnnotation);
  if (found == annotations.end() || found->second != "true") return "";
  for (const api::OwnerReference& owner : claim.metadata().owner_references()) {
    if (owner.controller()) return owner.uid();
  }
  return "";
}

std::optional<std::vector<bool>> LeftToDevices(const std::vector<ExtendedResource>& resources,
                                               const NodeInfo& node) {
  std::vector<bool> left(resources.size());
  for (size_t i = 0; i < resources.size(); ++i) {
    if (node.allocatable().Get(resources[i].id) > 0) continue;
    if (resources[i].device_class != nullptr) {
      left[i] = true;
      continue;
    }
    const bool is_listed = node.has_node() && node.spec().object->status().allocatable().contains(
                                                  std::string(ResourceName(resources[i].id)));
    if (!is_listed) return std::nullopt;
  }
  return left;
}

SpecialRequests MakeSpecialRequests(const api::PodSpec& pod,
                                    const std::vector<ExtendedResource>& resources,
                                    const std::vector<bool>& left, const Object& claim) {
  auto made = std::make_shared<api::ResourceClaim>(claim.As<api::ResourceClaim>());
  auto mappings = std::make_shared<api::PodExtendedResourceClaimStatus>();
  const std::vector<Container> containers = ContainersOf(pod);
  std::vector<api::DeviceRequest> requests;
  std::string problem;
  for (size_t i = 0; i < resources.size(); ++i) {
    if (!left[i]) continue;
    const std::string resource(ResourceName(resources[i].id));
    for (const Container& container : containers) {
      if (problem.empty()) problem = WhyNotWhole(*container.message, resource);
    }
    const RequestsOfResource of_resource(containers, resource);
    of_resource.ForEachRequest([&](const Request& request) {
      api::DeviceRequest& added = requests.emplace_back();
      added.set_name(request.name);
      api::ExactDeviceRequest& exactly = *added.mutable_exactly();
      exactly.set_device_class_name(resources[i].device_class->metadata().name());
      exactly.set_allocation_mode("ExactCount");
      exactly.set_count(request.count);
    });
    of_resource.ForEachMapping([&](const std::string& container, const std::string& request) {
      api::ContainerExtendedResourceRequest& added = *mappings->add_request_mappings();
      added.set_container_name(container);
      added.set_resource_name(resource);
      added.set_request_name(request);
    });
  }
  absl::c_sort(requests, [](const api::DeviceRequest& a, const api::DeviceRequest& b) {
    return a.name() < b.name();
  });
  int64_t devices = 0;
  for (api::DeviceRequest& request : requests) {
    devices += request.exactly().count();
    *made->mutable_spec()->mutable_devices()->add_requests() = std::move(request);
  }
  // Upstream fails the attempt with this text, and so tries the pod again and again.
  if (problem.empty() && devices > kMaxDevicesOfClaim) {
    problem = absl::StrCat("claim ", claim.key(), ": number of requested devices ", devices,
                           " exceeds the claim limit of ", kMaxDevicesOfClaim);
  }
  return {std::move(made), std::move(mappings), std::move(problem)};
}

}  // namespace berth
