// The rule of ImageLocality, once for both forms.
#include "plugins/image_locality/image_locality.h"

#include <algorithm>

namespace berth {
namespace {

constexpr int64_t kMegabyte = 1024 * 1024;
constexpr int64_t kMinThreshold = 23 * kMegabyte;
constexpr int64_t kMaxThresholdPerContainer = 1000 * kMegabyte;

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
  if (images
          .empty()) {  // usual where nobody pulls images ahead: nothing to look for on 5,000 nodes
    std::fill(scores.begin(), scores.end(), kMinNodeScore);
    return absl::OkStatus();
  }
  for (size_t i = 0; i < rows.size(); ++i) scores[i] = ScoreOf(images, pod, nodes.node(rows[i]));
  return absl::OkStatus();
}

ImageLocality::Images ImageLocality::ImagesOf(const PodInfo& pod, const NodeTable& nodes) {
  Images images;
  for (const Symbol name : pod.images()) {
    const int64_t count = nodes.image_node_count(name);
    if (count == 0) continue;
    images.push_back({name, static_cast<double>(count) / static_cast<double>(nodes.size())});
  }
  return images;
}

// kube-scheduler v1.35 image_locality.go: each image's share is truncated, then their sum is
// scaled.
int64_t ImageLocality::ScoreOf(const Images& images, const PodInfo& pod, const NodeInfo& node) {
  int64_t sum = 0;
  for (const Image& image : images) {
    for (const NodeImage& present : node.spec().images) {
      if (present.name != image.name) continue;
      sum += static_cast<int64_t>(static_cast<double>(present.size_bytes) * image.spread);
      break;
    }
  }
  const int64_t max = kMaxThresholdPerContainer * pod.container_count();
  // The larger bound wins for a pod without containers, as upstream.
  const int64_t clamped = sum < kMinThreshold ? kMinThreshold : std::min(sum, max);
  return kMaxNodeScore * (clamped - kMinThreshold) / (max - kMinThreshold);
}

Status ImageLocality::SignPod(const PodInfo& pod, PodSignature& signature) const {
  signature.Add(int64_t{pod.container_count()});
  for (const Symbol image : pod.images()) signature.Add(int64_t{image.id()});
  return Status::Success();
}

}  // namespace berth
