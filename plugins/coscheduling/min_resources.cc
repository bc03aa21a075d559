// SPDX-License-Identifier: Apache-2.0
// Implementation of min_resources.h.
#include "plugins/coscheduling/min_resources.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/amounts.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/resources.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/devices/extended_resource_classes.h"

namespace berth {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// Saturates.
int64_t TimesTen(int64_t value) {
  if (value > kMost / 10) return kMost;
  return value < -kMost / 10 ? -kMost : value * 10;
}

// A need as value * 10^scale, because the text shows both: scheduler-plugins prints Go's
// resource.Quantity with %v, which is {{value scale} {<nil>} cached-string format}. Subtracting
// moves to the finer scale of the two, as apimachinery's int64Amount does.
struct Need {
  int64_t value;
  int scale;
  Quantity::Format format;

  void Subtract(int64_t amount, int amount_scale) {
    if (amount == 0) return;
    for (; scale > amount_scale; --scale) value = TimesTen(value);
    for (; amount_scale > scale; --amount_scale) amount = TimesTen(amount);
    if (__builtin_sub_overflow(value, amount, &value)) value = amount < 0 ? kMost : -kMost;
  }

  std::string ToString() const {
    absl::string_view name = "DecimalSI";
    if (format == Quantity::Format::kBinarySI) name = "BinarySI";
    if (format == Quantity::Format::kDecimalExponent) name = "DecimalExponent";
    return absl::StrCat("{{", value, " ", scale, "} {<nil>}  ", name, "}");
  }
};

// Minimal digits and scale of what is written, as apimachinery parses it: "1.5" is 15 * 10^-1.
Need ParseNeed(ResourceId resource, const Quantity& quantity) {
  Need need{quantity.Value(), 0, quantity.format()};
  if (resource == kCpu && quantity != Quantity::FromValue(quantity.Value())) {
    need.value = quantity.MilliValue();
    need.scale = -3;
  }
  return need;
}

constexpr int kMilli = -3;

// What the group's own pods take, by node name.
struct OwnUse {
  int64_t pods = 0;
  ResourceVector requests;
};
using OwnUses = absl::flat_hash_map<absl::string_view, OwnUse>;

OwnUses SumByNode(const GroupMembers* members) {
  OwnUses uses;
  if (members == nullptr) return uses;
  for (const GroupMember& member : members->members()) {
    if (member.node_name.empty()) continue;
    OwnUse& use = uses[member.node_name];
    ++use.pods;
    use.requests.Add(member.pod->requests());
  }
  return uses;
}

// scheduler-plugins core.go getNodeResource: beyond cpu, memory and ephemeral storage, what the
// node lists counts, and nothing else, not even what pods hold there of what it does not list.
bool Counts(const NodeInfo& node, const std::string& resource) {
  return ResourceIdOf(resource) <= kEphemeralStorage ||
         (IsScalarResourceName(resource) &&
          node.spec().object->status().allocatable().contains(resource));
}

// What the node has left of it for a group whose pods take `own`; in thousandths of "cpu".
// `device_class`: of the devices that stand for it, or null.
int64_t LeftOf(const NodeInfo& node, const std::string& resource, const OwnUse& own,
               const ExtendedResourceClasses* classes, const api::DeviceClass* device_class) {
  if (resource == kPodsResource) {
    return node.allowed_pods() - (static_cast<int64_t>(node.pods().size()) - own.pods);
  }
  const ResourceId id = ResourceIdOf(resource);
  if (device_class != nullptr && node.allocatable().Get(id) <= 0) {
    const DevicesOfClass devices = classes->Count(*device_class, node);
    if (devices.any_is_shared) return kMost;
    return devices.all - devices.taken + own.requests.Get(id);
  }
  if (!Counts(node, resource)) return 0;
  return node.allocatable().Get(id) - (node.requested().Get(id) - own.requests.Get(id));
}

}  // namespace

std::string MinResourcesGap(const api::PodGroup& pod_group, const GroupMembers* members,
                            const NodeTable& nodes, const ExtendedResourceClasses* classes) {
  std::map<std::string, Need> needs;
  for (const auto& [name, message] : pod_group.spec().min_resources()) {
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(message.string());
    if (quantity.ok()) needs.emplace(name, ParseNeed(ResourceIdOf(name), *quantity));
  }
  needs.insert_or_assign(std::string(kPodsResource),
                         Need{pod_group.spec().min_member(), 0, Quantity::Format::kDecimalSI});

  struct Backing {
    std::shared_ptr<const api::DeviceClass> device_class;
    int64_t needed = 0, left = 0;  // of all nodes, also where they list the resource
  };
  std::map<std::string, Backing> backed;
  for (const auto& [name, need] : needs) {
    if (classes == nullptr) break;
    auto device_class = classes->ClassOf(ResourceIdOf(name));
    if (device_class != nullptr) backed[name] = {std::move(device_class), need.value, 0};
  }
  const OwnUses own_uses = SumByNode(members);
  for (NodeRow row = 0; row < nodes.size() && !needs.empty(); ++row) {
    const NodeInfo& node = nodes.node(row);
    const auto found = own_uses.find(node.name().view());
    const OwnUse own = found == own_uses.end() ? OwnUse() : found->second;
    for (auto it = needs.begin(); it != needs.end();) {
      auto& [name, need] = *it;
      const auto backing = backed.find(name);
      const auto* const device_class =
          backing == backed.end() ? nullptr : backing->second.device_class.get();
      const int64_t left = LeftOf(node, name, own, classes, device_class);
      if (device_class != nullptr) {
        backing->second.left = SaturatingAdd(backing->second.left, left);
      }
      need.Subtract(left, name == "cpu" ? kMilli : 0);
      it = need.value <= 0 ? needs.erase(it) : std::next(it);
    }
  }
  if (needs.empty()) return "";
  std::string gap =
      absl::StrCat("map[",
                   absl::StrJoin(needs, " ",
                                 [](std::string* out, const auto& need) {
                                   absl::StrAppend(out, need.first, ":", need.second.ToString());
                                 }),
                   "]");
  for (const auto& [name, backing] : backed) {
    if (!needs.contains(name)) continue;
    absl::StrAppend(&gap, "; minResources asks for ", backing.needed, " ", name, ", and ",
                    std::max<int64_t>(0, backing.left),
                    " are free, counting devices of DeviceClass ",
                    backing.device_class->metadata().name());
  }
  return gap;
}

}  // namespace berth
