// SPDX-License-Identifier: Apache-2.0
// Kueue's ClusterQueues, Cohorts, ResourceFlavors and LocalQueues.
//
// The tree of cohorts is a tree of quotas of the same arithmetic; but here a parent's min includes
// its children's, and nothing is borrowed from, or lent to, what is outside of a root.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "import/source_object.h"

namespace berth {
namespace {

constexpr absl::string_view kKueueLabel = "kueue.x-k8s.io/queue-name";
constexpr absl::string_view kPods = "pods";

// A node of the tree: a ClusterQueue or a Cohort.
struct QueueNode {
  ImportedQuota quota;
  bool is_cohort = false;
  ImportedAmounts nominal;             // its own, by line
  std::set<std::string> resources;     // covered
  std::set<std::string> on_any_nodes;  // of those, what has a flavor without node labels
  std::optional<Quantity> weight;
};

// What a flavor narrows a resource to: nodes with a label; none is all nodes.
struct Flavor {
  std::string key, value;
};

class KueueImporter {
 public:
  KueueImporter(absl::Span<const SourceObject> objects, Imported& imported)
      : objects_(objects), imported_(imported) {}

  void Import() {
    ReadFlavors();
    for (const SourceObject* object : ObjectsOf(objects_, Rival::kKueue, "Cohort")) {
      ReadNode(*object, /*is_cohort=*/true);
    }
    for (const SourceObject* object : ObjectsOf(objects_, Rival::kKueue, "ClusterQueue")) {
      ReadNode(*object, /*is_cohort=*/false);
    }
    AddImplicitCohorts();
    ReadLocalQueues();
    if (nodes_.empty()) return;
    SetWeights();
    ForbidWhatIsNotCovered();
    CloseRoots();
    for (QueueNode& node : nodes_) {
      std::set<std::string> seen;
      if (node.is_cohort) SumUp(node.quota.key, seen);
    }
    imported_.remarks.push_back(
        "Kueue: it admits workloads whole before they are scheduled, here pods are charged when "
        "they are placed (gangs by their PodGroup). It refuses what asks for a resource that no "
        "resourceGroup covers; here that is not limited, unless another of its queues covers it. "
        "Flavors are tried in no order, and pods get neither their node labels nor their "
        "tolerations: on a node that no flavor has labels of, what pods use is counted by no line "
        "of a flavor. Resource transformations of Kueue's Configuration are not in the files: of "
        "what they make, pods here use nothing.");
    for (QueueNode& node : nodes_) imported_.quotas.push_back(std::move(node.quota));
    for (ImportedQuota& quota : local_) imported_.quotas.push_back(std::move(quota));
  }

 private:
  static std::string Key(bool is_cohort, const std::string& name) {
    return absl::StrCat("kueue/", is_cohort ? "Cohort/" : "ClusterQueue/", name);
  }
  Problems& problems() { return imported_.problems; }
  QueueNode* Find(const std::string& key) {
    for (QueueNode& node : nodes_) {
      if (node.quota.key == key) return &node;
    }
    return nullptr;
  }

