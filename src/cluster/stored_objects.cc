// SPDX-License-Identifier: Apache-2.0
// Implementation of stored_objects.h.
#include "cluster/stored_objects.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/api/pod_status.h"
#include "berth/api/run_time.h"
#include "berth/api/time.h"
#include "cluster/object_parts.h"

namespace berth {
namespace {

constexpr int64_t kDefaultGracePeriodSeconds = 30;  // as the API server defaults it

// How long the pod runs once it is on a node; infinite if it does not say, or says nothing that is
// a time.
absl::Duration RunTime(const api::Pod& pod) {
  const auto& annotations = pod.metadata().annotations();
  const auto found = annotations.find(kSimulatedRunTime);
  if (found == annotations.end()) return absl::InfiniteDuration();
  return ParseRunTime(found->second).value_or(absl::InfiniteDuration());
}

}  // namespace

StoredPodState::StoredPodState(const api::Pod& pod)
    : on_node(!pod.spec().node_name().empty()),
      leaving(pod.metadata().has_deletion_timestamp()),
      ended(HasEnded(pod.status())),
      deletion_time(leaving ? ToTime(pod.metadata().deletion_timestamp()) : absl::InfiniteFuture()),
      run_time(RunTime(pod)),
      grace_seconds(pod.spec().has_termination_grace_period_seconds()
                        ? pod.spec().termination_grace_period_seconds()
                        : kDefaultGracePeriodSeconds) {}

StoredObject* StoredObjects::FindPod(const Identity& pod) {
  StoredObject* const stored = of(Kind::kPod).Find(pod);
  if (stored == nullptr || stored->object.identity().get() == &pod) return stored;
  return stored->object.uid() == pod.uid() ? stored : nullptr;
}

std::pair<StoredObject*, bool> StoredObjects::FindOrAdd(const Object& object,
                                                        const StoredPodState& state) {
  const auto found = of(object.kind()).FindOrAdd(object.identity(), object, next_order_, state);
  if (found.second) ++next_order_;
  return found;
}

Object StoredObjects::WithNextVersion(const Object& object) {
  std::shared_ptr<google::protobuf::Message> message = CopyOf(object.message());
  api::ObjectMeta& metadata = MutableMetadataOf(*message);
  metadata.set_resource_version(absl::StrCat(++last_version_));
  // Volumes name the uid of their claim; what a claim holds is counted by its uid.
  const bool is_claim =
      object.kind() == Kind::kPersistentVolumeClaim || object.kind() == Kind::kResourceClaim;
  if (is_claim && metadata.uid().empty()) {
    const StoredObject* const stored = of(object.kind()).Find(object.key());
    metadata.set_uid(stored != nullptr ? std::string(stored->object.uid())
                                       : absl::StrCat(object.name(), "-", last_version_));
  }
  return Object(object.kind(), std::move(message), object.where());
}

std::vector<Object> StoredObjects::ListInOrder(absl::Span<const OfKind> kinds) {
  std::vector<const StoredObject*> stored;
  for (const OfKind& kind : kinds) {
    kind.ForEach([&](const Identity&, const StoredObject& value) { stored.push_back(&value); });
  }
  std::sort(stored.begin(), stored.end(),
            [](const StoredObject* a, const StoredObject* b) { return a->order < b->order; });
  std::vector<Object> list;
  list.reserve(stored.size());
  for (const StoredObject* value : stored) list.push_back(value->object);
  return list;
}

}  // namespace berth
