// SPDX-License-Identifier: Apache-2.0
// What is imported, from whichever scheduler's files: quotas to be, and what is to be said of them.
#ifndef BERTH_SRC_IMPORT_IMPORTED_QUOTA_H_
#define BERTH_SRC_IMPORT_IMPORTED_QUOTA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "berth/api/quantity.h"

namespace berth {

// By line of a quota: "cpu", "nvidia.com/gpu{zone=a}".
using ImportedAmounts = std::map<std::string, Quantity>;

struct ImportedSelector {
  struct Requirement {
    std::string key;
    std::string op;  // "In", "NotIn", "Exists", "DoesNotExist"
    std::vector<std::string> values;
  };
  std::vector<Requirement> requirements;  // all of them
};

// A comment above a field, or above the whole object if the field is empty or not written.
struct ImportedNote {
  std::string field;  // "min", "reclaim"
  std::string text;
};

// A ClusterQuota to be. Empty texts stand for the default.
struct ImportedQuota {
  std::string from;  // "Kueue ClusterQueue team-a"
  SourceLocation where;
  std::string key;   // unique among all that is imported; parents are named by it
  std::string name;  // as there; made a legal and unique one in the end
  std::string parent_key;
  std::vector<std::string> namespaces;
  std::optional<ImportedSelector> pod_selector;
  ImportedAmounts min, max, borrowing_limit, lending_limit, weights;
  std::optional<int64_t> weight;
  int64_t priority = 0;  // cut to 32 bits
  std::string reclaim_strategy, reclaim_victims, preemption, fence, queueing;
  std::string reclaim_min_runtime, preempt_min_runtime;
  // There what it uses may be taken back, of whatever resource: it is given a min of 0 of what
  // others are guaranteed.
  bool gives_all_back = false;
  std::vector<ImportedNote> notes;

  void Note(std::string field, std::string text) {
    notes.push_back({std::move(field), std::move(text)});
  }
  // Its pods are those with one of `values`. What no label can have is left out with a note; false,
  // and no selector, if nothing is left.
  bool SelectByLabel(absl::string_view label, const std::vector<std::string>& values);
};

// An ElasticQuota that is Berth's as it stands.
struct ImportedElasticQuota {
  SourceLocation where;
  std::string api_version, namespace_name, name;
  std::map<std::string, std::string> labels, annotations;
  ImportedAmounts min, max;
  std::vector<ImportedNote> notes;
};

struct Imported {
  std::vector<ImportedQuota> quotas;
  std::vector<ImportedElasticQuota> elastic_quotas;
  std::vector<std::string> remarks;  // of all that comes from one scheduler
  Problems problems;
};

// Makes names legal and unique, parents those that are there, amounts such that they do not
// contradict each other, names what is to be taken back, and says of each change what it was.
void Reconcile(Imported& imported);

// `text`, printable ASCII, in quotes as JSON and YAML read it.
std::string JsonQuoted(absl::string_view text);

// As YAML; `comments` is how many there are.
std::string WriteYaml(const Imported& imported, absl::string_view inputs, int& comments);

}  // namespace berth

#endif  // BERTH_SRC_IMPORT_IMPORTED_QUOTA_H_