  // A line has one label: the first that no other flavor has with that value.
  void ReadFlavors() {
    const std::vector<const SourceObject*> flavors =
        ObjectsOf(objects_, Rival::kKueue, "ResourceFlavor");
    std::map<std::pair<std::string, std::string>, int> uses;
    for (const SourceObject* flavor : flavors) {
      for (const Value::Item label : MapOf(flavor->spec().Find("nodeLabels"), "spec.nodeLabels",
                                           flavor->subject(), problems())
                                         .items()) {
        ++uses[{std::string(label.key), TextOf(label.value)}];
      }
    }
    for (const SourceObject* flavor : flavors) {
      std::vector<std::pair<std::string, std::string>> labels;
      for (const Value::Item label : flavor->spec().Find("nodeLabels").items()) {
        const std::string value =
            NameOf(label.value, "spec.nodeLabels", flavor->subject(), problems());
        if (!value.empty()) labels.emplace_back(label.key, value);
      }
      absl::c_sort(labels);
      std::string note;
      if (!labels.empty()) {
        auto chosen = absl::c_find_if(labels, [&](const auto& label) { return uses[label] == 1; });
        if (chosen == labels.end()) chosen = labels.begin();
        flavors_[flavor->name] = {chosen->first, chosen->second};
        if (labels.size() > 1) {
          note = absl::StrCat("flavor ", flavor->name, " has more node labels than ", chosen->first,
                              "; a line has one");
        }
      } else {
        flavors_[flavor->name] = {};
      }
      if (!note.empty()) flavor_notes_[flavor->name].push_back(note);
      if (flavor->spec().Find("nodeTaints").size() > 0) {
        flavor_notes_[flavor->name].push_back(
            absl::StrCat("flavor ", flavor->name,
                         " has taints; who may use it is not checked here, nodes have their own"));
      }
      std::vector<ImportedNote> unread;
      NoteUnread(flavor->spec(), absl::StrCat("flavor ", flavor->name, ": "),
                 {"nodeLabels", "nodeTaints"}, unread);
      for (ImportedNote& one : unread) flavor_notes_[flavor->name].push_back(std::move(one.text));
    }
  }

  void ReadNode(const SourceObject& object, bool is_cohort) {
    const Value spec = object.spec();
    QueueNode node;
    node.is_cohort = is_cohort;
    ImportedQuota& quota = node.quota;
    quota.from = object.subject();
    quota.where = object.where();
    quota.key = Key(is_cohort, object.name);
    quota.name = object.name;
    // v1beta2's word, or v1beta1's.
    const absl::string_view words[] = {is_cohort ? "parentName" : "cohortName",
                                       is_cohort ? "parent" : "cohort"};
    for (const absl::string_view word : words) {
      const std::string parent = NameOf(spec.Find(word), word, quota.from, problems());
      if (!parent.empty() && quota.parent_key.empty()) quota.parent_key = Key(true, parent);
    }
    ReadResources(spec.Find("resourceGroups"), node);
    const Value sharing =
        MapOf(spec.Find("fairSharing"), "spec.fairSharing", quota.from, problems());
    node.weight =
        ReadAmount(sharing.Find("weight"), "spec.fairSharing.weight", quota.from, problems());
    NoteUnread(sharing, "spec.fairSharing.", {"weight"}, quota.notes);
    if (!is_cohort) ReadPolicies(spec, quota);
    NoteUnread(spec, "spec.",
               {words[0], words[1], "resourceGroups", "fairSharing", "preemption",
                "namespaceSelector", "queueingStrategy", "stopPolicy", "flavorFungibility"},
               quota.notes);
    nodes_.push_back(std::move(node));
  }

  // What one flavor gives of a resource.
  struct Part {
    Quantity nominal;
    std::optional<Quantity> borrowing, lending;
  };

  // Where each was first.
  using Names = std::map<std::string, SourceLocation>;

  // Whether it is not one of those before; an error if it is, as Kueue's webhook and API say.
  bool IsFirst(Value at, absl::string_view what, const std::string& name,
               const ImportedQuota& quota, Names& before) {
    if (name.empty()) return true;
    const auto [first, is_new] = before.try_emplace(name, at.where());
    if (!is_new) {
      problems().AddError(at.where(), quota.from,
                          absl::StrCat("spec.resourceGroups: ", what, " \"", name,
                                       "\" is there twice, also at ", first->second.ToString()));
    }
    return is_new;
  }

  // What was read of the groups so far.
  struct Groups {
    Names covered, flavors;
    std::map<std::string, size_t> group_of;  // of resources
    std::map<std::string, std::vector<Part>> by_line, by_resource;
  };

