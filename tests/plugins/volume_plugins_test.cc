// SPDX-License-Identifier: Apache-2.0
// What the volume plugins say of all nodes at once, with what they cache, is what new instances
// say of each node, whatever happened to nodes, pods and objects in between.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "plugins/node_volume_limits/node_volume_limits.h"
#include "plugins/volume_binding/volume_binding.h"
#include "plugins/volume_restrictions/volume_restrictions.h"
#include "plugins/volume_zone/volume_zone.h"
#include "tests/plugins/random_cluster.h"
#include "tests/plugins/run_plugin.h"
#include "tests/plugins/shared_reasons.h"

namespace berth::testing {
namespace {

template <class P>
std::unique_ptr<P> MakeVolumePlugin(Handle& handle) {
  if constexpr (std::is_same_v<P, VolumeBinding>) {
    return MakePlugin<P, VolumeBindingArgs>(handle);
  } else {
    return MakePlugin<P>(handle);
  }
}

constexpr int kSeeds = 40;
constexpr int kSteps = 60;
constexpr int kNames = 7;  // of objects of a kind
constexpr Kind kKinds[] = {Kind::kPersistentVolumeClaim, Kind::kPersistentVolume, Kind::kCSINode,
                           Kind::kVolumeAttachment, Kind::kStorageClass};

// Nodes in a table, pods on them and objects of storage, of which something changes at each step.
class RandomVolumes {
 public:
  explicit RandomVolumes(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 6; ++i) AddNode();
    for (int i = 0; i < 60; ++i) ChangeObject();
    for (int i = 0; i < 12; ++i) AddPod();
  }

  void Step() {
    for (int changes = random_.Below(5); changes > 0; --changes) {
      const int kind = random_.Below(20);
      if (kind < 10) {
        ChangeObject();
      } else if (kind < 13) {
        AddPod();
      } else if (kind < 15) {
        RemovePod();
      } else if (kind < 16) {
        AddNode();
      } else if (kind < 17) {
        RemoveNode();
      } else if (kind < 19) {
        ChangeNode();
      } else {
        Shuffle();
      }
    }
  }

  PodPtr NewPod() {
    PodBuilder pod = MakePod().Name(absl::StrCat("p", random_.Below(5)));
    pod.Uid(absl::StrCat("u", ++pods_));
    for (int i = random_.Between(1, 3); i > 0; --i) AddVolume(pod);
    return pod.Obj();
  }

  const NodeTable& table() const { return table_; }
  FakeHandle& handle() { return handle_; }
  std::vector<Object> Objects() const {
    std::vector<Object> objects;
    for (const Kind kind : kKinds) {
      for (const Object* object : handle_.objects().List(kind)) objects.push_back(*object);
    }
    return objects;
  }
  Random& random() { return random_; }

 private:
  // --- Nodes and pods ---

  NodeBuilder Node(absl::string_view name) {
    NodeBuilder node = MakeNode().Name(name);
    if (random_.Percent(80)) node.Label("topology.kubernetes.io/zone", Zone());
    if (random_.Percent(20)) node.Label("failure-domain.beta.kubernetes.io/zone", Zone());
    if (random_.Percent(20)) node.Label("topology.kubernetes.io/region", Zone());
    return node;
  }
  void AddNode() {
    const std::string name = absl::StrCat("n", random_.Below(9));
    if (row_of_.contains(name)) return;
    nodes_.push_back(std::make_unique<NodeInfo>(Node(name).Info()));
    row_of_.insert(name);
    table_.InsertRow(random_.Below(table_.size() + 1), nodes_.back().get());
  }
  void RemoveNode() {
    if (table_.size() < 2) return;
    const NodeRow row = Row();
    row_of_.erase(std::string(table_.node(row).name().view()));
    table_.RemoveRow({row});
  }
  void ChangeNode() {
    const NodeRow row = Row();
    NodeInfo& node = NodeOf(row);
    node.SetSpec(Node(node.name().view()).Info().shared_spec());
    table_.RefreshRow(row);
  }
  void Shuffle() {
    std::vector<const NodeInfo*> nodes;
    for (NodeRow row = 0; row < table_.size(); ++row) nodes.push_back(&table_.node(row));
    std::swap(nodes[Row()], nodes[Row()]);
    random_.Percent(50) ? table_.Rearrange(nodes) : table_.SetOrder(nodes);
  }
  void AddPod() {
    const NodeRow row = Row();
    NodeOf(row).AddPod(NewPod());
    table_.RefreshRow(row);
  }
  void RemovePod() {
    const NodeRow row = Row();
    const auto pods = table_.node(row).pods();
    if (pods.empty()) return;
    NodeOf(row).RemovePod(std::string(pods[random_.Below(static_cast<int>(pods.size()))]->uid()));
    table_.RefreshRow(row);
  }
  NodeRow Row() { return random_.Below(table_.size()); }
  NodeInfo& NodeOf(NodeRow row) { return const_cast<NodeInfo&>(table_.node(row)); }

