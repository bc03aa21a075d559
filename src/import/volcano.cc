// SPDX-License-Identifier: Apache-2.0
// Volcano's Queues, as its plugin capacity reads them if one has `deserved`, else as proportion
// does.
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "import/source_object.h"

namespace berth {
namespace {

constexpr absl::string_view kVolcanoLabel = "volcano.sh/queue-name";
constexpr absl::string_view kVolcanoRoot = "root";

class VolcanoImporter {
 public:
  VolcanoImporter(absl::Span<const SourceObject> objects, Imported& imported)
      : queues_(ObjectsOf(objects, Rival::kVolcano, "Queue")), imported_(imported) {}

  void Import() {
    if (queues_.empty()) return;
    for (const SourceObject* queue : queues_) {
      parents_.insert(TextOf(queue->spec().Find("parent")));
      if (queue->name == kVolcanoRoot) continue;
      has_deserved_ |= queue->spec().Find("deserved").size() > 0;
      for (const Value named :
           {queue->spec().Find("capability"), queue->spec().Find("guarantee").Find("resource")}) {
        for (const Value::Item amount : named.items()) lines_.insert(std::string(amount.key));
      }
    }
    for (const SourceObject* queue : queues_) {
      queue->name == kVolcanoRoot ? ReadRoot(*queue) : ReadQueue(*queue);
    }
    imported_.remarks.push_back(
        absl::StrCat("Volcano: read as its plugin ",
                     has_deserved_ ? "capacity does, as there is a queue with `deserved`: that is "
                                     "min, weights do not count. "
                                   : "proportion does, as no queue has `deserved`: weights share "
                                     "what there is, and reclaim depends on shares. ",
                     "There a queue takes back while it is within its due in one resource that "
                     "it asks for, here in all of them; and only if its scheduler has the action "
                     "reclaim. Which queue a pod is of is said there by its PodGroup or an "
                     "annotation; here by the label volcano.sh/queue-name, which pods of a vcjob "
                     "have, or by scheduling.berth.dev/quota."));
  }

 private:
  // It is the cluster.
  void ReadRoot(const SourceObject& object) {
    std::vector<ImportedNote> notes;
    NoteUnread(object.spec(), "Volcano Queue root, which is the cluster: spec.",
               {"weight", "reclaimable"}, notes);
    for (ImportedNote& note : notes) imported_.remarks.push_back(std::move(note.text));
  }

  void ReadQueue(const SourceObject& object) {
    const Value spec = object.spec();
    Problems& problems = imported_.problems;
    ImportedQuota quota;
    quota.from = object.subject();
    quota.gives_all_back = true;
    quota.where = object.where();
    quota.key = absl::StrCat("volcano/", object.name);
    quota.name = object.name;
    const std::string parent = NameOf(spec.Find("parent"), "spec.parent", quota.from, problems);
    if (!parent.empty() && parent != kVolcanoRoot)
      quota.parent_key = absl::StrCat("volcano/", parent);
    if (!parents_.contains(object.name)) {
      quota.SelectByLabel(kVolcanoLabel, {object.name});
      if (object.name == "default") {
        quota.Note("podSelector",
                   "Volcano puts what names no queue into this one; here it has no quota");
      }
    }
    ReadLimits(spec, quota);
    ReadShare(spec, quota);
    const Value reclaimable = spec.Find("reclaimable");
    if (reclaimable && !reclaimable.IsNull() && !reclaimable.AsBool().has_value()) {
      problems.AddError(
          reclaimable.where(), quota.from,
          absl::StrCat("spec.reclaimable: ", Show(reclaimable), " is neither true nor false"));
    }
    if (reclaimable.AsBool() == false) {
      quota.fence = "In";
      quota.Note("fence", "reclaimable: false");
    }
    NoteUnread(spec.Find("guarantee"), "spec.guarantee.", {"resource"}, quota.notes);
    NoteUnread(
        spec, "spec.",
        {"parent", "guarantee", "deserved", "capability", "weight", "priority", "reclaimable"},
        quota.notes);
    const std::string state = TextOf(object.value.Find("status").Find("state"));
    if (!state.empty() && state != "Open") {
      quota.Note("", absl::StrCat("status.state ", state,
                                  ": it takes no new work there; here it does, unless max says 0"));
    }
    for (const absl::string_view annotation :
         {"volcano.sh/hierarchy", "volcano.sh/hierarchy-weights"}) {
      const Value value = object.value.Find("metadata").Find("annotations").Find(annotation);
      if (value)
        quota.Note(
            "", absl::StrCat(annotation, ": ", Show(value), " is left out; parent makes a tree"));
    }
    imported_.quotas.push_back(std::move(quota));
  }

  void ReadLimits(Value spec, ImportedQuota& quota) {
    Problems& problems = imported_.problems;
    const ImportedAmounts guarantee = ReadAmounts(
        MapOf(spec.Find("guarantee"), "spec.guarantee", quota.from, problems).Find("resource"),
        "spec.guarantee.resource", quota.from, problems);
    quota.min = ReadAmounts(spec.Find("deserved"), "spec.deserved", quota.from, problems);
    quota.max = ReadAmounts(spec.Find("capability"), "spec.capability", quota.from, problems);
    // What is guaranteed is kept free; the rest of what is deserved is lent.
    for (const auto& [line, kept] : guarantee) {
      Quantity& min = quota.min[line];
      if (min < kept) {
        min = kept;
        if (has_deserved_) {
          quota.Note("min", absl::StrCat("of ", line, " guarantee is more than deserved"));
        }
      }
      Quantity lent = min;
      lent.Subtract(kept);
      quota.lending_limit[line] = lent;
    }
  }

  void ReadShare(Value spec, ImportedQuota& quota) {
    Problems& problems = imported_.problems;
    const std::optional<int64_t> weight =
        ReadInteger(spec.Find("weight"), "spec.weight", quota.from, problems);
    if (weight.has_value() && *weight < 0) {
      problems.AddError(spec.Find("weight").where(), quota.from, "spec.weight: is negative");
    } else if (weight.has_value() && !has_deserved_) {
      quota.weight = weight;
    } else if (weight.value_or(1) != 1) {
      quota.Note("", absl::StrCat("weight ", *weight, " does not count beside deserved"));
    }
    quota.priority =
        ReadInteger(spec.Find("priority"), "spec.priority", quota.from, problems).value_or(0);
    if (has_deserved_) return;
    quota.reclaim_strategy = "FairShare";
    // Weights share what some queue names.
    for (const std::string& line : lines_) quota.min.try_emplace(line, Quantity());
    quota.Note("min", "proportion shares all that there is; here name in min what else is to be");
  }

  const std::vector<const SourceObject*> queues_;
  Imported& imported_;
  std::set<std::string> parents_;                    // names of queues that others are below
  std::set<std::string> lines_ = {"cpu", "memory"};  // and what else is named
  bool has_deserved_ = false;
};

}  // namespace

void ImportVolcano(absl::Span<const SourceObject> objects, Imported& imported) {
  VolcanoImporter(objects, imported).Import();
}

}  // namespace berth
