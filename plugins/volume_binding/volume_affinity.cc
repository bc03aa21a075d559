// SPDX-License-Identifier: Apache-2.0
// Node affinity of volumes, and its translation to the topology keys of CSI drivers.
#include "plugins/volume_binding/volume_affinity.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/columns/match_rows.h"

namespace berth {
namespace {

constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr char kRegion[] = "topology.kubernetes.io/region";
constexpr char kBetaZone[] = "failure-domain.beta.kubernetes.io/zone";
constexpr char kBetaRegion[] = "failure-domain.beta.kubernetes.io/region";

struct Migration {
  absl::string_view plugin;
  absl::string_view topology_key;  // of the driver, for zones; empty if it has none
};

Migration MigrationOf(const api::PersistentVolumeSource& source) {
  if (source.has_csi()) return {};
  if (source.has_aws_elastic_block_store()) {
    return {"kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"};
  }
  if (source.has_gce_persistent_disk()) return {"kubernetes.io/gce-pd", "topology.gke.io/zone"};
  if (source.has_azure_disk()) {
    return {"kubernetes.io/azure-disk", "topology.disk.csi.azure.com/zone"};
  }
  if (source.has_cinder()) {
    return {"kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"};
  }
  if (source.has_portworx_volume()) return {"kubernetes.io/portworx-volume", ""};
  return {};
}

bool HasKey(const api::NodeSelector& selector, absl::string_view key) {
  for (const api::NodeSelectorTerm& term : selector.node_selector_terms()) {
    for (const auto& expression : term.match_expressions()) {
      if (expression.key() == key) return true;
    }
  }
  return false;
}

void ReplaceKey(api::NodeSelector& selector, absl::string_view from, absl::string_view to) {
  for (api::NodeSelectorTerm& term : *selector.mutable_node_selector_terms()) {
    for (auto& expression : *term.mutable_match_expressions()) {
      if (expression.key() == from) expression.set_key(std::string(to));
    }
  }
}

void RequireZones(api::NodeSelector& selector, absl::string_view key, absl::string_view label) {
  std::set<std::string> zones;
  for (const absl::string_view zone : absl::StrSplit(label, "__")) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(zone);
    if (!trimmed.empty()) zones.emplace(trimmed);
  }
  if (zones.empty()) return;
  if (selector.node_selector_terms().empty()) selector.add_node_selector_terms();
  for (api::NodeSelectorTerm& term : *selector.mutable_node_selector_terms()) {
    auto& expression = *term.add_match_expressions();
    expression.set_key(std::string(key));
    expression.set_operator_("In");
    for (const std::string& zone : zones) expression.add_values(zone);
  }
}

// The affinity with the driver's key for zones; zones that only the volume's labels say are added.
api::NodeSelector Translate(const api::PersistentVolume& volume, absl::string_view topology_key) {
  api::NodeSelector selector = volume.spec().node_affinity().required();
  if (topology_key.empty()) return selector;
  const auto& labels = volume.metadata().labels();
  const bool beta = !HasKey(selector, kZone) &&
                    (HasKey(selector, kBetaZone) || (labels.find(kZone) == labels.end() &&
                                                     labels.find(kBetaZone) != labels.end()));
  const char* zone_key = beta ? kBetaZone : kZone;
  if (HasKey(selector, zone_key)) {
    ReplaceKey(selector, zone_key, topology_key);
  } else if (const auto label = labels.find(zone_key); label != labels.end()) {
    RequireZones(selector, topology_key, label->second);
  }
  if (beta) ReplaceKey(selector, kBetaRegion, kRegion);
  return selector;
}

bool IsMigratedOn(const api::CSINode& node, absl::string_view plugin) {
  const auto& annotations = node.metadata().annotations();
  const auto migrated = annotations.find("storage.alpha.kubernetes.io/migrated-plugins");
  if (migrated == annotations.end()) return false;
  for (const absl::string_view name : absl::StrSplit(migrated->second, ',')) {
    if (name == plugin) return true;
  }
  return false;
}

}  // namespace

VolumeAffinity::VolumeAffinity(const api::PersistentVolume& volume) {
  if (volume.spec().node_affinity().has_required()) {
    required_ = NodeSelector(volume.spec().node_affinity().required());
  }
  const Migration migration = MigrationOf(volume.spec().persistent_volume_source());
  plugin_ = migration.plugin;
  if (plugin_.empty()) return;
  const api::NodeSelector translated = Translate(volume, migration.topology_key);
  if (required_.has_value() || !translated.node_selector_terms().empty()) {
    csi_required_ = NodeSelector(translated);
  }
}

bool VolumeAffinity::Matches(const LabelSet& node_labels) const {
  return !required_.has_value() || required_->Matches(node_labels, Symbol());
}

bool VolumeAffinity::Matches(const LabelSet& node_labels, const api::CSINode* csi_node) const {
  if (plugin_.empty() || csi_node == nullptr || !IsMigratedOn(*csi_node, plugin_)) {
    return Matches(node_labels);
  }
  return !csi_required_.has_value() || csi_required_->Matches(node_labels, Symbol());
}

std::optional<std::pair<Symbol, Symbol>> VolumeAffinity::NeededLabel() const {
  if (!required_.has_value() || required_->terms().size() != 1) return std::nullopt;
  for (const LabelRequirement& requirement : required_->terms().front().expressions()) {
    if (requirement.op() != SelectorOperator::kIn || requirement.values().size() != 1) continue;
    return std::pair(requirement.key(), requirement.values().front());
  }
  return std::nullopt;
}

bool VolumeAffinity::can_use_columns() const {
  if (depends_on_csi_node()) return false;
  // Fields are those of a node without a name, unlike in MatchRows().
  return !required_.has_value() ||
         std::all_of(required_->terms().begin(), required_->terms().end(),
                     [](const NodeSelectorTerm& term) { return term.fields().empty(); });
}

void VolumeAffinity::KeepMatching(const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                  absl::Span<uint8_t> matches) const {
  if (!required_.has_value()) return;
  const RowMatches of_this = MatchRows(*required_, nodes, rows);
  for (size_t i = 0; i < rows.size(); ++i) matches[i] &= of_this[i];
}

}  // namespace berth
