// SPDX-License-Identifier: Apache-2.0
// Implementation of extender_messages.h.
#include "extender/extender_messages.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/json.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"

namespace berth {
namespace {

using Json = rapidjson::Value;

std::string Quoted(absl::string_view text) {
  JsonWriter out;
  out.String(text);
  return std::string(out.text());
}

absl::string_view TextOf(const Json& json) { return {json.GetString(), json.GetStringLength()}; }

absl::Status WrongType(absl::string_view what, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(what, " is not ", wanted));
}

// Reads without recursion: an answer may nest as deeply as it likes.
absl::Status Parse(absl::string_view text, rapidjson::Document& document) {
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseStopWhenDoneFlag |
                              rapidjson::kParseValidateEncodingFlag;
  document.Parse<kFlags>(text.data(), text.size());
  if (!document.HasParseError()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the answer is not JSON: ", rapidjson::GetParseError_En(document.GetParseError()),
      " (at byte ", document.GetErrorOffset(), ")"));
}

// The members of an object by name, whatever its case; null is an object without any.
class Members {
 public:
  static absl::StatusOr<Members> Of(const Json& json, absl::string_view what) {
    if (!json.IsObject() && !json.IsNull()) return WrongType(what, "an object");
    return Members(json);
  }
  // Null if there is none, or if it is null.
  const Json* Find(absl::string_view name) const {
    const Json* found = nullptr;
    if (json_.IsNull()) return found;
    for (const auto& member : json_.GetObject()) {
      // A null leaves what was there, as in Go.
      if (absl::EqualsIgnoreCase(TextOf(member.name), name) && !member.value.IsNull()) {
        found = &member.value;
      }
    }
    return found;
  }
  absl::Status ReadText(absl::string_view name, std::string& text) const {
    const Json* const found = Find(name);
    if (found == nullptr) return absl::OkStatus();
    if (!found->IsString()) return WrongType(name, "a string");
    text = std::string(TextOf(*found));
    return absl::OkStatus();
  }
  absl::Status ReadNumber(absl::string_view name, int64_t& number) const {
    const Json* const found = Find(name);
    if (found == nullptr) return absl::OkStatus();
    if (!found->IsInt64()) return WrongType(name, "a whole number of 64 bits");
    number = found->GetInt64();
    return absl::OkStatus();
  }

 private:
  explicit Members(const Json& json) : json_(json) {}
  const Json& json_;
};

absl::Status ReadReasons(const Members& result, absl::string_view name,
                         std::map<std::string, std::string>& reasons) {
  const Json* const found = result.Find(name);
  if (found == nullptr) return absl::OkStatus();
  if (!found->IsObject()) return WrongType(name, "an object");
  for (const auto& member : found->GetObject()) {
    if (!member.value.IsString() && !member.value.IsNull()) {
      return WrongType(absl::StrCat(name, "[", Quoted(TextOf(member.name)), "]"), "a string");
    }
    reasons[std::string(TextOf(member.name))] =
        member.value.IsNull() ? std::string() : std::string(TextOf(member.value));
  }
  return absl::OkStatus();
}

absl::Status ReadNodeNames(const Json& names, std::vector<std::string>& nodes) {
  if (!names.IsArray()) return WrongType("NodeNames", "a list");
  for (const Json& name : names.GetArray()) {
    if (!name.IsString()) return WrongType("a node name", "a string");
    nodes.emplace_back(TextOf(name));
  }
  return absl::OkStatus();
}

// Of each node the name counts.
absl::Status ReadNodeList(const Json& list, std::vector<std::string>& nodes) {
  const absl::StatusOr<Members> members = Members::Of(list, "Nodes");
  if (!members.ok()) return members.status();
  const Json* const items = members->Find("items");
  if (items == nullptr) return absl::OkStatus();
  if (!items->IsArray()) return WrongType("Nodes.items", "a list");
  for (const Json& item : items->GetArray()) {
    const absl::StatusOr<Members> node = Members::Of(item, "a node");
    if (!node.ok()) return node.status();
    std::string& name = nodes.emplace_back();
    const Json* const metadata = node->Find("metadata");
    if (metadata == nullptr) continue;
    const absl::StatusOr<Members> of_node = Members::Of(*metadata, "the metadata of a node");
    if (!of_node.ok()) return of_node.status();
    if (absl::Status read = of_node->ReadText("name", name); !read.ok()) return read;
  }
  return absl::OkStatus();
}

