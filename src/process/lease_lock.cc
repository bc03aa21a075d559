// SPDX-License-Identifier: Apache-2.0
// Implementation of lease_lock.h.
#include "process/lease_lock.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "api/json.h"
#include "kubernetes/http_loop.h"

namespace berth {
namespace {

constexpr char kJson[] = "application/json";
constexpr char kMicroTime[] = "%Y-%m-%dT%H:%M:%E6SZ";  // metav1.MicroTime

// What is read is written again, with all fields, whatever the server's version.
using JsonObject = google::protobuf::Struct;

std::string MicroTime(absl::Time time) {
  return absl::FormatTime(kMicroTime, time, absl::UTCTimeZone());
}

absl::Time ParseMicroTime(const std::string& text) {
  absl::Time time = absl::UnixEpoch();
  std::string error;
  return absl::ParseTime(absl::RFC3339_full, text, &time, &error) ? time : absl::UnixEpoch();
}

std::string Text(const JsonObject& object, const std::string& key) {
  const auto found = object.fields().find(key);
  return found == object.fields().end() ? "" : found->second.string_value();
}

// 0 for what is no whole number that a double holds exactly.
int64_t Number(const JsonObject& object, const std::string& key) {
  constexpr double kMostExact = 1LL << 53;
  const auto found = object.fields().find(key);
  const double value = found == object.fields().end() ? 0 : found->second.number_value();
  return std::abs(value) <= kMostExact ? static_cast<int64_t>(value) : 0;
}

void SetText(const std::string& key, const std::string& value, JsonObject& object) {
  (*object.mutable_fields())[key].set_string_value(value);
}

void SetNumber(const std::string& key, int64_t value, JsonObject& object) {
  (*object.mutable_fields())[key].set_number_value(static_cast<double>(value));
}

JsonObject& Member(const std::string& key, JsonObject& object) {
  return *(*object.mutable_fields())[key].mutable_struct_value();
}

// False for what is no JSON object, or is nested deeper than 100.
bool Parse(absl::string_view json, JsonObject& object) {
  return google::protobuf::util::JsonStringToMessage({json.data(), json.size()}, &object).ok();
}

}  // namespace

absl::StatusOr<LeaseRecord> ParseLease(absl::string_view json) {
  JsonObject lease;
  if (!Parse(json, lease) || Text(lease, "kind") != "Lease") {
    return absl::InternalError("the server's answer is no Lease");
  }
  LeaseRecord record;
  const JsonObject& spec = Member("spec", lease);
  record.holder = Text(spec, "holderIdentity");
  record.duration_seconds = Number(spec, "leaseDurationSeconds");
  record.acquired = ParseMicroTime(Text(spec, "acquireTime"));
  record.renewed = ParseMicroTime(Text(spec, "renewTime"));
  record.transitions = Number(spec, "leaseTransitions");
  return record;
}

std::string LeaseWith(absl::string_view json, const std::string& namespace_name,
                      const std::string& name, const LeaseRecord& record) {
  JsonObject lease;
  if (!Parse(json, lease)) {
    lease.Clear();
    SetText("apiVersion", "coordination.k8s.io/v1", lease);
    SetText("kind", "Lease", lease);
    JsonObject& metadata = Member("metadata", lease);
    SetText("name", name, metadata);
    SetText("namespace", namespace_name, metadata);
  }
  JsonObject& spec = Member("spec", lease);
  spec.Clear();
  SetText("holderIdentity", record.holder, spec);
  SetNumber("leaseDurationSeconds", record.duration_seconds, spec);
  SetText("acquireTime", MicroTime(record.acquired), spec);
  SetText("renewTime", MicroTime(record.renewed), spec);
  SetNumber("leaseTransitions", record.transitions, spec);
  std::string text;
  // Fails for messages with an Any only, and this has none.
  (void)google::protobuf::util::MessageToJsonString(lease, &text);
  return text;
}

std::string ApiLeaseLock::Target() const {
  return absl::StrCat("/apis/coordination.k8s.io/v1/namespaces/", options_.namespace_name,
                      "/leases");
}

void ApiLeaseLock::Read(std::function<void(absl::StatusOr<LeaseRecord>)> answer) {
  ApiRequest request;
  request.target = absl::StrCat(Target(), "/", options_.name);
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
  Send("PUT", absl::StrCat(Target(), "/", options_.name), record, std::move(answer));
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

// As client-go's recorder; nobody waits for it.
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
  request.target =
      absl::StrCat("/apis/events.k8s.io/v1/namespaces/", options_.namespace_name, "/events");
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
