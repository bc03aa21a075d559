// SPDX-License-Identifier: Apache-2.0
// Resource names and vectors of amounts.
#include "berth/api/resources.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "berth/api/amounts.h"
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

// A map of all amounts, zeros included.
using Amounts = std::map<ResourceId, int64_t>;

Amounts NonZero(const Amounts& amounts) {
  Amounts result;
  for (const auto& [id, amount] : amounts) {
    if (amount != 0) result[id] = amount;
  }
  return result;
}

// Common resources and others, few and many of them, in any order.
TEST(ResourceVectorTest, IsAMapOfAmounts) {
  for (int i = 0; i < kCommonResources; ++i) ResourceIdOf(absl::StrCat("example.com/map-", i));
  std::vector<ResourceId> ids = {kCpu, kMemory, kEphemeralStorage, kCommonResources - 1};
  for (int i = 0; i < 40; ++i) {
    ids.push_back(ResourceIdOf(absl::StrCat("example.com/rare-", i)));
    ASSERT_GE(ids.back(), kCommonResources);
  }
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  const auto amount = [&]() -> int64_t {
    const int64_t amounts[] = {0, 0, 1, 2, -1, -3, kMax, kMin};
    return amounts[below(8)];
  };
  struct Both {
    ResourceVector vector;
    Amounts map;
  };
  std::vector<Both> all(4);
  for (int step = 0; step < 20'000; ++step) {
    Both& one = all[below(4)];
    const Both& other = all[below(4)];
    const ResourceId id = ids[below(step % 2 == 0 ? 8 : static_cast<int>(ids.size()))];
    const int64_t of_id = amount();
    const auto combine = [&](auto operation) {
      Amounts combined;
      for (const ResourceId each : ids) combined[each] = operation(one.map[each], 0);
      for (const auto& [each, theirs] : Amounts(other.map)) {
        combined[each] = operation(one.map[each], theirs);
      }
      one.map = combined;
    };
    switch (below(9)) {
      case 0:
        one.vector.Add(other.vector);
        combine([](int64_t a, int64_t b) { return SaturatingAdd(a, b); });
        break;
      case 1:
        one.vector.Subtract(other.vector);
        combine([](int64_t a, int64_t b) { return SaturatingSubtract(a, b); });
        break;
      case 2:
        one.vector.Max(other.vector);
        combine([](int64_t a, int64_t b) { return std::max(a, b); });
        break;
      case 3:
        one.vector.Add(id, of_id);
        one.map[id] = SaturatingAdd(one.map[id], of_id);
        break;
      case 4:
        if (below(20) == 0) one = {};
        break;
      default:
        one.vector.Set(id, of_id);
        one.map[id] = of_id;
    }
    Amounts visited;
    ResourceId last = -1;
    one.vector.ForEach([&](ResourceId each, int64_t of_each) {
      EXPECT_LT(last, each);
      last = each;
      visited[each] = of_each;
    });
    ASSERT_EQ(visited, NonZero(one.map)) << step;
    for (const ResourceId each : ids) ASSERT_EQ(one.vector.Get(each), one.map[each]) << step;
    ASSERT_EQ(one.vector.IsZero(), visited.empty()) << step;
    const bool same = visited == NonZero(other.map);
    ASSERT_EQ(one.vector == other.vector, same) << step;
    if (same) {
      ASSERT_EQ(absl::HashOf(one.vector), absl::HashOf(other.vector)) << step;
    }
  }
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
