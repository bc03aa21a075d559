// SPDX-License-Identifier: Apache-2.0
// Implementation of model_server.h.
#include "tests/kubernetes/model_server.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "berth/api/core_v1.pb.h"
#include "berth/check.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/api_error.h"
#include "kubernetes/envelope.h"
#include "kubernetes/object_reader.h"

namespace berth::testing {
namespace {

std::map<std::string, std::string> QueryOf(absl::string_view target) {
  std::map<std::string, std::string> query;
  const size_t mark = target.find('?');
  for (const absl::string_view part : absl::StrSplit(target.substr(mark + 1), '&')) {
    const std::pair<std::string, std::string> pair = absl::StrSplit(part, absl::MaxSplits('=', 1));
    query.insert(pair);
  }
  return query;
}

std::string InFrame(absl::string_view body) {
  std::string frame(4, '\0');
  for (int i = 0; i < 4; ++i) frame[i] = static_cast<char>(body.size() >> (24 - 8 * i));
  return absl::StrCat(frame, body);
}

}  // namespace

ModelServer::ModelServer(Kind kind, uint64_t seed) : kind_(kind), random_(seed) {
  snapshots_[revision_] = objects_;
}

// --- Changes -------------------------------------------------------------------------------------

void ModelServer::Record(std::string type, std::string name, ModelObject object) {
  history_.push_back({revision_, std::move(type), std::move(name), std::move(object)});
  snapshots_[revision_] = objects_;
}

void ModelServer::Set(const std::string& name) {
  if (!installed_) return;
  ++revision_;
  const auto [it, is_new] = objects_.try_emplace(name);
  if (is_new) it->second.uid = absl::StrCat("u", next_uid_++);
  it->second.version = revision_;
  Record(is_new ? "ADDED" : "MODIFIED", name, ModelObject(it->second));
}

void ModelServer::Delete(const std::string& name) {
  const auto it = objects_.find(name);
  if (it == objects_.end()) return;
  ModelObject last = it->second;
  last.version = ++revision_;
  objects_.erase(it);
  Record("DELETED", name, last);
}

void ModelServer::RemoveResource() {
  while (!objects_.empty()) Delete(std::string(objects_.begin()->first));
  installed_ = false;
  if (is_watch_ && !ended_ && !end_.has_value()) end_ = absl::OkStatus();
}

void ModelServer::Restore(uint64_t revision) {
  revision_ = revision;
  objects_ = snapshots_.at(revision);
  while (!history_.empty() && history_.back().revision > revision) history_.pop_back();
  CutNow();
  ended_ = true;
}

// --- The forms of things -------------------------------------------------------------------------

std::string ModelServer::Encode(const std::string& name, const ModelObject& object) const {
  if (format_ == WireFormat::kJson) {
    return absl::StrCat(R"({"apiVersion":")", ApiVersion(kind_), R"(","kind":")", KindName(kind_),
                        R"(","metadata":{"name":")", name, R"(","namespace":"ns","uid":")",
                        object.uid, R"(","resourceVersion":")", object.version, R"("}})");
  }
  api::Pod pod;
  pod.mutable_metadata()->set_name(name);
  pod.mutable_metadata()->set_namespace_("ns");
  pod.mutable_metadata()->set_uid(object.uid);
  pod.mutable_metadata()->set_resource_version(absl::StrCat(object.version));
  return pod.SerializeAsString();
}

std::string ModelServer::Frame(const std::string& type, const std::string& object) const {
  if (format_ == WireFormat::kJson) {
    return absl::StrCat(R"({"type":")", type, R"(","object":)", object, "}\n");
  }
  kubernetes_wire::WatchEvent event;
  event.set_type(type);
  event.mutable_object()->set_raw(
      Envelope("v1", type == "ERROR" ? "Status" : KindName(kind_), object));
  return InFrame(event.SerializeAsString());
}

std::string ModelServer::Bookmark(uint64_t revision, bool ends_initial_events) const {
  if (format_ == WireFormat::kJson) {
    return Frame(
        "BOOKMARK",
        absl::StrCat(
            R"({"kind":")", KindName(kind_), R"(","metadata":{"resourceVersion":")", revision, "\"",
            ends_initial_events ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "",
            "}}"));
  }
  api::Pod pod;
  pod.mutable_metadata()->set_resource_version(absl::StrCat(revision));
  if (ends_initial_events) {
    (*pod.mutable_metadata()->mutable_annotations())["k8s.io/initial-events-end"] = "true";
  }
  return Frame("BOOKMARK", pod.SerializeAsString());
}

