// SPDX-License-Identifier: Apache-2.0
// Cards: what pods ask for, which they get, and that nobody gets what another has.
#include "plugins/gpu/gpu_devices.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/builtin_plugins.h"
#include "berth/configuration.h"
#include "berth/framework/bind.h"
#include "berth/simulation.h"
#include "gmock/gmock.h"
#include "plugins/gpu/gpu_inventory.h"
#include "tests/plugins/random_cluster.h"
#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr int kNodes = 4;
constexpr int kSteps = 120;

constexpr char kConfig[] = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packing
  plugins: {multiPoint: {enabled: [{name: GpuDevices}, {name: GpuExpectedWaste}, {name: Probe}]}}
- schedulerName: spreading
  plugins: {multiPoint: {enabled: [{name: GpuDevices}, {name: Probe}]}}
  pluginConfig: [{name: GpuDevices, args: {cards: Spread}}]
)";

// What was reserved, and a way to the inventory.
struct Notes {
  std::map<std::string, std::string> reserved;  // pod → cards
  Handle* handle = nullptr;
  std::shared_ptr<GpuInventory> inventory;
};

class Probe final : public Plugin, public ReservePlugin {
 public:
  explicit Probe(Notes& notes) : notes_(notes) {}
  absl::string_view Name() const override { return "Probe"; }
  Status Reserve(CycleState& state, const PodInfo& pod, absl::string_view) override {
    const auto& annotations = BindMetadataOf(state).annotations;
    const auto cards = annotations.find(std::string(kGpuIndexAnnotation));
    notes_.reserved[pod.key()] = cards == annotations.end() ? "" : cards->second;
    return Status::Success();
  }
  void Unreserve(CycleState&, const PodInfo&, absl::string_view) override {}

 private:
  Notes& notes_;
};

Object Parse(const std::string& text) {
  Manifests manifests = ParseManifest(text, "test");
  BERTH_CHECK(manifests.objects.size() == 1) << text;
  return manifests.objects.front();
}

Object NodeObject(int i, int allocatable) {
  return Parse(absl::StrCat(
      "{apiVersion: v1, kind: Node, metadata: {name: n", i,
      ", labels: {nvidia.com/gpu.memory: '16384'}}, status: {capacity: {cpu: '64', memory: 256Gi, "
      "pods: '110', nvidia.com/gpu: '4', koordinator.sh/gpu-core: '400', "
      "koordinator.sh/gpu-memory-ratio: '400'}, allocatable: {cpu: '64', memory: 256Gi, pods: "
      "'110', "
      "koordinator.sh/gpu-core: '400', koordinator.sh/gpu-memory-ratio: '400', nvidia.com/gpu: '",
      allocatable, "'}}}"));
}

Object RandomPod(int i, Random& random) {
  std::string annotations, gpus;
  switch (random.Below(5)) {
    case 0:
      annotations = absl::StrCat("alibabacloud.com/gpu-milli: '", 50 * (1 + random.Below(19)), "'");
      break;
    case 1:
      annotations = absl::StrCat("gpu-memory: '", 500 * (1 + random.Below(30)), "'");
      break;
    case 2:
      annotations = absl::StrCat("gpu-fraction: '0.", 1 + random.Below(9), "'");
      break;
    case 3: {
      const int core = 10 * (1 + random.Below(10));
      const int ratio = 10 * (1 + random.Below(10));
      gpus = absl::StrCat(", koordinator.sh/gpu-core: '", core,
                          "', koordinator.sh/gpu-memory-ratio: '", ratio, "'");
      break;
    }
    default:
      gpus = absl::StrCat(", nvidia.com/gpu: '", 1 + random.Below(4), "'");
  }
  const absl::string_view profile = random.Percent(50) ? "packing" : "spreading";
  return Parse(absl::StrCat(
      "{apiVersion: v1, kind: Pod, metadata: {name: p", i, ", namespace: d, annotations: {",
      annotations, "}}, spec: {schedulerName: ", profile,
      ", containers: [{name: c, image: x, resources: {requests: {cpu: 100m", gpus, "}}}]}}"));
}

struct CardUse {
  int64_t milli = 0, memory = 0;
  bool whole = false;
  int pods = 0;
};
using Uses = std::map<std::string, CardUse>;  // "node/card"

