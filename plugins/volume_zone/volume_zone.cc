// SPDX-License-Identifier: Apache-2.0
// The rule of VolumeZone, and what may end a rejection.
#include "plugins/volume_zone/volume_zone.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/columns/node_table.h"
#include "berth/columns/node_verdicts.h"

namespace berth {
namespace {

struct TopologyLabel {
  Symbol key;
  Symbol newer_key;  // what a node may have in its place
};

const std::array<TopologyLabel, 4>& TopologyLabels() {
  static const std::array<TopologyLabel, 4>& labels = *[] {
    const Symbol zone = Symbol::Intern("topology.kubernetes.io/zone");
    const Symbol region = Symbol::Intern("topology.kubernetes.io/region");
    return new std::array<TopologyLabel, 4>{
        {{Symbol::Intern("failure-domain.beta.kubernetes.io/zone"), zone},
         {Symbol::Intern("failure-domain.beta.kubernetes.io/region"), region},
         {zone, zone},
         {region, region}}};
  }();
  return labels;
}

// A label of a volume: the node must have one of the values.
struct VolumeTopology {
  TopologyLabel label;
  std::vector<Symbol> values;
  friend bool operator==(const VolumeTopology& a, const VolumeTopology& b) {
    return a.label.key == b.label.key && a.values == b.values;
  }
};

struct ZoneState : StateData {
  std::vector<VolumeTopology> topologies;
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<ZoneState>(*this); }
};
constexpr StateKey<ZoneState> kState{"VolumeZone"};

// "a__b" is a or b. Nothing if a part is empty: kube-scheduler ignores such a label.
std::vector<Symbol> ParseZones(absl::string_view label) {
  std::vector<Symbol> zones;
  for (absl::string_view part : absl::StrSplit(label, "__")) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) return {};
    zones.push_back(Symbol::Intern(part));
  }
  std::sort(zones.begin(), zones.end());
  zones.erase(std::unique(zones.begin(), zones.end()), zones.end());
  return zones;
}

void AddTopologies(const api::PersistentVolume& volume, std::vector<VolumeTopology>& topologies) {
  const auto& labels = volume.metadata().labels();
  if (labels.empty()) return;
  for (const TopologyLabel& label : TopologyLabels()) {
    const auto found = labels.find(std::string(label.key.view()));
    if (found == labels.end()) continue;
    std::vector<Symbol> zones = ParseZones(found->second);
    if (!zones.empty()) topologies.push_back({label, std::move(zones)});
  }
}

Status NotFound(absl::string_view kind, absl::string_view name) {
  return Status::UnschedulableAndUnresolvable(absl::StrCat(kind, " \"", name, "\" not found"));
}

std::string ClassOf(const api::PersistentVolumeClaim& claim) {
  const auto& annotations = claim.metadata().annotations();
  const auto beta = annotations.find("volume.beta.kubernetes.io/storage-class");
  return beta != annotations.end() ? beta->second : claim.spec().storage_class_name();
}

// Success if a claim without a volume gets one once the pod has a node.
Status CheckUnbound(const api::PersistentVolumeClaim& claim, const ObjectStore& objects) {
  const std::string class_name = ClassOf(claim);
  if (class_name.empty()) {
    return Status::UnschedulableAndUnresolvable(
        "PersistentVolumeClaim had no pv name and storageClass name");
  }
  const auto* storage_class = objects.Find<api::StorageClass>("", class_name);
  if (storage_class == nullptr) return NotFound("storageclass.storage.k8s.io", class_name);
  if (!storage_class->has_volume_binding_mode()) {
    return Status::UnschedulableAndUnresolvable(
        absl::StrCat("VolumeBindingMode not set for StorageClass \"", class_name, "\""));
  }
  if (storage_class->volume_binding_mode() == "WaitForFirstConsumer") return Status::Success();
  return Status::UnschedulableAndUnresolvable("PersistentVolume had no name");
}

Status CollectTopologies(const PodInfo& pod, const ObjectStore& objects,
                         std::vector<VolumeTopology>& topologies) {
  for (const api::Volume& pod_volume : pod.spec().volumes()) {
    if (!pod_volume.volume_source().has_persistent_volume_claim()) continue;
    const std::string& name = pod_volume.volume_source().persistent_volume_claim().claim_name();
    if (name.empty()) {
      return Status::UnschedulableAndUnresolvable("PersistentVolumeClaim had no name");
    }
    const auto* claim = objects.Find<api::PersistentVolumeClaim>(pod.namespace_name().view(), name);
    if (claim == nullptr) return NotFound("persistentvolumeclaim", name);
    const std::string& volume_name = claim->spec().volume_name();
    if (volume_name.empty()) {
      Status status = CheckUnbound(*claim, objects);
      if (!status.ok()) return status;
      continue;
    }
    const auto* volume = objects.Find<api::PersistentVolume>("", volume_name);
    if (volume == nullptr) return NotFound("persistentvolume", volume_name);
    AddTopologies(*volume, topologies);
  }
  return Status::Success();
}

bool Allows(const VolumeTopology& topology, Symbol value) {
  return std::find(topology.values.begin(), topology.values.end(), value) != topology.values.end();
}

// Clears the matches of the rows whose node has none of the values.
void KeepMatching(const VolumeTopology& topology, const NodeTable& nodes,
                  absl::Span<const NodeRow> rows, std::vector<uint8_t>& matches) {
  const LabelColumn& column = nodes.label_column(topology.label.key);
  const LabelColumn& newer = nodes.label_column(topology.label.newer_key);
  enum Verdict : uint8_t { kRejects, kAllows, kAbsent };
  column.EvaluateRows(
      rows,
      [&](uint32_t index) {
        const LabelValue& label = column.values()[index];
        if (!label.present) return kAbsent;
        return Allows(topology, label.value) ? kAllows : kRejects;
      },
      [&](size_t i, Verdict verdict) {
        if (verdict == kAbsent) {
          const LabelValue& label = newer.at(rows[i]);
          verdict = label.present && Allows(topology, label.value) ? kAllows : kRejects;
        }
        matches[i] &= verdict;
      });
}

