// SPDX-License-Identifier: Apache-2.0
// Implementation of manifest_warnings.h.
#include "api/manifest_warnings.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/field_error.h"
#include "api/near_miss.h"
#include "api/workloads.h"
#include "berth/api/gpu_milli.h"
#include "berth/api/kinds.h"
#include "berth/api/run_time.h"

namespace berth {
namespace {

struct ReadKind {
  std::string api_version, name;
};

// All that is read, or made into what is read.
const std::vector<ReadKind>& ReadKinds() {
  static const auto& kinds = *[] {
    auto* const list = new std::vector<ReadKind>;
    for (const Kind kind : AllKinds()) {
      list->push_back({std::string(ApiVersion(kind)), std::string(KindName(kind))});
    }
    for (const WorkloadKind& kind : WorkloadKinds()) {
      list->push_back({std::string(kind.api_version), std::string(kind.kind)});
    }
    list->push_back({"node.k8s.io/v1", "RuntimeClass"});
    return list;
  }();
  return kinds;
}

absl::string_view GroupOf(absl::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == absl::string_view::npos ? absl::string_view() : api_version.substr(0, slash);
}

GroupMark::Place FieldsOf(ManifestWarnings::Marked what) {
  switch (what) {
    case ManifestWarnings::Marked::kPod:
      return GroupMark::Place::kPodField;
    case ManifestWarnings::Marked::kPodGroup:
      return GroupMark::Place::kPodGroupField;
    case ManifestWarnings::Marked::kVolcanoPodGroup:
      return GroupMark::Place::kVolcanoPodGroupField;
    case ManifestWarnings::Marked::kKubernetesPodGroup:
      return GroupMark::Place::kKubernetesPodGroupField;
  }
  return GroupMark::Place::kPodField;
}

// "the label a or the annotation b": the marks of one scheduler that are read.
std::string NamesOfGang(absl::string_view whose) {
  std::string names;
  for (const GroupMark& mark : GroupMarks()) {
    if (!mark.names_group || mark.reader.empty() || mark.whose != whose) continue;
    absl::StrAppend(&names, names.empty() ? "" : " or ", Describe(mark));
  }
  return names;
}

}  // namespace

void ManifestWarnings::Add(Problem warning) {
  const auto [first, is_new] = index_of_.try_emplace(warning.message, warnings_.size());
  if (is_new) {
    warnings_.push_back({std::move(warning)});
  } else {
    ++warnings_[first->second].times;
  }
}

void ManifestWarnings::AddTo(Problems& problems) const {
  for (const auto& [warning, times] : warnings_) {
    Problem added = warning;
    if (times > 1) absl::StrAppend(&added.message, " (and ", times - 1, " more like this)");
    problems.Add(std::move(added));
  }
}

// Groups without a dot are Kubernetes' own, and so is every kind in the groups of kinds that are
// read; elsewhere a kind may be of any vendor.
void ManifestWarnings::CheckKind(Value object, absl::string_view api_version,
                                 absl::string_view kind) {
  const absl::string_view group = GroupOf(api_version);
  const auto warn = [&](Value at, std::string message) {
    Add({.where = at ? at.where() : object.where(),
         .message = std::move(message),
         .severity = Severity::kWarning});
  };
  if (FindGroupMark(GroupMark::Place::kKind, absl::StrCat(kind, ".", group)) != nullptr) {
    return warn(
        object.Find("kind"),
        absl::StrCat(api_version, " ", kind,
                     " is not read, and pods of its gangs are placed one by one; ", GroupAdvice()));
  }
  std::vector<std::string> names;
  const ReadKind* same_name = nullptr;
  for (const ReadKind& read : ReadKinds()) {
    if (read.name == kind) same_name = &read;
    if (GroupOf(read.api_version) == group) names.push_back(read.name);
  }
  const bool reads_topologies_only =
      absl::c_all_of(names, [](const std::string& name) { return name == "Topology"; });
  if (reads_topologies_only && absl::StrContains(group, '.') && kind != "Topology") return;
  if (same_name != nullptr) {
    return warn(object.Find("apiVersion"),
                absl::StrCat("apiVersion: ", api_version, " has no ", kind,
                             " that is read; write it as ", same_name->api_version));
  }
  if (group.empty()) names.emplace_back("List");
  const std::string advice = DidYouMean(kind, names);
  if (advice.empty()) return;
  warn(object.Find("kind"), absl::StrCat("kind: ", Quoted(kind), " of ", api_version,
                                         " is not known, and left out", advice));
}

void ManifestWarnings::CheckGroupMarks(Value object, Marked what, absl::string_view path,
                                       absl::FunctionRef<std::string()> subject) {
  const Value metadata = object.Find("metadata");
  const Value labels = metadata.Find("labels");
  const std::string below(path);
  bool is_grouped = what != Marked::kPod;
  const auto look_for_group = [&](Value map, GroupMark::Place place) {
    for (const Value::Item& item : map.items()) {
      const GroupMark* mark = FindGroupMark(place, item.key);
      is_grouped |= mark != nullptr && mark->names_group && !mark->reader.empty();
    }
  };
  look_for_group(labels, GroupMark::Place::kLabel);
  look_for_group(metadata.Find("annotations"), GroupMark::Place::kAnnotation);
  if (what == Marked::kPod) look_for_group(object.Find("spec"), GroupMark::Place::kPodField);
  CheckMap(labels, GroupMark::Place::kLabel, below + "metadata.labels", is_grouped, subject);
  CheckMap(metadata.Find("annotations"), GroupMark::Place::kAnnotation,
           below + "metadata.annotations", is_grouped, subject);
  CheckMap(object.Find("spec"), FieldsOf(what), below + "spec", is_grouped, subject);
}

void ManifestWarnings::CheckAnnotations(Value metadata, absl::string_view path,
                                        absl::FunctionRef<std::string()> subject) {
  for (const Value::Item& item : metadata.Find("annotations").items()) {
    const absl::string_view text = item.value.AsString().value_or("");
    absl::Status read;
    absl::string_view so;
    if (item.key == kSimulatedRunTime) {
      read = ParseRunTime(text).status();
      so = "; the pod runs for ever";
    } else if (item.key == kDeclaredRunTime) {
      read = ParseRunTime(text).status();
      so = "; it is not known how long the pod runs";
    } else if (item.key == kCheckpointTime) {
      read = ParseCheckpointTime(text).status();
      so = "; its work counts as saved when it started";
    }
    if (!read.ok()) WarnOfAnnotation(item, path, absl::StrCat(read.message(), so), subject);
  }
}

void ManifestWarnings::CheckGpuMilli(Value metadata, absl::FunctionRef<std::string()> subject) {
  for (const Value::Item& item : metadata.Find("annotations").items()) {
    if (item.key != kGpuMilliOfClass) continue;
    const absl::StatusOr<int64_t> milli = ParseGpuMilli(item.value.AsString().value_or(""));
    if (milli.ok()) continue;
    WarnOfAnnotation(item, "",
                     absl::StrCat(milli.status().message(),
                                  "; devices of the class count for gpu as if it were not there"),
                     subject);
  }
}

void ManifestWarnings::WarnOfAnnotation(const Value::Item& item, absl::string_view path,
                                        absl::string_view what,
                                        absl::FunctionRef<std::string()> subject) {
  Add({.where = item.value.where(),
       .subject = subject(),
       .message = absl::StrCat(path, "metadata.annotations[", Quoted(item.key), "]: ", what),
       .severity = Severity::kWarning});
}

void ManifestWarnings::CheckMap(Value map, GroupMark::Place place, absl::string_view path,
                                bool is_grouped, absl::FunctionRef<std::string()> subject) {
  const bool has_keys = place == GroupMark::Place::kLabel || place == GroupMark::Place::kAnnotation;
  for (const Value::Item& item : map.items()) {
    const GroupMark* mark = FindGroupMark(place, item.key);
    if (mark == nullptr || item.value.IsNull()) continue;
    if (!mark->reader.empty() && (mark->names_group || is_grouped)) continue;
    const bool alone = mark->names_group && !is_grouped;
    const std::string of_no_gang =
        mark->reader.empty() ? "; it is left out"
                             : absl::StrCat(
                                   ", but nothing names its gang: the pod is placed on its "
                                   "own; name the gang with ",
                                   NamesOfGang(mark->whose));
    Add({.where = item.where,
         .subject = subject(),
         .message = absl::StrCat(
             path,
             has_keys ? absl::StrCat("[", Quoted(item.key), "]") : absl::StrCat(".", item.key),
             alone ? " names a gang for " : " says more about a gang for ", mark->whose,
             alone ? absl::StrCat(" and is not read: the pod is placed on its own; ", GroupAdvice())
                   : of_no_gang),
         .severity = Severity::kWarning});
  }
}

}  // namespace berth
