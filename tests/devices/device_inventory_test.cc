// SPDX-License-Identifier: Apache-2.0
// Which pools a node has.
#include "berth/devices/device_inventory.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/devices/small_inventory.h"

namespace berth::testing {
namespace {

class PoolsTest : public ::testing::Test {
 protected:
  void Set(const std::string& name, const std::string& whom, int generation, int count,
           const std::string& devices = "{name: x}") {
    const auto objects = ObjectsFromYaml(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", name,
        ", uid: u}, spec: {driver: d, ", whom, ", pool: {name: p, generation: ", generation,
        ", resourceSliceCount: ", count, "}, devices: [", devices, "]}}"));
    inventory_.SetSlice(objects[0].Share<api::ResourceSlice>());
  }
  // "d/p", with "?" if it is incomplete, "!" if invalid, and how many slices.
  std::string Of(const std::string& node, const LabelSet& labels = {}) {
    const auto pools = inventory_.PoolsOf(Symbol::Intern(node), labels);
    if (!pools.ok()) return std::string(pools.status().message());
    return absl::StrJoin(*pools, " ", [](std::string* out, const NodePool& pool) {
      absl::StrAppend(out, pool.ToString(), pool.incomplete ? "?" : "", pool.invalid ? "!" : "",
                      ":", pool.slices.size());
    });
  }

  DeviceInventory inventory_;
};

TEST_F(PoolsTest, AreOfTheNodeOfSelectedOnesOrOfAll) {
  Set("own", "nodeName: n0", 1, 1);
  EXPECT_EQ(Of("n0"), "d/p:1");
  EXPECT_EQ(Of("m"), "");
  Set("own", "allNodes: true", 1, 1);
  EXPECT_EQ(Of("m"), "d/p:1");
  Set("own",
      "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: "
      "[z]}]}]}",
      1, 1);
  EXPECT_EQ(Of("m"), "");
  EXPECT_EQ(Of("m", {{"zone", "z"}}), "d/p:1");
  Set("own", "perDeviceNodeSelection: true", 1, 1);
  EXPECT_EQ(Of("m", {{"zone", "z"}}), "");
  inventory_.RemoveSlice("own");
  EXPECT_EQ(Of("n0"), "");
}

TEST_F(PoolsTest, HaveTheLatestGeneration) {
  Set("old", "nodeName: n0", 1, 1);
  Set("new", "nodeName: n0", 2, 1);
  EXPECT_EQ(Of("n0"), "d/p:1");
  Set("new", "nodeName: n0", 2, 2);
  EXPECT_EQ(Of("n0"), "d/p?:1");
  Set("newer", "nodeName: n0", 2, 2);
  EXPECT_EQ(Of("n0"), "d/p!:2");  // both have a device x
  Set("newer", "nodeName: n0", 2, 2, "{name: z}");
  EXPECT_EQ(Of("n0"), "d/p:2");
}

TEST_F(PoolsTest, AreCompleteWithTheSlicesOfOthers) {
  Set("mine", "nodeName: n0", 1, 2);
  EXPECT_EQ(Of("n0"), "d/p?:1");
  Set("theirs", "nodeName: m", 1, 2);
  EXPECT_EQ(Of("n0"), "d/p:1");
  Set("theirs", "perDeviceNodeSelection: true", 1, 2);
  EXPECT_EQ(Of("n0"), "d/p:1");  // counts though it is nobody's
  Set("theirs", "nodeName: m", 2, 2);
  EXPECT_EQ(Of("n0"), "");  // about to be replaced
  Set("mine", "nodeName: n0", 1, 1);
  EXPECT_EQ(Of("n0"), "d/p:1");  // complete by itself: nobody looks further
}

TEST_F(PoolsTest, AreInvalidIfAnyNameRepeats) {
  Set("one", "nodeName: n0", 1, 1, "{name: x}, {name: w}, {name: x}");
  EXPECT_EQ(Of("n0"), "d/p!:1");
  Set("one", "nodeName: n0", 1, 2);
  Set("two", "nodeName: n1", 1, 2);
  EXPECT_EQ(Of("n0"), "d/p:1");  // the other x is for another node
}

// kube-scheduler v1.35: structured/internal/stable looks at names before all slices are there, the
// allocators that other gates bring do not.
TEST_F(PoolsTest, AreInvalidAndIncompleteByDefaultOnly) {
  Set("one", "nodeName: n0", 1, 2, "{name: x}, {name: x}");
  EXPECT_EQ(Of("n0"), "d/p?!:1");
  inventory_.SetFeatures({.consumable_capacity = true});
  Set("one", "nodeName: n0", 1, 2, "{name: x}, {name: x}");
  EXPECT_EQ(Of("n0"), "d/p?:1");
}

TEST_F(PoolsTest, SayHowManySlicesThereAre) {
  Set("one", "nodeName: n0", 3, 4);
  Set("two", "nodeName: n1", 3, 4);
  Set("old", "nodeName: n0", 2, 1);
  const auto pools = inventory_.PoolsOf(Symbol::Intern("n0"), {});
  ASSERT_TRUE(pools.ok() && pools->size() == 1);
  EXPECT_EQ(pools->front().slices_there, 2);
  EXPECT_EQ(pools->front().slices_wanted, 4);
}

}  // namespace
}  // namespace berth::testing
