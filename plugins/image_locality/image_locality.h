// SPDX-License-Identifier: Apache-2.0
// ImageLocality: prefers nodes that have the pod's images already.
#ifndef BERTH_PLUGINS_IMAGE_LOCALITY_IMAGE_LOCALITY_H_
#define BERTH_PLUGINS_IMAGE_LOCALITY_IMAGE_LOCALITY_H_

#include <memory>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/columns/node_table.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/score.h"
#include "berth/incremental/sign.h"
#include "berth/incremental/uniform_score.h"

namespace berth {

// The bytes of the pod's images that a node has, each scaled by the share of nodes that have it, so
// that a pod is not drawn to the few nodes that happen to hold a rare image; 0 to 100 between two
// thresholds. As kube-scheduler v1.35 imagelocality.
class ImageLocality final : public Plugin,
                            public ScorePlugin,
                            public UniformScorePlugin,
                            public SignPlugin {
 public:
  static constexpr absl::string_view kName = "ImageLocality";
  static absl::StatusOr<std::unique_ptr<Plugin>> Create(const PluginArgs& args, Handle& handle);
  explicit ImageLocality(Handle& handle) : handle_(handle) {}

  absl::string_view Name() const override { return kName; }
  absl::StatusOr<int64_t> Score(const CycleState&, const PodInfo& pod,
                                const NodeInfo& node) const override;
  absl::Status ScoreNodes(const CycleState&, const PodInfo& pod, const NodeTable& nodes,
                          absl::Span<const NodeRow> rows,
                          absl::Span<int64_t> scores) const override;
  // 0, as usual where no images are pulled ahead, or few nodes have each: not even a node with all
  // of them would score.
  std::optional<int64_t> UniformScore(const CycleState&, const PodInfo& pod,
                                      const NodeTable& nodes) const override;

  Status SignPod(const PodInfo& pod, PodSignature& signature) const override;
  bool SignsSpecOnly() const override { return true; }
  Aspects DependsOn() const override { return Aspect::kNodeImages | Aspect::kImageSpread; }

 private:
  // An image of the pod and what it adds to the sum of a node that has it.
  struct Image {
    Symbol name;
    int64_t scaled_bytes;
  };
  using Images = absl::InlinedVector<Image, 4>;
  // The pod's images that any node has; one that two containers use counts twice.
  static Images ImagesOf(const PodInfo& pod, const NodeTable& nodes);
  static int64_t ScoreOf(const Images& images, const PodInfo& pod, const NodeInfo& node);

  Handle& handle_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_IMAGE_LOCALITY_IMAGE_LOCALITY_H_
