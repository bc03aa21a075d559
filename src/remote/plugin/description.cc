// SPDX-License-Identifier: Apache-2.0
// Implementation of description.h.
#include "remote/plugin/description.h"

#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "remote/plugin/arguments_schema.h"
#include "remote/plugin/pod_fields.h"

namespace berth {
namespace {

struct NamedPoint {
  ExtensionPoint point;
  v1::Point wire;
};
constexpr NamedPoint kPoints[] = {
    {ExtensionPoint::kPreFilter, v1::PRE_FILTER},   {ExtensionPoint::kFilter, v1::FILTER},
    {ExtensionPoint::kPostFilter, v1::POST_FILTER}, {ExtensionPoint::kScore, v1::SCORE},
    {ExtensionPoint::kReserve, v1::RESERVE},        {ExtensionPoint::kPermit, v1::PERMIT},
    {ExtensionPoint::kPreBind, v1::PRE_BIND},       {ExtensionPoint::kBind, v1::BIND},
    {ExtensionPoint::kPostBind, v1::POST_BIND}};

struct NamedAspect {
  absl::string_view name;
  Aspects aspects;
};
constexpr NamedAspect kAspects[] = {{"NodeLabels", Aspect::kNodeLabels},
                                    {"NodeTaints", Aspect::kNodeTaints},
                                    {"NodeUnschedulable", Aspect::kNodeUnschedulable},
                                    {"NodeAllocatable", Aspect::kNodeAllocatable},
                                    {"NodeImages", Aspect::kNodeImages},
                                    {"NodeOther", Aspect::kOfNodeObject},
                                    {"NodeRequested", Aspect::kNodeRequested},
                                    {"NodePods", Aspect::kOfPods},
                                    {"OtherNodes", Aspect::kOtherNodes},
                                    {"External", Aspect::kObjects}};

constexpr int kMostEvents = 64;

// The action that kube-scheduler calls so; absent if there is none.
std::optional<ActionType> ActionNamed(absl::string_view name) {
  if (name == "*") return action::kAll;
  if (name == "Update") return action::kUpdate;
  for (ActionType action = 1; (action & action::kAll) != 0; action <<= 1) {
    std::vector<std::string> names;
    ClusterEvent{EventResource::Node(), action, ""}.AppendNames(names);
    if (names.size() == 1 && names[0] == absl::StrCat("Node/", name)) return action;
  }
  return std::nullopt;
}

absl::StatusOr<EventResource> ResourceNamed(const std::string& name) {
  if (name == "Node") return EventResource::Node();
  if (name == "Pod") return EventResource::Pod();
  if (name == "AssignedPod") return EventResource::AssignedPod();
  if (name == "UnscheduledPod") return EventResource::UnscheduledPod();
  for (const Kind kind : AllKinds()) {
    if (KindName(kind) == name) return EventResource::Of(kind);
  }
  return absl::InvalidArgumentError(absl::StrCat("events: unknown resource \"", name, "\""));
}

class DescriptionReader {
 public:
  explicit DescriptionReader(const v1::Description& message) { read_.message = message; }

  absl::StatusOr<RemoteDescription> Read() {
    ReadPoints();
    ReadSignature();
    ReadDependencies();
    ReadEvents();
    if (read_.message.name().empty()) Add("name is missing");
    if (const absl::Status schema = CheckArgumentsSchema(read_.message.arguments_schema());
        !schema.ok()) {
      Add(schema.message());
    }
    if (read_.message.normalization() == v1::HIGHER_IS_BETTER) {
      read_.normalization = ScoreDirection::kHigherIsBetter;
    } else if (read_.message.normalization() == v1::LOWER_IS_BETTER) {
      read_.normalization = ScoreDirection::kLowerIsBetter;
    } else if (read_.message.normalization() != v1::NORMALIZATION_NONE) {
      Add("normalization is unknown");
    }
    if (problems_.empty()) return std::move(read_);
    return absl::InvalidArgumentError(
        absl::StrCat("its description is not right: ", absl::StrJoin(problems_, "; ")));
  }

 private:
  void Add(absl::string_view problem) { problems_.emplace_back(problem); }

  void ReadPoints() {
    for (const int wire : read_.message.points()) {
      bool known = false;
      for (const NamedPoint& named : kPoints) {
        if (named.wire != wire) continue;
        read_.points |= BitOf(named.point);
        known = true;
      }
      if (!known) Add(absl::StrCat("points: ", wire, " is no point of this version"));
    }
    if (read_.points == 0) Add("points: there are none");
  }

