// SPDX-License-Identifier: Apache-2.0
// Implementation of handle.h: what is done later, for threads that are not the scheduling one.
#include "berth/framework/handle.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/object_update.h"

namespace berth {

absl::StatusOr<Object> Handle::Create(const Object& object) {
  return absl::UnimplementedError(
      absl::StrCat("new ", Plural(object.kind()), " cannot be made here"));
}

// Overriders keep what they are given. NOLINTNEXTLINE(performance-unnecessary-value-param)
void Handle::DeleteSoon(ObjectEdit) {}

absl::Status Handle::PatchPodStatus(const PodStatusPatch&) {
  return absl::UnimplementedError("statuses of pods cannot be written here");
}

void Handle::PostAllow(absl::string_view plugin, absl::string_view uid) {
  Post(plugin, [this, plugin = std::string(plugin), uid = std::string(uid)] {
    if (WaitingPod* const waiting = FindWaitingPod(uid)) waiting->Allow(plugin);
  });
}

void Handle::PostReject(absl::string_view plugin, absl::string_view uid,
                        absl::string_view message) {
  Post(plugin, [this, plugin = std::string(plugin), uid = std::string(uid),
                message = std::string(message)] {
    if (WaitingPod* const waiting = FindWaitingPod(uid)) waiting->Reject(plugin, message);
  });
}

void Handle::PostActivate(absl::string_view plugin,
                          std::vector<std::shared_ptr<const PodInfo>> pods) {
  Post(plugin, [this, pods = std::move(pods)] { Activate(pods); });
}

}  // namespace berth
