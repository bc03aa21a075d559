// SPDX-License-Identifier: Apache-2.0
// A ResourceSlice, parsed: its devices, where they are, and what selectors said of them.
#ifndef BERTH_SRC_DEVICES_OFFERED_SLICE_H_
#define BERTH_SRC_DEVICES_OFFERED_SLICE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "berth/api/labels.h"
#include "berth/api/node_selector.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/symbol.h"
#include "berth/devices/device_features.h"
#include "berth/devices/device_id.h"
#include "berth/mutex.h"
#include "cel/device.h"
#include "devices/compiled_selector.h"

namespace berth {

class OfferedSlice;

// A taint that keeps claims off a device which do not tolerate it.
struct EffectiveTaint {
  const api::DeviceTaint* taint;
  const api::DeviceTaintRule* rule;  // that gives it, or null: it is the device's own
};

struct OfferedDevice {
  DeviceId id;
  const OfferedSlice* slice;
  int index;  // in the slice
  const api::SliceDevice* message;
  bool has_binding_conditions = false;
  bool binds_to_node =
      false;  // with DRADeviceBindingConditions: whose claim it is goes nowhere else
  bool consumes_counters = false;
  bool allows_multiple = false;        // claims share it: with DRAConsumableCapacity
  std::vector<EffectiveTaint> taints;  // with DRADeviceTaints
};

// The attribute of that name as it is written, then without its domain if that is the driver; null
// if the device has none. As allocator_stable.go lookupAttribute.
const api::DeviceAttribute* FindAttribute(const OfferedDevice& device, absl::string_view name);

using TaintRulePtr = std::shared_ptr<const api::DeviceTaintRule>;

// Whether the rule is about the slice, or some of its devices. As kube-scheduler v1.35
// resourceslice/tracker applyPatches; but one without a selector is about none, as the API has it.
bool SelectsAny(const api::DeviceTaintRule& rule, const api::ResourceSliceSpec& slice);

// Immutable but for what it caches. Threads: any.
class OfferedSlice {
 public:
  // The rules are those of the cluster that select any of its devices.
  OfferedSlice(std::shared_ptr<const api::ResourceSlice> message, const DeviceFeatures& features,
               std::vector<TaintRulePtr> rules = {});

  const api::ResourceSlice& message() const { return *message_; }
  const std::shared_ptr<const api::ResourceSlice>& shared_message() const { return message_; }
  const std::string& name() const { return message_->metadata().name(); }
  const api::ResourceSliceSpec& spec() const { return message_->spec(); }
  Symbol driver() const { return driver_; }
  Symbol pool() const { return pool_; }
  int64_t generation() const { return spec().pool().generation(); }
  const std::vector<OfferedDevice>& devices() const { return devices_; }
  bool repeats_a_name() const { return repeats_a_name_; }
  bool has_binding_conditions() const { return has_binding_conditions_; }

  // Where its devices are. `kPerDevice`: its devices say so themselves, with
  // DRAPartitionableDevices; `kNobody`: they do, but that is off. `kPool`: it has the counters of
  // its pool, for slices that have devices of the pool.
  enum class Scope { kNobody, kNode, kAllNodes, kSelectedNodes, kPerDevice, kPool };
  Scope scope() const { return scope_; }
  Symbol node_name() const { return node_name_; }
  // For a slice for selected nodes, or of one whose devices say it: whether any does.
  absl::StatusOr<bool> Selects(Symbol node_name, const LabelSet& labels) const;
  // For a slice that is for the node: whether the device is.
  bool HasFor(const OfferedDevice& device, Symbol node_name, const LabelSet& labels) const;

  // The results of evaluations so far, and how many of them are cached.
  struct Tally {
    std::atomic<int64_t> evaluations = 0, cost = 0, verdicts = 0;
  };
  // Whether the selector matches the device; an error has the text of the selector's.
  absl::StatusOr<bool> Matches(const CompiledSelector& selector, int device, Tally& tally) const;
  // Forgets what selectors said.
  void ForgetVerdicts() const;

 private:
  enum class Verdict : uint8_t { kUnknown, kNo, kYes };
  using Verdicts = std::vector<Verdict>;  // by device

  std::vector<EffectiveTaint> TaintsOf(const api::SliceDevice& device) const;

  std::shared_ptr<const api::ResourceSlice> message_;
  std::vector<TaintRulePtr> rules_;
  Symbol driver_, pool_, node_name_;
  Scope scope_ = Scope::kNobody;
  std::optional<NodeSelector> selector_;
  std::vector<std::optional<NodeSelector>> device_selectors_;  // of `kPerDevice`
  std::vector<OfferedDevice> devices_;
  bool repeats_a_name_ = false, has_binding_conditions_ = false;

  mutable Mutex mutex_;
  // Made when the first selector asks.
  mutable std::vector<std::optional<cel::Device>> variables_ ABSL_GUARDED_BY(mutex_);
  mutable absl::flat_hash_map<uint64_t, Verdicts> verdicts_ ABSL_GUARDED_BY(mutex_);  // by selector
};

}  // namespace berth

#endif  // BERTH_SRC_DEVICES_OFFERED_SLICE_H_
