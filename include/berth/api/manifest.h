// Reading of Kubernetes manifests: files and folders of YAML and JSON into objects.
#ifndef BERTH_API_MANIFEST_H_
#define BERTH_API_MANIFEST_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/object.h"
#include "berth/api/problem.h"

namespace berth {

struct ManifestOptions {
  // metadata.namespace of namespaced objects that name none.
  std::string default_namespace = "default";
};

struct Manifests {
  std::vector<Object> objects;  // in the order in which they stand in the input
  // Whatever could not be read, with its place. An object with a problem is not among `objects`;
  // the others are.
  Problems problems;
  // Objects of kinds that Berth does not read ("apps/v1 Deployment"), with how many there were.
  std::map<std::string, int> ignored_kinds;
};

// Reads `paths` in their order: files, and folders with all *.yaml, *.yml, *.json and *.jsonl below
// them in the order of their paths. "-" is standard input. A file may hold several documents,
// `kind: List` or lists such as PodList, in YAML, JSON, concatenated JSON or JSON lines, recognised
// by content. Never fails as a whole: a file that cannot be read is a problem like any other.
Manifests ReadManifests(absl::Span<const std::string> paths, const ManifestOptions& options = {});

// The same for a text in memory; `file_name` is what problems call it.
Manifests ParseManifest(absl::string_view text, absl::string_view file_name,
                        const ManifestOptions& options = {});

}  // namespace berth

#endif  // BERTH_API_MANIFEST_H_