  void AddVolume(PodBuilder& pod) {
    const int kind = random_.Below(12);
    if (kind < 8) {
      pod.Claim(absl::StrCat("c", random_.Below(kNames)));
      return;
    }
    const std::string name = absl::StrCat("e", pod.Message().spec().volumes_size());
    if (kind < 9) {
      pod.EphemeralVolume(name);
      return;
    }
    api::Volume* const volume = pod.Message().mutable_spec()->add_volumes();
    volume->set_name(name);
    api::VolumeSource& source = *volume->mutable_volume_source();
    const std::string disk = absl::StrCat("h", random_.Below(kNames));
    if (kind < 10) {
      source.mutable_gce_persistent_disk()->set_pd_name(disk);
      source.mutable_gce_persistent_disk()->set_read_only(random_.Percent(50));
    } else if (kind < 11) {
      source.mutable_portworx_volume()->set_volume_id(disk);
    } else {
      source.mutable_aws_elastic_block_store()->set_volume_id(
          random_.Percent(10) ? "aws://z/not-a-volume" : absl::StrCat("vol-", disk));
    }
  }

  // --- Objects ---

  std::string Zone() { return absl::StrCat("z", random_.Below(3)); }
  std::string Driver() { return absl::StrCat("d", random_.Below(2)); }
  std::string Number() { return absl::StrCat(random_.Below(kNames)); }

