// SPDX-License-Identifier: Apache-2.0
// Where a group wants to be, as pods and PodGroups say it in annotations: Kueue's, KAI's and
// Koordinator's.
#ifndef BERTH_PLUGINS_COSCHEDULING_TOPOLOGY_SETTINGS_H_
#define BERTH_PLUGINS_COSCHEDULING_TOPOLOGY_SETTINGS_H_

#include <string>
#include <vector>

#include "berth/extensions/group.h"
#include "plugins/coscheduling/gang_settings.h"

namespace berth {

struct TopologySettings {
  std::vector<TopologyConstraint> topology;  // as GroupSpec::topology
  std::vector<std::string> illegal;          // settings that mean nothing, for people
};

TopologySettings ReadTopologySettings(const FindText& annotation);
// All that it reads, as it stands there.
void AppendTopologyWords(const FindText& annotation, std::string& text);

// Adds what the pods of a group say, to the group or to each part of it, where its definition says
// nothing of topology. Of the pods of a part the first counts: they have one template.
template <class PartOf>
void AddTopologyOfPods(const GroupMembers& members, PartOf part_of, GroupSpec& spec,
                       std::vector<std::string>& notes) {
  if (!spec.topology.empty() || members.kinds().empty()) return;
  std::vector<bool> asked(spec.subgroups.size() + 1, false);
  size_t left = asked.size();
  for (const MemberKind& kind : members.kinds()) {
    const int part = spec.subgroups.empty() ? -1 : part_of(*kind.pod);
    if (part >= static_cast<int>(spec.subgroups.size()) || asked[part + 1]) continue;
    asked[part + 1] = true;
    std::vector<TopologyConstraint>& wanted =
        part < 0 ? spec.topology : spec.subgroups[part].topology;
    if (wanted.empty()) {
      TopologySettings settings =
          ReadTopologySettings([&](absl::string_view key) { return kind.pod->annotation(key); });
      wanted = std::move(settings.topology);
      notes.insert(notes.end(), settings.illegal.begin(), settings.illegal.end());
    }
    --left;
    if (left == 0 || (left == 1 && !asked[0] && !spec.subgroups.empty())) return;
  }
}

}  // namespace berth

#endif  // BERTH_PLUGINS_COSCHEDULING_TOPOLOGY_SETTINGS_H_