std::string ModelServer::EncodeList(const std::vector<std::string>& items, uint64_t revision,
                                    const std::string& continue_token) const {
  if (format_ == WireFormat::kJson) {
    return absl::StrCat(R"({"kind":"List","metadata":{"resourceVersion":")", revision,
                        R"(","continue":")", continue_token, R"("},"items":[)",
                        absl::StrJoin(items, ","), "]}");
  }
  kubernetes_wire::AnyList list;
  list.mutable_metadata()->set_resource_version(absl::StrCat(revision));
  list.mutable_metadata()->set_continue_(continue_token);
  for (const std::string& item : items) list.add_items(item);
  return Envelope("v1", "PodList", list.SerializeAsString());
}

// --- Requests ------------------------------------------------------------------------------------

void ModelServer::Refuse(int code, const std::string& reason, const std::string& message) {
  ApiError error;
  error.code = code;
  error.reason = reason;
  error.message = message;
  end_ = error.ToStatus();
}

void ModelServer::Begin(const ApiRequest& request) {
  BERTH_CHECK(ended_) << "one request at a time";
  targets.push_back(request.target);
  started_ = ended_ = false;
  end_.reset();
  out_.clear();
  sent_.clear();
  content_type_.clear();
  const std::map<std::string, std::string> query = QueryOf(request.target);
  is_watch_ = query.contains("watch");
  // The server may have no protobuf for a kind, whatever it is asked for.
  format_ = kind_ == Kind::kPod && !Happens(20) ? WireFormat::kProtobuf : WireFormat::kJson;
  if (Happens(faults_.no_connection)) {
    end_ = absl::UnavailableError("no connection");
  } else if (Happens(faults_.refusal)) {
    static constexpr int kCodes[] = {401, 403, 429, 500, 503, 504};
    Refuse(kCodes[Below(6)], "Whatever", "refused by chance");
  } else if (!installed_) {
    Refuse(404, "", "404 page not found");
  } else if (Happens(faults_.wrong_type)) {
    content_type_ = "text/html";
    Answer("<html>a proxy greets you</html>");
    end_ = absl::OkStatus();
  } else {
    content_type_ = format_ == WireFormat::kJson
                        ? kJsonType
                        : absl::StrCat(kProtobufType, is_watch_ ? ";stream=watch" : "");
    is_watch_ ? BeginWatch(query) : BeginList(query);
  }
  // In the middle of something, perhaps.
  if (!end_.has_value() || !Happens(faults_.cut)) return;
  out_.resize(Below(static_cast<uint32_t>(out_.size()) + 1));
  end_ = absl::UnavailableError("cut");
}

void ModelServer::BeginList(const std::map<std::string, std::string>& query) {
  const auto value = [&](const std::string& key) {
    const auto it = query.find(key);
    return it == query.end() ? std::string() : it->second;
  };
  uint64_t at = revision_;
  std::string after;
  if (const std::string token = value("continue"); !token.empty()) {
    BERTH_CHECK(value("resourceVersion").empty()) << "a page has one already";
    const std::pair<std::string, std::string> parts = absl::StrSplit(token, "_");
    BERTH_CHECK(absl::SimpleAtoi(parts.first, &at)) << token;
    after = parts.second;
    if (at < compacted_ || Happens(faults_.expired_page)) {
      return Refuse(410, "Expired", "the continue token is too old");
    }
  } else if (const std::string since = value("resourceVersion"); !since.empty()) {
    uint64_t oldest = 0;
    BERTH_CHECK(absl::SimpleAtoi(since, &oldest)) << since;
    if (oldest > revision_) return Refuse(504, "Timeout", "Too large resource version");
    if (oldest == 0) oldest = revision_ > 20 ? revision_ - 20 : 1;
    oldest = std::max(oldest, oldest_in_cache_);
    if (faults_.caches_lag) at = oldest + Below(static_cast<uint32_t>(revision_ - oldest + 1));
  }
  uint64_t limit = 0;
  if (!absl::SimpleAtoi(value("limit"), &limit)) limit = 1000;
  if (limit == 500) limit = 3;  // of few objects, several pages
  std::vector<std::string> items;
  std::string last, token;
  for (const auto& [name, object] : snapshots_.at(at)) {
    if (name <= after) continue;
    if (items.size() == limit) {
      token = absl::StrCat(at, "_", last);
      break;
    }
    items.push_back(Encode(name, object));
    last = name;
  }
  Answer(EncodeList(items, at, token));
  end_ = absl::OkStatus();
}

