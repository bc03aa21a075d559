// SPDX-License-Identifier: Apache-2.0
// Implementation of scenario_history.h.
#include "testing/scenario_history.h"

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/time.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth::testing {
namespace {

std::string NameOf(const Object& object) {
  return object.kind() == Kind::kPod ? std::string(object.key()) : object.ToString();
}

// Which plugins hold a pod back for less long than they asked for.
std::string CutHolds(absl::Span<const PermitHold> holds) {
  std::string text;
  for (const PermitHold& hold : holds) {
    if (hold.timeout == hold.asked) continue;
    absl::StrAppend(&text, ", held by ", hold.plugin, " for ", DurationToString(hold.timeout),
                    " at most, though it asked for ",
                    hold.asked == absl::InfiniteDuration() ? "ever" : DurationToString(hold.asked));
  }
  return text;
}

}  // namespace

void ScenarioHistory::Add(absl::Duration time, std::string object, std::string what) {
  timeline_.push_back({time, std::move(object), std::move(what)});
}

void ScenarioHistory::OnAttempt(const AttemptRecord& attempt, absl::Duration time) {
  if (attempt.yielded) return;
  ++attempts_;
  const std::string tried =
      attempt.requeued_by.empty() ? "tried" : absl::StrCat("tried after ", attempt.requeued_by);
  for (const PodOutcome& outcome : attempt.outcomes) {
    const std::string pod = outcome.pod->key();
    ++attempts_of_[pod];
    if (!outcome.node.empty()) {
      Add(time, pod, absl::StrCat(tried, ", placed on ", outcome.node, CutHolds(outcome.holds)));
      continue;
    }
    Add(time, pod,
        absl::StrCat(tried, ", rejected", outcome.plugin.empty() ? "" : " by ", outcome.plugin,
                     outcome.message.empty() ? " without a reason" : ": ", outcome.message));
  }
}

void ScenarioHistory::OnIncident(const InMemoryCluster::Incident& incident, absl::Duration time) {
  using What = InMemoryCluster::Incident::What;
  const std::string pod = incident.pod == nullptr ? "" : incident.pod->key();
  switch (incident.what) {
    case What::kCreated:
      Add(time, NameOf(*incident.object), "created");
      return TakeIn(*incident.object, false, time);
    case What::kChanged:  // who changed it says so
      return TakeIn(*incident.object, false, time);
    case What::kDeleted:
      Add(time, NameOf(*incident.object), "deleted");
      // Without a uid its successor looks the same.
      bindings_of_uid_.erase(std::string(incident.object->uid()));
      return TakeIn(*incident.object, true, time);
    case What::kBound:
      Add(time, pod, absl::StrCat("bound to ", incident.node));
      ++bindings_;
      ++bindings_of_[pod];
      bound_.emplace(pod, std::string(incident.node));
      if (++bindings_of_uid_[incident.pod->uid()] > 1 && bound_twice_.empty()) {
        bound_twice_ = absl::StrCat(pod, " at t=", DurationToString(time));
      }
      return;
    case What::kBindRefused:
      Add(time, pod,
          absl::StrCat("binding to ", incident.node, " refused: ", incident.refusal->message()));
      ++refusals_;
      ++refusals_of_[pod];
      return;
    case What::kEvicted:
      Add(time, pod, "evicted");
      ++evictions_of_[pod];
      return;
    case What::kFinished:
      Add(time, pod, "finished");
      return;
    case What::kNominated:
      Add(time, pod,
          incident.node.empty() ? "nomination cleared"
                                : absl::StrCat("nominated to ", incident.node));
      return;
    case What::kEventRecorded:
      events_[incident.pod->kind() == Kind::kPod
                  ? pod
                  : absl::StrCat(KindName(incident.pod->kind()), " ", pod)]
          .push_back(*incident.event);
      return;
  }
}

void ScenarioHistory::TakeIn(const Object& object, bool deleted, absl::Duration time) {
  if (object.kind() == Kind::kPod) return TakeInPod(object, deleted, time);
  if (object.kind() != Kind::kNode) return;
  Node& node = nodes_[std::string(object.name())];
  const auto spec = NodeSpec::Create(object.Share<api::Node>());
  node.exists = !deleted && spec.ok();
  if (!node.exists) return;
  node.allocatable = (*spec)->allocatable;
  node.allowed_pods = (*spec)->allowed_pods;
}

void ScenarioHistory::TakeInPod(const Object& object, bool deleted, absl::Duration time) {
  const api::Pod& pod = object.As<api::Pod>();
  const std::string uid(object.uid());
  const bool runs = !deleted && !pod.spec().node_name().empty() &&
                    pod.status().phase() != "Succeeded" && pod.status().phase() != "Failed";
  const auto known = running_.find(uid);
  if (!runs && known != running_.end()) {
    Node& node = nodes_[known->second.node];
    node.used.Subtract(known->second.requests);
    --node.pods;
    running_.erase(known);
  } else if (runs && known == running_.end()) {
    const auto info = PodInfo::Create(object.packed());
    if (!info.ok()) return;
    ResourceVector requests = (*info)->requests();
    // Devices stand for these: the node has none of them by itself.
    for (const auto& mapping : pod.status().extended_resource_claim_status().request_mappings()) {
      requests.Set(ResourceIdOf(mapping.resource_name()), 0);
    }
    const Running& running =
        running_.emplace(uid, Running{pod.spec().node_name(), std::move(requests)}).first->second;
    Node& node = nodes_[running.node];
    node.used.Add(running.requests);
    ++node.pods;
    CheckRoom(std::string(object.key()), running, time);
  }
}

// Whether what the pod asks for was still there when it came.
void ScenarioHistory::CheckRoom(const std::string& pod, const Running& running,
                                absl::Duration time) {
  const Node& node = nodes_[running.node];
  if (!node.exists || !overcommitted_.empty()) return;
  const auto over = [&](absl::string_view resource, int64_t used, int64_t allocatable) {
    if (used <= allocatable) return;
    overcommitted_ = absl::StrCat(running.node, " has ", used, " of ", allocatable, " ", resource,
                                  " in use with ", pod, " at t=", DurationToString(time));
  };
  over("pods", node.pods, node.allowed_pods);
  running.requests.ForEach([&](ResourceId id, int64_t) {
    over(ResourceName(id), node.used.Get(id), node.allocatable.Get(id));
  });
}

}  // namespace berth::testing
