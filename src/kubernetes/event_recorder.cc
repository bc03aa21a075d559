// SPDX-License-Identifier: Apache-2.0
// Implementation of event_recorder.h.
#include "kubernetes/event_recorder.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "api/json.h"
#include "berth/api/time.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/api_error.h"
#include "kubernetes/object_body.h"
#include "kubernetes/resource.h"

namespace berth {
namespace {

constexpr char kEventsVersion[] = "events.k8s.io/v1";
constexpr size_t kMaxNameBytes = 253;  // of a DNS subdomain

std::string EventsPath(const Identity& regarding) {
  return absl::StrCat("/apis/", kEventsVersion, "/namespaces/",
                      QueryEscape(regarding.namespace_name()), "/events");
}

// client-go v0.35 tools/record/util GenerateEventName, which takes a random UUID for a name that
// would be too long.
std::string EventName(const Identity& regarding, absl::Time first) {
  const std::string time = absl::StrCat(absl::Hex(absl::ToUnixNanos(first)));
  std::string name = absl::StrCat(regarding.name(), ".", time);
  return name.size() <= kMaxNameBytes ? name : absl::StrCat(regarding.uid(), ".", time);
}

void SetMicroTime(absl::Time time, api::MicroTime* message) {
  const int64_t micros = absl::ToUnixMicros(time);
  message->set_seconds(micros / 1000000);
  message->set_nanos(static_cast<int32_t>(micros % 1000000 * 1000));
}

void SetReference(const EventSubject& subject, kubernetes_wire::ObjectReference* reference) {
  const Identity& who = *subject.who;
  reference->set_kind(std::string(KindName(who.kind())));
  reference->set_api_version(std::string(ApiVersion(who.kind())));
  reference->set_namespace_(std::string(who.namespace_name()));
  reference->set_name(std::string(who.name()));
  if (who.has_uid()) reference->set_uid(who.uid());
  reference->set_resource_version(subject.resource_version);
}

}  // namespace

EventRecorder::EventRecorder(Connection connection, ApiClientOptions client_options,
                             EventRecorderOptions options)
    : options_(std::move(options)),
      warn_(client_options.warn),
      denials_(client_options.warn),
      random_(client_options.seed),
      client_(std::move(connection), std::move(client_options)) {
  client_.RunAt(MonotonicNow() + options_.finish_after, [this] { FinishSeries(); });
  client_.RunAt(MonotonicNow() + options_.refresh_every, [this] { RefreshSeries(); });
}

EventRecorder::~EventRecorder() = default;

void EventRecorder::Record(const RecordedEvent& event, EventSubject regarding,
                           EventSubject related) {
  Happening happening{.key = {.regarding = std::move(regarding),
                              .related = std::move(related),
                              .warning = event.warning,
                              .reason = event.reason,
                              .action = event.action,
                              .reporting_controller = event.scheduler_name},
                      .note = event.note(),
                      .time = absl::Now()};
  bool begins_to_drop = false;
  bool is_first = false;
  {
    MutexLock lock(mutex_);
    if (unfinished_ >= options_.max_queued) {
      ++dropped_;
      begins_to_drop = !std::exchange(dropping_, true);
    } else {
      is_first = incoming_.empty();
      incoming_.push_back(std::move(happening));
      ++unfinished_;
    }
  }
  if (is_first) client_.Post([this] { Take(); });
  if (begins_to_drop) {
    warn_(absl::StrCat("events are dropped: ", options_.max_queued,
                       " wait for the API server. The rate is that of clientConnection.qps."));
  }
}

void EventRecorder::Flush(absl::Duration timeout) {
  const absl::Time deadline = MonotonicNow() + timeout;
  MutexLock lock(mutex_);
  while (unfinished_ > 0) {
    const absl::Duration left = deadline - MonotonicNow();
    if (left <= absl::ZeroDuration()) return;
    changed_.WaitFor(mutex_, left);
  }
}

int64_t EventRecorder::dropped() const {
  MutexLock lock(mutex_);
  return dropped_;
}

void EventRecorder::Take() {
  std::deque<Happening> taken;
  {
    MutexLock lock(mutex_);
    taken.swap(incoming_);
  }
  for (Happening& happening : taken) Add(std::move(happening));
  StartWrites();
}

void EventRecorder::Add(Happening happening) {
  const auto [found, is_new] = series_.try_emplace(std::move(happening.key));
  Series& series = found->second;
  series.last_seen = MonotonicNow();
  if (is_new) {
    // Nanoseconds tell names apart.
    series.first = std::max(happening.time, last_first_ + absl::Nanoseconds(1));
    series.last = last_first_ = series.first;
    series.note = std::move(happening.note);
    Enqueue(found->first, series, true);
    series.note = std::string();
  } else {
    ++series.count;
    series.last = happening.time;
    series.note = std::move(happening.note);
    // From the third on, only what comes in the end counts.
    if (series.count == 2) Enqueue(found->first, series, false);
  }
  End();
}

// In addition to what came.
void EventRecorder::Enqueue(const Key& key, Series& series, bool create) {
  series.written_count = series.count;
  ready_.push_back({key, series, create});
  MutexLock lock(mutex_);
  ++unfinished_;
}

// Ends one of those that are unfinished.
void EventRecorder::End() {
  MutexLock lock(mutex_);
  if (--unfinished_ == 0) {
    dropping_ = false;
    changed_.SignalAll();
  }
}

void EventRecorder::StartWrites() {
  while (under_way_ < options_.max_under_way && !ready_.empty()) {
    ++under_way_;
    Write next = std::move(ready_.front());
    ready_.pop_front();
    Send(std::move(next));
  }
}

void EventRecorder::Send(Write write) {
  ApiRequest request = write.create ? CreateRequest(write) : PatchRequest(write);
  client_.Call(std::move(request),
               [this, write = std::move(write)](const absl::StatusOr<ApiResponse>& answer) mutable {
                 HandleAnswer(std::move(write), answer.status());
               });
}

// client-go v0.35 tools/events event_broadcaster.go recordEvent.
void EventRecorder::HandleAnswer(Write write, const absl::Status& answer) {
  if (absl::IsCancelled(answer)) return;  // this goes
  const bool is_refusal = ApiError::Of(answer).has_value();
  if (absl::IsNotFound(answer) && !write.create) {
    // Events are kept for an hour.
    write.create = true;
    return Send(std::move(write));
  }
  if (absl::IsAlreadyExists(answer) && write.state.count > 1) {
    // What was to be patched has come to be meanwhile.
    write.create = false;
    return SendLater(std::move(write));
  }
  if (!answer.ok() && !is_refusal) return SendLater(std::move(write));
  denials_.See(answer);
  --under_way_;
  End();
  StartWrites();
}

void EventRecorder::SendLater(Write write) {
  if (++write.tries >= options_.max_tries) {
    --under_way_;
    End();
    return StartWrites();
  }
  const double jitter = std::uniform_real_distribution<double>(1.0, 1.25)(random_);
  client_.RunAt(MonotonicNow() + options_.retry_after * jitter,
                [this, write = std::move(write)]() mutable { Send(std::move(write)); });
}

void EventRecorder::FinishSeries() {
  const absl::Time now = MonotonicNow();
  for (auto it = series_.begin(); it != series_.end();) {
    Series& series = it->second;
    if (now - series.last_seen < options_.finish_after) {
      ++it;
      continue;
    }
    if (series.count > series.written_count) Enqueue(it->first, series, false);
    series_.erase(it++);
  }
  StartWrites();
  client_.RunAt(MonotonicNow() + options_.finish_after, [this] { FinishSeries(); });
}

void EventRecorder::RefreshSeries() {
  for (auto& [key, series] : series_) {
    if (series.count > series.written_count) Enqueue(key, series, false);
  }
  StartWrites();
  client_.RunAt(MonotonicNow() + options_.refresh_every, [this] { RefreshSeries(); });
}

ApiRequest EventRecorder::CreateRequest(const Write& write) const {
  const Key& key = write.key;
  const Identity& regarding = *key.regarding.who;
  kubernetes_wire::Event event;
  event.mutable_metadata()->set_name(EventName(regarding, write.state.first));
  event.mutable_metadata()->set_namespace_(std::string(regarding.namespace_name()));
  SetMicroTime(write.state.first, event.mutable_event_time());
  if (write.state.count > 1) {
    event.mutable_series()->set_count(write.state.count);
    SetMicroTime(write.state.last, event.mutable_series()->mutable_last_observed_time());
  }
  const absl::string_view controller = key.reporting_controller.view();
  event.set_reporting_controller(std::string(controller));
  event.set_reporting_instance(absl::StrCat(controller, "-", options_.host_name));
  event.set_action(std::string(key.action));
  event.set_reason(std::string(key.reason));
  SetReference(key.regarding, event.mutable_regarding());
  if (key.related.who != nullptr) SetReference(key.related, event.mutable_related());
  event.set_note(write.state.note);
  event.set_type(key.warning ? "Warning" : "Normal");
  return {.method = "POST",
          .target = EventsPath(regarding),
          .accept = options_.content_type,
          .content_type = options_.content_type,
          .body = EncodeObject(options_.content_type, kEventsVersion, "Event", event)};
}

ApiRequest EventRecorder::PatchRequest(const Write& write) {
  const Identity& regarding = *write.key.regarding.who;
  JsonWriter out;
  out.BeginObject().Key("series").BeginObject();
  out.Key("count").Int(write.state.count);
  out.Key("lastObservedTime").String(MicroTimeToString(write.state.last));
  out.EndObject().EndObject();
  return {.method = "PATCH",
          .target = absl::StrCat(EventsPath(regarding), "/",
                                 QueryEscape(EventName(regarding, write.state.first))),
          .content_type = "application/strategic-merge-patch+json",
          .body = std::string(out.text())};
}

}  // namespace berth
