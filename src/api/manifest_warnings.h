// SPDX-License-Identifier: Apache-2.0
// What in a manifest was probably meant otherwise: each thing is said once, with its first place.
#ifndef BERTH_SRC_API_MANIFEST_WARNINGS_H_
#define BERTH_SRC_API_MANIFEST_WARNINGS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "api/group_marks.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {

class ManifestWarnings {
 public:
  // The same message about another object is counted only.
  void Add(Problem warning);

  // For an object that is left out: a kind that is misspelt, or that defines gangs for others.
  void CheckKind(Value object, absl::string_view api_version, absl::string_view kind);
  // Marks of gangs that no plugin reads, on a pod, a pod template or a PodGroup. `path` is what
  // stands before "metadata" in messages.
  enum class Marked : uint8_t { kPod, kPodGroup, kVolcanoPodGroup, kKubernetesPodGroup };
  void CheckGroupMarks(Value object, Marked what, absl::string_view path,
                       absl::FunctionRef<std::string()> subject);

  // Annotations that say how long a pod runs, or when it saved its work, and are no such time.
  // `metadata` is a pod's or a pod template's.
  void CheckAnnotations(Value metadata, absl::string_view path,
                        absl::FunctionRef<std::string()> subject);
  // What a DeviceClass says that its devices count as, and is no such number.
  void CheckGpuMilli(Value metadata, absl::FunctionRef<std::string()> subject);

  // In the order in which they were first found.
  void AddTo(Problems& problems) const;

 private:
  void WarnOfAnnotation(const Value::Item& item, absl::string_view path, absl::string_view what,
                        absl::FunctionRef<std::string()> subject);
  void CheckMap(Value map, GroupMark::Place place, absl::string_view path, bool is_grouped,
                absl::FunctionRef<std::string()> subject);

  struct Counted {
    Problem warning;
    int times = 1;
  };
  std::vector<Counted> warnings_;
  absl::flat_hash_map<std::string, size_t> index_of_;  // by message
};

}  // namespace berth

#endif  // BERTH_SRC_API_MANIFEST_WARNINGS_H_
