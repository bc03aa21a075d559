// SPDX-License-Identifier: Apache-2.0
// The VolumeAttachments of each node.
#ifndef BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHMENTS_BY_NODE_H_
#define BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHMENTS_BY_NODE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/handle/object_store.h"

namespace berth {

// Threads: none of its own.
class AttachmentsByNode {
 public:
  void Reset(const ObjectStore& objects);
  // The attachment of that name came, changed or went. Calls visit(node) for the nodes that it is
  // or was of.
  void Update(absl::string_view name, const ObjectStore& objects,
              absl::FunctionRef<void(absl::string_view node)> visit);
  // In no particular order. Valid until the next change.
  absl::Span<const api::VolumeAttachment* const> On(absl::string_view node) const;

 private:
  void Add(const std::shared_ptr<const api::VolumeAttachment>& attachment);

  // By the name in the message.
  absl::flat_hash_map<absl::string_view, std::shared_ptr<const api::VolumeAttachment>> by_name_;
  absl::flat_hash_map<std::string, std::vector<const api::VolumeAttachment*>> by_node_;
};

}  // namespace berth

#endif  // BERTH_PLUGINS_NODE_VOLUME_LIMITS_ATTACHMENTS_BY_NODE_H_