// By the records on the pods; of pods that are placed and not bound yet, by what was reserved.
Uses UsesOf(const Notes& notes) {
  Uses uses;
  const std::vector<ResourceId> whole = {ResourceIdOf("nvidia.com/gpu")};
  for (NodeRow row = 0; row < notes.handle->nodes().size(); ++row) {
    const NodeInfo& node = notes.handle->nodes().node(row);
    for (const PodPtr& pod : node.pods()) {
      const GpuRequest request = ReadGpuRequest(*pod, whole);
      const auto reserved = notes.reserved.find(pod->key());
      std::string cards = reserved == notes.reserved.end() ? "" : reserved->second;
      if (!pod->node_name().empty()) {
        const std::optional<absl::string_view> recorded = pod->annotation(kGpuIndexAnnotation);
        BERTH_CHECK(recorded.has_value()) << pod->key();
        if (!cards.empty()) {
          EXPECT_EQ(*recorded, cards) << pod->key() << ": reserved and bound";
        }
        cards = std::string(*recorded);
      }
      GpuNode like;
      GpuCard card;
      card.memory_bytes = int64_t{16384} << 20;
      for (const absl::string_view index : absl::StrSplit(cards, '-')) {
        CardUse& use = uses[absl::StrCat(node.name().view(), "/", index)];
        use.milli += like.MilliOn(request, card);
        use.memory += like.MemoryOn(request, card);
        use.whole |= request.whole();
        ++use.pods;
      }
    }
  }
  return uses;
}

void CheckCards(const Notes& notes) {
  const Uses uses = UsesOf(notes);
  for (const auto& [card, use] : uses) {
    EXPECT_LE(use.milli, 1000) << card;
    EXPECT_LE(use.memory, int64_t{16384} << 20) << card;
    EXPECT_TRUE(!use.whole || use.pods == 1) << card << " is not one pod's alone";
  }
  GpuInventory& inventory = *notes.inventory;
  inventory.Sync(notes.handle->nodes(), *notes.handle);
  for (NodeRow row = 0; row < notes.handle->nodes().size(); ++row) {
    // As the node is now: the table is brought up to date by the next attempt.
    const NodeInfo& info = notes.handle->nodes().node(row);
    if (!info.has_node()) continue;  // it went
    const GpuInventory::Entry entry = inventory.At(info);
    if (const GpuInventory::Entry* const found = inventory.Find(info); found != nullptr) {
      EXPECT_EQ(found, &inventory.entry(row)) << "by name and by row";
    }
    const std::string node(info.name().view());
    for (const GpuCard& card : entry.node.cards) {
      const auto use = uses.find(absl::StrCat(node, "/", card.index));
      const CardUse expected = use == uses.end() ? CardUse() : use->second;
      EXPECT_EQ(card.milli_free, 1000 - expected.milli) << node << "/" << card.index;
      EXPECT_EQ(card.memory_free, card.memory_bytes - expected.memory) << node;
      EXPECT_EQ(card.pods, expected.pods) << node << "/" << card.index;
    }
  }
}

// Pods and nodes come and go, bindings fail, cards fall sick and recover, and the scheduler starts
// again: no card above what it has, the card that was reserved is the card that is recorded,
// and the inventory is the sum of the records.
TEST(GpuDevicesTest, CardsAreNeverGivenTwice) {
  for (int seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    std::vector<Object> objects;
    for (int i = 0; i < kNodes; ++i) objects.push_back(NodeObject(i, 4));
    int step = 0;
    for (int life = 0; life < 3; ++life) {  // of the scheduler
      Notes notes;
      const Registry registry =
          BuiltinRegistry({WithPlugin("Probe",
                                      [&](const PluginArgs&, Handle& handle)
                                          -> absl::StatusOr<std::unique_ptr<Plugin>> {
                                        notes.handle = &handle;
                                        notes.inventory = handle.Shared<GpuInventory>();
                                        return std::make_unique<Probe>(notes);
                                      })})
              .value();
      LoadedConfiguration loaded = ParseConfiguration(kConfig, "test", registry);
      ASSERT_TRUE(loaded.problems.ok()) << loaded.problems.ToStatus();
      auto simulation =
          Simulation::Create(
              {.configuration = loaded.configuration, .registry = &registry, .objects = objects})
              .value();
      simulation->RunUntilIdle();
      CheckCards(notes);
      simulation->cluster().SetBindFault([&](const Identity&, const std::string&) {
        return random.Percent(10) ? absl::UnavailableError("no answer") : absl::OkStatus();
      });
      for (int i = 0; i < kSteps; ++i) {
        const int kind = random.Below(10);
        if (kind < 6) {
          simulation->cluster().Set(RandomPod(step++, random));
        } else if (kind < 9 && step > 0) {
          simulation->cluster().Delete(Kind::kPod, absl::StrCat("d/p", random.Below(step)));
        } else {
          const int node = random.Below(kNodes);
          const int usable = random.Percent(50) ? 4 : random.Below(5);
          const Object object = NodeObject(node, usable);
          if (random.Percent(70) || !simulation->cluster().Delete(Kind::kNode, object.key())) {
            simulation->cluster().Set(object);
          }
        }
        simulation->RunUntilIdle();
        simulation->Advance(absl::Seconds(random.Below(3)));
        CheckCards(notes);
        if (::testing::Test::HasFailure()) return;
      }
      objects = simulation->cluster().List(Kind::kNode);
      for (Object& pod : simulation->cluster().List(Kind::kPod)) objects.push_back(std::move(pod));
    }
  }
}

