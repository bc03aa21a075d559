// SPDX-License-Identifier: Apache-2.0
// Implementation of fields_read.h.
#include "berth/devices/fields_read.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/api/resource_v1.pb.h"
#include "devices/compiled_selector.h"
#include "devices/offered_slice.h"

namespace berth {
namespace {

void SortAndUnite(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

void AddSelectors(const std::vector<std::shared_ptr<const CompiledSelector>>& selectors,
                  FieldsRead& fields) {
  for (const auto& selector : selectors) {
    if (!selector->selector().ok()) continue;  // an error, whatever the device
    for (const cel::PathRead& path : selector->selector()->paths_read()) {
      const absl::string_view first = path.empty() ? absl::string_view() : path.front();
      // Which nodes have devices that claims share is known without a look at these.
      if (first == "driver" || first == "allowMultipleAllocations") continue;
      if (path.size() < 3) {
        fields.all = true;
        continue;
      }
      auto& names = first == "attributes" ? fields.attributes : fields.capacities;
      names.push_back(absl::StrCat(path[1], "/", path[2]));
    }
  }
}

// Writes parts of which none is the beginning of another.
class Text {
 public:
  void Add(uint32_t number) { text_.append(reinterpret_cast<const char*>(&number), sizeof number); }
  void Add(absl::string_view part) {
    Add(static_cast<uint32_t>(part.size()));
    text_.append(part.data(), part.size());
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

template <class Field>
void AddNames(const google::protobuf::Map<std::string, Field>& fields,
              std::vector<std::string>& names) {
  for (const auto& [name, field] : fields) names.push_back(name);
  std::sort(names.begin(), names.end());
}

std::string ValueOf(const api::DeviceAttribute& attribute) { return attribute.SerializeAsString(); }
std::string ValueOf(const api::DeviceCapacity& capacity) { return capacity.value().string(); }

template <class Field>
void AddField(const google::protobuf::Map<std::string, Field>& fields, const std::string& name,
              Text& text) {
  const auto found = fields.find(name);
  if (found == fields.end()) return text.Add(uint32_t{0});
  text.Add(uint32_t{1});
  text.Add(ValueOf(found->second));
}

// As a driver writes "domain/name", or "name" if the domain is its own.
template <class Field>
void AddFields(const google::protobuf::Map<std::string, Field>& fields,
               const std::vector<std::string>& names, Text& text) {
  for (const std::string& name : names) {
    AddField(fields, name, text);
    AddField(fields, name.substr(name.find('/') + 1), text);
  }
}

template <class Field>
void AddAllFields(const google::protobuf::Map<std::string, Field>& fields, Text& text) {
  std::vector<std::string> names;
  AddNames(fields, names);
  text.Add(static_cast<uint32_t>(names.size()));
  for (const std::string& name : names) {
    text.Add(name);
    text.Add(ValueOf(fields.at(name)));
  }
}

// One that cannot be read makes each selector an error.
void AddVersions(const api::SliceDevice& device, Text& text) {
  std::vector<absl::string_view> versions;
  for (const auto& [name, attribute] : device.attributes()) {
    if (attribute.has_version()) versions.push_back(attribute.version());
  }
  std::sort(versions.begin(), versions.end());
  text.Add(static_cast<uint32_t>(versions.size()));
  for (const absl::string_view version : versions) text.Add(version);
}

bool IsComparable(const NodePool& pool) {
  return pool.counters.empty() &&
         std::all_of(pool.slices.begin(), pool.slices.end(), [](const auto& slice) {
           // What an API server lets through has one term at most: others may be an error.
           return slice->spec().node_selector().node_selector_terms_size() <= 1 &&
                  std::all_of(slice->devices().begin(), slice->devices().end(),
                              [](const OfferedDevice& device) {
                                return !device.allows_multiple && device.taints.empty();
                              });
         });
}

}  // namespace

FieldsRead FieldsReadBy(absl::Span<const ClaimToAllocate> claims) {
  FieldsRead fields;
  for (const ClaimToAllocate& claim : claims) {
    for (const ClaimedRequest& request : claim.requests) {
      for (const DeviceRequirement& requirement : request.alternatives) {
        AddSelectors(requirement.class_selectors, fields);
        AddSelectors(requirement.selectors, fields);
      }
    }
    for (const AttributeConstraint& constraint : claim.constraints) {
      fields.attributes.push_back(constraint.attribute);
    }
  }
  SortAndUnite(fields.attributes);
  SortAndUnite(fields.capacities);
  return fields;
}

std::optional<std::string> DevicesAsRead(const FieldsRead& fields, const DeviceInventory& inventory,
                                         absl::FunctionRef<bool(const DeviceId&)> is_held,
                                         Symbol node_name, const LabelSet& node_labels) {
  if (inventory.features().consumable_capacity) return std::nullopt;
  const absl::StatusOr<std::vector<NodePool>> pools = inventory.PoolsOf(node_name, node_labels);
  if (!pools.ok()) return std::nullopt;
  Text text;
  for (const NodePool& pool : *pools) {
    if (!IsComparable(pool)) return std::nullopt;
    text.Add(pool.driver.view());
    text.Add((pool.incomplete ? 1U : 0U) | (pool.invalid ? 2U : 0U));
    uint32_t devices = 0;
    for (const auto& slice : pool.slices) devices += slice->devices().size();
    text.Add(devices);
    for (const auto& slice : pool.slices) {
      for (const OfferedDevice& device : slice->devices()) {
        const api::SliceDevice& message = *device.message;
        text.Add((is_held(device.id) ? 1U : 0U) | (device.has_binding_conditions ? 2U : 0U) |
                 (device.consumes_counters ? 4U : 0U) |
                 (slice->HasFor(device, node_name, node_labels) ? 8U : 0U));
        if (fields.all) {
          AddAllFields(message.attributes(), text);
          AddAllFields(message.capacity(), text);
          continue;
        }
        AddVersions(message, text);
        AddFields(message.attributes(), fields.attributes, text);
        AddFields(message.capacity(), fields.capacities, text);
      }
    }
  }
  return text.Take();
}

}  // namespace berth
