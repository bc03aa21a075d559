// SPDX-License-Identifier: Apache-2.0
// The marks by which pods are made members of a gang, those that no plugin here reads included: the
// one table. Who adds support for a mark names its reader there.
#ifndef BERTH_SRC_API_GROUP_MARKS_H_
#define BERTH_SRC_API_GROUP_MARKS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth {

namespace api {
class ObjectMeta;
class PodSpec;
}  // namespace api

struct GroupMark {
  enum class Place : uint8_t {
    kLabel,                    // of a pod or a PodGroup
    kAnnotation,               // of a pod or a PodGroup
    kPodField,                 // below a pod's spec
    kPodGroupField,            // below the spec of scheduler-plugins' PodGroup
    kVolcanoPodGroupField,     // of Volcano's
    kKubernetesPodGroupField,  // of Kubernetes' own, and of its CompositePodGroup
    kKind,                     // an object: "PodGroup.scheduling.volcano.sh"
  };
  Place place;
  absl::string_view name;
  absl::string_view whose;
  bool names_group = false;       // says which gang a pod is in; the others say more about a gang
  absl::string_view reader = "";  // the plugin that reads it; empty: none
};

absl::Span<const GroupMark> GroupMarks();
// Null if there is no such mark.
const GroupMark* FindGroupMark(GroupMark::Place place, absl::string_view name);

// What to do instead of using a mark that no plugin reads.
absl::string_view GroupAdvice();

// The mark of the pod that names its gang, one that is read first; null if it has none.
const GroupMark* GroupMarkOf(const api::ObjectMeta& meta, const api::PodSpec& spec);
// "the annotation scheduling.k8s.io/group-name", "spec.workloadRef".
std::string Describe(const GroupMark& mark);

}  // namespace berth

#endif  // BERTH_SRC_API_GROUP_MARKS_H_
