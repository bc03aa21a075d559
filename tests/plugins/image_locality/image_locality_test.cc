// SPDX-License-Identifier: Apache-2.0
// Tests of ImageLocality, after kube-scheduler's own table.
#include "plugins/image_locality/image_locality.h"

#include "tests/plugins/run_plugin.h"

namespace berth::testing {
namespace {

constexpr int64_t kMegabyte = 1024 * 1024;

NodeInfo NodeWith(absl::string_view name,
                  std::vector<std::pair<absl::string_view, int64_t>> megabytes) {
  NodeBuilder node = MakeNode().Name(name);
  for (const auto& [image, size] : megabytes) node.Image(image, size * kMegabyte);
  return node.Info();
}

PodPtr PodWith(std::vector<absl::string_view> images,
               std::vector<absl::string_view> init_images = {}) {
  PodBuilder pod = MakePod();
  for (const absl::string_view image : images) pod.Container(image);
  for (const absl::string_view image : init_images) pod.InitContainer(image);
  return pod.Obj();
}

TEST(ImageLocalityTest, Score) {
  const NodeInfo node_40_300_2000 = NodeWith(
      "m1", {{"gcr.io/40:latest", 40}, {"gcr.io/300:latest", 300}, {"gcr.io/2000:latest", 2000}});
  const NodeInfo node_250_10 = NodeWith("m2", {{"gcr.io/250:latest", 250}, {"gcr.io/10:v1", 10}});
  const NodeInfo node_600_40_900 = NodeWith(
      "m3", {{"gcr.io/600:latest", 600}, {"gcr.io/40:latest", 40}, {"gcr.io/900:latest", 900}});
  const NodeInfo no_images = NodeWith("m4", {});
  struct Case {
    absl::string_view name;
    PodPtr pod;
    std::vector<NodeInfo> nodes;
    std::vector<int64_t> want;
  };
  for (const Case& c : {
           // 40 MB on one of two nodes is below the threshold; 250 MB scaled to 125 MB is
           // 100 * (125 - 23) / (2000 - 23).
           Case{"the larger image wins",
                PodWith({"gcr.io/40", "gcr.io/250"}),
                {node_40_300_2000, node_250_10},
                {0, 5}},
           // (20 + 150 - 23) * 100 / (2000 - 23)
           Case{"two images on one node",
                PodWith({"gcr.io/40", "gcr.io/300"}),
                {node_40_300_2000, node_250_10},
                {7, 0}},
           // 10 MB scaled to 5 is below the threshold; 2000 scaled to 1000 is below the maximum.
           Case{"a tag is not another tag",
                PodWith({"gcr.io/10", "gcr.io/2000"}),
                {node_40_300_2000, node_250_10},
                {49, 0}},
           // (600 / 3 + 900 / 3 - 23) * 100 / (3000 - 23), and 2000 / 3 on the first node.
           Case{"three nodes",
                PodWith({"gcr.io/600", "gcr.io/900", "gcr.io/2000"}),
                {node_40_300_2000, node_600_40_900, no_images},
                {21, 16, 0}},
           // (300 / 2 - 23) * 100 / (1000 - 23), and (2000 / 2 - 23) * 100 / (1000 - 23).
           Case{"init containers count",
                PodWith({}, {"gcr.io/300"}),
                {node_40_300_2000, no_images},
                {12, 0}},
           Case{"capped at the maximum", PodWith({"gcr.io/2000"}), {node_40_300_2000}, {100}},
           Case{"an image that is nowhere", PodWith({"gcr.io/nowhere"}), {no_images}, {0}},
       }) {
    FakeHandle handle(c.nodes);
    const auto plugin = MakePlugin<ImageLocality>(handle);
    EXPECT_EQ(RunScore(*plugin, c.pod, handle), c.want) << c.name;
  }
}

}  // namespace
}  // namespace berth::testing
