// SPDX-License-Identifier: Apache-2.0
// How the messages of a type are read and written: names, wire tags and special forms of its
// fields, worked out of the descriptor once.
#ifndef BERTH_SRC_API_MESSAGE_PLAN_H_
#define BERTH_SRC_API_MESSAGE_PLAN_H_

#include <google/protobuf/descriptor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "api/field_values.h"

namespace berth {

struct MessagePlan;

// What a single value of a field is in a document.
enum class ValueForm : uint8_t {
  kString,
  kInt32,
  kInt64,
  kDouble,
  kBool,
  kMessage,
  // Messages with a form of their own.
  kQuantity,
  kIntOrString,
  kTime,
  kMicroTime,
  kRawExtension,   // any value
  kLabelSelector,  // a message, checked as a selector
};

struct FieldPlan {
  const google::protobuf::FieldDescriptor* field;
  std::string name;                      // as documents spell it
  uint32_t tag;                          // on the wire
  bool repeated;                         // a list
  bool map;                              // a map from text
  ValueForm form;                        // of the value, of each element, or of the map's values
  const MessagePlan* message = nullptr;  // for kMessage and kLabelSelector
  uint32_t map_value_tag = 0;            // of the value in a map's entry
  uint32_t wrapper_tag = 0;              // of the inlined message that the field is in; 0: none
  const FieldValues* values = nullptr;   // what the API takes; null: any text
  const ResourceField* resources = nullptr;  // of a map of resources; null: any keys
};

struct MessagePlan {
  const google::protobuf::Descriptor* descriptor;
  absl::flat_hash_map<absl::string_view, const FieldPlan*> by_name;
  std::vector<std::unique_ptr<FieldPlan>> fields;
  std::vector<const FieldPlan*> required;  // those of RequiredFields()
  // All fields that the API has, those of other_fields included; "*" among them if it has more.
  std::vector<std::string> api_names;

  const FieldPlan* Find(absl::string_view name) const {
    const auto it = by_name.find(name);
    return it == by_name.end() ? nullptr : it->second;
  }
};

// The plan of a generated type; lives until the process ends. Threads: any.
const MessagePlan& PlanOf(const google::protobuf::Descriptor* descriptor);

// The form of a value of `field`.
ValueForm FormOf(const google::protobuf::FieldDescriptor* field);

// Whether the fields of `field`'s message stand in its place.
bool IsInlined(const google::protobuf::FieldDescriptor* field);

}  // namespace berth

#endif  // BERTH_SRC_API_MESSAGE_PLAN_H_