  void ReadResources(Value value, QueueNode& node) {
    ImportedQuota& quota = node.quota;
    Groups groups;
    const Value list = ListOf(value, "spec.resourceGroups", quota.from, problems());
    for (size_t i = 0; i < list.size(); ++i) ReadGroup(list.elements()[i], i, groups, node);
    for (const std::string& resource : node.on_any_nodes) {
      const std::vector<Part>& parts = groups.by_resource[resource];
      if (parts.size() > 1) {
        quota.Note("min",
                   absl::StrCat(resource,
                                ": a line of all nodes counts those of all flavors, so it is the "
                                "sum of ",
                                parts.size(), " flavors"));
      }
      groups.by_line[resource] = parts;
    }
    for (const auto& [line, parts] : groups.by_line) {
      if (parts.size() > 1 && absl::StrContains(line, '{')) {
        quota.Note("min", absl::StrCat(line, ": the sum of ", parts.size(),
                                       " flavors, which this label does not tell apart"));
      }
      AddLine(line, parts, node);
    }
  }

  void ReadGroup(Value value, size_t index, Groups& groups, QueueNode& node) {
    ImportedQuota& quota = node.quota;
    const std::string field = absl::StrCat("spec.resourceGroups[", index, "]");
    const Value group = MapOf(value, field, quota.from, problems());
    std::set<std::string> covered;
    for (const Value resource :
         ListOf(group.Find("coveredResources"), absl::StrCat(field, ".coveredResources"),
                quota.from, problems())
             .elements()) {
      const std::string name = NameOf(resource, "coveredResources", quota.from, problems());
      IsFirst(resource, "covered resource", name, quota, groups.covered);
      covered.insert(name);
    }
    for (const Value flavor :
         ListOf(group.Find("flavors"), absl::StrCat(field, ".flavors"), quota.from, problems())
             .elements()) {
      ReadFlavor(MapOf(flavor, "flavors", quota.from, problems()), index, covered, groups, node);
    }
    NoteUnread(group, absl::StrCat(field, "."), {"coveredResources", "flavors"}, quota.notes);
  }

  void ReadFlavor(Value flavor, size_t index, const std::set<std::string>& covered, Groups& groups,
                  QueueNode& node) {
    ImportedQuota& quota = node.quota;
    const std::string name =
        NameOf(flavor.Find("name"), "spec.resourceGroups.flavors.name", quota.from, problems());
    if (!IsFirst(flavor.Find("name"), "flavor", name, quota, groups.flavors)) return;
    const auto known = flavors_.find(name);
    const Flavor narrow = known == flavors_.end() ? Flavor() : known->second;
    if (known == flavors_.end()) {
      quota.Note("min", absl::StrCat("ResourceFlavor ", name,
                                     " is not in the files; it is taken to be of all nodes"));
    }
    for (const std::string& note : flavor_notes_[name]) quota.Note("min", note);
    Names resources;
    for (const Value element :
         ListOf(flavor.Find("resources"), "resources", quota.from, problems()).elements()) {
      const Value resource = MapOf(element, "resources", quota.from, problems());
      const Value named = resource.Find("name");
      const std::string resource_name = NameOf(named, "resources.name", quota.from, problems());
      if (!IsFirst(named, "resource", resource_name, quota, resources)) continue;
      const std::string subject = absl::StrCat("spec.resourceGroups: resource \"", resource_name);
      if (!resource_name.empty() &&
          groups.group_of.try_emplace(resource_name, index).first->second != index) {
        problems().AddError(named.where(), quota.from,
                            absl::StrCat(subject, "\" is in two groups"));
        continue;
      }
      if (!covered.empty() && !covered.contains(resource_name)) {
        problems().AddError(named.where(), quota.from,
                            absl::StrCat(subject, "\" is not among coveredResources"));
      }
      ReadResource(resource, resource_name, narrow, node, groups);
    }
    for (const std::string& resource : covered) {
      if (resources.contains(resource)) continue;
      problems().AddError(flavor.where(), quota.from,
                          absl::StrCat("spec.resourceGroups: flavor \"", name, "\" has no \"",
                                       resource, "\", which is among coveredResources"));
    }
    NoteUnread(flavor, absl::StrCat("flavor ", name, " of its resourceGroups: "),
               {"name", "resources"}, quota.notes);
  }

