// SPDX-License-Identifier: Apache-2.0
// Implementation of known_objects.h.
#include "kubernetes/known_objects.h"

#include <algorithm>
#include <utility>

namespace berth {
namespace {

WatchEvent Gone(Object object) { return {WatchEvent::Type::kDeleted, std::move(object)}; }

}  // namespace

void KnownObjects::BeginList(Age age) {
  ++list_;
  age_ = age;
}

void KnownObjects::List(ServedObject object, std::vector<WatchEvent>& events) {
  Accept(std::move(object), age_, events);
}

void KnownObjects::Set(ServedObject object, std::vector<WatchEvent>& events) {
  Accept(std::move(object), Age::kAny, events);
}

void KnownObjects::Accept(ServedObject served, Age age, std::vector<WatchEvent>& events) {
  if (!served.object.ok()) {
    // What cannot be read is there all the same, and stays as it was.
    if (Known* const known = objects_.Find(served.key); known != nullptr) known->list = list_;
    return;
  }
  Object& object = *served.object;
  const uint64_t version = VersionNumber(served.resource_version);
  Known* const known = objects_.Find(*object.identity());
  if (known != nullptr) {
    known->list = list_;
    const bool same = known->object.uid() == object.uid();
    const bool comparable = version != 0 && known->version != 0;
    if (comparable && same && version == known->version) return;
    if (comparable && age == Age::kAny && version < known->version) return;
    if (same) {
      known->object = object;
      known->version = version;
      events.push_back({WatchEvent::Type::kSet, std::move(object)});
      return;
    }
    events.push_back(Gone(std::move(known->object)));
    objects_.Erase(*object.identity());
  }
  objects_.FindOrAdd(object.identity(), object, version, list_);
  events.push_back({WatchEvent::Type::kSet, std::move(object)});
}

void KnownObjects::EndList(std::vector<WatchEvent>& events) {
  std::vector<IdentityPtr> gone;
  objects_.ForEach([&](const Identity&, const Known& known) {
    if (known.list != list_) gone.push_back(known.object.identity());
  });
  // The map has no order.
  std::sort(gone.begin(), gone.end(),
            [](const IdentityPtr& a, const IdentityPtr& b) { return a->key() < b->key(); });
  for (const IdentityPtr& who : gone) {
    events.push_back(Gone(std::move(objects_.Find(*who)->object)));
    objects_.Erase(*who);
  }
}

void KnownObjects::Delete(ServedObject served, std::vector<WatchEvent>& events) {
  Known* const known =
      served.object.ok() ? objects_.Find(*served.object->identity()) : objects_.Find(served.key);
  if (known == nullptr) return;
  const uint64_t version = VersionNumber(served.resource_version);
  if (version != 0 && known->version != 0 && version < known->version) return;
  const IdentityPtr who = known->object.identity();
  const bool same = served.object.ok() && served.object->uid() == who->uid();
  events.push_back(Gone(same ? *std::move(served.object) : std::move(known->object)));
  objects_.Erase(*who);
}

void KnownObjects::DeleteAll(std::vector<WatchEvent>& events) {
  BeginList(Age::kNewest);
  EndList(events);
}

}  // namespace berth
