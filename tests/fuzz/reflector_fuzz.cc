// SPDX-License-Identifier: Apache-2.0
// A reflector and an API server that says anything: the reflector always asks again soon, but not
// without a pause; no object ends that was not there; and as soon as the server talks sense, the
// reflector knows what there is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/check.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/api_error.h"
#include "kubernetes/envelope.h"
#include "kubernetes/reflector.h"

namespace {

using berth::Kind;
using berth::WatchEvent;

constexpr absl::Duration kLongestWait = absl::Minutes(2);
// While a server refuses, a reflector may try another way of asking at once.
constexpr absl::Duration kWindow = absl::Seconds(10);
constexpr int kMostAtOnce = 30;
constexpr int kMostRequestsToRecover = 15;
constexpr uint64_t kRevision = 1'000'000;  // of the server that talks sense

// The bytes of the input, one after the other.
class Script {
 public:
  Script(const uint8_t* data, size_t size) : text_(reinterpret_cast<const char*>(data), size) {}
  bool done() const { return text_.empty(); }
  char Next() {
    if (text_.empty()) return '0';
    const char c = text_.front();
    text_.remove_prefix(1);
    return c;
  }
  // '0' is 0, 'A' is 17.
  uint32_t Number(uint32_t bound) { return static_cast<uint8_t>(Next() - '0') % bound; }
  absl::string_view Bytes(size_t most) {
    const absl::string_view bytes = text_.substr(0, most);
    text_.remove_prefix(bytes.size());
    return bytes;
  }

 private:
  absl::string_view text_;
};

// What a server writes, in the form in which it answers.
class Writer {
 public:
  Writer(Kind kind, bool protobuf) : kind_(kind), protobuf_(protobuf) {}

  std::string Object(absl::string_view name, absl::string_view uid, absl::string_view version,
                     bool ends_initial_events = false) const {
    if (!protobuf_) {
      return absl::StrCat(
          R"({"apiVersion":")", berth::ApiVersion(kind_), R"(","kind":")", berth::KindName(kind_),
          R"(","metadata":{"name":")", name, R"(",)",
          berth::IsNamespaced(kind_) ? R"("namespace":"ns",)" : "", R"("uid":")", uid,
          R"(","resourceVersion":")", version, "\"",
          ends_initial_events ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "",
          "}}");
    }
    berth::api::ObjectMeta meta;
    meta.set_name(std::string(name));
    if (berth::IsNamespaced(kind_)) meta.set_namespace_("ns");
    meta.set_uid(std::string(uid));
    meta.set_resource_version(std::string(version));
    if (ends_initial_events) {
      (*meta.mutable_annotations())["k8s.io/initial-events-end"] = "true";
    }
    // Every kind begins with its metadata. Anything of a message with one field will do.
    berth::kubernetes_wire::RawExtension message;
    message.set_raw(meta.SerializeAsString());
    return message.SerializeAsString();
  }

  std::string Event(absl::string_view type, absl::string_view object,
                    absl::string_view object_kind) const {
    if (!protobuf_) return absl::StrCat(R"({"type":")", type, R"(","object":)", object, "}\n");
    berth::kubernetes_wire::WatchEvent event;
    event.set_type(std::string(type));
    event.mutable_object()->set_raw(berth::Envelope(berth::ApiVersion(kind_), object_kind, object));
    const std::string body = event.SerializeAsString();
    std::string frame(4, '\0');
    for (int i = 0; i < 4; ++i) frame[i] = static_cast<char>(body.size() >> (24 - 8 * i));
    return frame + body;
  }
  std::string Event(absl::string_view type, absl::string_view object) const {
    return Event(type, object, berth::KindName(kind_));
  }

  std::string Error(const berth::ApiError& error) const {
    const int seconds =
        static_cast<int>(absl::ToInt64Seconds(error.retry_after.value_or(absl::ZeroDuration())));
    if (!protobuf_) {
      return Event("ERROR",
                   absl::StrCat(R"({"kind":"Status","code":)", error.code, R"(,"reason":")",
                                error.reason, R"(","message":")", error.message,
                                R"(","details":{"retryAfterSeconds":)", seconds, "}}"));
    }
    berth::kubernetes_wire::Status status;
    status.set_code(error.code);
    status.set_reason(error.reason);
    status.set_message(error.message);
    status.mutable_details()->set_retry_after_seconds(seconds);
    return Event("ERROR", status.SerializeAsString(), "Status");
  }

  std::string List(const std::vector<std::string>& items, absl::string_view version,
                   absl::string_view next) const {
    if (!protobuf_) {
      std::string text;
      for (const std::string& item : items) absl::StrAppend(&text, text.empty() ? "" : ",", item);
      return absl::StrCat(R"({"metadata":{"resourceVersion":")", version, R"(","continue":")", next,
                          R"("},"items":[)", text, "]}");
    }
    berth::kubernetes_wire::AnyList list;
    list.mutable_metadata()->set_resource_version(std::string(version));
    list.mutable_metadata()->set_continue_(std::string(next));
    for (const std::string& item : items) list.add_items(item);
    return berth::Envelope(berth::ApiVersion(kind_), absl::StrCat(berth::KindName(kind_), "List"),
                           list.SerializeAsString());
  }

 private:
  const Kind kind_;
  const bool protobuf_;
};

