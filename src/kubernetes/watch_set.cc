// SPDX-License-Identifier: Apache-2.0
// Implementation of watch_set.h.
#include "kubernetes/watch_set.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/check.h"
#include "berth/mutex.h"
#include "kubernetes/reflector.h"

namespace berth {
namespace {

// Several kinds mostly fail together.
constexpr absl::Duration kReportDelay = absl::Seconds(1);
constexpr absl::Duration kReportAgain = absl::Minutes(1);

}  // namespace

// From Start() to Stop(). All but Stop() is the client's thread's. What the client still has to run
// for it keeps it, and finds it stopped.
class WatchSet::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(ApiClient& client, WatchSetOptions options, WatchSink& sink)
      : client_(client), options_(std::move(options)), sink_(&sink) {}

  void Begin(std::vector<Kind> kinds);
  void Stop() {
    MutexLock lock(mutex_);
    sink_ = nullptr;
  }
  void CancelRequests();

 private:
  class Follower;
  // What is known of a kind.
  struct Said {
    absl::StatusCode trouble = absl::StatusCode::kOk;  // the last one
    absl::Time when = absl::InfinitePast();
    bool is_over = true;
  };

  bool stopped() {
    MutexLock lock(mutex_);
    return sink_ == nullptr;
  }
  void Deliver(std::vector<WatchEvent> events);
  void SyncIfAllAre();
  // Has the trouble of a reflector, or the end of it, reported.
  void Note(const Reflector& reflector);
  void SaySoon(Kind kind, absl::string_view text, absl::Time now);
  void Say();

  ApiClient& client_;
  const WatchSetOptions options_;
  Mutex mutex_;
  WatchSink* sink_ ABSL_GUARDED_BY(mutex_);  // null: stopped

  std::vector<std::shared_ptr<Follower>> followers_;
  bool synced_ = false;
  std::map<Kind, Said> said_;
  std::map<Kind, std::string> to_say_;  // soon
};

// Does what a reflector asks for.
class WatchSet::Session::Follower final : public StreamReceiver,
                                          public std::enable_shared_from_this<Follower> {
 public:
  Follower(std::shared_ptr<Session> session, Kind kind, ReflectorOptions options)
      : session_(std::move(session)), reflector_(kind, std::move(options)) {}

  const Reflector& reflector() const { return reflector_; }

  void Begin() {
    if (session_->stopped()) return;
    broken_ = absl::OkStatus();
    request_ = session_->client_.Stream(reflector_.Next(MonotonicNow()), shared_from_this());
  }
  void Cancel() { session_->client_.Cancel(request_); }

  void OnStart(absl::string_view content_type) override {
    Check(reflector_.OnStart(content_type));
    session_->Note(reflector_);
  }

  void OnBytes(absl::string_view bytes) override {
    if (!broken_.ok() || session_->stopped()) return;
    std::vector<WatchEvent> events;
    Check(reflector_.OnBytes(bytes, events));
    Finish(std::move(events));
  }

  void OnEnd(const absl::Status& status) override {
    if (session_->stopped()) return;
    std::vector<WatchEvent> events;
    const absl::Time now = MonotonicNow();
    const absl::Duration wait = reflector_.OnEnd(broken_.ok() ? status : broken_, now, events);
    Finish(std::move(events));
    session_->client_.RunAt(now + wait, [self = shared_from_this()] { self->Begin(); });
  }

 private:
  void Check(absl::Status status) {
    if (status.ok()) return;
    broken_ = std::move(status);
    Cancel();
  }
  void Finish(std::vector<WatchEvent> events) {
    session_->Deliver(std::move(events));
    session_->SyncIfAllAre();
    session_->Note(reflector_);
  }

  const std::shared_ptr<Session> session_;
  Reflector reflector_;
  ApiClient::RequestId request_ = 0;
  absl::Status broken_;  // why the request is to end, in place of what the client will say
};

void WatchSet::Session::Begin(std::vector<Kind> kinds) {
  std::stable_partition(kinds.begin(), kinds.end(), [](Kind kind) { return kind == Kind::kPod; });
  for (const Kind kind : kinds) {
    const ReflectorOptions options{.format = options_.format,
                                   .seed = options_.seed + static_cast<uint64_t>(kind) * 2,
                                   .warn = options_.warn};
    followers_.push_back(std::make_shared<Follower>(shared_from_this(), kind, options));
  }
  for (const auto& follower : followers_) follower->Begin();
  SyncIfAllAre();  // of no kinds
}

void WatchSet::Session::CancelRequests() {
  // They refer to this, and this to them.
  for (const auto& follower : std::exchange(followers_, {})) follower->Cancel();
}

void WatchSet::Session::Deliver(std::vector<WatchEvent> events) {
  if (events.empty()) return;
  MutexLock lock(mutex_);
  if (sink_ == nullptr) return;
  if (events.size() == 1) return sink_->DeliverOne(std::move(events[0]));
  sink_->Deliver(std::move(events));
}

void WatchSet::Session::SyncIfAllAre() {
  if (synced_) return;
  synced_ = std::all_of(followers_.begin(), followers_.end(),
                        [](const auto& follower) { return follower->reflector().synced(); });
  if (!synced_) return;
  std::vector<WatchEvent> events;
  events.push_back({WatchEvent::Type::kSynced, std::nullopt});
  Deliver(std::move(events));
}

void WatchSet::Session::Note(const Reflector& reflector) {
  const Kind kind = reflector.kind();
  const absl::Status& trouble = reflector.trouble();
  const absl::Time now = MonotonicNow();
  if (trouble.ok()) {
    const auto said = said_.find(kind);
    if (said == said_.end() || said->second.is_over) return;
    said->second.is_over = true;
    if (to_say_.erase(kind) == 0) return SaySoon(kind, "can be listed and watched again", now);
    said->second.when = absl::InfinitePast();  // over before it was said
    return;
  }
  Said& said = said_[kind];
  const bool is_same = said.trouble == trouble.code();
  if (is_same && now - said.when < kReportAgain) return;
  if (is_same && !said.is_over && reflector.synced()) return;
  said = {trouble.code(), now, false};
  SaySoon(kind, trouble.message(), now);
}

void WatchSet::Session::SaySoon(Kind kind, absl::string_view text, absl::Time now) {
  if (to_say_.empty()) {
    client_.RunAt(now + kReportDelay, [self = shared_from_this()] { self->Say(); });
  }
  to_say_[kind] = std::string(text);
}

void WatchSet::Session::Say() {
  if (stopped()) return;
  std::map<std::string, std::vector<absl::string_view>> kinds_of;
  for (const auto& [kind, text] : std::exchange(to_say_, {})) {
    kinds_of[text].push_back(Plural(kind));
  }
  for (const auto& [text, kinds] : kinds_of) {
    options_.warn(absl::StrCat(absl::StrJoin(kinds, ", "), ": ", text));
  }
}

WatchSet::WatchSet(ApiClient& client, WatchSetOptions options)
    : client_(client), options_(std::move(options)) {}

WatchSet::~WatchSet() { Stop(); }

void WatchSet::Start(WatchSink& sink, const std::vector<Kind>& kinds) {
  BERTH_CHECK(session_ == nullptr) << "it is started already";
  session_ = std::make_shared<Session>(client_, options_, sink);
  client_.Post([session = session_, kinds] { session->Begin(kinds); });
}

void WatchSet::Stop() {
  if (session_ == nullptr) return;
  session_->Stop();
  client_.Post([session = std::move(session_)] { session->CancelRequests(); });
  session_ = nullptr;
}

}  // namespace berth