  void ReadResource(Value resource, const std::string& name, const Flavor& flavor, QueueNode& node,
                    Groups& groups) {
    ImportedQuota& quota = node.quota;
    std::string line = name;
    if (!flavor.key.empty()) absl::StrAppend(&line, "{", flavor.key, "=", flavor.value, "}");
    if (!IsLine(name, resource.where(), quota.from, problems()) ||
        !IsLine(line, resource.where(), quota.from, problems())) {
      return;
    }
    Part part;
    const auto read = [&](absl::string_view field) {
      return ReadAmount(resource.Find(field), absl::StrCat(line, ": ", field), quota.from,
                        problems());
    };
    const Value nominal = resource.Find("nominalQuota");
    if (!nominal || nominal.IsNull()) {
      problems().AddError(resource.where(), quota.from,
                          absl::StrCat(line, ": nominalQuota is required"));
    }
    part.nominal = read("nominalQuota").value_or(Quantity());
    part.borrowing = read("borrowingLimit");
    part.lending = read("lendingLimit");
    if (name == "gpu") {
      quota.Note("min",
                 "gpu: here that counts GPUs of any vendor, in whatever way pods ask for them");
    }
    node.resources.insert(name);
    NoteUnread(resource, absl::StrCat(line, ": "),
               {"name", "nominalQuota", "borrowingLimit", "lendingLimit"}, quota.notes);
    groups.by_resource[name].push_back(part);
    if (flavor.key.empty()) {
      node.on_any_nodes.insert(name);
    } else {
      groups.by_line[line].push_back(part);
    }
  }

  void AddLine(const std::string& line, const std::vector<Part>& parts, QueueNode& node) {
    Part sum{Quantity(), Quantity(), Quantity()};
    bool limits_borrowing = true, limits_lending = false;
    for (const Part& part : parts) {
      sum.nominal.Add(part.nominal);
      limits_borrowing &= part.borrowing.has_value();
      limits_lending |= part.lending.has_value();
      sum.borrowing->Add(part.borrowing.value_or(Quantity()));
      sum.lending->Add(part.lending.value_or(part.nominal));
    }
    node.nominal[line] = sum.nominal;
    // A cohort's is found when those below it are known.
    if (!node.is_cohort) node.quota.min[line] = sum.nominal;
    if (limits_borrowing) node.quota.borrowing_limit[line] = *sum.borrowing;
    if (limits_lending) node.quota.lending_limit[line] = *sum.lending;
  }

  void ReadPolicies(Value spec, ImportedQuota& quota) {
    ReadPreemption(spec, quota);
    NoteFungibility(
        MapOf(spec.Find("flavorFungibility"), "spec.flavorFungibility", quota.from, problems()),
        quota);
    const std::string queueing =
        OneOf(spec, "spec.", "queueingStrategy", {"StrictFIFO", "BestEffortFIFO"}, quota);
    if (queueing == "StrictFIFO") quota.queueing = queueing;
    const std::string stop =
        OneOf(spec, "spec.", "stopPolicy", {"None", "Hold", "HoldAndDrain"}, quota);
    if (stop == "Hold" || stop == "HoldAndDrain") {
      quota.max[std::string(kPods)] = Quantity();
      quota.Note("max", absl::StrCat("stopPolicy ", stop, ": no pod starts",
                                     stop == "Hold" ? "" : "; those that run are not drained"));
    }
    NoteNamespaceSelector(spec.Find("namespaceSelector"), quota);
  }

