// SPDX-License-Identifier: Apache-2.0
// Implementation of attachments_by_node.h.
#include "plugins/node_volume_limits/attachments_by_node.h"

#include <utility>

#include "berth/api/storage_v1.pb.h"

namespace berth {

void AttachmentsByNode::Reset(const ObjectStore& objects) {
  by_name_.clear();
  by_node_.clear();
  for (const Object* object : objects.List(Kind::kVolumeAttachment)) {
    Add(object->Share<api::VolumeAttachment>());
  }
}

void AttachmentsByNode::Update(absl::string_view name, const ObjectStore& objects,
                               absl::FunctionRef<void(absl::string_view node)> visit) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) {
    const std::shared_ptr<const api::VolumeAttachment> before = std::move(known->second);
    by_name_.erase(known);
    const auto node = by_node_.find(before->spec().node_name());
    std::erase(node->second, before.get());
    if (node->second.empty()) by_node_.erase(node);
    visit(before->spec().node_name());
  }
  const Object* const object = objects.Find(Kind::kVolumeAttachment, "", name);
  if (object == nullptr) return;
  const auto attachment = object->Share<api::VolumeAttachment>();
  visit(attachment->spec().node_name());
  Add(attachment);
}

void AttachmentsByNode::Add(const std::shared_ptr<const api::VolumeAttachment>& attachment) {
  by_node_[attachment->spec().node_name()].push_back(attachment.get());
  by_name_.emplace(attachment->metadata().name(), attachment);
}

absl::Span<const api::VolumeAttachment* const> AttachmentsByNode::On(absl::string_view node) const {
  const auto found = by_node_.find(node);
  if (found == by_node_.end()) return {};
  return found->second;
}

}  // namespace berth
