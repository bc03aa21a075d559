// SPDX-License-Identifier: Apache-2.0
// Implementation of pending_patches.h.
#include "engine/pending_patches.h"

#include <optional>
#include <utility>

namespace berth {
namespace {

constexpr int kMostWriters = 8;

// `older`, changed by `newer`. A scheduler sets one type of condition.
void Merge(PodStatusPatch newer, PodStatusPatch& older) {
  if (newer.condition_type.empty()) {
    newer.condition_type = std::move(older.condition_type);
    newer.condition_true = older.condition_true;
    newer.condition_reason = std::move(older.condition_reason);
    newer.condition_message = std::move(older.condition_message);
  }
  if (!newer.nominated_node_name.has_value()) {
    newer.nominated_node_name = std::move(older.nominated_node_name);
  }
  older = std::move(newer);
}

}  // namespace

PendingPatches::PendingPatches(Cluster& cluster, Executor& executor)
    : state_(std::make_shared<State>(cluster, executor)) {}

PendingPatches::~PendingPatches() {
  MutexLock lock(state_->mutex);
  state_->waiting = {};
  state_->any_waits = false;
}

void PendingPatches::Add(PodStatusPatch patch) {
  {
    MutexLock lock(state_->mutex);
    const IdentityPtr pod = patch.pod;
    const auto [waiting, is_new] = state_->waiting.FindOrAdd(pod);
    if (!is_new) return Merge(std::move(patch), *waiting);
    *waiting = std::move(patch);
    state_->any_waits = true;
    state_->order.push_back(pod);
    if (state_->writers >= kMostWriters) return;
    ++state_->writers;
  }
  state_->executor.Run([state = state_] { WriteOne(state); });
}

void PendingPatches::Drop(const Identity& pod) {
  if (!state_->any_waits) return;
  MutexLock lock(state_->mutex);
  state_->waiting.Erase(pod);
  state_->any_waits = !state_->waiting.empty();
}

void PendingPatches::WriteOne(const std::shared_ptr<State>& state) {
  std::optional<PodStatusPatch> next;
  {
    MutexLock lock(state->mutex);
    while (!next.has_value() && !state->order.empty()) {
      const IdentityPtr pod = std::move(state->order.front());
      state->order.pop_front();
      PodStatusPatch* const waiting = state->waiting.Find(*pod);
      if (waiting == nullptr) continue;
      next = std::move(*waiting);
      state->waiting.Erase(*pod);
      state->any_waits = !state->waiting.empty();
    }
  }
  // A pod that is gone needs no condition; anything else is written again with the next attempt. A
  // nomination stands in memory either way.
  if (next.has_value()) (void)state->cluster.PatchPodStatus(*next);
  {
    MutexLock lock(state->mutex);
    if (state->waiting.empty()) {
      state->order.clear();
      --state->writers;
      return;
    }
  }
  // Behind the bindings that wait for a thread.
  state->executor.Run([state] { WriteOne(state); });
}

}  // namespace berth
