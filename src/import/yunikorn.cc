// SPDX-License-Identifier: Apache-2.0
// YuniKorn's queues.yaml.
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "import/source_object.h"

namespace berth {
namespace {

constexpr absl::string_view kYuniKornLabel = "queue";
constexpr absl::string_view kYuniKornRoot = "root";
constexpr int kMostLevels = 100;

constexpr char kPartition[] = "YuniKorn partition default";

class YuniKornImporter {
 public:
  explicit YuniKornImporter(Imported& imported) : imported_(imported) {}

  void Import(absl::Span<const SourceObject> objects) {
    const std::vector<const SourceObject*> all = ObjectsOf(objects, Rival::kYuniKorn, "partitions");
    for (const SourceObject* object : all) {
      for (const Value partition : object->value.Find("partitions").elements())
        ReadPartition(partition);
    }
    if (all.empty()) return;
    imported_.remarks.push_back(
        "YuniKorn: a pod there takes back after preemption.delay; here a queue within its "
        "guarantee does at once. Queues without a guarantee, where none beside or above them has "
        "one, even out what they use, which is reclaim.strategy FairShare. Pods that ask not to be "
        "preempted, by the annotation yunikorn.apache.org/allow-preemption of their "
        "PriorityClass, are not spared here. Queues that it makes while it runs are not there: "
        "give "
        "each a ClusterQuota. A queue is named by the label queue of a pod; the annotation "
        "yunikorn.apache.org/queue is not read.");
  }

 private:
  void ReadPartition(Value partition) {
    const std::string name = TextOf(partition.Find("name"));
    if (!name.empty() && name != "default") {
      imported_.problems.AddWarning(
          partition.where(), absl::StrCat("YuniKorn partition ", name),
          "left out: YuniKorn on Kubernetes has only the partition default");
      return;
    }
    if (seen_partition_) {
      imported_.problems.AddError(partition.where(), kPartition,
                                  "is there twice; give one queues.yaml");
      return;
    }
    seen_partition_ = true;
    const Value enabled =
        MapOf(partition.Find("preemption"), "preemption", kPartition, imported_.problems)
            .Find("enabled");
    preempts_ = enabled.AsBool().value_or(true);
    if (enabled && !enabled.IsNull() && !enabled.AsBool().has_value()) {
      imported_.problems.AddError(
          enabled.where(), kPartition,
          absl::StrCat("preemption.enabled: ", Show(enabled), " is neither true nor false"));
    }
    for (const Value rule :
         ListOf(partition.Find("placementrules"), "placementrules", kPartition, imported_.problems)
             .elements()) {
      ReadRule(rule);
    }
    std::vector<ImportedNote> unread;
    NoteUnread(partition,
               "YuniKorn partition default: ", {"name", "queues", "preemption", "placementrules"},
               unread);
    const Value queues = ListOf(partition.Find("queues"), "queues", kPartition, imported_.problems);
    const bool has_root =
        queues.size() == 1 && TextOf(queues.elements()[0].Find("name")) == kYuniKornRoot;
    if (has_root) {
      const Value root = queues.elements()[0];
      NoteUnread(root, "YuniKorn queue root, which is the cluster: ",
                 {"name", "queues", "submitacl", "adminacl", "parent", "properties"}, unread);
      // What it says of preemption has no effect: there is nothing outside.
      NoteUnread(root.Find("properties"), "YuniKorn queue root, which is the cluster: properties.",
                 {"preemption.policy"}, unread);
    }
    for (ImportedNote& note : unread) imported_.remarks.push_back(std::move(note.text));
    Inherited of_root;
    if (has_root) {
      const Value properties = queues.elements()[0].Find("properties");
      of_root.preemption_disabled = TextOf(properties.Find("preemption.policy")) == "disabled";
    }
    ReadQueues(has_root ? ListOf(queues.elements()[0].Find("queues"), "queues",
                                 "YuniKorn queue root", imported_.problems)
                        : queues,
               std::string(kYuniKornRoot), 0, of_root);
  }

  // Rules are tried in their order; of these only what is known without the user is read.
  void ReadRule(Value rule) {
    const std::string name = TextOf(rule.Find("name")), value = TextOf(rule.Find("value"));
    if (name == "provided") return;
    const Value parent = rule.Find("parent");
    const std::string above = TextOf(parent.Find("value"));
    const bool fixed_parent = !parent || parent.IsNull() || TextOf(parent.Find("name")) == "fixed";
    if (name == "tag" && value == "namespace" && fixed_parent) {
      by_namespace_.insert(above.empty() ? std::string(kYuniKornRoot)
                           : absl::StartsWith(above, "root.") || above == kYuniKornRoot
                               ? above
                               : absl::StrCat("root.", above));
      imported_.remarks.push_back(
          absl::StrCat("YuniKorn placement rule ", Show(rule),
                       ": a queue right below has the pods of the namespace of its name; a label "
                       "queue that names another is not seen."));
      return;
    }
    imported_.remarks.push_back(
        absl::StrCat("YuniKorn placement rule ", Show(rule), " is left out: label the pods"));
  }

  // Whether a queue or one above it, or one beside these, has one.
  enum class Guarantees { kNone, kSome };
  // What a queue hands down. Of preemption.policy that is `disabled` alone.
  struct Inherited {
    Guarantees guarantees = Guarantees::kNone;
    bool preemption_disabled = false;
  };
  void ReadQueues(Value queues, const std::string& above, int level, Inherited inherited) {
    for (const Value queue : queues.elements()) {
      if (queue.Find("resources").Find("guaranteed").size() > 0)
        inherited.guarantees = Guarantees::kSome;
    }
    for (const Value queue : queues.elements()) ReadQueue(queue, above, level, inherited);
  }