  void ReadSignature() {
    if (!read_.message.has_signature()) return;
    std::vector<std::string>& fields = read_.signature.emplace();
    for (const std::string& field : read_.message.signature().pod_fields()) {
      if (const absl::Status status = CheckPodField(field); !status.ok()) Add(status.message());
      fields.push_back(field);
    }
  }

  void ReadDependencies() {
    read_.depends_on = Aspect::kNothing;
    for (const std::string& name : read_.message.depends_on()) {
      bool known = false;
      for (const NamedAspect& named : kAspects) {
        if (named.name != name) continue;
        read_.depends_on |= named.aspects;
        known = true;
      }
      if (!known) Add(absl::StrCat("depends_on: unknown \"", name, "\""));
    }
  }

  void ReadEvents() {
    if (read_.message.events_size() > kMostEvents) Add("events: too many");
    for (const v1::Event& event : read_.message.events()) {
      const absl::StatusOr<EventResource> resource = ResourceNamed(event.resource());
      if (!resource.ok()) {
        Add(resource.status().message());
        continue;
      }
      ActionType actions = event.actions().empty() ? action::kAll : 0;
      for (const std::string& name : event.actions()) {
        const std::optional<ActionType> action = ActionNamed(name);
        if (!action.has_value()) Add(absl::StrCat("events: unknown action \"", name, "\""));
        actions |= action.value_or(0);
      }
      read_.events.push_back({{*resource, actions, ""}, nullptr});
    }
    if (read_.message.events().empty()) {
      read_.events.push_back({{EventResource::Wildcard(), action::kAll, ""}, nullptr});
    }
  }

  RemoteDescription read_;
  std::vector<std::string> problems_;
};

}  // namespace

absl::StatusOr<ExtensionPoint> RemotePointNamed(absl::string_view field) {
  std::vector<absl::string_view> names;
  for (const NamedPoint& named : kPoints) {
    names.push_back(ExtensionPointField(named.point));
    if (names.back() == field) return named.point;
  }
  if (field == "queueSort") {
    return absl::InvalidArgumentError(
        "a remote plugin cannot sort the queue: the queue compares pods all the time, and a call "
        "to another process for each comparison would cost more than everything else");
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", field, "\" cannot be served by a remote plugin; ", absl::StrJoin(names, ", "), " can"));
}

v1::Point ToWire(ExtensionPoint point) {
  for (const NamedPoint& named : kPoints) {
    if (named.point == point) return named.wire;
  }
  return v1::POINT_UNSPECIFIED;
}

std::string RemoteDescription::Title() const {
  return absl::StrCat(message.name(), message.version().empty() ? "" : " ", message.version());
}

absl::StatusOr<RemoteDescription> ReadDescription(const v1::Description& message) {
  if (message.protocol_version() != v1::PROTOCOL_VERSION_1) {
    return absl::FailedPreconditionError(
        absl::StrCat("it speaks version ", message.protocol_version(),
                     " of the plugin protocol, and Berth speaks version ",
                     static_cast<int>(v1::PROTOCOL_VERSION_1)));
  }
  return DescriptionReader(message).Read();
}

RemoteDescription UnknownDescription() {
  RemoteDescription description;
  description.message.set_name("the process");
  for (const NamedPoint& named : kPoints) description.points |= BitOf(named.point);
  return description;
}

absl::Status CheckSamePlugin(const v1::Description& a, const v1::Description& b) {
  v1::Description other = b;
  other.set_version(a.version());
  google::protobuf::util::MessageDifferencer differencer;
  std::string differences;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(a, other)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("it describes itself otherwise than the plugin that the profile was made for; "
                   "restart the scheduler to take it: ",
                   absl::StrReplaceAll(absl::StripSuffix(differences, "\n"), {{"\n", "; "}})));
}

std::string DescriptionToJson(const v1::Description& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) json.clear();
  return json;
}

absl::StatusOr<RemoteDescription> ReadDescriptionFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  v1::Description message;
  const auto parsed = google::protobuf::util::JsonStringToMessage(text.str(), &message);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": ", absl::string_view(parsed.message().data(), parsed.message().size())));
  }
  absl::StatusOr<RemoteDescription> read = ReadDescription(message);
  if (read.ok()) return read;
  return absl::Status(read.status().code(), absl::StrCat(path, ": ", read.status().message()));
}

}  // namespace berth
