// SPDX-License-Identifier: Apache-2.0
// Implementation of min_resources.h.
#include "plugins/coscheduling/min_resources.h"

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/resources.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"

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
int64_t LeftOf(const NodeInfo& node, const std::string& resource, const OwnUse& own) {
  if (resource == kPodsResource) {
    return node.allowed_pods() - (static_cast<int64_t>(node.pods().size()) - own.pods);
  }
  if (!Counts(node, resource)) return 0;
  const ResourceId id = ResourceIdOf(resource);
  return node.allocatable().Get(id) - (node.requested().Get(id) - own.requests.Get(id));
}

}  // namespace

std::string MinResourcesGap(const api::PodGroup& pod_group, const GroupMembers* members,
                            const NodeTable& nodes) {
  std::map<std::string, Need> needs;
  for (const auto& [name, message] : pod_group.spec().min_resources()) {
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(message.string());
    if (quantity.ok()) needs.emplace(name, ParseNeed(ResourceIdOf(name), *quantity));
  }
  needs.insert_or_assign(std::string(kPodsResource),
                         Need{pod_group.spec().min_member(), 0, Quantity::Format::kDecimalSI});

  const OwnUses own_uses = SumByNode(members);
  for (NodeRow row = 0; row < nodes.size() && !needs.empty(); ++row) {
    const NodeInfo& node = nodes.node(row);
    const auto found = own_uses.find(node.name().view());
    const OwnUse own = found == own_uses.end() ? OwnUse() : found->second;
    for (auto it = needs.begin(); it != needs.end();) {
      auto& [name, need] = *it;
      need.Subtract(LeftOf(node, name, own), name == "cpu" ? kMilli : 0);
      it = need.value <= 0 ? needs.erase(it) : std::next(it);
    }
  }
  if (needs.empty()) return "";
  return absl::StrCat("map[",
                      absl::StrJoin(needs, " ",
                                    [](std::string* out, const auto& need) {
                                      absl::StrAppend(out, need.first, ":", need.second.ToString());
                                    }),
                      "]");
}

}  // namespace berth
