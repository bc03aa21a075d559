// SPDX-License-Identifier: Apache-2.0
// On which nodes a volume can be used whose plugin a CSI driver has replaced: kubernetes v1.35
// csi-translation-lib/plugins/in_tree_volume.go translateTopologyFromInTreeToCSI.
#include "plugins/volume_binding/volume_affinity.h"

#include "berth/api/core_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr char kZone[] = "topology.kubernetes.io/zone";
constexpr char kBetaZone[] = "failure-domain.beta.kubernetes.io/zone";
constexpr char kRegion[] = "topology.kubernetes.io/region";
constexpr char kBetaRegion[] = "failure-domain.beta.kubernetes.io/region";
constexpr char kGceZone[] = "topology.gke.io/zone";

constexpr char kDisk[] = "gcePersistentDisk: {pdName: d}";

// {key In [value], ...}, in one term.
using Requirements = std::vector<std::pair<const char*, const char*>>;

VolumeAffinity Affinity(absl::string_view source, const LabelSet& labels,
                        const Requirements& requirements) {
  std::vector<Object> objects = ObjectsFromYaml(absl::StrCat(
      "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {", source, "}}"));
  api::PersistentVolume volume = objects[0].As<api::PersistentVolume>();
  for (const auto& [key, value] : labels.entries()) {
    (*volume.mutable_metadata()->mutable_labels())[std::string(key.view())] =
        std::string(value.view());
  }
  if (!requirements.empty()) {
    api::NodeSelectorTerm* const term = volume.mutable_spec()
                                            ->mutable_node_affinity()
                                            ->mutable_required()
                                            ->add_node_selector_terms();
    for (const auto& [key, value] : requirements) {
      api::NodeSelectorRequirement* const requirement = term->add_match_expressions();
      requirement->set_key(key);
      requirement->set_operator_("In");
      requirement->add_values(value);
    }
  }
  return VolumeAffinity(volume);
}

api::CSINode CsiNode(absl::string_view migrated) {
  api::CSINode node;
  (*node.mutable_metadata()
        ->mutable_annotations())["storage.alpha.kubernetes.io/migrated-plugins"] =
      std::string(migrated);
  return node;
}

TEST(VolumeAffinityTest, MigratedVolumesUseTheKeysOfTheirDrivers) {
  struct Case {
    const char* name;
    const char* source;
    LabelSet volume_labels;
    Requirements requirements;
    LabelSet node_labels;
    bool matches;
  };
  for (const Case& c : std::vector<Case>{
           {"the driver's key instead of the zone",
            kDisk,
            {},
            {{kZone, "a"}},
            {{kGceZone, "a"}},
            true},
           {"the zone itself is not enough", kDisk, {}, {{kZone, "a"}}, {{kZone, "a"}}, false},
           {"another zone", kDisk, {}, {{kZone, "a"}}, {{kGceZone, "b"}}, false},
           {"a zone that only the label says", kDisk, {{kZone, "a"}}, {}, {{kGceZone, "a"}}, true},
           {"and no other", kDisk, {{kZone, "a"}}, {}, {{kGceZone, "b"}}, false},
           {"two zones", kDisk, {{kZone, "a__b"}}, {}, {{kGceZone, "b"}}, true},
           {"a label besides other requirements",
            kDisk,
            {{kZone, "a"}},
            {{"disk", "x"}},
            {{kGceZone, "a"}, {"disk", "x"}},
            true},
           {"both must hold", kDisk, {{kZone, "a"}}, {{"disk", "x"}}, {{kGceZone, "a"}}, false},
           {"the affinity beats the label",
            kDisk,
            {{kZone, "b"}},
            {{kZone, "a"}},
            {{kGceZone, "a"}},
            true},
           {"an old zone", kDisk, {}, {{kBetaZone, "a"}}, {{kGceZone, "a"}}, true},
           {"an old zone of the label", kDisk, {{kBetaZone, "a"}}, {}, {{kGceZone, "a"}}, true},
           {"an old region becomes a new one",
            kDisk,
            {},
            {{kBetaZone, "a"}, {kBetaRegion, "r"}},
            {{kGceZone, "a"}, {kRegion, "r"}},
            true},
           {"but not with a new zone",
            kDisk,
            {},
            {{kZone, "a"}, {kBetaRegion, "r"}},
            {{kGceZone, "a"}, {kRegion, "r"}},
            false},
           {"no zone at all", kDisk, {}, {}, {}, true},
           {"AWS",
            "awsElasticBlockStore: {volumeID: v}",
            {},
            {{kZone, "a"}},
            {{"topology.ebs.csi.aws.com/zone", "a"}},
            true},
           {"Azure",
            "azureDisk: {diskName: d, diskURI: u}",
            {},
            {{kZone, "a"}},
            {{"topology.disk.csi.azure.com/zone", "a"}},
            true},
           {"Cinder",
            "cinder: {volumeID: v}",
            {},
            {{kZone, "a"}},
            {{"topology.cinder.csi.openstack.org/zone", "a"}},
            true},
           {"Portworx has no key",
            "portworxVolume: {volumeID: v}",
            {},
            {{kZone, "a"}},
            {{kZone, "a"}},
            true},
           {"vSphere neither",
            "vsphereVolume: {volumePath: v}",
            {},
            {{kZone, "a"}},
            {{kZone, "a"}},
            true},
       }) {
    const api::CSINode node = CsiNode(
        "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/cinder,"
        "kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume");
    EXPECT_EQ(Affinity(c.source, c.volume_labels, c.requirements).Matches(c.node_labels, &node),
              c.matches)
        << c.name;
  }
}

TEST(VolumeAffinityTest, ElsewhereTheyUseTheirOwn) {
  const VolumeAffinity affinity = Affinity(kDisk, {}, {{kZone, "a"}});
  const LabelSet own = {{kZone, "a"}}, of_driver = {{kGceZone, "a"}};
  const api::CSINode other = CsiNode("kubernetes.io/aws-ebs"), none;
  for (const api::CSINode* node : {&other, &none, static_cast<const api::CSINode*>(nullptr)}) {
    EXPECT_TRUE(affinity.Matches(own, node));
    EXPECT_FALSE(affinity.Matches(of_driver, node));
  }
  const VolumeAffinity csi =
      Affinity("csi: {driver: pd.csi.storage.gke.io, volumeHandle: h}", {}, {{kZone, "a"}});
  const api::CSINode migrated = CsiNode("kubernetes.io/gce-pd");
  EXPECT_TRUE(csi.Matches(own, &migrated)) << "a volume of the driver says what it means";
}

}  // namespace
}  // namespace berth::testing
