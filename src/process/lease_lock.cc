// SPDX-License-Identifier: Apache-2.0
// Implementation of lease_lock.h.
#include "process/lease_lock.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "api/json.h"
#include "berth/api/value.h"
#include "kubernetes/http_loop.h"
#include "kubernetes/resource.h"

namespace berth {
namespace {

constexpr char kJson[] = "application/json";
constexpr char kMicroTime[] = "%Y-%m-%dT%H:%M:%E6SZ";  // metav1.MicroTime

std::string MicroTime(absl::Time time) {
  return absl::FormatTime(kMicroTime, time, absl::UTCTimeZone());
}

absl::Time ParseMicroTime(const std::string& text) {
  absl::Time time = absl::UnixEpoch();
  std::string error;
  return absl::ParseTime(absl::RFC3339_full, text, &time, &error) ? time : absl::UnixEpoch();
}

std::string Text(Value value) { return std::string(value.AsString().value_or("")); }

absl::Time MicroTime(Value value) { return ParseMicroTime(Text(value)); }

// The Lease that `json` is, as one document; none if it is anything else.
std::vector<Document> ReadLease(absl::string_view json) {
  Problems problems;
  std::vector<Document> documents = ReadDocuments(json, "", problems);
  const bool one = problems.ok() && documents.size() == 1;
  if (!one || Text(documents.front().root().Find("kind")) != "Lease") documents.clear();
  return documents;
}

void WriteSpec(const LeaseRecord& record, JsonWriter& json) {
  json.Key("spec").BeginObject();
  json.Key("holderIdentity").String(record.holder);
  json.Key("leaseDurationSeconds").Int(record.duration_seconds);
  json.Key("acquireTime").String(MicroTime(record.acquired));
  json.Key("renewTime").String(MicroTime(record.renewed));
  json.Key("leaseTransitions").Int(record.transitions);
  json.EndObject();
}

}  // namespace

absl::StatusOr<LeaseRecord> ParseLease(absl::string_view json) {
  const std::vector<Document> documents = ReadLease(json);
  if (documents.empty()) return absl::InternalError("the server's answer is no Lease");
  const Value spec = documents.front().root().Find("spec");
  LeaseRecord record;
  record.holder = Text(spec.Find("holderIdentity"));
  record.duration_seconds = spec.Find("leaseDurationSeconds").AsInt64().value_or(0);
  record.acquired = MicroTime(spec.Find("acquireTime"));
  record.renewed = MicroTime(spec.Find("renewTime"));
  record.transitions = spec.Find("leaseTransitions").AsInt64().value_or(0);
  return record;
}

std::string LeaseWith(absl::string_view json, const std::string& namespace_name,
                      const std::string& name, const LeaseRecord& record) {
  const std::vector<Document> read = ReadLease(json);
  JsonWriter lease;
  lease.BeginObject();
  if (read.empty()) {
    lease.Key("apiVersion").String("coordination.k8s.io/v1").Key("kind").String("Lease");
    lease.Key("metadata").BeginObject();
    lease.Key("name").String(name).Key("namespace").String(namespace_name).EndObject();
  } else {
    for (const Value::Item item : read.front().root().items()) {
      if (item.key == "spec") continue;
      WriteValue(item.value, lease.Key(item.key));
    }
  }
  WriteSpec(record, lease);
  lease.EndObject();
  return std::string(lease.text());
}

std::string ApiLeaseLock::Target() const {
  return absl::StrCat("/apis/coordination.k8s.io/v1/namespaces/",
                      QueryEscape(options_.namespace_name), "/leases");
}

void ApiLeaseLock::Read(std::function<void(absl::StatusOr<LeaseRecord>)> answer) {
  ApiRequest request;
  request.target = absl::StrCat(Target(), "/", QueryEscape(options_.name));
  request.timeout = options_.timeout;
  client_.Call(std::move(request),
               [this, answer = std::move(answer)](absl::StatusOr<ApiResponse> response) {
                 if (!response.ok()) return answer(response.status());
                 absl::StatusOr<LeaseRecord> record = ParseLease(response->body);
                 if (record.ok()) json_ = std::move(response->body);
                 answer(std::move(record));
               });
}

void ApiLeaseLock::Create(const LeaseRecord& record, std::function<void(absl::Status)> answer) {
  json_.clear();
  Send("POST", Target(), record, std::move(answer));
}

void ApiLeaseLock::Update(const LeaseRecord& record, std::function<void(absl::Status)> answer) {
  Send("PUT", absl::StrCat(Target(), "/", QueryEscape(options_.name)), record, std::move(answer));
}

// Not again by the client: whether it happened is seen when the Lease is read next.
void ApiLeaseLock::Send(std::string method, std::string target, const LeaseRecord& record,
                        std::function<void(absl::Status)> answer) {
  ApiRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.content_type = kJson;
  request.body = LeaseWith(json_, options_.namespace_name, options_.name, record);
  request.repeatable = Repeatable::kNo;
  request.timeout = options_.timeout;
  client_.Call(std::move(request),
               [this, answer = std::move(answer)](absl::StatusOr<ApiResponse> response) {
                 if (!response.ok()) return answer(response.status());
                 const absl::StatusOr<LeaseRecord> written = ParseLease(response->body);
                 if (written.ok()) json_ = std::move(response->body);
                 answer(written.status());
               });
}

// As client-go's recorder; no caller waits for it.
void ApiLeaseLock::RecordEvent(const std::string& text) {
  const absl::Time now = Date();
  JsonWriter json;
  json.BeginObject();
  json.Key("apiVersion").String("events.k8s.io/v1").Key("kind").String("Event");
  json.Key("metadata").BeginObject();
  json.Key("namespace").String(options_.namespace_name);
  json.Key("name").String(absl::StrCat(options_.name, ".", absl::Hex(absl::ToUnixNanos(now))));
  json.EndObject();
  json.Key("eventTime").String(MicroTime(now)).Key("type").String("Normal");
  json.Key("reason").String("LeaderElection").Key("action").String("LeaderElection");
  json.Key("note").String(absl::StrCat(options_.identity, " ", text));
  json.Key("reportingController").String(options_.scheduler_name);
  json.Key("reportingInstance").String(options_.identity);
  json.Key("regarding").BeginObject();
  json.Key("apiVersion").String("coordination.k8s.io/v1").Key("kind").String("Lease");
  json.Key("namespace").String(options_.namespace_name).Key("name").String(options_.name);
  json.EndObject().EndObject();
  ApiRequest request;
  request.method = "POST";
  request.target = absl::StrCat("/apis/events.k8s.io/v1/namespaces/",
                                QueryEscape(options_.namespace_name), "/events");
  request.content_type = kJson;
  request.body = std::string(json.text());
  client_.Call(std::move(request), [](const absl::StatusOr<ApiResponse>&) {});
}

absl::Time ApiLeaseLock::Now() const { return MonotonicNow(); }

absl::Time ApiLeaseLock::Date() const { return absl::Now(); }

void ApiLeaseLock::RunAt(absl::Time time, std::function<void()> work) {
  client_.RunAt(time, std::move(work));
}

}  // namespace berth
