// SPDX-License-Identifier: Apache-2.0
// What plugins store about one pod during one scheduling attempt.
#ifndef BERTH_FRAMEWORK_CYCLE_STATE_H_
#define BERTH_FRAMEWORK_CYCLE_STATE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "berth/framework/work_budget.h"

namespace berth {

struct NodePlacement;

// Base of everything kept in a CycleState.
class StateData {
 public:
  virtual ~StateData() = default;
  // A copy that can change without the original changing: preemption and nominated pods try
  // AddPod and RemovePod on copies.
  virtual std::unique_ptr<StateData> Clone() const = 0;
};

// The typed name of one piece of state; its address is its identity. Declare it once, in the
// plugin's source: `constexpr StateKey<FitState> kFitState{"NodeResourcesFit"};`
template <class T>
struct StateKey {
  const char* name;  // for messages
};

// One per pod and attempt. Threads: writes happen on the scheduling thread between extension
// points; while Filter or Score run it is only read.
class CycleState {
 public:
  CycleState() {}  // NOLINT(modernize-use-equals-default): CycleState() would clear all its room
  CycleState(CycleState&&) noexcept = default;
  CycleState& operator=(CycleState&&) noexcept = default;

  // Stores `data` under `key`, in place of what was there.
  template <class T>
  void Write(const StateKey<T>& key, std::unique_ptr<T> data) {
    Slot(&key) = std::move(data);
  }

  // What is stored under `key`: never null, but an error that names the key if there is nothing.
  // For what has to be there, because an earlier extension point wrote it:
  //
  //   const absl::StatusOr<const MyState*> mine = state.Read(kMyState);
  //   if (!mine.ok()) return Status::Error(mine.status());
  //   if ((*mine)->limit < ...
  //
  // The attempt then fails with the plugin's name, which the framework adds.
  template <class T>
  absl::StatusOr<const T*> Read(const StateKey<T>& key) const {
    if (const T* const found = Find(key)) return found;
    return Missing(key.name);
  }
  template <class T>
  absl::StatusOr<T*> ReadMutable(const StateKey<T>& key) {
    if (T* const found = FindMutable(key)) return found;
    return Missing(key.name);
  }

  // What is stored under `key`, or null: for what may be missing.
  template <class T>
  const T* Find(const StateKey<T>& key) const {
    for (const Entry& entry : entries_) {
      if (entry.key == &key) return static_cast<const T*>(entry.data.get());
    }
    return nullptr;
  }
  template <class T>
  T* FindMutable(const StateKey<T>& key) {
    return const_cast<T*>(std::as_const(*this).Find(key));
  }

  template <class T>
  void Delete(const StateKey<T>& key) {
    for (Entry& entry : entries_) {
      if (entry.key == &key) entry.data.reset();
    }
  }

  // The plugins that said Skip, by index in the profile. For the framework.
  struct Skips {
    uint64_t filter = 0;
    uint64_t score = 0;
    uint64_t pre_bind = 0;
  };
  Skips& skips() { return skips_; }
  const Skips& skips() const { return skips_; }

  // Whether the cycle has to explain every node, not only choose one: then no evaluation may be
  // left out to save time.
  bool for_explanation() const { return for_explanation_; }
  void SetForExplanation() { for_explanation_ = true; }

  // Whether nothing may be left out or kept from one cycle to the next to save time
  // (SchedulerOptions::incremental). The decisions are the same.
  bool full_evaluation() const { return full_evaluation_; }
  void SetFullEvaluation() { full_evaluation_ = true; }

  // How much a stage of the attempt may do before it yields: of the plugins, PostFilter. A Clone()
  // is without a limit.
  WorkBudget& work_budget() const { return work_budget_; }
  void SetWorkBudget(const WorkBudget& budget) { work_budget_ = budget; }

  // The nodes on which the pod's group is tried (berth/framework/placement.h): the others count as
  // if PreFilter had excluded them. Null: all. It outlives this.
  const NodePlacement* placement() const { return placement_; }
  void SetPlacement(const NodePlacement* placement) { placement_ = placement; }

  CycleState Clone() const {
    CycleState copy;
    copy.skips_ = skips_;
    copy.placement_ = placement_;
    copy.for_explanation_ = for_explanation_;
    copy.full_evaluation_ = full_evaluation_;
    for (const Entry& entry : entries_) {
      if (entry.data != nullptr) copy.entries_.push_back({entry.key, entry.data->Clone()});
    }
    return copy;
  }

 private:
  static absl::Status Missing(const char* key);

  struct Entry {
    const void* key;
    std::unique_ptr<StateData> data;
  };

  std::unique_ptr<StateData>& Slot(const void* key) {
    for (Entry& entry : entries_) {
      if (entry.key == key) return entry.data;
    }
    entries_.push_back({key, nullptr});
    return entries_.back().data;
  }

  Skips skips_;
  bool for_explanation_ = false;
  bool full_evaluation_ = false;
  const NodePlacement* placement_ = nullptr;
  absl::InlinedVector<Entry, 8> entries_;  // a handful of plugins keep state: a scan is fastest
  mutable WorkBudget work_budget_;
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_CYCLE_STATE_H_