  // The word, or empty: what is none of these is an error.
  std::string OneOf(Value map, absl::string_view prefix, absl::string_view field,
                    std::initializer_list<absl::string_view> words, const ImportedQuota& quota) {
    const std::string name = absl::StrCat(prefix, field);
    std::string text = NameOf(map.Find(field), name, quota.from, problems());
    if (text.empty() || absl::c_linear_search(words, text)) return text;
    problems().AddError(
        map.Find(field).where(), quota.from,
        absl::StrCat(name, ": \"", text, "\" is none of ", absl::StrJoin(words, ", ")));
    return "";
  }

  // What is not said is Never, as there.
  void ReadPreemption(Value spec, ImportedQuota& quota) {
    const Value preemption =
        MapOf(spec.Find("preemption"), "spec.preemption", quota.from, problems());
    const std::string within =
        OneOf(preemption, "spec.preemption.", "withinClusterQueue",
              {"Never", "LowerPriority", "LowerOrNewerEqualPriority"}, quota);
    quota.preemption = within.empty() ? "Never" : within;
    const std::string reclaim = OneOf(preemption, "spec.preemption.", "reclaimWithinCohort",
                                      {"Never", "LowerPriority", "Any"}, quota);
    if (reclaim.empty() || reclaim == "Never") {
      quota.reclaim_strategy = "Never";
    } else {
      quota.reclaim_strategy = "Guarantee";
      quota.reclaim_victims = reclaim;
    }
    const Value borrowing = MapOf(preemption.Find("borrowWithinCohort"),
                                  "spec.preemption.borrowWithinCohort", quota.from, problems());
    const std::string borrow = OneOf(borrowing, "spec.preemption.borrowWithinCohort.", "policy",
                                     {"Never", "LowerPriority"}, quota);
    if (borrow == "LowerPriority") {
      quota.Note("reclaim", absl::StrCat("borrowWithinCohort ", Show(borrowing),
                                         ": here no pod evicts others for what it borrows"));
    }
    NoteUnread(preemption, "spec.preemption.",
               {"withinClusterQueue", "reclaimWithinCohort", "borrowWithinCohort"}, quota.notes);
  }

  // With its defaults the head of the file says enough: flavors have no order here.
  static void NoteFungibility(Value fungibility, ImportedQuota& quota) {
    const std::string borrows = TextOf(fungibility.Find("whenCanBorrow"));
    const std::string preempts = TextOf(fungibility.Find("whenCanPreempt"));
    if ((!borrows.empty() && borrows != "Borrow" && borrows != "MayStopSearch") ||
        (!preempts.empty() && preempts != "TryNextFlavor") || fungibility.Find("preference")) {
      quota.Note("", absl::StrCat("spec.flavorFungibility: ", Show(fungibility),
                                  " has no equal and is left out"));
    }
  }

  static void NoteNamespaceSelector(Value selector, ImportedQuota& quota) {
    if (!selector || selector.IsNull()) {
      quota.Note("namespaces",
                 "Kueue admits nothing here: without namespaceSelector no namespace is selected");
    } else if (selector.size() > 0) {
      quota.Note("namespaces",
                 absl::StrCat("namespaceSelector ", Show(selector),
                              " must hold of them, too, in Kueue; it is not checked here"));
    }
  }

  // A ClusterQueue or Cohort may name a cohort that no manifest describes.
  void AddImplicitCohorts() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const std::string key = nodes_[i].quota.parent_key;
      if (key.empty() || Find(key) != nullptr) continue;
      QueueNode node;
      node.is_cohort = true;
      node.quota.key = key;
      node.quota.name = key.substr(key.rfind('/') + 1);
      node.quota.from = absl::StrCat("Kueue Cohort ", node.quota.name);
      node.quota.where = nodes_[i].quota.where;
      nodes_.push_back(std::move(node));
    }
  }

