// SPDX-License-Identifier: Apache-2.0
// The list of APIs, and what most of them have in common.
#include "plugins/coscheduling/group_api.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/scheduling_v1.pb.h"

namespace berth {

GroupName GroupName::Parse(absl::string_view text) {
  GroupName parsed;
  const size_t first = text.find('/');
  if (first == absl::string_view::npos) return {"", "", text};
  parsed.namespace_name = text.substr(0, first);
  parsed.name = text.substr(first + 1);
  const size_t second = parsed.name.find('/');
  // A resource has a dot and no comma; several gangs that start together, "ns/a,ns/b", have one.
  const absl::string_view resource = parsed.name.substr(0, second);
  if (second != absl::string_view::npos && resource.find(',') == absl::string_view::npos) {
    parsed.resource = resource;
    parsed.name.remove_prefix(second + 1);
  }
  return parsed;
}

std::string GroupName::ToString() const {
  return absl::StrCat(namespace_name, "/", resource, resource.empty() ? "" : "/", name);
}

std::string NamePart(absl::string_view text) {
  std::string part(text);
  absl::c_replace_if(
      part, [](char c) { return c == '/' || c == ','; }, '_');
  return part;
}

bool GroupApi::Concerns(const Object& object, absl::string_view group) const {
  return absl::c_linear_search(GroupsOf(object), group);
}

Status GroupApi::Check(const GroupMembers&, const GroupDefinition&) const {
  return Status::Success();
}

Status GroupApi::NotDefined(const GroupMembers& group) const {
  return Status::Unschedulable(absl::StrCat(Title(group.name()), " not found"));
}

Status GroupApi::TooFewMembers(const GroupMembers& group, const GroupDefinition&, int needed,
                               int ready) const {
  const int gated = group.counts().gated;
  return Status::UnschedulableAndUnresolvable(absl::StrCat(
      "waiting for pods of ", Title(group.name()), ": ", ready, " of ", needed, " are there",
      gated > 0 ? absl::StrCat(", ", gated, " more have scheduling gates") : ""));
}

Status GroupApi::Unfit(const GroupMembers& group, const GroupSpec& spec, int placed,
                       const Status& cause) const {
  const int running = group.counts().running;
  const std::string can_run = running == 0
                                  ? absl::StrCat(placed, " can run")
                                  : absl::StrCat(running, running == 1 ? " runs, " : " run, ",
                                                 placed - running, " more can");
  return Status::Make(cause.code(),
                      {absl::StrCat(Title(group.name()), " needs ", spec.min_member,
                                    spec.min_member == 1 ? " pod, " : " pods at once, ", can_run,
                                    ": ", cause.message())});
}

std::optional<int32_t> GroupApi::PriorityOfClass(absl::string_view name) const {
  if (name == "system-cluster-critical") return 2'000'000'000;
  if (name == "system-node-critical") return 2'000'001'000;
  const auto* priority_class = handle_.objects().Find<api::PriorityClass>("", name);
  if (priority_class == nullptr) return std::nullopt;
  return priority_class->value();
}

std::vector<std::unique_ptr<GroupApi>> KubernetesApis(Handle& handle) {
  std::vector<std::unique_ptr<GroupApi>> apis;
  apis.push_back(MakeSchedulingGroupApi(handle));
  apis.push_back(MakeWorkloadApi(handle));
  return apis;
}

std::vector<std::unique_ptr<GroupApi>> EveryApi(Handle& handle) {
  std::vector<std::unique_ptr<GroupApi>> apis;
  apis.push_back(MakePodGroupApi(handle));
  apis.push_back(MakeVolcanoApi(handle));
  for (std::unique_ptr<GroupApi>& api : KubernetesApis(handle)) apis.push_back(std::move(api));
  return apis;
}

}  // namespace berth
