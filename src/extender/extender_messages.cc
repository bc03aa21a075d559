// SPDX-License-Identifier: Apache-2.0
// Implementation of extender_messages.h.
#include "extender/extender_messages.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/json.h"
#include "api/message_json.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {
namespace {

std::string Quoted(absl::string_view text) {
  JsonWriter out;
  out.String(text);
  return std::string(out.text());
}

absl::Status WrongType(absl::string_view what, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat(what, " is not ", wanted));
}

// An answer is one JSON value: a map, a list or null. What follows it does not count, as in Go.
absl::StatusOr<Document> Parse(absl::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  const absl::string_view first = text.substr(std::min(begin, text.size()));
  if (absl::StartsWith(first, "null")) return Document();
  // Only of JSON: YAML has more ways to be long.
  if (!absl::StartsWith(first, "{") && !absl::StartsWith(first, "[")) {
    return absl::InvalidArgumentError("the answer is not JSON: it is no object, list or null");
  }
  Problems problems;
  std::vector<Document> documents = ReadDocuments(text, "", problems);
  const auto place = [](const SourceLocation& where) {
    return std::pair(where.line, where.column);
  };
  const bool is_whole =
      !documents.empty() && (problems.empty() || place(documents.front().root().where()) <
                                                     place(problems.list().front().where));
  if (!is_whole && !problems.empty()) {
    const Problem& problem = problems.list().front();
    return absl::InvalidArgumentError(absl::StrCat("the answer is not JSON: ", problem.message,
                                                   " (line ", problem.where.line, ", column ",
                                                   problem.where.column, ")"));
  }
  if (documents.empty()) return Document();
  return std::move(documents.front());
}

// The members of an object by name, whatever its case; null is an object without any.
class Members {
 public:
  static absl::StatusOr<Members> Of(Value json, absl::string_view what) {
    if (!json.IsMap() && !json.IsNull()) return WrongType(what, "an object");
    return Members(json);
  }
  // Null if there is none.
  Value Find(absl::string_view name) const {
    Value found;
    for (const Value::Item member : json_.items()) {
      // A null leaves what was there, as in Go.
      if (absl::EqualsIgnoreCase(member.key, name) && !member.value.IsNull()) found = member.value;
    }
    return found;
  }
  absl::Status ReadText(absl::string_view name, std::string& text) const {
    const Value found = Find(name);
    if (found.IsNull()) return absl::OkStatus();
    if (!found.IsString()) return WrongType(name, "a string");
    text = std::string(*found.AsString());
    return absl::OkStatus();
  }
  absl::Status ReadNumber(absl::string_view name, int64_t& number) const {
    const Value found = Find(name);
    if (found.IsNull()) return absl::OkStatus();
    const std::optional<int64_t> read =
        found.kind() == Value::Kind::kInt ? found.AsInt64() : std::nullopt;
    if (!read.has_value()) return WrongType(name, "a whole number of 64 bits");
    number = *read;
    return absl::OkStatus();
  }

 private:
  explicit Members(Value json) : json_(json) {}
  Value json_;
};

absl::Status ReadReasons(const Members& result, absl::string_view name,
                         std::map<std::string, std::string>& reasons) {
  const Value found = result.Find(name);
  if (found.IsNull()) return absl::OkStatus();
  if (!found.IsMap()) return WrongType(name, "an object");
  for (const Value::Item member : found.items()) {
    if (!member.value.IsString() && !member.value.IsNull()) {
      return WrongType(absl::StrCat(name, "[", Quoted(member.key), "]"), "a string");
    }
    reasons[std::string(member.key)] = std::string(member.value.AsString().value_or(""));
  }
  return absl::OkStatus();
}

absl::Status ReadNodeNames(Value names, std::vector<std::string>& nodes) {
  if (!names.IsSequence()) return WrongType("NodeNames", "a list");
  for (const Value name : names.elements()) {
    if (!name.IsString()) return WrongType("a node name", "a string");
    nodes.emplace_back(*name.AsString());
  }
  return absl::OkStatus();
}

// Only the name of each node counts.
absl::Status ReadNodeList(Value list, std::vector<std::string>& nodes) {
  const absl::StatusOr<Members> members = Members::Of(list, "Nodes");
  if (!members.ok()) return members.status();
  const Value items = members->Find("items");
  if (items.IsNull()) return absl::OkStatus();
  if (!items.IsSequence()) return WrongType("Nodes.items", "a list");
  for (const Value item : items.elements()) {
    const absl::StatusOr<Members> node = Members::Of(item, "a node");
    if (!node.ok()) return node.status();
    std::string& name = nodes.emplace_back();
    const absl::StatusOr<Members> of_node =
        Members::Of(node->Find("metadata"), "the metadata of a node");
    if (!of_node.ok()) return of_node.status();
    if (absl::Status read = of_node->ReadText("name", name); !read.ok()) return read;
  }
  return absl::OkStatus();
}