// The reflector, and what its sink has been told. Does with it what WatchSet does.
class Client {
 public:
  Client(Kind kind, berth::WireFormat format) : reflector_(kind, {.format = format, .seed = 1}) {}

  // The request that is under way.
  const std::string& target() {
    if (!under_way_) {
      request_ = reflector_.Next(now_);
      BERTH_CHECK(absl::StartsWith(request_.target, "/")) << request_.target;
      BERTH_CHECK(request_.timeout <= absl::Minutes(1));
      BERTH_CHECK(request_.stream_timeout <= absl::Minutes(11));
      under_way_ = true;
      started_ = false;
      broken_ = absl::OkStatus();
    }
    return request_.target;
  }
  bool can_start() const { return !started_; }
  bool takes_bytes() const { return started_ && broken_.ok(); }
  bool is_broken() const { return !broken_.ok(); }

  void Start(absl::string_view content_type) {
    started_ = true;
    broken_ = reflector_.OnStart(content_type);
  }
  void Send(absl::string_view bytes, size_t piece) {
    while (!bytes.empty() && takes_bytes()) {
      std::vector<WatchEvent> events;
      broken_ = reflector_.OnBytes(bytes.substr(0, piece), events);
      bytes.remove_prefix(std::min(piece, bytes.size()));
      Take(std::move(events));
    }
  }
  void End(absl::Status status) {
    if (!broken_.ok()) status = broken_;
    std::vector<WatchEvent> events;
    const absl::Duration wait = reflector_.OnEnd(status, now_, events);
    Take(std::move(events));
    under_way_ = false;

    BERTH_CHECK(wait >= absl::ZeroDuration()) << wait;
    absl::Duration longest = kLongestWait;
    if (const auto refusal = berth::ApiError::Of(status); refusal.has_value()) {
      longest = std::max(longest, refusal->retry_after.value_or(absl::ZeroDuration()));
    }
    BERTH_CHECK(wait <= longest) << wait << " after " << status;
    if (!status.ok() && wait == absl::ZeroDuration()) {
      if (now_ - window_began_ >= kWindow) {
        window_began_ = now_;
        at_once_ = 0;
      }
      BERTH_CHECK(++at_once_ <= kMostAtOnce) << "again and again at once after " << status;
    }
    now_ += wait;
  }
  void Pass(absl::Duration time) { now_ += time; }

  const std::map<std::string, std::string>& view() const { return view_; }
  const berth::Reflector& reflector() const { return reflector_; }

 private:
  void Take(std::vector<WatchEvent> events) {
    for (const WatchEvent& event : events) {
      BERTH_CHECK(event.object.has_value());
      const std::string key(event.object->key()), uid(event.object->uid());
      const auto known = view_.find(key);
      if (event.type == WatchEvent::Type::kDeleted) {
        BERTH_CHECK(known != view_.end()) << key << " was not there";
        BERTH_CHECK(known->second == uid) << key << " was another";
        view_.erase(known);
      } else {
        BERTH_CHECK(event.type == WatchEvent::Type::kSet);
        BERTH_CHECK(known == view_.end() || known->second == uid) << key << " did not end";
        view_[key] = uid;
      }
    }
    BERTH_CHECK(view_.size() == reflector_.objects());
  }

  berth::Reflector reflector_;
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  absl::Time window_began_ = absl::InfinitePast();
  int at_once_ = 0;
  berth::ApiRequest request_;
  bool under_way_ = false, started_ = false;
  absl::Status broken_;
  std::map<std::string, std::string> view_;  // uids, by key
};