QueueingHint AfterClassAddition(const Object& added) {
  return QueueIf(added.As<api::StorageClass>().volume_binding_mode() == "WaitForFirstConsumer");
}

QueueingHint AfterClaimChange(const PodInfo& pod, const Object& claim) {
  if (claim.namespace_name() != pod.namespace_name().view()) return QueueingHint::kSkip;
  for (const api::Volume& volume : pod.spec().volumes()) {
    const api::VolumeSource& source = volume.volume_source();
    if (source.has_persistent_volume_claim() &&
        source.persistent_volume_claim().claim_name() == claim.name()) {
      return QueueingHint::kQueue;
    }
  }
  return QueueingHint::kSkip;
}

QueueingHint AfterVolumeChange(const Object* before, const Object& after) {
  if (before == nullptr) return QueueingHint::kQueue;
  std::vector<VolumeTopology> old_topologies, new_topologies;
  AddTopologies(before->As<api::PersistentVolume>(), old_topologies);
  AddTopologies(after.As<api::PersistentVolume>(), new_topologies);
  return old_topologies == new_topologies ? QueueingHint::kSkip : QueueingHint::kQueue;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> VolumeZone::Create(const PluginArgs&, Handle& handle) {
  return std::make_unique<VolumeZone>(handle);
}

Status VolumeZone::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                             PreFilterResult&) {
  if (pod.spec().volumes().empty()) return Status::Skip();
  auto data = std::make_unique<ZoneState>();
  Status status = CollectTopologies(pod, handle_.objects(), data->topologies);
  if (!status.ok()) return status;
  if (data->topologies.empty()) return Status::Skip();
  state.Write(kState, std::move(data));
  return Status::Success();
}

Status VolumeZone::Filter(const CycleState& state, const PodInfo&, const NodeInfo& node) const {
  const absl::StatusOr<const ZoneState*> read = state.Read(kState);
  if (!read.ok()) return Status::Error(read.status());
  const ZoneState* const data = *read;
  const LabelSet& labels = node.labels();
  const auto& keys = TopologyLabels();
  if (std::none_of(keys.begin(), keys.end(),
                   [&](const TopologyLabel& label) { return labels.Has(label.key); })) {
    return Status::Success();  // a cluster of one zone need not say so
  }
  for (const VolumeTopology& topology : data->topologies) {
    const Symbol* value = labels.Find(topology.label.key);
    if (value == nullptr) value = labels.Find(topology.label.newer_key);
    if (value == nullptr || !Allows(topology, *value)) {
      return Status::UnschedulableAndUnresolvable("node(s) had no available volume zone");
    }
  }
  return Status::Success();
}

Status VolumeZone::FilterNodes(const CycleState& state, const PodInfo&, const NodeTable& nodes,
                               NodeVerdicts& verdicts) const {
  const absl::StatusOr<const ZoneState*> read = state.Read(kState);
  if (!read.ok()) return Status::Error(read.status());
  const ZoneState* const data = *read;
  const absl::Span<const NodeRow> rows = verdicts.candidates();
  std::vector<uint8_t> matches(rows.size(), 1);
  for (const VolumeTopology& topology : data->topologies)
    KeepMatching(topology, nodes, rows, matches);

  std::array<const LabelColumn*, 4> columns;
  std::transform(TopologyLabels().begin(), TopologyLabels().end(), columns.begin(),
                 [&](const TopologyLabel& label) { return &nodes.label_column(label.key); });
  for (size_t i = 0; i < rows.size(); ++i) {
    if (matches[i] != 0) continue;
    const bool has_label =
        std::any_of(columns.begin(), columns.end(),
                    [&](const LabelColumn* column) { return column->at(rows[i]).present; });
    if (has_label) verdicts.Set(rows[i], Code::kUnschedulableAndUnresolvable, 0);
  }
  return Status::Success();
}

void VolumeZone::AddInputs(const CycleState& state, const PodInfo&, FilterInputs& inputs) const {
  const ZoneState* data = state.Find(kState);
  if (data == nullptr) return;
  for (const VolumeTopology& topology : data->topologies) {
    inputs.Add(int64_t{topology.label.key.id()});
    inputs.Add(static_cast<int64_t>(topology.values.size()));
    for (const Symbol value : topology.values) inputs.Add(int64_t{value.id()});
  }
}

std::vector<ClusterEventWithHint> VolumeZone::EventsToRegister() const {
  return {{{EventResource::Of(Kind::kStorageClass), action::kAdd},
           [](const PodInfo&, const ObjectChange& change) {
             return AfterClassAddition(*change.new_object);
           }},
          {{EventResource::Node(), action::kAdd | action::kUpdateNodeLabel}, nullptr},
          {{EventResource::Of(Kind::kPersistentVolumeClaim), action::kAdd | action::kUpdate},
           [](const PodInfo& pod, const ObjectChange& change) {
             return AfterClaimChange(pod, *change.new_object);
           }},
          {{EventResource::Of(Kind::kPersistentVolume), action::kAdd | action::kUpdate},
           [](const PodInfo&, const ObjectChange& change) {
             return AfterVolumeChange(change.old_object, *change.new_object);
           }}};
}

Status VolumeZone::SignPod(const PodInfo& pod, PodSignature&) const {
  if (pod.claims().empty()) return Status::Success();
  return Status::Unschedulable("pods with claims are not signable");
}

}  // namespace berth
