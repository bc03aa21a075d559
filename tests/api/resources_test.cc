// SPDX-License-Identifier: Apache-2.0
// Resource names and vectors of amounts.
#include "berth/api/resources.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST(ResourceIdTest, KnownOnesAreConstants) {
  EXPECT_EQ(ResourceIdOf("cpu"), kCpu);
  EXPECT_EQ(ResourceIdOf("memory"), kMemory);
  EXPECT_EQ(ResourceIdOf("ephemeral-storage"), kEphemeralStorage);
  const ResourceId gpu = ResourceIdOf("example.com/gpu");
  EXPECT_GT(gpu, kEphemeralStorage);
  EXPECT_EQ(ResourceIdOf("example.com/gpu"), gpu);
  EXPECT_EQ(ResourceName(gpu), "example.com/gpu");
  EXPECT_GT(ResourceCount(), gpu);
}

TEST(ResourceVectorTest, ZeroIsTheSameAsNothing) {
  ResourceVector a;
  a.Set(kMemory, 5);
  a.Set(kMemory, 0);
  EXPECT_EQ(a, ResourceVector());
  EXPECT_TRUE(a.IsZero());
  EXPECT_EQ(a.Get(1000), 0);
}

TEST(ResourceVectorTest, Arithmetic) {
  ResourceVector a, b;
  a.Set(kCpu, 100);
  a.Set(kMemory, 7);
  b.Set(kCpu, 30);
  b.Set(kEphemeralStorage, 9);
  ResourceVector sum = a;
  sum.Add(b);
  EXPECT_EQ(sum.Get(kCpu), 130);
  EXPECT_EQ(sum.Get(kMemory), 7);
  EXPECT_EQ(sum.Get(kEphemeralStorage), 9);
  sum.Subtract(b);
  EXPECT_EQ(sum, a);
  sum.Max(b);
  EXPECT_EQ(sum.Get(kCpu), 100);
  EXPECT_EQ(sum.Get(kEphemeralStorage), 9);
  std::vector<std::pair<ResourceId, int64_t>> entries;
  b.ForEach([&](ResourceId id, int64_t amount) { entries.emplace_back(id, amount); });
  EXPECT_THAT(entries,
              testing::ElementsAre(testing::Pair(kCpu, 30), testing::Pair(kEphemeralStorage, 9)));
  EXPECT_EQ(a.ToString(), "cpu: 100m, memory: 7");
}

TEST(ResourceVectorTest, Saturates) {
  ResourceVector a;
  a.Set(kCpu, kMax);
  a.Add(kCpu, 1);
  EXPECT_EQ(a.Get(kCpu), kMax);
  ResourceVector b;
  b.Set(kCpu, kMin);
  a.Subtract(b);
  EXPECT_EQ(a.Get(kCpu), kMax);
  b.Add(kCpu, -1);
  EXPECT_EQ(b.Get(kCpu), kMin);
}

TEST(ParseResourcesTest, KeepsPodsApart) {
  api::NodeStatus status;
  auto& allocatable = *status.mutable_allocatable();
  allocatable["cpu"].set_string("1500m");
  allocatable["memory"].set_string("1Ki");
  allocatable["pods"].set_string("110");
  allocatable["example.com/gpu"].set_string("8");
  int64_t pods = 0;
  const absl::StatusOr<ResourceVector> vector = ParseResources(status.allocatable(), &pods);
  ASSERT_TRUE(vector.ok());
  EXPECT_EQ(pods, 110);
  EXPECT_EQ(vector->Get(kCpu), 1500);
  EXPECT_EQ(vector->Get(kMemory), 1024);
  EXPECT_EQ(vector->Get(ResourceIdOf("example.com/gpu")), 8);

  allocatable["memory"].set_string("much");
  EXPECT_THAT(ParseResources(status.allocatable()).status().ToString(),
              testing::HasSubstr("memory: quantities must match"));
}

TEST(ResourceNameTest, Kinds) {
  const struct {
    absl::string_view name;
    bool native, extended, hugepages, volumes, scalar;
  } cases[] = {
      {"cpu", true, false, false, false, false},
      {"storage", true, false, false, false, false},
      {"kubernetes.io/thing", true, false, false, false, true},
      {"batch.kubernetes.io/thing", true, false, false, false, true},
      {"hugepages-2Mi", true, false, true, false, true},
      {"attachable-volumes-csi-x", true, false, false, true, true},
      {"example.com/gpu", false, true, false, false, true},
      {"requests.example.com/gpu", false, false, false, false, false},
      {"example.com/gpu/0", false, false, false, false, false},
      {"Example.com/gpu", false, false, false, false, false},
      {"example.com/", false, false, false, false, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(IsNativeResource(c.name), c.native) << c.name;
    EXPECT_EQ(IsExtendedResourceName(c.name), c.extended) << c.name;
    EXPECT_EQ(IsHugePageResourceName(c.name), c.hugepages) << c.name;
    EXPECT_EQ(IsAttachableVolumeResourceName(c.name), c.volumes) << c.name;
    EXPECT_EQ(IsScalarResourceName(c.name), c.scalar) << c.name;
  }
}

}  // namespace
}  // namespace berth
