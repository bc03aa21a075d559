// SPDX-License-Identifier: Apache-2.0
// Slices of one pool that do not go together.
#include "devices/pools_of_objects.h"

#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

std::string SliceOfPool(absl::string_view name, absl::string_view node, int generation,
                        absl::string_view rest) {
  return absl::StrCat(
      "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: ", name,
      "}\nspec: {driver: d.x, nodeName: ", node, ", pool: {name: p, generation: ", generation,
      ", resourceSliceCount: 2}, ", rest, "}\n---\n");
}

std::string Warnings(absl::string_view slices) {
  const Manifests manifests = ParseManifest(slices, "f");
  EXPECT_TRUE(manifests.problems.ok()) << manifests.problems.ToString();
  return CheckPoolsOf(manifests).ToString();
}

TEST(CheckPoolsOf, WarnsOfWhatMakesAPoolInvalid) {
  const std::string one = SliceOfPool("a", "n0", 1, "devices: [{name: g0}]");
  EXPECT_EQ(Warnings(absl::StrCat(one, SliceOfPool("b", "n0", 1, "devices: [{name: g1}]"))), "");
  EXPECT_EQ(Warnings(absl::StrCat(one, SliceOfPool("b", "n0", 2, "devices: [{name: g0}]"))), "");
  for (const absl::string_view node : {"n0", "n1"}) {
    EXPECT_THAT(
        Warnings(absl::StrCat(one, SliceOfPool("b", node, 1, "devices: [{name: g1}, {name: g0}]"))),
        HasSubstr("warning: ResourceSlice b: spec.devices[1].name: \"g0\" is in ResourceSlice a, "
                  "too. On a node that has both pool d.x/p is invalid, and no claim gets its "
                  "devices; for different nodes they count as one device"));
  }
  const std::string counters =
      SliceOfPool("c", "n0", 1, "sharedCounters: [{name: s, counters: {k: {value: 1}}}]");
  const auto use = [](absl::string_view set, absl::string_view counter) {
    return SliceOfPool("u", "n0", 1,
                       absl::StrCat("devices: [{name: g, consumesCounters: [{counterSet: ", set,
                                    ", counters: {", counter, ": {value: 1}}}]}]"));
  };
  EXPECT_EQ(Warnings(absl::StrCat(counters, use("s", "k"))), "");
  EXPECT_THAT(Warnings(absl::StrCat(counters, use("t", "k"))),
              HasSubstr("ResourceSlice u: spec.devices[0].consumesCounters[0].counterSet: no slice "
                        "has sharedCounters \"t\", so that pool d.x/p is invalid"));
  EXPECT_THAT(Warnings(absl::StrCat(counters, use("s", "j"))),
              HasSubstr("consumesCounters[0].counters: there is no counter \"j\" in \"s\""));
  EXPECT_THAT(
      Warnings(absl::StrCat(
          counters,
          SliceOfPool("e", "n0", 1, "sharedCounters: [{name: s, counters: {k: {value: 1}}}]"))),
      HasSubstr("ResourceSlice e: spec.sharedCounters[0].name: \"s\" is in ResourceSlice c, too"));
}

}  // namespace
}  // namespace berth
