// SPDX-License-Identifier: Apache-2.0
// Reading of Kubernetes manifests: files and folders of YAML and JSON into objects.
#ifndef BERTH_API_MANIFEST_H_
#define BERTH_API_MANIFEST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/admission.h"
#include "berth/api/object.h"
#include "berth/api/problem.h"

namespace berth {

struct ManifestOptions {
  // metadata.namespace of namespaced objects that name none.
  std::string default_namespace = "default";
  // Has the classes of earlier manifests, and adds those of this one; null: only of this one.
  Admission* admission = nullptr;
};

// A Deployment or the like that no API server has stored, and how many pods were made of it.
struct WorkloadPods {
  std::string workload;  // "apps/v1 Deployment default/web"
  int pods = 0;
  std::string why_none;  // said if none were made because none can be
};

struct Manifests {
  // In the order in which they stand in the input, then what was made of workloads. Every object is
  // as an API server would have stored it: see admission.h.
  std::vector<Object> objects;
  // Whatever could not be read, with its place. An object with a problem is not among `objects`;
  // the others are.
  Problems problems;
  // Quotas with a problem, without what could not be read: so that what else is wrong with them, or
  // with others beside them, is told at once.
  std::vector<Object> quotas_in_part;
  // Objects of kinds that Berth does not read ("v1 ConfigMap"), with how many there were.
  std::map<std::string, int> ignored_kinds;
  // Pods stand in the input already made, or are made of the templates of Deployments, ReplicaSets,
  // ReplicationControllers, StatefulSets and Jobs: those that an API server has stored are left
  // alone (they have a uid), and so are those of which the input has pods.
  std::vector<WorkloadPods> workloads;
  // Where the fields of quotas stand, as what is wrong with them is only known when all are read.
  // By the place of the object and the field: "a.yaml:3:1 spec.min[gpu]".
  std::map<std::string, SourceLocation> fields_of_quotas;
  // Where the selectors and adminAccess of DeviceClasses, ResourceClaims and ResourceClaimTemplates
  // stand, by the place of the object and the field in resource.k8s.io/v1:
  // "a.yaml:3:1 spec.selectors[0].cel.expression".
  std::map<std::string, SourceLocation> places_of_device_fields;
};

// Reads `paths` in their order: files, and folders with all *.yaml, *.yml, *.json and *.jsonl below
// them in the order of their paths. "-" is standard input. A file may hold several documents,
// `kind: List` or lists such as PodList, in YAML, JSON, concatenated JSON or JSON lines, recognised
// by content. Never fails as a whole: a file that cannot be read is a problem like any other.
Manifests ReadManifests(absl::Span<const std::string> paths, const ManifestOptions& options = {});

// As ReadManifest() for a text in memory; `file_name` is what problems call it.
Manifests ParseManifest(absl::string_view text, absl::string_view file_name,
                        const ManifestOptions& options = {});

}  // namespace berth

#endif  // BERTH_API_MANIFEST_H_