absl::Status ReadVictims(const Json& json, SchedulerExtender::Victims& victims) {
  const absl::StatusOr<Members> members = Members::Of(json, "MetaVictims");
  if (!members.ok()) return members.status();
  absl::Status read = members->ReadNumber("NumPDBViolations", victims.pdb_violations);
  const Json* const pods = members->Find("Pods");
  if (!read.ok() || pods == nullptr) return read;
  if (!pods->IsArray()) return WrongType("Pods", "a list");
  for (const Json& pod : pods->GetArray()) {
    const absl::StatusOr<Members> of_pod = Members::Of(pod, "MetaPod");
    if (!of_pod.ok()) return of_pod.status();
    read = of_pod->ReadText("UID", victims.uids.emplace_back());
    if (!read.ok()) return read;
  }
  return absl::OkStatus();
}

// The candidates by node, as Go writes a map.
std::vector<const PreemptionCandidate*> Sorted(
    absl::Span<const PreemptionCandidate* const> candidates) {
  std::vector<const PreemptionCandidate*> sorted(candidates.begin(), candidates.end());
  absl::c_sort(sorted, [](const auto* a, const auto* b) { return a->node < b->node; });
  return sorted;
}

template <class Write>
void AppendVictims(absl::Span<const PreemptionCandidate* const> candidates, const Write& write_pod,
                   std::string& out) {
  absl::StrAppend(&out, "{");
  absl::string_view comma;
  for (const PreemptionCandidate* candidate : Sorted(candidates)) {
    absl::StrAppend(&out, std::exchange(comma, ","), Quoted(candidate->node), ":{\"Pods\":[");
    absl::string_view pod_comma;
    for (const auto& victim : candidate->victims) {
      absl::StrAppend(&out, std::exchange(pod_comma, ","), write_pod(*victim));
    }
    absl::StrAppend(&out, "],\"NumPDBViolations\":", candidate->pdb_violations, "}");
  }
  absl::StrAppend(&out, "}");
}

}  // namespace

// --- Requests ------------------------------------------------------------------------------------

// kube-scheduler's objects have no apiVersion and kind: its client drops them.
std::string ObjectJson(const google::protobuf::Message& object) {
  const std::string json = ToJson(object);
  absl::string_view rest = json;
  if (!absl::ConsumePrefix(&rest, "{\"apiVersion\":\"v1\",\"kind\":\"")) return json;
  rest.remove_prefix(std::min(rest.find('"') + 1, rest.size()));
  absl::ConsumePrefix(&rest, ",");
  return absl::StrCat("{", rest);
}

std::string PodJson(const PodInfo& pod) { return ObjectJson(*pod.packed()->Unpack()); }

std::string NodeNamesRequest(absl::string_view pod, absl::Span<const NodeInfo* const> nodes) {
  JsonWriter names;
  names.BeginArray();
  for (const NodeInfo* node : nodes) names.String(node->name().view());
  names.EndArray();
  return absl::StrCat("{\"Pod\":", pod, ",\"Nodes\":null,\"NodeNames\":", names.text(), "}");
}

std::string NodesRequest(absl::string_view pod, absl::Span<const absl::string_view> nodes) {
  size_t size = pod.size() + 64;
  for (const absl::string_view node : nodes) size += node.size() + 1;
  std::string request;
  request.reserve(size);
  absl::StrAppend(&request, "{\"Pod\":", pod, ",\"Nodes\":{\"metadata\":{},\"items\":[");
  absl::string_view comma;
  for (const absl::string_view node : nodes) {
    absl::StrAppend(&request, std::exchange(comma, ","), node);
  }
  absl::StrAppend(&request, "]},\"NodeNames\":null}");
  return request;
}

std::string MetaVictimsRequest(absl::string_view pod,
                               absl::Span<const PreemptionCandidate* const> candidates) {
  std::string request =
      absl::StrCat("{\"Pod\":", pod, ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":");
  AppendVictims(
      candidates,
      [](const PodInfo& victim) { return absl::StrCat("{\"UID\":", Quoted(victim.uid()), "}"); },
      request);
  return request + "}";
}