absl::Status ReadVictims(Value json, SchedulerExtender::Victims& victims) {
  const absl::StatusOr<Members> members = Members::Of(json, "MetaVictims");
  if (!members.ok()) return members.status();
  absl::Status read = members->ReadNumber("NumPDBViolations", victims.pdb_violations);
  const Value pods = members->Find("Pods");
  if (!read.ok() || pods.IsNull()) return read;
  if (!pods.IsSequence()) return WrongType("Pods", "a list");
  for (const Value pod : pods.elements()) {
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

void WriteVictims(absl::Span<const PreemptionCandidate* const> candidates,
                  absl::FunctionRef<void(const PodInfo&)> write_pod, JsonWriter& out) {
  out.BeginObject();
  for (const PreemptionCandidate* candidate : Sorted(candidates)) {
    out.Key(candidate->node).BeginObject().Key("Pods").BeginArray();
    for (const auto& victim : candidate->victims) write_pod(*victim);
    out.EndArray().Key("NumPDBViolations").Int(candidate->pdb_violations).EndObject();
  }
  out.EndObject();
}

}  // namespace

// --- Requests ------------------------------------------------------------------------------------

// kube-scheduler's objects have no apiVersion and kind: its client drops them.
std::string ObjectJson(const google::protobuf::Message& object) {
  return ToJson(object, TypeMeta());
}

std::string PodJson(const PodInfo& pod) { return ObjectJson(*pod.packed()->Unpack()); }

std::string NodeNamesRequest(absl::string_view pod, absl::Span<const NodeInfo* const> nodes) {
  JsonWriter out;
  out.BeginObject().Key("Pod").Raw(pod).Key("Nodes").Null().Key("NodeNames").BeginArray();
  for (const NodeInfo* node : nodes) out.String(node->name().view());
  out.EndArray().EndObject();
  return std::string(out.text());
}

std::string NodesRequest(absl::string_view pod, absl::Span<const absl::string_view> nodes) {
  JsonWriter out;
  out.BeginObject().Key("Pod").Raw(pod).Key("Nodes").BeginObject();
  out.Key("metadata").BeginObject().EndObject().Key("items").BeginArray();
  for (const absl::string_view node : nodes) out.Raw(node);
  out.EndArray().EndObject().Key("NodeNames").Null().EndObject();
  return std::string(out.text());
}

std::string MetaVictimsRequest(absl::string_view pod,
                               absl::Span<const PreemptionCandidate* const> candidates) {
  JsonWriter out;
  out.BeginObject().Key("Pod").Raw(pod).Key("NodeNameToVictims").Null();
  out.Key("NodeNameToMetaVictims");
  const auto write_uid = [&](const PodInfo& victim) {
    out.BeginObject().Key("UID").String(victim.uid()).EndObject();
  };
  WriteVictims(candidates, write_uid, out);
  out.EndObject();
  return std::string(out.text());
}

std::string VictimsRequest(absl::string_view pod,
                           absl::Span<const PreemptionCandidate* const> candidates) {
  JsonWriter out;
  out.BeginObject().Key("Pod").Raw(pod).Key("NodeNameToVictims");
  WriteVictims(
      candidates, [&](const PodInfo& victim) { out.Raw(PodJson(victim)); }, out);
  out.Key("NodeNameToMetaVictims").Null().EndObject();
  return std::string(out.text());
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
  const absl::StatusOr<Document> document = Parse(json);
  if (!document.ok()) return document.status();
  absl::Status read;
  const absl::StatusOr<Members> members = Members::Of(document->root(), "ExtenderFilterResult");
  if (!members.ok()) return members.status();
  std::string error;
  read = members->ReadText("Error", error);
  if (!read.ok()) return read;
  if (!error.empty()) return absl::UnknownError(error);
  SchedulerExtender::FilterResult result;
  const Value names = members->Find("NodeNames");
  const Value nodes = members->Find("Nodes");
  if (!names.IsNull() && node_names_first) {
    read = ReadNodeNames(names, result.nodes);
  } else if (!nodes.IsNull()) {
    read = ReadNodeList(nodes, result.nodes);
  }
  if (read.ok()) read = ReadReasons(*members, "FailedNodes", result.failed);
  if (read.ok()) {
    read = ReadReasons(*members, "FailedAndUnresolvableNodes", result.failed_and_unresolvable);
  }
  if (!read.ok()) return read;
  return result;
}

SchedulerExtender::Priorities ReadPriorities(absl::string_view json) {
  const absl::StatusOr<Document> document = Parse(json);
  if (!document.ok()) return document.status();
  absl::Status read;
  std::vector<SchedulerExtender::HostPriority> priorities;
  if (document->root().IsNull()) return priorities;
  if (!document->root().IsSequence()) return WrongType("HostPriorityList", "a list");
  for (const Value item : document->root().elements()) {
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
  const absl::StatusOr<Document> document = Parse(json);
  if (!document.ok()) return document.status();
  absl::Status read;
  const absl::StatusOr<Members> members = Members::Of(document->root(), "ExtenderPreemptionResult");
  if (!members.ok()) return members.status();
  std::map<std::string, SchedulerExtender::Victims> victims_of;
  const Value found = members->Find("NodeNameToMetaVictims");
  if (found.IsNull()) return victims_of;
  if (!found.IsMap()) return WrongType("NodeNameToMetaVictims", "an object");
  for (const Value::Item member : found.items()) {
    SchedulerExtender::Victims& victims = victims_of[std::string(member.key)];
    victims = {};
    read = ReadVictims(member.value, victims);
    if (!read.ok()) return read;
  }
  return victims_of;
}

absl::Status ReadBindingResult(absl::string_view json) {
  const absl::StatusOr<Document> document = Parse(json);
  if (!document.ok()) return document.status();
  absl::Status read;
  const absl::StatusOr<Members> members = Members::Of(document->root(), "ExtenderBindingResult");
  if (!members.ok()) return members.status();
  std::string error;
  read = members->ReadText("Error", error);
  if (!read.ok()) return read;
  return error.empty() ? absl::OkStatus() : absl::UnknownError(error);
}

}  // namespace berth
