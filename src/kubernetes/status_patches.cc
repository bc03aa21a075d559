// SPDX-License-Identifier: Apache-2.0
// Implementation of status_patches.h.
#include "kubernetes/status_patches.h"

#include <utility>

#include "absl/strings/string_view.h"
#include "api/json.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/time.h"

namespace berth {
namespace {

constexpr size_t kMostClosed = 8192;

const api::PodCondition* FindCondition(const api::Pod& pod, absl::string_view type) {
  for (const api::PodCondition& condition : pod.status().conditions()) {
    if (condition.type() == type) return &condition;
  }
  return nullptr;
}

absl::string_view StatusText(bool is_true) { return is_true ? "True" : "False"; }

bool IsSo(const api::PodCondition* now, const PodStatusChange::Condition& wanted) {
  return now != nullptr && now->status() == StatusText(wanted.is_true) &&
         now->reason() == wanted.reason && now->message() == wanted.message &&
         now->last_probe_time().seconds() == 0;
}

// In a patch, what is null goes.
void WriteText(JsonWriter& out, absl::string_view key, absl::string_view text) {
  out.Key(key);
  text.empty() ? out.Null() : out.String(text);
}

void WriteExtendedResourceClaim(JsonWriter& out, const api::PodExtendedResourceClaimStatus& claim) {
  out.Key("extendedResourceClaimStatus").BeginObject();
  out.Key("requestMappings").BeginArray();
  for (const api::ContainerExtendedResourceRequest& mapping : claim.request_mappings()) {
    out.BeginObject();
    out.Key("containerName").String(mapping.container_name());
    out.Key("resourceName").String(mapping.resource_name());
    out.Key("requestName").String(mapping.request_name());
    out.EndObject();
  }
  out.EndArray();
  out.Key("resourceClaimName").String(claim.resource_claim_name());
  out.EndObject();
}

}  // namespace

std::string StatusPatch(const api::Pod& pod, const PodStatusChange& change, absl::Time now) {
  JsonWriter out;
  bool changes = false;
  out.BeginObject();
  out.Key("metadata").BeginObject();
  out.Key("uid").String(pod.metadata().uid());
  out.EndObject();
  out.Key("status").BeginObject();
  out.Key("conditions").BeginArray();
  for (const auto& [type, wanted] : change.conditions) {
    const api::PodCondition* const current = FindCondition(pod, type);
    if (IsSo(current, wanted)) continue;
    changes = true;
    const absl::string_view status = StatusText(wanted.is_true);
    const bool turns = current == nullptr || current->status() != status;
    const absl::Time since = turns ? now : ToTime(current->last_transition_time());
    out.BeginObject();
    out.Key("type").String(type);
    out.Key("status").String(status);
    if (pod.metadata().generation() != 0) {
      out.Key("observedGeneration").Int(pod.metadata().generation());
    }
    out.Key("lastProbeTime").Null();
    out.Key("lastTransitionTime");
    since == absl::InfinitePast() ? out.Null() : out.String(TimeToString(since));
    WriteText(out, "reason", wanted.reason);
    WriteText(out, "message", wanted.message);
    out.EndObject();
  }
  out.EndArray();
  if (change.nominated_node_name.has_value() &&
      *change.nominated_node_name != pod.status().nominated_node_name()) {
    changes = true;
    WriteText(out, "nominatedNodeName", *change.nominated_node_name);
  }
  if (change.extended_resource_claim != nullptr &&
      change.extended_resource_claim->SerializeAsString() !=
          pod.status().extended_resource_claim_status().SerializeAsString()) {
    changes = true;
    WriteExtendedResourceClaim(out, *change.extended_resource_claim);
  }
  out.EndObject();
  out.EndObject();
  return changes ? std::string(out.text()) : "";
}

absl::Status StatusPatches::Apply(const Identity& pod, PodStatusChange change) {
  {
    MutexLock lock(mutex_);
    if (closed_.contains(pod.uid())) return absl::OkStatus();
    const auto [found, is_first] = turns_.try_emplace(pod.uid());
    Waiting*& next = found->second;
    if (!is_first) {
      Waiting waiting{std::move(change)};
      if (next != nullptr) {
        PodStatusChange& older = next->change;
        waiting.change.conditions.merge(older.conditions);
        if (!waiting.change.nominated_node_name.has_value()) {
          waiting.change.nominated_node_name = std::move(older.nominated_node_name);
        }
        if (waiting.change.extended_resource_claim == nullptr) {
          waiting.change.extended_resource_claim = std::move(older.extended_resource_claim);
        }
        next->becomes = Waiting::kTakenOver;
        changed_.SignalAll();
      }
      next = &waiting;
      while (waiting.becomes == Waiting::kNothing) changed_.Wait(mutex_);
      if (waiting.becomes == Waiting::kTakenOver) return absl::OkStatus();
      change = std::move(waiting.change);
      if (closed_.contains(pod.uid())) {
        PassOn(pod);
        return absl::OkStatus();
      }
    }
  }
  const absl::Status written = write_(pod, change);
  MutexLock lock(mutex_);
  PassOn(pod);
  return written;
}

// To a thread that may not run yet; until it does, the turn is its own all the same.
void StatusPatches::PassOn(const Identity& pod) {
  const auto turn = turns_.find(pod.uid());
  if (turn->second == nullptr) {
    turns_.erase(turn);
  } else {
    std::exchange(turn->second, nullptr)->becomes = Waiting::kWriter;
  }
  changed_.SignalAll();
}

void StatusPatches::Close(const Identity& pod) {
  MutexLock lock(mutex_);
  if (closed_.insert(pod.uid()).second) closed_order_.push_back(pod.uid());
  if (closed_order_.size() > kMostClosed) {
    closed_.erase(closed_order_.front());
    closed_order_.pop_front();
  }
  const auto turn = turns_.find(pod.uid());
  if (turn != turns_.end() && turn->second != nullptr) {
    std::exchange(turn->second, nullptr)->becomes = Waiting::kTakenOver;
    changed_.SignalAll();
  }
  while (turns_.contains(pod.uid())) changed_.Wait(mutex_);
}

void StatusPatches::Open(const Identity& pod) {
  MutexLock lock(mutex_);
  closed_.erase(pod.uid());
}

}  // namespace berth
