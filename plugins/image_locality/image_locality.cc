// SPDX-License-Identifier: Apache-2.0
// The rule of ImageLocality, once for both forms.
#include "plugins/image_locality/image_locality.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "berth/api/amounts.h"
#include "berth/columns/node_table.h"

namespace berth {
namespace {

constexpr int64_t kMegabyte = 1024 * 1024;
constexpr int64_t kMinThreshold = 23 * kMegabyte;
constexpr int64_t kMaxThresholdPerContainer = 1000 * kMegabyte;

// The score of a node that has so many bytes of the pod's images, as they count. It grows with
// them.
int64_t ScoreFor(int64_t sum, const PodInfo& pod) {
  const int64_t max = kMaxThresholdPerContainer * pod.container_count();
  // The larger bound wins for a pod without containers, as upstream.
  const int64_t clamped = sum < kMinThreshold ? kMinThreshold : std::min(sum, max);
  return kMaxNodeScore * (clamped - kMinThreshold) / (max - kMinThreshold);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> ImageLocality::Create(const PluginArgs&, Handle& handle) {
  return std::make_unique<ImageLocality>(handle);
}

absl::StatusOr<int64_t> ImageLocality::Score(const CycleState&, const PodInfo& pod,
                                             const NodeInfo& node) const {
  return ScoreOf(ImagesOf(pod, handle_.nodes()), pod, node);
}

absl::Status ImageLocality::ScoreNodes(const CycleState&, const PodInfo& pod,
                                       const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                       absl::Span<int64_t> scores) const {
  const Images images = ImagesOf(pod, nodes);
  for (size_t i = 0; i < rows.size(); ++i) scores[i] = ScoreOf(images, pod, nodes.node(rows[i]));
  return absl::OkStatus();
}

std::optional<int64_t> ImageLocality::UniformScore(const CycleState&, const PodInfo& pod,
                                                   const NodeTable& nodes) const {
  int64_t sum = 0;
  for (const Image& image : ImagesOf(pod, nodes)) sum = SaturatingAdd(sum, image.scaled_bytes);
  if (ScoreFor(sum, pod) != kMinNodeScore) return std::nullopt;
  return kMinNodeScore;
}

// kube-scheduler v1.35 image_locality.go: size * (nodes that have it / nodes), truncated.
ImageLocality::Images ImageLocality::ImagesOf(const PodInfo& pod, const NodeTable& nodes) {
  Images images;
  for (const Symbol name : pod.images()) {
    const int64_t count = nodes.image_node_count(name);
    if (count == 0) continue;
    const double spread = static_cast<double>(count) / static_cast<double>(nodes.size());
    const double bytes = static_cast<double>(nodes.image_size_bytes(name));
    // Beyond every threshold, and an int64.
    images.push_back({name, static_cast<int64_t>(std::min(bytes * spread, 0x1p62))});
  }
  return images;
}

int64_t ImageLocality::ScoreOf(const Images& images, const PodInfo& pod, const NodeInfo& node) {
  int64_t sum = 0;
  for (const Image& image : images) {
    const bool present = absl::c_any_of(
        node.spec().images, [&](const NodeImage& other) { return other.name == image.name; });
    if (present) sum = SaturatingAdd(sum, image.scaled_bytes);
  }
  return ScoreFor(sum, pod);
}

Status ImageLocality::SignPod(const PodInfo& pod, PodSignature& signature) const {
  signature.Add(int64_t{pod.container_count()});
  for (const Symbol image : pod.images()) signature.Add(int64_t{image.id()});
  return Status::Success();
}

}  // namespace berth
