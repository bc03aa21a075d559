// SPDX-License-Identifier: Apache-2.0
// Events for people, written to the API server. As client-go v0.35 tools/events.
#ifndef BERTH_SRC_KUBERNETES_EVENT_RECORDER_H_
#define BERTH_SRC_KUBERNETES_EVENT_RECORDER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "berth/api/symbol.h"
#include "berth/cluster.h"
#include "berth/mutex.h"
#include "kubernetes/api_client.h"
#include "kubernetes/denials.h"

namespace berth {

struct EventRecorderOptions {
  std::string content_type;
  // reportingInstance is the scheduler's name, a dash and this.
  std::string host_name;
  // Beyond that many that wait, events are dropped. client-go drops beyond 1,000 too, but its queue
  // is only the way to as many threads as there are events.
  size_t max_queued = 10000;
  int max_under_way = 16;
  // event_broadcaster.go finishTime, refreshTime, sleepDuration and maxTriesPerEvent.
  absl::Duration finish_after = absl::Minutes(6);
  absl::Duration refresh_every = absl::Minutes(30);
  absl::Duration retry_after = absl::Seconds(10);
  int max_tries = 12;
};

// An object that an event is about, as it was then.
struct EventSubject {
  IdentityPtr who;  // null: there is none
  std::string resource_version;
};

// The second of two events that differ in nothing but time and text makes a series of the first;
// how often it comes after that is written every half hour, and when it has not come for six
// minutes. The rate is that of the client, which no other client shares, so that events do not hold
// up bindings. Threads: any; never waits.
class EventRecorder {
 public:
  EventRecorder(Connection connection, ApiClientOptions client_options,
                EventRecorderOptions options);
  // Gives up what is not written.
  ~EventRecorder();

  // `event.regarding` and `event.related` count by what the subjects say.
  void Record(const RecordedEvent& event, EventSubject regarding, EventSubject related);
  // Returns when everything is written or given up, or after `timeout`.
  void Flush(absl::Duration timeout);

  // For a process that ends.
  void LiftRateLimit() { client_.LiftRateLimit(); }

  int64_t dropped() const;  // since too many waited

 private:
  // What makes two events the same: client-go eventKey. The uids stand for the objects.
  struct Key {
    EventSubject regarding, related;
    bool warning;
    absl::string_view reason, action;
    Symbol reporting_controller;

    auto Fields() const {
      return std::make_tuple(Uid(regarding), absl::string_view(regarding.resource_version),
                             Uid(related), absl::string_view(related.resource_version), warning,
                             reason, action, reporting_controller);
    }
    static absl::string_view Uid(const EventSubject& subject) {
      return subject.who == nullptr ? absl::string_view() : subject.who->uid();
    }
    friend bool operator==(const Key& a, const Key& b) { return a.Fields() == b.Fields(); }
    template <class H>
    friend H AbslHashValue(H h, const Key& key) {
      return H::combine(std::move(h), key.Fields());
    }
  };
  struct Happening {
    Key key;
    std::string note;
    absl::Time time;
  };
  // What happened once or more. Takes little memory: most of it happens once.
  struct Series {
    absl::Time first;  // names the event at the server
    absl::Time last;
    absl::Time last_seen;  // the same, of MonotonicNow()
    int count = 1;
    int written_count = 1;
    std::string note;  // of a count above one
  };
  // A request that is to be made.
  struct Write {
    Key key;
    Series state;
    bool create;
    int tries = 0;
  };

  // All of these on the client's thread.
  void Take();
  void Add(Happening happening);
  void Enqueue(const Key& key, Series& series, bool create);
  void StartWrites();
  void Send(Write write);
  void HandleAnswer(Write write, const absl::Status& answer);
  void SendLater(Write write);
  void End();
  void FinishSeries();
  void RefreshSeries();

  ApiRequest CreateRequest(const Write& write) const;
  static ApiRequest PatchRequest(const Write& write);

  const EventRecorderOptions options_;
  const std::function<void(absl::string_view text)> warn_;
  Denials denials_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Happening> incoming_ ABSL_GUARDED_BY(mutex_);
  size_t unfinished_ ABSL_GUARDED_BY(mutex_) = 0;  // came or are to be written
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  bool dropping_ ABSL_GUARDED_BY(mutex_) = false;

  // For the client's thread alone.
  absl::flat_hash_map<Key, Series> series_;
  absl::Time last_first_ = absl::InfinitePast();  // no two events have the same name
  std::deque<Write> ready_;
  int under_way_ = 0;
  std::mt19937_64 random_;

  ApiClient client_;  // last: its thread uses the others
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_EVENT_RECORDER_H_