  void ReadLocalQueues() {
    // By ClusterQueue, and there by namespace, the names of its LocalQueues.
    std::map<std::string, std::map<std::string, std::set<std::string>>> queues;
    std::map<std::pair<std::string, std::string>, std::string> owner;  // of namespace and name
    for (const SourceObject* object : ObjectsOf(objects_, Rival::kKueue, "LocalQueue")) {
      const Value spec = object->spec();
      const std::string key = Key(false, TextOf(spec.Find("clusterQueue")));
      QueueNode* const node = Find(key);
      if (node == nullptr) {
        problems().AddWarning(
            object->where(), object->subject(),
            absl::StrCat("left out: ClusterQueue \"", TextOf(spec.Find("clusterQueue")),
                         "\" is not in the files"));
        continue;
      }
      const std::string in = object->namespace_name;
      queues[key][in].insert(object->name);
      owner[{in, object->name}] = key;
      NoteUnread(spec, absl::StrCat("LocalQueue ", in, "/", object->name, ": "), {"clusterQueue"},
                 node->quota.notes);
    }
    for (QueueNode& node : nodes_) {
      if (node.is_cohort) continue;
      const auto found = queues.find(node.quota.key);
      if (found == queues.end()) {
        node.quota.Note("",
                        "no LocalQueue names it: pods belong to it that have the label "
                        "scheduling.berth.dev/quota with its name");
        continue;
      }
      SelectPods(found->second, owner, node);
    }
  }

  void SelectPods(const std::map<std::string, std::set<std::string>>& names_by_namespace,
                  const std::map<std::pair<std::string, std::string>, std::string>& owner,
                  QueueNode& node) {
    std::vector<std::string> namespaces;
    std::set<std::string> names;
    for (const auto& [in, some] : names_by_namespace) {
      namespaces.push_back(in);
      names.insert(some.begin(), some.end());
    }
    // All names in all namespaces, if none of that is another queue's.
    bool clash = false;
    for (const std::string& in : namespaces) {
      for (const std::string& name : names) {
        const auto found = owner.find({in, name});
        clash |= found != owner.end() && found->second != node.quota.key;
      }
    }
    if (!clash) return Select(namespaces, names, node.quota);
    node.quota.Note(
        "",
        "its LocalQueues have names that are another's in another namespace; so each set of names "
        "has a quota below it, and evicts and shares as a sibling of the others");
    std::map<std::set<std::string>, std::vector<std::string>> by_names;
    for (const auto& [in, some] : names_by_namespace) by_names[some].push_back(in);
    for (const auto& [some, in] : by_names) {
      ImportedQuota below;
      below.from = absl::StrCat(node.quota.from, ", LocalQueues ", absl::StrJoin(some, " "));
      below.where = node.quota.where;
      below.parent_key = node.quota.key;
      below.name = absl::StrCat(node.quota.name, "-", in.front(), "-", *some.begin());
      below.key = absl::StrCat("kueue/LocalQueue/", below.name, "/", local_.size());
      below.preemption = node.quota.preemption;
      below.reclaim_strategy = node.quota.reclaim_strategy;
      below.reclaim_victims = node.quota.reclaim_victims;
      below.queueing = node.quota.queueing;
      Select(in, some, below);
      local_.push_back(std::move(below));
    }
  }

  static void Select(const std::vector<std::string>& namespaces, const std::set<std::string>& names,
                     ImportedQuota& quota) {
    if (!quota.SelectByLabel(kKueueLabel, {names.begin(), names.end()})) return;
    quota.namespaces = namespaces;
    quota.Note("podSelector",
               "in Kueue the label may stand at the Job alone; pods need it here, or delete "
               "podSelector: then it has all pods of these namespaces");
    if (names.contains("default")) {
      quota.Note("podSelector",
                 "Kueue puts work without the label into the LocalQueue default, too");
    }
  }

  // Kueue's are quantities, Berth's whole numbers; only their ratios count.
  void SetWeights() {
    bool whole = true, any = false;
    for (const QueueNode& node : nodes_) {
      if (!node.weight.has_value()) continue;
      any = true;
      whole &= node.weight->MilliValue() % 1000 == 0;
    }
    if (!any) return;
    for (QueueNode& node : nodes_) {
      const int64_t milli = node.weight.has_value() ? node.weight->MilliValue() : 1000;
      node.quota.weight = whole ? milli / 1000 : milli;
      if (!whole) node.quota.Note("weight", "in thousandths: some are no whole numbers");
    }
    imported_.remarks.push_back(
        "Kueue: fairSharing.weight counts there only if its Configuration enables fair sharing; "
        "then reclaim, too, depends on shares, which is reclaim.strategy FairShare here.");
  }

