// SPDX-License-Identifier: Apache-2.0
// An event that is looked at again later.
#ifndef BERTH_SRC_QUEUE_STORED_EVENT_H_
#define BERTH_SRC_QUEUE_STORED_EVENT_H_

#include <optional>

#include "berth/framework/enqueue.h"

namespace berth {

// Keeps what the change points to. Stays where it is made.
class StoredEvent {
 public:
  StoredEvent(const ClusterEvent& event, const ObjectChange& change)
      : event_(event), change_(change) {
    Keep(change_.old_object, old_object_);
    Keep(change_.new_object, new_object_);
  }
  StoredEvent(const StoredEvent&) = delete;
  StoredEvent& operator=(const StoredEvent&) = delete;

  const ClusterEvent& event() const { return event_; }
  const ObjectChange& change() const { return change_; }

 private:
  static void Keep(const Object*& object, std::optional<Object>& kept) {
    if (object != nullptr) object = &kept.emplace(*object);
  }

  const ClusterEvent event_;
  ObjectChange change_;
  std::optional<Object> old_object_, new_object_;  // what `change_` points to
};

}  // namespace berth

#endif  // BERTH_SRC_QUEUE_STORED_EVENT_H_