GpuNode TwoNumaNodes(int busy_of_first) {
  GpuNode node;
  node.usable = 8;
  for (int i = 0; i < 8; ++i) {
    GpuCard card;
    card.index = i;
    card.numa = i / 4;
    card.pods = i < busy_of_first ? 1 : 0;
    card.milli_free = i < busy_of_first ? 0 : 1000;
    node.cards.push_back(card);
  }
  return node;
}

TEST(GpuNodeTest, ChoosesWithinAGroup) {
  GpuRequest four{.cards = 4, .milli = 1000};
  EXPECT_THAT(TwoNumaNodes(2).Choose(four, CardOrder::kBinpack), ElementsAre(4, 5, 6, 7));
  GpuRequest two{.cards = 2, .milli = 1000};
  EXPECT_THAT(TwoNumaNodes(2).Choose(two, CardOrder::kBinpack), ElementsAre(2, 3));
  GpuRequest six{.cards = 6, .milli = 1000, .group = GpuGroupKind::kNuma, .group_required = true};
  EXPECT_FALSE(TwoNumaNodes(0).Fits(six));
  six.group_required = false;
  EXPECT_TRUE(TwoNumaNodes(0).Fits(six));
}

TEST(GpuNodeTest, PacksOrSpreadsShares) {
  GpuNode node = TwoNumaNodes(0);
  const GpuRequest share{.cards = 1, .milli = 400};
  node.Take(share, {5});
  EXPECT_THAT(node.Choose(share, CardOrder::kBinpack), ElementsAre(5));
  EXPECT_THAT(node.Choose(share, CardOrder::kSpread), ElementsAre(0));
  EXPECT_THAT(node.Choose({.cards = 1, .milli = 700}, CardOrder::kBinpack), ElementsAre(0));
}

TEST(GpuNodeTest, SickCardsThatNoPodNames) {
  GpuNode node = TwoNumaNodes(8);
  node.usable = 6;
  EXPECT_EQ(node.Spare(), 0);
  EXPECT_FALSE(node.Fits({.cards = 1, .milli = 100}));
  node.cards[0].pods = node.cards[1].pods = node.cards[2].pods = 0;
  for (int i = 0; i < 3; ++i) node.cards[i].milli_free = 1000;
  EXPECT_EQ(node.Spare(), 1);
  EXPECT_THAT(node.Choose({.cards = 1, .milli = 1000}, CardOrder::kBinpack), ElementsAre(0));
  EXPECT_FALSE(node.Fits({.cards = 2, .milli = 1000}));
  EXPECT_EQ(node.Free(0).total_milli_gpu(), 1000);
}

// A pod of the other profile would be given the card of which another has a half.
TEST(GpuProfiles, AProfileWithoutGpuDevicesBesideOneWithThemIsRefused) {
  const Registry registry = BuiltinRegistry().value();
  const auto create = [&](absl::string_view plugins) {
    LoadedConfiguration loaded =
        ParseConfiguration(absl::StrCat("apiVersion: kubescheduler.config.k8s.io/v1\n"
                                        "kind: KubeSchedulerConfiguration\n"
                                        "profiles:\n"
                                        "- schedulerName: cards\n"
                                        "  plugins: {multiPoint: {enabled: [{name: GpuDevices}]}}\n"
                                        "- schedulerName: plain\n"
                                        "  plugins: {",
                                        plugins, "}\n"),
                           "config", registry);
    BERTH_CHECK(loaded.problems.ok()) << loaded.problems.ToString();
    return Simulation::Create(
               {.configuration = std::move(loaded.configuration), .registry = &registry})
        .status();
  };
  EXPECT_TRUE(create("multiPoint: {enabled: [{name: GpuDevices}]}").ok());
  for (const char* const without : {"", "score: {enabled: [{name: GpuDevices}]}"}) {
    EXPECT_THAT(std::string(create(without).message()),
                ::testing::HasSubstr(
                    "plugin \"GpuDevices\" is enabled in profile cards, and not at filter in "
                    "profile plain; without it its pods are given whole GPUs of which others "
                    "have shares; enable it in every profile, or in none"));
  }
}

}  // namespace
}  // namespace berth::testing
