// SPDX-License-Identifier: Apache-2.0
// Implementation of lease_lock.h.
#include "process/lease_lock.h"

#include <rapidjson/document.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "api/json.h"
#include "kubernetes/http_loop.h"

namespace berth {
namespace {

constexpr char kJson[] = "application/json";
constexpr char kMicroTime[] = "%Y-%m-%dT%H:%M:%E6SZ";  // metav1.MicroTime

// Deeper than any Lease. What is read is written again, by a function that calls itself.
constexpr int kMostNesting = 64;

using JsonDocument = rapidjson::Document;
using JsonValue = rapidjson::Value;

std::string MicroTime(absl::Time time) {
  return absl::FormatTime(kMicroTime, time, absl::UTCTimeZone());
}

absl::Time ParseMicroTime(const std::string& text) {
  absl::Time time = absl::UnixEpoch();
  std::string error;
  return absl::ParseTime(absl::RFC3339_full, text, &time, &error) ? time : absl::UnixEpoch();
}

const JsonValue* Find(const JsonValue& object, const char* key) {
  const auto found = object.FindMember(key);
  return found == object.MemberEnd() ? nullptr : &found->value;
}
std::string Text(const JsonValue& object, const char* key) {
  const JsonValue* const value = Find(object, key);
  return value == nullptr || !value->IsString()
             ? ""
             : std::string(value->GetString(), value->GetStringLength());
}
int64_t Number(const JsonValue& object, const char* key) {
  const JsonValue* const value = Find(object, key);
  return value == nullptr || !value->IsInt64() ? 0 : value->GetInt64();
}

JsonValue StringValue(absl::string_view text, JsonDocument& document) {
  return JsonValue(text.data(), static_cast<unsigned>(text.size()), document.GetAllocator());
}

struct NestingCheck : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, NestingCheck> {
  bool StartObject() { return ++nesting <= kMostNesting; }
  bool StartArray() { return ++nesting <= kMostNesting; }
  bool EndObject(unsigned) { return --nesting >= 0; }
  bool EndArray(unsigned) { return --nesting >= 0; }
  int nesting = 0;
};

bool IsSane(absl::string_view json) {
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  NestingCheck check;
  return !reader.Parse<rapidjson::kParseIterativeFlag>(stream, check).IsError();
}

}  // namespace

absl::StatusOr<LeaseRecord> ParseLease(absl::string_view json) {
  JsonDocument lease;
  if (IsSane(json)) lease.Parse(json.data(), json.size());
  if (lease.HasParseError() || !lease.IsObject() || Text(lease, "kind") != "Lease") {
    return absl::InternalError("the server's answer is no Lease");
  }
  LeaseRecord record;
  const JsonValue* const spec = Find(lease, "spec");
  if (spec == nullptr || !spec->IsObject()) return record;
  record.holder = Text(*spec, "holderIdentity");
  record.duration_seconds = Number(*spec, "leaseDurationSeconds");
  record.acquired = ParseMicroTime(Text(*spec, "acquireTime"));
  record.renewed = ParseMicroTime(Text(*spec, "renewTime"));
  record.transitions = Number(*spec, "leaseTransitions");
  return record;
}

std::string LeaseWith(absl::string_view json, const std::string& namespace_name,
                      const std::string& name, const LeaseRecord& record) {
  JsonDocument lease;
  if (!json.empty()) lease.Parse(json.data(), json.size());
  auto& allocator = lease.GetAllocator();
  if (json.empty()) {
    lease.SetObject();
    lease.AddMember("apiVersion", "coordination.k8s.io/v1", allocator);
    lease.AddMember("kind", "Lease", allocator);
    JsonValue metadata(rapidjson::kObjectType);
    metadata.AddMember("name", StringValue(name, lease), allocator);
    metadata.AddMember("namespace", StringValue(namespace_name, lease), allocator);
    lease.AddMember("metadata", metadata, allocator);
  }
  JsonValue spec(rapidjson::kObjectType);
  spec.AddMember("holderIdentity", StringValue(record.holder, lease), allocator);
  spec.AddMember("leaseDurationSeconds", JsonValue(record.duration_seconds), allocator);
  spec.AddMember("acquireTime", StringValue(MicroTime(record.acquired), lease), allocator);
  spec.AddMember("renewTime", StringValue(MicroTime(record.renewed), lease), allocator);
  spec.AddMember("leaseTransitions", JsonValue(record.transitions), allocator);
  while (lease.RemoveMember("spec")) {  // of nonsense there may be two
  }
  lease.AddMember("spec", spec, allocator);
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer(out);
  lease.Accept(writer);
  return std::string(out.GetString(), out.GetSize());
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
