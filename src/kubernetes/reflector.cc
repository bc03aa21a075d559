// SPDX-License-Identifier: Apache-2.0
// Implementation of reflector.h. As client-go v0.35 tools/cache/reflector.go and
// tools/pager/pager.go, which say with which resourceVersion to ask.
#include "kubernetes/reflector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "kubernetes/api_error.h"
#include "kubernetes/envelope.h"
#include "kubernetes/resource.h"

namespace berth {
namespace {

constexpr BackoffLimits kRetries = {.first = absl::Milliseconds(800),
                                    .longest = absl::Seconds(30),
                                    .forgotten_after = absl::Minutes(2)};
// For a server that fails, or cuts what it has begun: when it is back, work is to go on soon.
constexpr BackoffLimits kFailures = {.first = absl::Milliseconds(800),
                                     .longest = absl::Seconds(10),
                                     .forgotten_after = absl::Minutes(2)};
// For a server that does not answer. It costs it nothing to be asked, and when it is back, work
// goes on the sooner.
constexpr BackoffLimits kReconnects = {.first = absl::Milliseconds(800),
                                       .longest = absl::Seconds(5),
                                       .forgotten_after = absl::Minutes(2)};
// A list whose version expires sooner is not worth being asked for again at once.
constexpr absl::Duration kWorthListing = absl::Seconds(10);
constexpr int kPageSize = 500;
constexpr int kShortestWatchSeconds = 300, kLongestWatchSeconds = 600;
// How much later than it should the server may end a watch.
constexpr absl::Duration kWatchMargin = absl::Seconds(30);
constexpr absl::Duration kListTimeout = absl::Minutes(5);
constexpr absl::Duration kAnswerTimeout = absl::Minutes(1);
// A watch that ends sooner was not worth asking for.
constexpr absl::Duration kShortWatch = absl::Seconds(1);
constexpr size_t kMaxJsonListBytes = size_t{1} << 30;

// kube-scheduler v1.35 pkg/scheduler/scheduler.go NewInformerFactory.
constexpr char kPodsThatRun[] = "status.phase!=Succeeded,status.phase!=Failed";

// An answer of the server whose cache has not come that far, or whose data are older than they
// were.
bool IsTooNew(const ApiError& error) {
  return absl::StrContains(error.message, "Too large resource version");
}

// A server says so that knows no watch that begins with what exists.
bool RefusesToStream(const ApiError& error) {
  switch (error.code) {
    case 400:
    case 405:
    case 406:
    case 415:
    case 422:
    case 501:
      return true;
    default:
      return false;
  }
}

// Without what is attached to it.
absl::Status Plain(const absl::Status& status) {
  return absl::Status(status.code(), status.message());
}

// What to do about a refusal, for people.
absl::Status Explained(Kind kind, const ApiError& error, const absl::Status& status) {
  if (error.code == 403) {
    return absl::PermissionDeniedError(
        absl::StrCat("may not be listed and watched; a role needs the rule {apiGroups: [\"",
                     ApiGroup(kind), "\"], resources: [\"", Plural(kind),
                     "\"], verbs: [\"list\", \"watch\"]}: ", error.message));
  }
  if (error.code == 401) {
    return absl::UnauthenticatedError(
        absl::StrCat("the API server does not accept the credentials: ", status.message()));
  }
  return Plain(status);
}

}  // namespace

Reflector::Reflector(Kind kind, ReflectorOptions options)
    : kind_(kind),
      options_(std::move(options)),
      random_(options_.seed),
      retries_(kRetries, options_.seed + 1),
      failures_(kFailures, options_.seed + 3),
      reconnects_(kReconnects, options_.seed + 2) {}

// --- What to ask ---------------------------------------------------------------------------------

std::string Reflector::Since() const { return expired_ ? "" : version_; }

ApiRequest Reflector::Next(absl::Time now) {
  began_ = now;
  started_ = got_any_ = false;
  frames_.reset();
  list_ = ListFrames();
  json_ = std::string();
  doing_ = listed_ ? Doing::kWatching : streams_ ? Doing::kStreamingList : Doing::kListing;

  std::string query;
  if (kind_ == Kind::kPod) query = absl::StrCat("&fieldSelector=", QueryEscape(kPodsThatRun));
  const std::string path = absl::StrCat(CollectionPath(kind_), "?");
  ApiRequest request;
  request.accept = IsCustomResource(kind_) || options_.format == WireFormat::kJson
                       ? kJsonType
                       : absl::StrCat(kProtobufType, ",", kJsonType);
  request.timeout = kAnswerTimeout;
  if (doing_ == Doing::kListing) {
    request.stream_timeout = kListTimeout;
    request.target = target_ = absl::StrCat(path, NextPage(), query);
    return request;
  }
  const int seconds =
      std::uniform_int_distribution<int>(kShortestWatchSeconds, kLongestWatchSeconds)(random_);
  request.stream_timeout = absl::Seconds(seconds) + kWatchMargin;
  if (doing_ == Doing::kStreamingList) {
    BeginList(Since());
    absl::StrAppend(&query, "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan");
  }
  request.target = target_ =
      absl::StrCat(path, "watch=true&allowWatchBookmarks=true&timeoutSeconds=", seconds,
                   "&resourceVersion=", QueryEscape(Since()), query);
  return request;
}

std::string Reflector::NextPage() {
  if (!continue_.empty()) {
    return absl::StrCat("limit=", kPageSize, "&continue=", QueryEscape(continue_));
  }
  // 0: anything that the server's cache has.
  const std::string since = version_.empty() && !expired_ ? "0" : Since();
  BeginList(since);
  // A server makes pages only of what it reads from etcd, which takes it long.
  const bool in_pages = !whole_ && (since.empty() || since == "0");
  return absl::StrCat("resourceVersion=", QueryEscape(since),
                      in_pages ? absl::StrCat("&limit=", kPageSize) : "");
}

void Reflector::BeginList(const std::string& since) {
  known_.BeginList(since.empty() ? KnownObjects::Age::kNewest : KnownObjects::Age::kAny);
}

// --- What comes ----------------------------------------------------------------------------------

absl::Status Reflector::OnStart(absl::string_view content_type) {
  is_protobuf_ = IsProtobuf(content_type);
  if (!is_protobuf_ && !absl::StartsWith(content_type, kJsonType)) {
    return absl::DataLossError(absl::StrCat("the server answers with ", content_type, ", not ",
                                            kProtobufType, " or ", kJsonType));
  }
  started_ = true;
  if (doing_ == Doing::kWatching) trouble_ = absl::OkStatus();
  frames_.emplace(is_protobuf_ ? WireFormat::kProtobuf : WireFormat::kJson);
  return absl::OkStatus();
}

absl::Status Reflector::OnBytes(absl::string_view bytes, std::vector<WatchEvent>& events) {
  if (doing_ != Doing::kListing) {
    return frames_->Feed(bytes, [&](absl::string_view frame) { return TakeFrame(frame, events); });
  }
  if (is_protobuf_) {
    return list_.Feed(
        bytes, [&](absl::string_view item) { TakeItem(ReadProtobufObject(kind_, item), events); });
  }
  if (json_.size() + bytes.size() > kMaxJsonListBytes) {
    return absl::DataLossError("the list is too long");
  }
  json_.append(bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status Reflector::TakeFrame(absl::string_view frame, std::vector<WatchEvent>& events) {
  absl::StatusOr<ServedEvent> event =
      is_protobuf_ ? ReadProtobufEvent(kind_, frame) : ReadJsonEvent(kind_, frame);
  return event.ok() ? TakeEvent(*std::move(event), events) : event.status();
}

absl::Status Reflector::TakeEvent(ServedEvent event, std::vector<WatchEvent>& events) {
  if (event.type == WatchEventType::kError) return event.error;
  got_any_ = true;
  trouble_ = absl::OkStatus();
  const std::string version = event.object.resource_version;
  if (doing_ == Doing::kStreamingList) {
    if (event.type == WatchEventType::kBookmark) {
      return event.ends_initial_events ? FinishList(version, events) : absl::OkStatus();
    }
    if (event.type != WatchEventType::kDeleted) {
      TakeItem(std::move(event.object), events);
      return absl::OkStatus();
    }
  } else if (IsOld(version)) {
    return absl::OkStatus();  // it was told before, and the object may have changed since
  }
  if (event.type == WatchEventType::kDeleted) {
    unusable_.erase(event.object.key);
    known_.Delete(std::move(event.object), events);
  } else if (event.type != WatchEventType::kBookmark) {
    NoteUsability(event.object);
    known_.Set(std::move(event.object), events);
  }
  Reached(version);
  return absl::OkStatus();
}

void Reflector::TakeItem(ServedObject object, std::vector<WatchEvent>& events) {
  got_any_ = true;
  NoteUsability(object);
  Reached(object.resource_version);
  known_.List(std::move(object), events);
}

// Says of each object that it cannot be used, but not of every state of it.
void Reflector::NoteUsability(const ServedObject& object) {
  if (object.object.ok()) {
    if (!unusable_.empty()) unusable_.erase(object.key);
  } else if (unusable_.insert(object.key).second) {
    options_.warn(absl::StrCat(KindName(kind_), " ", object.key,
                               " is left out: ", object.object.status().message()));
  }
}

bool Reflector::IsOld(const std::string& version) const {
  const uint64_t number = VersionNumber(version);
  return number != 0 && number < VersionNumber(version_);
}

// What is no number does not take the place of one.
void Reflector::Reached(const std::string& version) {
  if (!version.empty() && VersionNumber(version) >= VersionNumber(version_)) version_ = version;
}

absl::Status Reflector::FinishList(const std::string& version, std::vector<WatchEvent>& events) {
  if (version.empty()) return absl::DataLossError("the list has no resourceVersion");
  known_.EndList(events);
  version_ = version;
  list_began_ = began_;
  doing_ = Doing::kWatching;  // on the same stream, if it is one
  synced_ = listed_ = streams_ = true;
  expired_ = whole_ = false;
  trouble_ = absl::OkStatus();
  return absl::OkStatus();
}

// --- What its end means --------------------------------------------------------------------------

absl::Duration Reflector::OnEnd(const absl::Status& status, absl::Time now,
                                std::vector<WatchEvent>& events) {
  if (const std::optional<ApiError> refusal = ApiError::Of(status); refusal.has_value()) {
    return Refused(*refusal, status, now, events);
  }
  if (doing_ == Doing::kListing) return EndOfPage(status, now, events);
  // It may have been cut where the server or a proxy do not take streams of that kind.
  if (doing_ == Doing::kStreamingList && started_) streams_ = false;
  const absl::Duration lived = now - began_;
  const bool was_worth_it = started_ && (got_any_ || lived >= kShortWatch);
  if (absl::IsDataLoss(status) || !was_worth_it) {
    if (!status.ok()) return Broken(status, now);
    return Failed(absl::UnavailableError("the server ends its watches at once"), now, retries_);
  }
  return std::max(absl::ZeroDuration(), kShortWatch - lived);
}

absl::Duration Reflector::EndOfPage(absl::Status status, absl::Time now,
                                    std::vector<WatchEvent>& events) {
  std::string version = list_.resource_version(), next = list_.continue_token();
  if (status.ok() && is_protobuf_ && !list_.AtEnd()) {
    status = absl::DataLossError("the list is cut off");
  }
  if (status.ok() && !is_protobuf_) {
    status = ReadJson(json_, [&](Value list) {
      const Value metadata = list.Find("metadata");
      version = std::string(metadata.Find("resourceVersion").AsString().value_or(""));
      next = std::string(metadata.Find("continue").AsString().value_or(""));
      for (const Value item : list.Find("items").elements()) {
        TakeItem(ReadJsonObject(kind_, item), events);
      }
    });
    json_ = std::string();
  }
  if (status.ok()) {
    trouble_ = absl::OkStatus();
    continue_ = std::move(next);
    if (continue_.empty()) status = FinishList(version, events);
  }
  return status.ok() ? absl::ZeroDuration() : Broken(status, now);
}

absl::Duration Reflector::Refused(const ApiError& error, const absl::Status& status, absl::Time now,
                                  std::vector<WatchEvent>& events) {
  const bool has_page = doing_ == Doing::kListing && !continue_.empty();
  if (error.IsGone() && has_page && !whole_) {
    continue_.clear();
    whole_ = true;
    return absl::ZeroDuration();
  }
  // It cannot read the version, which is another server's.
  const bool is_foreign = error.code == 400 && !has_page && doing_ != Doing::kStreamingList;
  if (error.IsGone() || IsTooNew(error) || is_foreign) {
    ListAnew();
    expired_ = true;
    version_.clear();
    const bool again = now - std::exchange(list_began_, now) < kWorthListing;
    return again ? Failed(Plain(status), now, retries_) : absl::ZeroDuration();
  }
  if (error.code == 404 && MayBeAbsent(kind_)) {
    known_.DeleteAll(events);
    unusable_.clear();
    ListAnew();
    synced_ = true;
    trouble_ = absl::OkStatus();
    return kAskAgainForAbsent * std::uniform_real_distribution<double>(0.9, 1.0)(random_);
  }
  if (doing_ == Doing::kStreamingList && RefusesToStream(error)) {
    streams_ = false;
    return absl::ZeroDuration();
  }
  if (has_page && error.code == 400) continue_.clear();  // the page is of another server
  const absl::Duration wait =
      Failed(Explained(kind_, error, status), now, error.code >= 500 ? failures_ : retries_);
  return std::max(wait, error.retry_after.value_or(absl::ZeroDuration()));
}

void Reflector::ListAnew() {
  listed_ = expired_ = whole_ = false;
  streams_ = true;
  continue_.clear();
}

// No refusal: what the client says, without the request, so that it is the same for all kinds.
absl::Duration Reflector::Broken(const absl::Status& status, absl::Time now) {
  absl::string_view text = status.message();
  absl::ConsumePrefix(&text, absl::StrCat("GET ", target_, ": "));
  for (const char* const sent : {"; it was not sent", "; it may have happened"}) {
    absl::ConsumeSuffix(&text, sent);
  }
  RetryBackoff& begun = absl::IsDataLoss(status) ? retries_ : failures_;
  return Failed(absl::Status(status.code(), text), now, started_ ? begun : reconnects_);
}

absl::Duration Reflector::Failed(absl::Status trouble, absl::Time now, RetryBackoff& backoff) {
  trouble_ = std::move(trouble);
  return backoff.Next(now);
}

}  // namespace berth
