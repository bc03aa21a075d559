// SPDX-License-Identifier: Apache-2.0
// Implementation of watched_pods.h.
#include "kubernetes/watched_pods.h"

#include <cstdint>
#include <utility>

#include "berth/api/core_v1.pb.h"
#include "kubernetes/object_reader.h"

namespace berth {
namespace {

uint64_t VersionOf(const PackedPod& pod) {
  uint64_t version = 0;
  pod.ReadOwn(
      [&](const api::Pod& own) { version = VersionNumber(own.metadata().resource_version()); });
  return version;
}

}  // namespace

void WatchedPods::Deliver(std::vector<WatchEvent> events) {
  {
    MutexLock lock(mutex_);
    for (const WatchEvent& event : events) See(event);
  }
  sink_->Deliver(std::move(events));
}

void WatchedPods::DeliverOne(WatchEvent event) {
  {
    MutexLock lock(mutex_);
    See(event);
  }
  sink_->DeliverOne(std::move(event));
}

void WatchedPods::See(const WatchEvent& event) {
  if (!event.object.has_value() || event.object->kind() != Kind::kPod) return;
  const IdentityPtr& identity = event.object->identity();
  if (event.type == WatchEvent::Type::kDeleted) {
    pods_.Erase(*identity);
    return;
  }
  Known& known = *pods_.FindOrAdd(identity).first;
  std::shared_ptr<const PackedPod> pod = event.object->packed();
  if (known.is_answer && VersionOf(*pod) < VersionOf(*known.pod)) return;
  known = {std::move(pod), false};
}

std::shared_ptr<const PackedPod> WatchedPods::Find(const Identity& pod) const {
  MutexLock lock(mutex_);
  const Known* const known = pods_.Find(pod);
  return known == nullptr ? nullptr : known->pod;
}

void WatchedPods::TakeAnswer(const std::shared_ptr<const PackedPod>& pod) {
  MutexLock lock(mutex_);
  Known* const known = pods_.Find(*pod->identity());
  if (known == nullptr || VersionOf(*pod) <= VersionOf(*known->pod)) return;
  *known = {pod, true};
}

}  // namespace berth
