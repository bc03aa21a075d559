// SPDX-License-Identifier: Apache-2.0
// KAI's Queues.
#include <map>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "import/source_object.h"

namespace berth {
namespace {

constexpr absl::string_view kKaiLabel = "kai.scheduler/queue";

// What quota -1 becomes: more than clusters have, and few enough that 64 bits hold the sum of many.
struct ResourceForm {
  absl::string_view name, line, unit, unlimited;
};
// Thousandths of a CPU, millions of bytes, GPUs.
constexpr ResourceForm kResources[] = {
    {"cpu", "cpu", "m", "1M"}, {"memory", "memory", "M", "10P"}, {"gpu", "gpu", "", "1M"}};

// Of a queue that names none.
constexpr int64_t kDefaultPriority = 100;

Quantity Unlimited(const ResourceForm& form) { return *Quantity::Parse(form.unlimited); }

class KaiImporter {
 public:
  explicit KaiImporter(Imported& imported) : imported_(imported) {}

  void Import(absl::Span<const SourceObject> objects) {
    const std::vector<const SourceObject*> queues = ObjectsOf(objects, Rival::kKai, "Queue");
    for (const SourceObject* queue : queues) {
      parents_.insert(TextOf(queue->spec().Find("parentQueue")));
      has_priorities_ |= !TextOf(queue->spec().Find("priority")).empty();
    }
    for (const SourceObject* queue : queues) ReadQueue(*queue);
    if (queues.empty()) return;
    imported_.remarks.push_back(
        "KAI: a queue takes back within its quota or its fair share, which is reclaim.strategy "
        "FairShare; KAI also compares how full the two are in proportion. Its non-preemptible "
        "pods (priority from 100) need the label quota.scheduling.koordinator.sh/preemptible: "
        "\"false\" here. Minimum run times that the scheduler's configuration sets for all queues "
        "are not in the files.");
  }

 private:
  void ReadQueue(const SourceObject& object) {
    const Value spec = object.spec();
    Problems& problems = imported_.problems;
    ImportedQuota quota;
    quota.from = object.subject();
    quota.gives_all_back = true;
    quota.where = object.where();
    quota.key = absl::StrCat("kai/", object.name);
    quota.name = object.name;
    const std::string parent =
        NameOf(spec.Find("parentQueue"), "spec.parentQueue", quota.from, problems);
    if (!parent.empty()) quota.parent_key = absl::StrCat("kai/", parent);
    if (!parents_.contains(object.name)) {
      quota.SelectByLabel(kKaiLabel, {object.name});
      quota.Note("podSelector",
                 "KAI also takes the label from the owner of a pod; here pods need it");
    }
    quota.priority = ReadInteger(spec.Find("priority"), "spec.priority", quota.from, problems)
                         .value_or(has_priorities_ ? kDefaultPriority : 0);
    quota.reclaim_strategy = "FairShare";
    quota.reclaim_min_runtime = ReadDuration(spec.Find("reclaimMinRuntime"),
                                             "spec.reclaimMinRuntime", quota.from, problems);
    quota.preempt_min_runtime = ReadDuration(spec.Find("preemptMinRuntime"),
                                             "spec.preemptMinRuntime", quota.from, problems);
    const Value resources = MapOf(spec.Find("resources"), "spec.resources", quota.from, problems);
    for (const ResourceForm& form : kResources) ReadResource(resources, form, quota);
    SimplifyWeights(quota);
    NoteUnread(resources, "spec.resources.", {"cpu", "memory", "gpu"}, quota.notes);
    NoteUnread(spec, "spec.",
               {"displayName", "parentQueue", "priority", "resources", "reclaimMinRuntime",
                "preemptMinRuntime"},
               quota.notes);
    imported_.quotas.push_back(std::move(quota));
  }

  void ReadResource(Value resources, const ResourceForm& form, ImportedQuota& quota) {
    const std::string field = absl::StrCat("spec.resources.", form.name);
    const Value resource = MapOf(resources.Find(form.name), field, quota.from, imported_.problems);
    const std::string line(form.line);
    if (!resource || resource.IsNull()) {
      quota.Note("max", absl::StrCat(line, ": is not named there, so it is not limited here"));
      return;
    }
    const std::optional<Amount> limit = Read(resource, field, "limit", form, quota);
    const std::optional<Amount> given = Read(resource, field, "quota", form, quota);
    if (!limit.has_value() || !given.has_value()) return;
    if (!limit->unlimited) {
      const bool none = limit->quantity.IsZero();
      quota.max[line] = none && !given->unlimited ? given->quantity : limit->quantity;
      if (none) {
        quota.Note("max", absl::StrCat(line, ": limit is 0 or not set, so nothing beyond quota"));
        if (given->unlimited) quota.max.erase(line);
      }
    }
    if (given->unlimited) {
      const auto max = quota.max.find(line);
      quota.min[line] = max != quota.max.end() ? max->second : Unlimited(form);
      quota.Note("min",
                 absl::StrCat(line, ": quota -1, unlimited: as much as it asks for is its due"));
    } else {
      quota.min[line] = given->quantity;
    }
    const std::optional<Quantity> weight =
        ReadAmount(resource.Find("overQuotaWeight"), absl::StrCat(field, ".overQuotaWeight"),
                   quota.from, imported_.problems);
    quota.weights[line] = weight.value_or(Quantity());  // as there without it
    NoteUnread(resource, absl::StrCat(field, "."), {"quota", "limit", "overQuotaWeight"},
               quota.notes);
  }

  struct Amount {
    bool unlimited = false;
    Quantity quantity;  // 0 if it is not there
  };
  // Numbers, maybe with a fraction, in KAI's unit.
  std::optional<Amount> Read(Value resource, const std::string& prefix, absl::string_view field,
                             const ResourceForm& form, const ImportedQuota& quota) {
    const Value value = resource.Find(field);
    if (!value || value.IsNull()) return Amount();
    double number = 0;
    if (!absl::SimpleAtod(TextOf(value), &number) || !(number == -1 || number >= 0)) {
      imported_.problems.AddError(
          value.where(), quota.from,
          absl::StrCat(prefix, ".", field, ": ", Show(value), " is no number from 0 on, nor -1"));
      return std::nullopt;
    }
    if (number == -1) return Amount{.unlimited = true};
    const absl::StatusOr<Quantity> quantity =
        Quantity::Parse(absl::StrCat(TextOf(value), form.unit));
    if (quantity.ok()) return Amount{.quantity = *quantity};
    imported_.problems.AddError(value.where(), quota.from,
                                absl::StrCat(prefix, ".", field, ": ", Show(value),
                                             " cannot be read; write it without an exponent"));
    return std::nullopt;
  }

  // One weight if all are the same; none if all are 1.
  static void SimplifyWeights(ImportedQuota& quota) {
    if (quota.weights.empty()) return;
    const Quantity first = quota.weights.begin()->second;
    for (const auto& [line, weight] : quota.weights) {
      if (weight != first) return;
    }
    if (first.MilliValue() % 1000 != 0 || quota.weights.size() < std::size(kResources)) return;
    quota.weight = first.Value();
    quota.weights.clear();
  }

  Imported& imported_;
  std::set<std::string> parents_;  // names of queues that others are below
  bool has_priorities_ = false;    // some queue names one, so the default tells
};

}  // namespace

void ImportKai(absl::Span<const SourceObject> objects, Imported& imported) {
  KaiImporter(imported).Import(objects);
}

}  // namespace berth