std::string VictimsRequest(absl::string_view pod,
                           absl::Span<const PreemptionCandidate* const> candidates) {
  std::string request = absl::StrCat("{\"Pod\":", pod, ",\"NodeNameToVictims\":");
  AppendVictims(candidates, &PodJson, request);
  return request + ",\"NodeNameToMetaVictims\":null}";
}

std::string BindingRequest(const PodInfo& pod, absl::string_view node_name) {
  JsonWriter out;
  out.BeginObject().Key("PodName").String(pod.name());
  out.Key("PodNamespace").String(pod.namespace_name().view());
  out.Key("PodUID").String(pod.uid()).Key("Node").String(node_name).EndObject();
  return std::string(out.text());
}

// --- Answers -------------------------------------------------------------------------------------

absl::StatusOr<SchedulerExtender::FilterResult> ReadFilterResult(absl::string_view json,
                                                                 bool node_names_first) {
  rapidjson::Document document;
  absl::Status read = Parse(json, document);
  if (!read.ok()) return read;
  const absl::StatusOr<Members> members = Members::Of(document, "ExtenderFilterResult");
  if (!members.ok()) return members.status();
  std::string error;
  read = members->ReadText("Error", error);
  if (!read.ok()) return read;
  if (!error.empty()) return absl::UnknownError(error);
  SchedulerExtender::FilterResult result;
  const Json* const names = members->Find("NodeNames");
  const Json* const nodes = members->Find("Nodes");
  if (names != nullptr && node_names_first) {
    read = ReadNodeNames(*names, result.nodes);
  } else if (nodes != nullptr) {
    read = ReadNodeList(*nodes, result.nodes);
  }
  if (read.ok()) read = ReadReasons(*members, "FailedNodes", result.failed);
  if (read.ok()) {
    read = ReadReasons(*members, "FailedAndUnresolvableNodes", result.failed_and_unresolvable);
  }
  if (!read.ok()) return read;
  return result;
}

SchedulerExtender::Priorities ReadPriorities(absl::string_view json) {
  rapidjson::Document document;
  absl::Status read = Parse(json, document);
  if (!read.ok()) return read;
  std::vector<SchedulerExtender::HostPriority> priorities;
  if (document.IsNull()) return priorities;
  if (!document.IsArray()) return WrongType("HostPriorityList", "a list");
  for (const Json& item : document.GetArray()) {
    const absl::StatusOr<Members> members = Members::Of(item, "HostPriority");
    if (!members.ok()) return members.status();
    SchedulerExtender::HostPriority& priority = priorities.emplace_back();
    read = members->ReadText("Host", priority.node);
    if (read.ok()) read = members->ReadNumber("Score", priority.score);
    if (!read.ok()) return read;
  }
  return priorities;
}

absl::StatusOr<std::map<std::string, SchedulerExtender::Victims>> ReadPreemptionResult(
    absl::string_view json) {
  rapidjson::Document document;
  absl::Status read = Parse(json, document);
  if (!read.ok()) return read;
  const absl::StatusOr<Members> members = Members::Of(document, "ExtenderPreemptionResult");
  if (!members.ok()) return members.status();
  std::map<std::string, SchedulerExtender::Victims> victims_of;
  const Json* const found = members->Find("NodeNameToMetaVictims");
  if (found == nullptr) return victims_of;
  if (!found->IsObject()) return WrongType("NodeNameToMetaVictims", "an object");
  for (const auto& member : found->GetObject()) {
    SchedulerExtender::Victims& victims = victims_of[std::string(TextOf(member.name))];
    victims = {};
    read = ReadVictims(member.value, victims);
    if (!read.ok()) return read;
  }
  return victims_of;
}

absl::Status ReadBindingResult(absl::string_view json) {
  rapidjson::Document document;
  absl::Status read = Parse(json, document);
  if (!read.ok()) return read;
  const absl::StatusOr<Members> members = Members::Of(document, "ExtenderBindingResult");
  if (!members.ok()) return members.status();
  std::string error;
  read = members->ReadText("Error", error);
  if (!read.ok()) return read;
  return error.empty() ? absl::OkStatus() : absl::UnknownError(error);
}

}  // namespace berth