  // Kueue does not place a pod where its queue has no flavor, nor admit one that asks for a
  // resource that its queue does not cover.
  void ForbidWhatIsNotCovered() {
    std::map<std::string, std::string> lines;  // with their resource
    for (const QueueNode& node : nodes_) {
      for (const auto& [line, nominal] : node.nominal) lines[line] = line.substr(0, line.find('{'));
    }
    for (QueueNode& node : nodes_) {
      if (node.is_cohort) continue;
      bool forbids = false;
      for (const auto& [line, resource] : lines) {
        if (resource == kPods && !node.resources.contains(resource)) continue;
        if (node.nominal.contains(line) || node.on_any_nodes.contains(resource)) continue;
        const bool covered = node.resources.contains(resource);
        if (covered && line == resource) continue;  // by flavors, which have lines of their own
        node.quota.max[covered ? line : resource] = Quantity();
        forbids = true;
      }
      if (forbids) node.quota.Note("max", "0: of what its resourceGroups do not cover");
    }
  }

  // A root borrows from none and lends to none outside.
  void CloseRoots() {
    for (QueueNode& root : nodes_) {
      if (!root.quota.parent_key.empty()) continue;
      std::set<std::string> lines, seen;
      CollectLines(root.quota.key, seen, lines);
      for (const auto& [field, limits] : {std::pair{"borrowingLimit", &root.quota.borrowing_limit},
                                          std::pair{"lendingLimit", &root.quota.lending_limit}}) {
        for (const auto& [line, limit] : *limits) {
          root.quota.Note(field, absl::StrCat(line, ": ", limit.ToString(),
                                              " there, but outside of a root there is nobody"));
        }
        limits->clear();
      }
      for (const std::string& line : lines) {
        root.quota.borrowing_limit[line] = Quantity();
        root.quota.lending_limit[line] = Quantity();
      }
    }
  }
  void CollectLines(const std::string& key, std::set<std::string>& seen,
                    std::set<std::string>& lines) const {
    if (!seen.insert(key).second) return;
    for (const QueueNode& node : nodes_) {
      if (node.quota.key == key) {
        for (const auto& [line, nominal] : node.nominal) lines.insert(line);
      }
      if (node.quota.parent_key == key) CollectLines(node.quota.key, seen, lines);
    }
  }

  // A cohort's min: its own and that of all below it. Lines that it does not name are their sum
  // anyway. Returns min at and below the node.
  ImportedAmounts SumUp(const std::string& key, std::set<std::string>& seen) {
    ImportedAmounts sum;
    QueueNode* const node = Find(key);
    if (node == nullptr || !seen.insert(key).second) return sum;
    const auto add = [&](const ImportedAmounts& more) {
      for (const auto& [line, amount] : more) sum[line].Add(amount);
    };
    add(node->nominal);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].quota.parent_key == key) add(SumUp(nodes_[i].quota.key, seen));
    }
    if (node->is_cohort) {
      for (const auto& [line, own] : node->nominal) node->quota.min[line] = sum[line];
    }
    return sum;
  }

  absl::Span<const SourceObject> objects_;
  Imported& imported_;
  std::map<std::string, Flavor> flavors_;
  std::map<std::string, std::vector<std::string>> flavor_notes_;
  std::vector<QueueNode> nodes_;
  std::vector<ImportedQuota> local_;  // below ClusterQueues
};

}  // namespace

void ImportKueue(absl::Span<const SourceObject> objects, Imported& imported) {
  KueueImporter(objects, imported).Import();
}

}  // namespace berth