  void ChangeObject() {
    const int kind = random_.Below(14);
    const std::string yaml = kind < 5    ? Claim()
                             : kind < 8  ? Volume()
                             : kind < 11 ? CsiNode()
                             : kind < 13 ? Attachment()
                                         : Class();
    const Object object = ObjectsFromYaml(yaml)[0];
    if (random_.Percent(15)) {
      handle_.object_store().Remove(object.kind(), object.key());
    } else {
      handle_.object_store().Set(object);
    }
  }
  std::string Claim() {
    const bool ephemeral = random_.Percent(20);
    const std::string name =
        ephemeral ? absl::StrCat("p", random_.Below(5), "-e", random_.Below(2)) : "c" + Number();
    std::string text = absl::StrCat(
        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: ", name, ", uid: ", name);
    if (ephemeral) {
      absl::StrAppend(&text, ", ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u",
                      random_.Percent(70) ? pods_ : 0, ", controller: true}]");
    }
    const bool bound = random_.Percent(70);
    if (bound) absl::StrAppend(&text, ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}");
    absl::StrAppend(&text, "}, spec: {accessModes: [",
                    random_.Percent(30) ? "ReadWriteOncePod" : "ReadWriteOnce",
                    "], storageClassName: s", random_.Below(3));
    if (bound) absl::StrAppend(&text, ", volumeName: v", Number());
    return text + "}}";
  }
  std::string Volume() {
    std::string text = absl::StrCat("{apiVersion: v1, kind: PersistentVolume, metadata: {name: v",
                                    Number(), ", labels: {");
    if (random_.Percent(30)) {
      absl::StrAppend(&text, "topology.kubernetes.io/zone: ", Zone(), "__", Zone(), ", ");
    }
    if (random_.Percent(20)) {
      absl::StrAppend(&text, "failure-domain.beta.kubernetes.io/zone: ", Zone());
    }
    absl::StrAppend(&text, "}}, status: {phase: Available}, spec: {storageClassName: s2, ",
                    "accessModes: [ReadWriteOnce], ");
    if (random_.Percent(60)) {
      absl::StrAppend(&text, "nodeAffinity: {required: {nodeSelectorTerms: [");
      if (random_.Percent(80)) {
        absl::StrAppend(&text, "{matchExpressions: [{key: topology.kubernetes.io/zone, operator: ",
                        random_.Percent(70) ? "In" : "NotIn", ", values: [", Zone(), "]}]}, ");
      }
      if (random_.Percent(20)) {
        absl::StrAppend(&text, "{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}");
      }
      absl::StrAppend(&text, "]}}, ");
    }
    const std::string handle = absl::StrCat("h", Number());
    switch (random_.Below(5)) {
      case 0:
        return absl::StrCat(text, "gcePersistentDisk: {pdName: ", handle, "}}}");
      case 1:
        return absl::StrCat(text, "portworxVolume: {volumeID: ", handle, "}}}");
      default:
        return absl::StrCat(text, "csi: {driver: ", Driver(), ", volumeHandle: ", handle, "}}}");
    }
  }
  std::string CsiNode() {
    std::string text = absl::StrCat(
        "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n", random_.Below(9),
        ", annotations: {storage.alpha.kubernetes.io/migrated-plugins: '",
        random_.Percent(50) ? "kubernetes.io/gce-pd,kubernetes.io/portworx-volume" : "",
        "'}}, spec: {drivers: [");
    for (const char* driver : {"d0", "d1", "pxd.portworx.com", "pd.csi.storage.gke.io"}) {
      if (random_.Percent(40)) continue;
      absl::StrAppend(&text, "{name: ", driver, ", nodeID: host");
      if (random_.Percent(80)) {
        absl::StrAppend(&text, ", allocatable: {count: ", random_.Below(4), "}");
      }
      absl::StrAppend(&text, "}, ");
    }
    return text + "]}}";
  }
  std::string Attachment() {
    return absl::StrCat(
        "{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: a", Number(),
        "}, spec: {attacher: ", Driver(), ", nodeName: n", random_.Below(9),
        ", source: {persistentVolumeName: v", Number(), "}}}");
  }
  std::string Class() {
    const int number = random_.Below(3);
    const char* const provisioner = number == 0   ? "d0"
                                    : number == 1 ? "kubernetes.io/portworx-volume"
                                                  : (random_.Percent(50) ? "d1" : "d0");
    return absl::StrCat("{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s",
                        number, "}, provisioner: ", provisioner,
                        ", volumeBindingMode: WaitForFirstConsumer}");
  }

  Random random_;
  std::vector<std::unique_ptr<NodeInfo>> nodes_;  // those that went, too
  std::set<std::string> row_of_;
  NodeTable table_;
  FakeHandle handle_;
  int pods_ = 0;
};

std::string Said(const Status& status) {
  return absl::StrCat(static_cast<int>(status.code()), " ", status.message());
}

template <class P>
class VolumePluginsTest : public ::testing::Test {
 protected:
  void Compare(uint64_t seed) {
    RandomVolumes cluster(seed);
    const auto plugin = MakeVolumePlugin<P>(cluster.handle());
    std::vector<PodPtr> pods;
    std::map<std::pair<int, Symbol>, Before> before;
    for (int i = 0; i < 4; ++i) pods.push_back(cluster.NewPod());
    for (int step = 0; step < kSteps; ++step) {
      FakeHandle fresh_handle({}, cluster.Objects());
      const auto fresh = MakeVolumePlugin<P>(fresh_handle);
      for (size_t i = 0; i < pods.size(); ++i) {
        SCOPED_TRACE(absl::StrCat("seed ", seed, ", step ", step, ", pod ", i));
        ComparePod(cluster, *plugin, *fresh, pods[i], static_cast<int>(i), before);
        if (HasFailure()) return;
      }
      cluster.Step();
    }
  }

 private:
  struct Before {
    uint64_t generation;
    FilterInputs inputs;
    std::string said;
  };