berth::ApiError Refusal(Script& script) {
  static constexpr struct {
    int code;
    const char* reason;
    const char* message;
  } kRefusals[] = {{410, "Expired", ""},
                   {410, "", "a proxy's"},
                   {504, "Timeout", "Too large resource version: 9, current: 8"},
                   {400, "BadRequest", ""},
                   {401, "Unauthorized", ""},
                   {403, "Forbidden", "may not"},
                   {404, "NotFound", ""},
                   {409, "Conflict", ""},
                   {415, "", ""},
                   {429, "TooManyRequests", ""},
                   {500, "InternalError", ""},
                   {503, "", ""},
                   {0, "", ""},
                   {-1, "", "\n"}};
  const auto& [code, reason, message] = kRefusals[script.Number(std::size(kRefusals))];
  berth::ApiError error{.code = code, .reason = reason, .message = message};
  static constexpr int kSeconds[] = {0, 1, 119, 2147483647};
  const int seconds = kSeconds[script.Number(std::size(kSeconds))];
  if (seconds > 0) error.retry_after = absl::Seconds(seconds);
  return error;
}

std::string Version(Script& script) {
  static constexpr const char* kOdd[] = {"", "x", "-1", "18446744073709551615",
                                         "18446744073709551616"};
  const uint32_t number = script.Number(64);
  return number >= 59 ? kOdd[number - 59] : absl::StrCat(number);
}

std::string Object(Script& script, const Writer& writer) {
  static constexpr const char* kNames[] = {"a", "b", "c", "", "x/y"};
  static constexpr const char* kUids[] = {"1", "2", ""};
  const char* const name = kNames[script.Number(std::size(kNames))];
  const char* const uid = kUids[script.Number(std::size(kUids))];
  return writer.Object(name, uid, Version(script));
}

// The server does what the next letter of the script says.
void Step(Script& script, Kind kind, bool& protobuf, size_t& piece, Client& client) {
  const Writer writer(kind, protobuf);
  switch (script.Next()) {
    case 'p':
      protobuf = true;
      if (client.can_start()) client.Start("application/vnd.kubernetes.protobuf;stream=watch");
      break;
    case 'j':
      protobuf = false;
      if (client.can_start()) client.Start("application/json");
      break;
    case 'h':
      if (client.can_start()) client.Start("text/html");
      break;
    case 'a':
      client.Send(writer.Event("ADDED", Object(script, writer)), piece);
      break;
    case 'm':
      client.Send(writer.Event("MODIFIED", Object(script, writer)), piece);
      break;
    case 'd':
      client.Send(writer.Event("DELETED", Object(script, writer)), piece);
      break;
    case 'b':
      client.Send(writer.Event("BOOKMARK", writer.Object("", "", Version(script))), piece);
      break;
    case 'e':
      client.Send(writer.Event("BOOKMARK", writer.Object("", "", Version(script), true)), piece);
      break;
    case 'x':
      client.Send(writer.Error(Refusal(script)), piece);
      break;
    case 'l': {
      std::vector<std::string> items;
      for (uint32_t count = script.Number(4); count > 0; --count) {
        items.push_back(Object(script, writer));
      }
      const std::string version = Version(script);
      client.Send(writer.List(items, version, script.Number(2) == 1 ? "next" : ""), piece);
      break;
    }
    case 'r':
      client.Send(script.Bytes(script.Number(32)), piece);
      break;
    case '.':
      client.End(absl::OkStatus());
      break;
    case '!':
      client.End(absl::UnavailableError("cut"));
      break;
    case 'R':
      if (client.can_start()) client.End(Refusal(script).ToStatus());
      break;
    case 't':
      client.Pass(absl::Seconds(1 << script.Number(10)));
      break;
    case '/':
      piece = 1 + script.Number(16);
      break;
    default:
      break;
  }
  if (client.is_broken()) client.End(absl::CancelledError(""));
}

// From here on the server has "b", a new "c" and "d", and does what it should.
class GoodServer {
 public:
  GoodServer(Kind kind, Client& client)
      : kind_(kind),
        protobuf_(!absl::StrContains(berth::ApiGroup(kind), "x-k8s.io")),
        writer_(kind, protobuf_),
        client_(client) {}

  // Until the client has listed, and its watch, which is too old for this server, is behind.
  void Recover() {
    for (int request = 0; request < kMostRequestsToRecover; ++request) {
      if (Answer()) return;
    }
    BERTH_CHECK(false) << "never asks for what it could get, but for " << client_.target();
  }

