// SPDX-License-Identifier: Apache-2.0
// What pods and PodGroups say of a gang in labels and annotations: Koordinator's, and those of the
// first Coscheduling, which Koordinator reads, too.
#ifndef BERTH_PLUGINS_COSCHEDULING_GANG_SETTINGS_H_
#define BERTH_PLUGINS_COSCHEDULING_GANG_SETTINGS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/extensions/group.h"
#include "plugins/coscheduling/group_api.h"

namespace berth {

// Absent: not said, or not legal.
struct GangSettings {
  std::optional<int> min_member;
  std::optional<int> total_members;
  std::optional<GangMode> mode;
  std::optional<MatchPolicy> match_policy;
  std::optional<absl::Duration> waiting_time;
  std::optional<absl::Duration> stale_after;
  std::optional<BindFailurePolicy> bind_failure_policy;
  std::vector<std::string> illegal;  // the marks whose values are none, for people

  // What two members say together: the stricter of both, whichever came first.
  void Add(const GangSettings& other);
};

using FindText = std::function<std::optional<absl::string_view>(absl::string_view key)>;

// Of what outlives the result.
FindText AnnotationsOf(const PodInfo& pod);
FindText AnnotationsOf(const api::ObjectMeta& meta);

// koordinator.cc: annotations gang.scheduling.koordinator.sh/*.
std::optional<absl::string_view> KoordinatorGangName(const FindText& annotation);
GangSettings ReadKoordinatorSettings(const FindText& annotation);
// All that ReadKoordinatorSettings() reads, as it stands there.
void AppendKoordinatorWords(const FindText& annotation, std::string& text);
// The gangs that start together, "namespace/name", sorted and without repetition; empty if the
// annotation `groups` is absent or no JSON list of texts.
std::vector<std::string> ReadGangGroups(const FindText& annotation);

// lifecycle_settings.cc: annotations scheduling.berth.dev/*.
void ReadLifecycleSettings(const FindText& annotation, GangSettings& settings);
// What the object that defines the group says, or null; what it does not say, its pods may, the
// stricter of them first.
void DefineLifecycle(const api::ObjectMeta* object, absl::Span<const PodInfo* const> pods,
                     GroupDefinition& definition);
// The same, of a pod of each kind of members, which may be null.
void DefineLifecycle(const api::ObjectMeta& object, const GroupMembers* members,
                     GroupDefinition& definition);
void AppendLifecycleWords(const FindText& annotation, std::string& text);

// label_pair.cc: labels pod-group.scheduling.sigs.k8s.io/name and /min-available.
std::optional<absl::string_view> LabelPairGangName(const PodInfo& pod);
GangSettings ReadLabelPair(const PodInfo& pod);
void AppendLabelPair(const PodInfo& pod, std::string& text);

// A number from 1 to 2^31-1; else it is noted as illegal.
std::optional<int> ReadCount(absl::string_view key, absl::string_view text, GangSettings& settings);

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_GANG_SETTINGS_H_