  void ReadQueue(Value value, const std::string& above, int level, Inherited inherited) {
    Problems& problems = imported_.problems;
    const std::string own =
        NameOf(value.Find("name"), "name", absl::StrCat("YuniKorn queue below ", above), problems);
    ImportedQuota quota;
    const std::string path = absl::StrCat(above, ".", own);
    quota.from = absl::StrCat("YuniKorn queue ", path);
    quota.gives_all_back = true;
    quota.where = value.where();
    quota.key = absl::StrCat("yunikorn/", path);
    quota.name = path;
    if (own.empty() || absl::StrContains(own, '.') ||
        !paths_.insert(absl::AsciiStrToLower(path)).second) {
      problems.AddError(value.where(), quota.from,
                        own.empty()                   ? "name: is required"
                        : absl::StrContains(own, '.') ? "name: has a point, which parts levels"
                                                      : "is there twice");
      return;
    }
    if (level >= kMostLevels) {
      problems.AddError(value.where(), quota.from,
                        absl::StrCat("is deeper than ", kMostLevels, " levels"));
      return;
    }
    if (above != kYuniKornRoot) quota.parent_key = absl::StrCat("yunikorn/", above);
    const Value below = ListOf(value.Find("queues"), "queues", quota.from, problems);
    const bool is_leaf = below.size() == 0 && value.Find("parent").AsBool() != true;
    if (is_leaf) SelectPods(path, above, own, quota);

    const Value resources = MapOf(value.Find("resources"), "resources", quota.from, problems);
    quota.min = ReadAmounts(resources.Find("guaranteed"), "resources.guaranteed", quota.from,
                            problems, "vcore");
    quota.max = ReadAmounts(resources.Find("max"), "resources.max", quota.from, problems, "vcore");
    NoteUnread(resources, "resources.", {"guaranteed", "max"}, quota.notes);
    if (is_leaf) quota.reclaim_victims = "NotHigherPriority";
    if (is_leaf && inherited.guarantees == Guarantees::kNone) quota.reclaim_strategy = "FairShare";
    if (!preempts_) {
      quota.reclaim_strategy = quota.preemption = "Never";
      quota.Note("reclaim", "preemption is not enabled in its partition");
    }
    const Value properties = MapOf(value.Find("properties"), "properties", quota.from, problems);
    ReadProperties(properties, quota);
    ReadPolicy(properties.Find("preemption.policy"), inherited, quota);
    for (const absl::string_view acl : {"submitacl", "adminacl"}) {
      const std::string text = TextOf(value.Find(acl));
      if (!text.empty() && text != "*") {
        quota.Note("", absl::StrCat(acl, " \"", text, "\": who may is left to Kubernetes' RBAC"));
      }
    }
    NoteUnread(value, "",
               {"name", "parent", "queues", "resources", "properties", "submitacl", "adminacl"},
               quota.notes);
    imported_.quotas.push_back(std::move(quota));
    ReadQueues(below, path, level + 1, inherited);
  }

  void SelectPods(const std::string& path, const std::string& above, const std::string& own,
                  ImportedQuota& quota) {
    if (by_namespace_.contains(above)) {
      quota.namespaces = {own};
      return;
    }
    std::vector<std::string> names = {path};
    if (above == kYuniKornRoot) names.push_back(own);  // a name without points is below root
    quota.SelectByLabel(kYuniKornLabel, names);
  }

  static bool IsPolicy(absl::string_view text) { return text == "fence" || text == "disabled"; }

  // A queue's own policy counts before the one that it inherits.
  static void ReadPolicy(Value own, Inherited& inherited, ImportedQuota& quota) {
    const std::string text = TextOf(own);
    const bool is_inherited = text.empty() && inherited.preemption_disabled;
    inherited.preemption_disabled = is_inherited || text == "disabled";
    if (text == "fence") quota.fence = "Out";
    if (!inherited.preemption_disabled) return;
    quota.fence = "In";
    quota.preemption = "Never";
    quota.Note("fence", absl::StrCat("preemption.policy disabled", is_inherited ? " above" : "",
                                     ": its pods are nobody's victims"));
  }

  void ReadProperties(Value properties, ImportedQuota& quota) {
    for (const Value::Item property : properties.items()) {
      const std::string text = TextOf(property.value);
      if (property.key == "priority.offset") {
        int64_t offset = 0;
        if (!absl::SimpleAtoi(text, &offset)) {
          imported_.problems.AddError(
              property.value.where(), quota.from,
              absl::StrCat("priority.offset: \"", text, "\" is no whole number"));
          continue;
        }
        quota.priority = offset;
        if (offset != 0) {
          quota.Note(
              "priority",
              "priority.offset is added to pods' priorities there; here siblings with more have "
              "what is to spare first, whatever the pods' are, and what a pod may take back "
              "depends on the sum");
        }
      } else if (text != "default" && !(property.key == "preemption.policy" && IsPolicy(text))) {
        quota.Note("", absl::StrCat("property ", property.key, ": ", Show(property.value),
                                    " has no equal and is left out"));
      }
    }
  }

  Imported& imported_;
  bool seen_partition_ = false, preempts_ = true;
  std::set<std::string> by_namespace_;  // queues below which namespaces have theirs
  std::set<std::string> paths_;
};

}  // namespace

void ImportYuniKorn(absl::Span<const SourceObject> objects, Imported& imported) {
  YuniKornImporter(imported).Import(objects);
}

}  // namespace berth
