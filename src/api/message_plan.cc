// SPDX-License-Identifier: Apache-2.0
// Works out message plans: see message_plan.h.
#include "api/message_plan.h"

#include <google/protobuf/wire_format.h>

#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_split.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/check.h"
#include "berth/mutex.h"

namespace berth {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

uint32_t TagOf(const FieldDescriptor* field) {
  return google::protobuf::internal::WireFormat::MakeTag(field);
}

class PlanTable {
 public:
  const MessagePlan& PlanOf(const Descriptor* descriptor) {
    MutexLock lock(mutex_);
    return *Make(descriptor);
  }

 private:
  // Makes the plans of all the types below `descriptor` with it.
  const MessagePlan* Make(const Descriptor* descriptor) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (const auto it = plans_.find(descriptor); it != plans_.end()) return it->second.get();
    MessagePlan* const plan =
        plans_.emplace(descriptor, std::make_unique<MessagePlan>()).first->second.get();
    plan->descriptor = descriptor;
    AddFields(descriptor, 0, *plan);
    for (const auto& field : plan->fields) {
      plan->by_name.emplace(field->name, field.get());
      plan->api_names.push_back(field->name);
    }
    return plan;
  }

  void AddFields(const Descriptor* descriptor, uint32_t wrapper_tag, MessagePlan& plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::string& others = descriptor->options().GetExtension(api::other_fields);
    for (const absl::string_view name : absl::StrSplit(others, ' ', absl::SkipEmpty())) {
      plan.api_names.emplace_back(name);
    }
    for (int i = 0; i < descriptor->field_count(); ++i) {
      const FieldDescriptor* field = descriptor->field(i);
      if (IsInlined(field)) {
        AddFields(field->message_type(), TagOf(field), plan);
        continue;
      }
      auto entry = std::make_unique<FieldPlan>();
      entry->field = field;
      entry->name = field->json_name();
      entry->tag = TagOf(field);
      entry->map = field->is_map();
      entry->repeated = field->is_repeated() && !field->is_map();
      entry->wrapper_tag = wrapper_tag;
      entry->values = FindFieldValues(descriptor->name(), entry->name);
      entry->resources = FindResourceField(descriptor->name(), entry->name);
      const FieldDescriptor* value = field;
      if (field->is_map()) {
        value = field->message_type()->map_value();
        entry->map_value_tag = TagOf(value);
      }
      entry->form = FormOf(value);
      if (entry->form == ValueForm::kMessage || entry->form == ValueForm::kLabelSelector) {
        entry->message = Make(value->message_type());
      }
      if (IsRequiredField(descriptor->name(), entry->name)) plan.required.push_back(entry.get());
      plan.fields.push_back(std::move(entry));
    }
  }

  Mutex mutex_;
  absl::flat_hash_map<const Descriptor*, std::unique_ptr<MessagePlan>> plans_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace

bool IsInlined(const FieldDescriptor* field) { return field->options().GetExtension(api::inlined); }

ValueForm FormOf(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return ValueForm::kString;
    case FieldDescriptor::CPPTYPE_INT32:
      return ValueForm::kInt32;
    case FieldDescriptor::CPPTYPE_INT64:
      return ValueForm::kInt64;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return ValueForm::kDouble;
    case FieldDescriptor::CPPTYPE_BOOL:
      return ValueForm::kBool;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
    default:
      BERTH_CHECK(false) << field->full_name() << " is of a type that the API does not use";
  }
  const Descriptor* const type = field->message_type();
  if (type == api::Quantity::descriptor()) return ValueForm::kQuantity;
  if (type == api::IntOrString::descriptor()) return ValueForm::kIntOrString;
  if (type == api::Time::descriptor()) return ValueForm::kTime;
  if (type == api::MicroTime::descriptor()) return ValueForm::kMicroTime;
  if (type == api::RawExtension::descriptor()) return ValueForm::kRawExtension;
  if (type == api::LabelSelector::descriptor()) return ValueForm::kLabelSelector;
  return ValueForm::kMessage;
}

const MessagePlan& PlanOf(const Descriptor* descriptor) {
  static PlanTable& table = *new PlanTable();
  return table.PlanOf(descriptor);
}

}  // namespace berth
