// SPDX-License-Identifier: Apache-2.0
// On which nodes a volume can be used.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_VOLUME_AFFINITY_H_
#define BERTH_PLUGINS_VOLUME_BINDING_VOLUME_AFFINITY_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/kinds.h"
#include "berth/api/labels.h"
#include "berth/api/node_selector.h"
#include "berth/api/symbol.h"
#include "berth/columns/node_table.h"

namespace berth {

// The node affinity of one volume, compiled.
class VolumeAffinity {
 public:
  explicit VolumeAffinity(const api::PersistentVolume& volume);

  // As the volume says.
  bool Matches(const LabelSet& node_labels) const;
  // As its CSI driver would say it, on nodes where the volume's plugin has been replaced by it.
  // `csi_node` is that of the node, null if it has none.
  bool Matches(const LabelSet& node_labels, const api::CSINode* csi_node) const;
  // What the volume says, over columns: sets `matches` of those of `rows` to 0 that it does not
  // match. Only if can_use_columns().
  void KeepMatching(const NodeTable& nodes, absl::Span<const NodeRow> rows,
                    absl::Span<uint8_t> matches) const;
  // A label that every node has that matches, if there is one: local volumes name a host.
  std::optional<std::pair<Symbol, Symbol>> NeededLabel() const;
  // Whether labels are all that counts.
  bool can_use_columns() const;
  // Whether Matches() takes a look at `csi_node`.
  bool depends_on_csi_node() const { return !plugin_.empty(); }

 private:
  std::optional<NodeSelector> required_;
  absl::string_view plugin_;  // "kubernetes.io/gce-pd"; empty for all that are not replaced
  std::optional<NodeSelector> csi_required_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_VOLUME_AFFINITY_H_
