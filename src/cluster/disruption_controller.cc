// SPDX-License-Identifier: Apache-2.0
// Implementation of disruption_controller.h.
#include "cluster/disruption_controller.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/symbol.h"
#include "berth/api/time.h"
#include "table/label_index.h"

namespace berth {
namespace {

// disruption.go DeletionTimeout: for how long a pod that was to be evicted is expected to go.
constexpr absl::Duration kDeletionTimeout = absl::Minutes(2);

// apimachinery util/intstr GetScaledValueFromIntOrPercent, rounded up. Nothing if it is neither a
// number nor a percentage.
std::optional<int64_t> Scaled(const api::IntOrString& value, int64_t total) {
  if (value.type() == 0) return value.int_val();
  absl::string_view text = value.str_val();
  int32_t percent;
  if (!absl::ConsumeSuffix(&text, "%") || !absl::SimpleAtoi(text, &percent)) return std::nullopt;
  const __int128 parts = __int128{total} * percent;
  return static_cast<int64_t>((parts + (parts > 0 ? 99 : 0)) / 100);
}

int32_t Clamped(int64_t number) {
  return static_cast<int32_t>(std::clamp<int64_t>(number, 0, std::numeric_limits<int32_t>::max()));
}

bool IsHealthy(const api::Pod& own) {
  if (own.spec().node_name().empty() || HasEnded(own.status())) return false;
  if (own.metadata().has_deletion_timestamp()) return false;
  for (const api::PodCondition& condition : own.status().conditions()) {
    if (condition.type() == "Ready") return condition.status() == "True";
  }
  return true;
}

const api::OwnerReference* ControllerOf(const api::ObjectMeta& meta) {
  for (const api::OwnerReference& owner : meta.owner_references()) {
    if (owner.controller()) return &owner;
  }
  return nullptr;
}

// They have no scale subresource.
bool HasScale(const api::OwnerReference& controller) {
  return controller.kind() != "DaemonSet" && controller.kind() != "Job" &&
         controller.kind() != "Node";
}

bool SameNumbers(const api::PodDisruptionBudgetStatus& a, const api::PodDisruptionBudgetStatus& b) {
  return a.disruptions_allowed() == b.disruptions_allowed() &&
         a.current_healthy() == b.current_healthy() && a.desired_healthy() == b.desired_healthy() &&
         a.expected_pods() == b.expected_pods() &&
         a.observed_generation() == b.observed_generation() &&
         a.disrupted_pods().size() == b.disrupted_pods().size();
}

}  // namespace

void SetBudgetStatus(const api::PodDisruptionBudgetSpec& spec, const BudgetPods& selected,
                     api::PodDisruptionBudgetStatus& status) {
  std::optional<int64_t> expected = 0, desired = 0;
  const auto by_scale = [&](const api::IntOrString& value) {
    expected = selected.has_scale ? std::optional<int64_t>(selected.scale) : std::nullopt;
    return expected.has_value() ? Scaled(value, *expected) : std::nullopt;
  };
  if (spec.has_max_unavailable()) {
    desired = by_scale(spec.max_unavailable());
    if (desired.has_value()) desired = *expected - *desired;
  } else if (spec.has_min_available() && spec.min_available().type() == 0) {
    expected = selected.pods;
    desired = spec.min_available().int_val();
  } else if (spec.has_min_available()) {
    desired = by_scale(spec.min_available());
  }
  if (!expected.has_value() || !desired.has_value()) {
    status.set_disruptions_allowed(0);
    return;
  }
  status.set_expected_pods(Clamped(*expected));
  status.set_desired_healthy(Clamped(*desired));
  status.set_current_healthy(selected.healthy);
  // Whether a budget that selects no pod yet is up to date is not known.
  status.set_disruptions_allowed(
      *expected <= 0 ? 0 : Clamped(int64_t{selected.healthy} - status.desired_healthy()));
}

// --- DisruptionController ---

struct DisruptionController::Budget {
  Object object;
  std::optional<LabelSelector> selector;  // absent: it is wrong
  int32_t pods = 0, healthy = 0;
  std::map<std::string, int> controllers;       // pods of each
  std::map<std::string, absl::Time> disrupted;  // by pod: until when it is expected to go
};

struct DisruptionController::Pod {
  LabelSet labels;
  std::string controller;  // "ReplicaSet/web"; empty: none
  bool healthy = false, leaving = false, ended = false, has_scale = true;
  std::vector<Budget*> budgets;  // that select it
};

struct DisruptionController::Namespace {
  struct Controller {
    int64_t pods = 0, most = 0;
    bool has_scale = true;
  };
  std::string name;
  std::map<std::string, std::unique_ptr<Budget>, std::less<>> budgets;
  LabelIndex<Budget*> budgets_by_labels;
  absl::node_hash_map<std::string, Pod> pods;
  LabelledItems<Pod*> pods_by_labels;
  absl::flat_hash_map<std::string, Controller> controllers;
  // By controller: of which a pod is selected.
  absl::flat_hash_map<std::string, absl::flat_hash_set<Budget*>> budgets_of;
  std::map<std::string, Budget*, std::less<>> changed;  // of `budgets`, by name
};

DisruptionController::DisruptionController() = default;
DisruptionController::~DisruptionController() = default;

void DisruptionController::Set(const Object& object, absl::Time now) {
  if (object.kind() == Kind::kPodDisruptionBudget) return SetBudget(object, now);
  if (object.kind() != Kind::kPod) return;
  const auto in = namespaces_.find(object.namespace_name());
  if (in != namespaces_.end()) SetPod(*in->second, object);
}

void DisruptionController::Remove(const Object& object) {
  const auto found = namespaces_.find(object.namespace_name());
  if (found == namespaces_.end()) return;
  Namespace& in = *found->second;
  if (object.kind() == Kind::kPod) {
    const auto pod = in.pods.find(object.name());
    if (pod == in.pods.end()) return;
    Forget(in, pod->second);
    const auto controller = in.controllers.find(pod->second.controller);
    if (controller != in.controllers.end() && controller->second.pods == 0) {
      in.controllers.erase(controller);
    }
    in.pods.erase(pod);
  } else if (object.kind() == Kind::kPodDisruptionBudget) {
    const auto budget = in.budgets.find(object.name());
    if (budget == in.budgets.end()) return;
    Unselect(in, *budget->second);
    in.changed.erase(budget->first);
    in.budgets.erase(budget);
    if (in.budgets.empty()) namespaces_.erase(found);
  }
}

void DisruptionController::SetBudget(const Object& object, absl::Time now) {
  std::unique_ptr<Namespace>& in = namespaces_[std::string(object.namespace_name())];
  if (in == nullptr) {
    in = std::make_unique<Namespace>();
    in->name = std::string(object.namespace_name());
  }
  const auto& message = object.As<api::PodDisruptionBudget>();
  auto parsed = LabelSelector::FromProto(message.spec().has_selector() ? &message.spec().selector()
                                                                       : nullptr);
  std::optional<LabelSelector> selector;
  if (parsed.ok()) selector = *std::move(parsed);
  std::unique_ptr<Budget>& slot = in->budgets[std::string(object.name())];
  if (slot == nullptr || slot->selector != selector) {
    if (slot != nullptr) Unselect(*in, *slot);
    slot = std::make_unique<Budget>(Budget{object, std::move(selector)});
    Select(*in, *slot);
  }
  slot->object = object;
  in->changed[std::string(object.name())] = slot.get();
  changed_.insert(in->name);
  Expect(*slot, message.status(), now);
}

// Looks for the pods that the new budget selects.
void DisruptionController::Select(Namespace& in, Budget& budget) {
  if (!budget.selector.has_value()) return;
  const Symbol namespace_name = Symbol::Intern(in.name);
  in.budgets_by_labels.Add({&namespace_name, 1}, *budget.selector, &budget);
  in.pods_by_labels.ForEachCandidate(*budget.selector, [&](Pod* pod) {
    if (!budget.selector->Matches(pod->labels)) return;
    pod->budgets.push_back(&budget);
    Count(in, budget, *pod, 1);
  });
}

// Before it goes.
void DisruptionController::Unselect(Namespace& in, Budget& budget) {
  if (!budget.selector.has_value()) return;
  const Symbol namespace_name = Symbol::Intern(in.name);
  in.budgets_by_labels.Remove({&namespace_name, 1}, *budget.selector, &budget);
  in.pods_by_labels.ForEachCandidate(*budget.selector, [&](Pod* pod) {
    if (std::erase(pod->budgets, &budget) > 0) Count(in, budget, *pod, -1);
  });
}

// For pods that the status says are about to go: until when that is believed. What is dated later
// than the clock, as in a dump, is from now.
void DisruptionController::Expect(Budget& budget, const api::PodDisruptionBudgetStatus& status,
                                  absl::Time now) {
  for (const auto& [pod, time] : status.disrupted_pods()) {
    const absl::Time until = std::min(ToTime(time), now) + kDeletionTimeout;
    next_due_ = std::min(next_due_, budget.disrupted.emplace(pod, until).first->second);
  }
}

void DisruptionController::SetPod(Namespace& in, const Object& object) {
  Pod& pod = in.pods[std::string(object.name())];
  Forget(in, pod);
  pod = Pod();
  object.packed()->ReadOwn([&](const api::Pod& own) {
    pod.labels = LabelSet::FromMap(own.metadata().labels());
    pod.leaving = own.metadata().has_deletion_timestamp();
    pod.ended = HasEnded(own.status());
    pod.healthy = IsHealthy(own);
    if (const api::OwnerReference* const controller = ControllerOf(own.metadata())) {
      pod.controller = absl::StrCat(controller->kind(), "/", controller->name());
      pod.has_scale = HasScale(*controller);
    }
  });
  in.pods_by_labels.Add(pod.labels, &pod);
  in.budgets_by_labels.ForEachCandidate(Symbol::Intern(in.name), pod.labels, [&](Budget* budget) {
    if (budget->selector->Matches(pod.labels)) pod.budgets.push_back(budget);
  });
  Count(in, pod, 1);
}

// It is another one now, or goes.
void DisruptionController::Forget(Namespace& in, Pod& pod) {
  in.pods_by_labels.Remove(pod.labels, &pod);
  Count(in, pod, -1);
}

// Counts a pod in or out, with its budgets and its controller.
void DisruptionController::Count(Namespace& in, const Pod& pod, int sign) {
  for (Budget* const budget : pod.budgets) Count(in, *budget, pod, sign);
  if (pod.controller.empty() || pod.ended) return;
  Namespace::Controller& controller = in.controllers[pod.controller];
  controller.has_scale = pod.has_scale;
  controller.pods += sign;
  if (controller.pods <= controller.most) return;
  controller.most = controller.pods;
  const auto budgets = in.budgets_of.find(pod.controller);
  if (budgets == in.budgets_of.end()) return;
  for (Budget* const budget : budgets->second) NoteChange(in, *budget);
}

// The same for one of its budgets.
void DisruptionController::Count(Namespace& in, Budget& budget, const Pod& pod, int sign) {
  NoteChange(in, budget);
  budget.pods += sign;
  if (pod.healthy) budget.healthy += sign;
  if (pod.controller.empty()) return;
  int& of_controller = budget.controllers[pod.controller];
  of_controller += sign;
  if (of_controller == 0) {
    budget.controllers.erase(pod.controller);
    const auto budgets = in.budgets_of.find(pod.controller);
    budgets->second.erase(&budget);
    if (budgets->second.empty()) in.budgets_of.erase(budgets);
  } else if (sign == 1 && of_controller == 1) {
    in.budgets_of[pod.controller].insert(&budget);
  }
}

void DisruptionController::NoteChange(Namespace& in, Budget& budget) {
  const absl::string_view name = budget.object.name();
  if (in.changed.find(name) == in.changed.end()) in.changed.emplace(name, &budget);
  changed_.insert(in.name);
}

api::PodDisruptionBudgetStatus DisruptionController::StatusOf(Namespace& in, Budget& budget,
                                                              absl::Time now) {
  const auto& object = budget.object.As<api::PodDisruptionBudget>();
  api::PodDisruptionBudgetStatus status = object.status();
  BudgetPods selected{budget.pods, budget.healthy};
  for (const auto& [name, time] : object.status().disrupted_pods()) {
    const auto pod = in.pods.find(name);
    const bool is_to_go = pod != in.pods.end() && !pod->second.leaving &&
                          absl::c_linear_search(pod->second.budgets, &budget) &&
                          budget.disrupted[name] > now;
    if (is_to_go) {
      selected.healthy -= pod->second.healthy ? 1 : 0;
    } else {
      status.mutable_disrupted_pods()->erase(name);
    }
  }
  std::erase_if(budget.disrupted,
                [&](const auto& entry) { return !status.disrupted_pods().contains(entry.first); });
  for (const auto& [name, pods] : budget.controllers) {
    const Namespace::Controller& controller = in.controllers[name];
    selected.has_scale &= controller.has_scale;
    selected.scale += controller.most;
  }
  status.set_observed_generation(object.metadata().generation());
  if (budget.selector.has_value()) {
    SetBudgetStatus(object.spec(), selected, status);
  } else {
    status.set_disruptions_allowed(0);
  }
  return status;
}

std::vector<Object> DisruptionController::Reconcile(absl::Time now) {
  const bool is_due = next_due_ <= now;
  std::vector<Object> updates;
  if (is_due) NoteDue(now);
  for (const std::string& name : changed_) {
    const auto in = namespaces_.find(name);
    if (in == namespaces_.end()) continue;
    for (const auto& [budget_name, budget] : in->second->changed) {
      api::PodDisruptionBudgetStatus status = StatusOf(*in->second, *budget, now);
      const auto& object = budget->object.As<api::PodDisruptionBudget>();
      if (SameNumbers(status, object.status())) continue;
      auto updated = std::make_shared<api::PodDisruptionBudget>(object);
      *updated->mutable_status() = std::move(status);
      updates.push_back(Object::Of(std::move(updated), budget->object.where()));
    }
    in->second->changed.clear();
  }
  changed_.clear();
  if (!is_due) return updates;
  next_due_ = absl::InfiniteFuture();
  for (const auto& [name, in] : namespaces_) {
    for (const auto& [budget_name, budget] : in->budgets) {
      for (const auto& [pod, until] : budget->disrupted) next_due_ = std::min(next_due_, until);
    }
  }
  return updates;
}

// Budgets of pods that were expected to be gone by now.
void DisruptionController::NoteDue(absl::Time now) {
  for (const auto& [name, in] : namespaces_) {
    for (const auto& [budget_name, budget] : in->budgets) {
      const bool is_due = absl::c_any_of(budget->disrupted,
                                         [now](const auto& entry) { return entry.second <= now; });
      if (is_due) NoteChange(*in, *budget);
    }
  }
}

}  // namespace berth