void ModelServer::BeginWatch(const std::map<std::string, std::string>& query) {
  uint64_t since = 0;
  const std::string text = query.at("resourceVersion");
  BERTH_CHECK(text.empty() || absl::SimpleAtoi(text, &since)) << text;
  if (since > revision_) return Refuse(504, "Timeout", "Too large resource version");
  if (query.contains("sendInitialEvents")) {
    if (!faults_.streams) {
      return Refuse(Happens(50) ? 422 : 400, "Invalid", "sendInitialEvents is forbidden");
    }
    since = std::max(since, oldest_in_cache_);
    watched_ =
        text.empty() ? revision_ : since + Below(static_cast<uint32_t>(revision_ - since + 1));
    for (const auto& [name, object] : snapshots_.at(watched_)) {
      Answer(Frame("ADDED", Encode(name, object)));
    }
    Answer(Bookmark(watched_, true));
    if (Happens(faults_.cut)) {
      out_.resize(Below(static_cast<uint32_t>(out_.size()) + 1));
      end_ = absl::UnavailableError("cut");
    }
    return;
  }
  BERTH_CHECK(since != 0) << "a watch from nowhere";
  watched_ = since;
  if (since >= compacted_) return;
  if (Happens(50)) return Refuse(410, "Expired", "too old resource version");
  if (format_ == WireFormat::kJson) {
    Answer(
        Frame("ERROR", R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"));
  } else {
    kubernetes_wire::Status status;
    status.set_code(410);
    status.set_reason("Expired");
    Answer(Frame("ERROR", status.SerializeAsString()));
  }
  end_ = absl::OkStatus();
}

void ModelServer::MoreOfWatch() {
  for (const Change& change : history_) {
    if (change.revision <= watched_) continue;
    watched_ = change.revision;
    sent_.push_back(Frame(change.type, Encode(change.name, change.object)));
    Answer(sent_.back());
    if (Happens(faults_.duplicate)) Answer(sent_[Below(static_cast<uint32_t>(sent_.size()))]);
  }
  if (Happens(10)) Answer(Bookmark(watched_, false));
  if (Happens(faults_.error_event)) {
    const bool json = format_ == WireFormat::kJson;
    kubernetes_wire::Status status;
    status.set_code(500);
    Answer(Frame("ERROR", json ? R"({"kind":"Status","code":500})" : status.SerializeAsString()));
    end_ = absl::OkStatus();
  } else if (Happens(faults_.cut)) {
    out_.resize(Below(static_cast<uint32_t>(out_.size()) + 1));
    end_ = absl::UnavailableError("cut");
  } else if (Happens(faults_.end)) {
    end_ = absl::OkStatus();
  }
}

ModelServer::Seen ModelServer::Next() {
  using What = Seen::What;
  if (ended_) return {};
  if (!content_type_.empty() && !started_ && !(end_.has_value() && ApiError::Of(*end_))) {
    started_ = true;
    return {What::kStart, content_type_, {}};
  }
  if (is_watch_ && !end_.has_value() && out_.empty()) MoreOfWatch();
  if (started_ && !out_.empty()) {
    const size_t size = 1 + Below(static_cast<uint32_t>(std::min<size_t>(out_.size(), 400)));
    Seen seen{What::kBytes, out_.substr(0, size), {}};
    out_.erase(0, size);
    return seen;
  }
  if (!end_.has_value()) return {};
  ended_ = true;
  return {What::kEnd, "", *end_};
}

void ModelServer::CutNow() {
  if (ended_ || end_.has_value()) return;
  out_.clear();
  end_ = absl::UnavailableError("cut");
}

}  // namespace berth::testing