  void CheckView() const {
    std::map<std::string, std::string> want;
    for (const char* const name : {"b", "c", "d"}) want[Key(name)] = Uid(name);
    BERTH_CHECK(client_.view() == want);
    BERTH_CHECK(client_.reflector().synced());
    BERTH_CHECK(client_.reflector().trouble().ok()) << client_.reflector().trouble();
  }

  // On a new watch, if it has listed in pages: "b" goes, "e" comes.
  void Change() {
    if (!watching_) {
      const std::map<std::string, std::string> query = Query();
      BERTH_CHECK(query.contains("watch") && !query.contains("sendInitialEvents"))
          << client_.target();
      BERTH_CHECK(query.at("resourceVersion") == absl::StrCat(kRevision));
      client_.Start(Type());
    }
    const auto version = [](int change) { return absl::StrCat(kRevision + change); };
    client_.Send(writer_.Event("DELETED", writer_.Object("b", Uid("b"), version(1))), 1000);
    client_.Send(writer_.Event("ADDED", writer_.Object("e", "1", version(2))), 1000);
    BERTH_CHECK(!client_.view().contains(Key("b")));
    BERTH_CHECK(client_.view().contains(Key("e")));
  }

 private:
  std::string Key(absl::string_view name) const {
    return absl::StrCat(berth::IsNamespaced(kind_) ? "ns/" : "", name);
  }
  static std::string Uid(absl::string_view name) { return name == "c" ? "9" : "1"; }
  const char* Type() const { return protobuf_ ? berth::kProtobufType : berth::kJsonType; }

  std::map<std::string, std::string> Query() {
    std::map<std::string, std::string> query;
    const absl::string_view target = client_.target();
    for (const absl::string_view part : absl::StrSplit(target.substr(target.find('?') + 1), '&')) {
      query.insert(std::pair<std::string, std::string>(absl::StrSplit(part, '=')));
    }
    return query;
  }

  bool Refuse(int code, const char* reason, const char* message) {
    client_.End(berth::ApiError{.code = code, .reason = reason, .message = message}.ToStatus());
    return false;
  }

  // The frames of one request. Returns whether all was listed.
  bool Answer() {
    const std::map<std::string, std::string> query = Query();
    if (query.contains("continue")) return Refuse(410, "Expired", "");
    const std::string since = query.at("resourceVersion");
    uint64_t version = 0;
    if (!since.empty() && !absl::SimpleAtoi(since, &version)) {
      return Refuse(400, "BadRequest", "invalid resource version");
    }
    if (version > kRevision) return Refuse(504, "Timeout", "Too large resource version");
    const bool is_watch = query.contains("watch");
    if (is_watch && !query.contains("sendInitialEvents")) {
      return Refuse(410, "Expired", "too old resource version");
    }
    client_.Start(Type());
    std::vector<std::string> objects;
    for (const char* const name : {"b", "c", "d"}) {
      objects.push_back(writer_.Object(name, Uid(name), absl::StrCat(kRevision - 1)));
    }
    if (is_watch) {
      for (const std::string& object : objects) {
        client_.Send(writer_.Event("ADDED", object), 1000);
      }
      client_.Send(writer_.Event("BOOKMARK", writer_.Object("", "", absl::StrCat(kRevision), true)),
                   1000);
    } else {
      client_.Send(writer_.List(objects, absl::StrCat(kRevision), ""), 1000);
      client_.End(absl::OkStatus());
    }
    watching_ = is_watch;
    return true;
  }

  const Kind kind_;
  const bool protobuf_;
  const Writer writer_;
  Client& client_;
  bool watching_ = false;  // it listed by a watch, which goes on
};

}  // namespace

// The first letter is the kind; then come the letters of Step() with what belongs to them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1000) return 0;  // longer scripts find nothing more, only later
  Script script(data, size);
  Kind kind = Kind::kPod;
  berth::WireFormat format = berth::WireFormat::kProtobuf;
  switch (script.Next()) {
    case 'N':
      kind = Kind::kNode;
      break;
    case 'J':
      format = berth::WireFormat::kJson;
      break;
    case 'G':
      kind = Kind::kPodGroup;
      break;
    default:
      break;
  }
  Client client(kind, format);
  bool protobuf = kind != Kind::kPodGroup && format == berth::WireFormat::kProtobuf;
  size_t piece = 1000;
  while (!script.done()) {
    client.target();
    Step(script, kind, protobuf, piece, client);
  }
  client.target();
  client.End(absl::UnavailableError("the server is replaced"));
  GoodServer server(kind, client);
  server.Recover();
  server.CheckView();
  server.Change();
  return 0;
}
