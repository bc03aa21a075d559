// SPDX-License-Identifier: Apache-2.0
// One API by which pods say that they belong together. A file each; group_apis.cc
// lists them. All of them end in the same GroupSpec.
#ifndef BERTH_PLUGINS_COSCHEDULING_GROUP_API_H_
#define BERTH_PLUGINS_COSCHEDULING_GROUP_API_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"
#include "berth/extensions/group.h"
#include "berth/framework/handle.h"

namespace berth {

// More than there can be; sums of minima stay below it.
inline constexpr int kMostMembers = 1'000'000'000;

// How a group is named: "namespace/name" where Koordinator's and scheduler-plugins' gangs share
// their names, else "namespace/resource/name", so that groups of different APIs never meet.
struct GroupName {
  absl::string_view namespace_name, resource, name;  // `resource` is empty for the former

  static GroupName Parse(absl::string_view text);
  std::string ToString() const;
};

// What pods write as a name, with what would part it ("/", ",") made "_": no object has that name.
std::string NamePart(absl::string_view text);

// What an API knows of a group.
struct GroupDefinition {
  GroupSpec spec;
  // Wait until so many members exist, beyond what the minima say; 0: no more than those.
  int total_members = 0;
  // Whether a PodGroup of scheduler-plugins says minResources.
  bool has_min_resources = false;
  // GroupSpec::stale_after, if the group says it.
  std::optional<absl::Duration> stale_after = std::nullopt;
  // Not Success: the group cannot start as it is defined, and why.
  Status problem;
  // What was said of it that means nothing, for people.
  std::vector<std::string> notes;
};

// One for each plugin instance. Scheduling thread.
class GroupApi {
 public:
  explicit GroupApi(Handle& handle) : handle_(handle) {}
  virtual ~GroupApi() = default;

  // The kinds that define its groups.
  virtual absl::Span<const Kind> Kinds() const = 0;
  virtual bool Owns(const GroupName& name) const = 0;
  // As GroupPlugin's; absent if the pod does not come by this API.
  virtual std::optional<std::string> GroupOf(const PodInfo& pod) const = 0;
  virtual std::vector<std::string> GroupsOf(const Object& object) const = 0;
  // Whether `object`, which came, changed or went, says something of the group.
  virtual bool Concerns(const Object& object, absl::string_view group) const;
  virtual int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const = 0;
  // As GroupPlugin's; asked of pods by any API.
  virtual void AppendDeclaration(const PodInfo& pod, std::string& text) const = 0;
  // Absent as long as an object is missing, or no member says enough. By the objects of Kinds(),
  // PriorityClasses and the kinds of `members` alone (null: it has none), so that it is asked again
  // only when one of them comes, changes or goes.
  virtual std::optional<GroupDefinition> Define(absl::string_view group,
                                                const GroupMembers* members) const = 0;

  // Whether its members agree with it and with each other, where the API asks for that.
  virtual Status Check(const GroupMembers& group, const GroupDefinition& definition) const;

  // --- Texts, those of the API's own scheduler where it has some ---

  // "PodGroup default/g".
  virtual std::string Title(absl::string_view group) const = 0;
  virtual Status NotDefined(const GroupMembers& group) const;
  virtual Status TooFewMembers(const GroupMembers& group, const GroupDefinition& definition,
                               int needed, int ready) const;
  virtual Status Unfit(const GroupMembers& group, const GroupSpec& spec, int placed,
                       const Status& cause) const;

 protected:
  // The value of a PriorityClass; absent if there is none of that name.
  std::optional<int32_t> PriorityOfClass(absl::string_view name) const;

  Handle& handle_;
};

// In the order in which a pod with several marks is asked.
std::vector<std::unique_ptr<GroupApi>> EveryApi(Handle& handle);
// Those of Kubernetes itself.
std::vector<std::unique_ptr<GroupApi>> KubernetesApis(Handle& handle);

std::unique_ptr<GroupApi> MakePodGroupApi(Handle& handle);
std::unique_ptr<GroupApi> MakeVolcanoApi(Handle& handle);
std::unique_ptr<GroupApi> MakeWorkloadApi(Handle& handle);
std::unique_ptr<GroupApi> MakeSchedulingGroupApi(Handle& handle);

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_GROUP_API_H_