  void ComparePod(RandomVolumes& cluster, P& plugin, P& fresh, const PodPtr& pod, int number,
                  std::map<std::pair<int, Symbol>, Before>& before) {
    const NodeTable& table = cluster.table();
    CycleState state, fresh_state;
    PreFilterResult result;
    const Status found = plugin.PreFilter(state, *pod, table, result);
    EXPECT_EQ(Said(found), Said(fresh.PreFilter(fresh_state, *pod, table, result)));
    if (!found.ok()) return;
    std::vector<NodeRow> rows;
    const int share = cluster.random().OneOf(std::vector<int>{20, 50, 100});
    for (NodeRow row = 0; row < table.size(); ++row) {
      if (cluster.random().Percent(share)) rows.push_back(row);
    }
    NodeVerdicts verdicts;
    verdicts.Reset(table.size());
    verdicts.BeginBlock(rows);
    const Status evaluated = plugin.FilterNodes(state, *pod, table, verdicts);
    Status error;
    SharedReasons reasons;
    for (const NodeRow row : rows) {
      const Status want = fresh.Filter(fresh_state, *pod, table.node(row));
      ++verdicts_;
      if (want.IsError()) {
        error = want;
        break;
      }
      rejected_ += want.ok() ? 0 : 1;
      if (!evaluated.ok()) continue;
      shared_reasons_ += reasons.Check(verdicts, row, want);
    }
    EXPECT_EQ(Said(evaluated), Said(error));
    FilterInputs inputs;
    plugin.AddInputs(state, *pod, inputs);
    for (NodeRow row = 0; row < table.size(); ++row) {
      const NodeInfo& node = table.node(row);
      const std::string want = Said(fresh.Filter(fresh_state, *pod, node));
      EXPECT_EQ(Said(plugin.Filter(state, *pod, node)), want) << node.name().view();
      NodeInfo copy = node;
      copy.SetSpec(node.shared_spec());
      EXPECT_EQ(Said(plugin.Filter(state, *pod, copy)), want) << node.name().view();
      // And as a dry run sees it.
      std::string said = want;
      if (!node.pods().empty()) {
        copy.RemovePod(*node.pods()[node.generation() % node.pods().size()]);
        absl::StrAppend(&said, "; without a pod: ", Said(fresh.Filter(fresh_state, *pod, copy)));
      }
      Before& last = before[{number, node.name()}];
      if (last.generation == node.generation() && last.inputs == inputs) {
        EXPECT_EQ(last.said, said) << node.name().view() << ": with the same inputs";
        ++same_inputs_;
      }
      last = {node.generation(), inputs, said};
    }
  }

 public:
  int verdicts_ = 0, rejected_ = 0, same_inputs_ = 0, shared_reasons_ = 0;
};

using Plugins = ::testing::Types<NodeVolumeLimits, VolumeBinding, VolumeZone, VolumeRestrictions>;
TYPED_TEST_SUITE(VolumePluginsTest, Plugins);

TYPED_TEST(VolumePluginsTest, AgreeWithNewOnes) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    this->Compare(seed);
    if (this->HasFailure()) return;
  }
  EXPECT_GT(this->rejected_, this->verdicts_ / 50) << "of " << this->verdicts_;
  EXPECT_LT(this->rejected_, this->verdicts_ * 49 / 50) << "of " << this->verdicts_;
  EXPECT_GT(this->same_inputs_, 1000);
  EXPECT_GT(this->shared_reasons_, 100);
}

// A profile that leaves out their PreFilter is told so, and no pod goes anywhere.
template <class P>
void ExpectToMissPreFilter() {
  FakeHandle handle;
  const auto plugin = MakeVolumePlugin<P>(handle);
  const TestNodes nodes({MakeNode().Name("n").Info()});
  const CycleState state;
  const PodPtr pod = MakePod().Name("p").Claim("c").Obj();
  EXPECT_TRUE(plugin->Filter(state, *pod, nodes.node(0)).IsError()) << P::kName;
  NodeVerdicts verdicts;
  verdicts.Reset(1);
  verdicts.BeginBlock(std::vector<NodeRow>{0});
  EXPECT_TRUE(plugin->FilterNodes(state, *pod, nodes.table(), verdicts).IsError()) << P::kName;
}

TEST(VolumePlugins, AcceptNoNodeWithoutTheirPreFilter) {
  ExpectToMissPreFilter<NodeVolumeLimits>();
  ExpectToMissPreFilter<VolumeBinding>();
  ExpectToMissPreFilter<VolumeRestrictions>();
  ExpectToMissPreFilter<VolumeZone>();
}

}  // namespace
}  // namespace berth::testing
