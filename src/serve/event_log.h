// SPDX-License-Identifier: Apache-2.0
// What a cluster's scheduler has to tell its client, numbered, for as long as it may be asked for.
#ifndef BERTH_SRC_SERVE_EVENT_LOG_H_
#define BERTH_SRC_SERVE_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "berth/v1/cluster.pb.h"

namespace berth {

// Events in blocks, each a message as it is written to a stream. An event is released when the
// client has it for sure; of released events the latest stay, up to the limits, so that a stream
// that broke can go on. Events that are not released are never dropped: the writer asks
// is_full() first. Not thread-safe.
class EventLog {
 public:
  using Block = std::shared_ptr<const v1::FromScheduler>;
  struct Limits {
    size_t events = 65536;
    size_t bytes = size_t{64} << 20;  // as written
  };
  explicit EventLog(const Limits& limits) : limits_(limits) {}

  // Takes the events of `events` in, which gives them their revisions. Not empty.
  void Append(v1::Events events);
  // Events up to that revision need not stay.
  void Release(uint64_t revision);
  // The client has no more than the events up to `revision`, which the log reaches.
  void Rewind(uint64_t revision);
  // Forgets all events; revisions go on.
  void Clear();

  uint64_t last() const { return last_; }          // revision of the latest event; 0: none yet
  uint64_t released() const { return released_; }  // never above last()
  // Whether everything behind `revision` is here still.
  bool Reaches(uint64_t revision) const { return dropped_ <= revision && revision <= last_; }
  // Events behind `revision`, which the log reaches: those of one block. Null: there are none.
  Block After(uint64_t revision) const;
  // Whether as much waits for its release as the limits allow.
  bool is_full() const;

  size_t size() const { return last_ - dropped_; }

 private:
  struct Sealed {
    Block block;
    uint64_t last;
    size_t bytes;
  };
  std::deque<Sealed>::const_iterator Behind(uint64_t revision) const;
  void Drop();

  const Limits limits_;
  std::deque<Sealed> blocks_;
  uint64_t last_ = 0, released_ = 0, dropped_ = 0;
  size_t bytes_ = 0, unreleased_bytes_ = 0;
};

}  // namespace berth

#endif  // BERTH_SRC_SERVE_EVENT_LOG_H_
