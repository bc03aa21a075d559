// Implementation of priority_classes.h.
#include "engine/priority_classes.h"

#include <string>
#include <utility>

#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_v1.pb.h"

namespace berth {
namespace {

constexpr int32_t kSystemClusterCritical = 2'000'000'000;
constexpr int32_t kSystemNodeCritical = 2'000'001'000;

}  // namespace

struct PriorityClasses::Class {
  std::string name;
  int32_t value = 0;
  std::string preemption_policy = "PreemptLowerPriority";

  void Take(const api::PriorityClass& object) {
    name = object.metadata().name();
    value = object.value();
    if (!object.preemption_policy().empty()) preemption_policy = object.preemption_policy();
  }
};

bool PriorityClasses::Find(absl::string_view name, Class& found) const {
  if (const auto* object = objects_.Find<api::PriorityClass>("", name); object != nullptr) {
    found.Take(*object);
    return true;
  }
  // Every API server has these two.
  found.name = std::string(name);
  if (name == "system-cluster-critical") found.value = kSystemClusterCritical;
  if (name == "system-node-critical") found.value = kSystemNodeCritical;
  return found.value != 0;
}

// Of several the one with the lowest value.
bool PriorityClasses::FindGlobalDefault(Class& found) const {
  const api::PriorityClass* lowest = nullptr;
  for (const Object* object : objects_.List(Kind::kPriorityClass)) {
    const auto& candidate = object->As<api::PriorityClass>();
    if (!candidate.global_default()) continue;
    if (lowest == nullptr || candidate.value() < lowest->value()) lowest = &candidate;
  }
  if (lowest != nullptr) found.Take(*lowest);
  return lowest != nullptr;
}

std::shared_ptr<const api::Pod> PriorityClasses::Resolve(std::shared_ptr<const api::Pod> pod,
                                                         const api::Pod* before) const {
  const api::PodSpec& spec = pod->spec();
  if (spec.has_priority()) return pod;
  Class found;
  if (before != nullptr && before->spec().has_priority()) {
    found.name = before->spec().priority_class_name();
    found.value = before->spec().priority();
    found.preemption_policy = before->spec().preemption_policy();
  } else if (!spec.priority_class_name().empty()) {
    if (!Find(spec.priority_class_name(), found)) return pod;
  } else if (!FindGlobalDefault(found)) {
    return pod;
  }
  auto resolved = std::make_shared<api::Pod>(*pod);
  resolved->mutable_spec()->set_priority(found.value);
  if (!found.name.empty()) resolved->mutable_spec()->set_priority_class_name(found.name);
  if (!spec.has_preemption_policy()) {
    resolved->mutable_spec()->set_preemption_policy(found.preemption_policy);
  }
  return resolved;
}

}  // namespace berth
