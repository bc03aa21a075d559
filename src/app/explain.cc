// SPDX-License-Identifier: Apache-2.0
// `berth explain`: where could each pending pod run, and why not elsewhere?
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/json.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/mark_warnings.h"
#include "app/terminal.h"
#include "app/trouble_report.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/check.h"
#include "cluster/resource_claim_controller.h"
#include "engine/explainer.h"

namespace berth {
namespace {

// --- JSON, in the shape of tests/conformance/README.md
// ---------------------------------------------

Document ParseJson(const std::string& json) {
  Problems problems;
  std::vector<Document> documents = ReadDocuments(json, "", problems);
  BERTH_CHECK(problems.ok() && documents.size() == 1) << json;
  return std::move(documents[0]);
}

void WriteStatusFields(const Status& status, JsonWriter& json) {
  std::vector<std::string> reasons(status.reasons().begin(), status.reasons().end());
  std::sort(reasons.begin(), reasons.end());
  json.Key("code").String(CodeName(status.code()));
  json.Key("plugin").String(status.plugin());
  json.Key("reasons").StringArray(reasons);
}

void WriteStatus(const Status& status, JsonWriter& json) {
  json.BeginObject();
  WriteStatusFields(status, json);
  json.EndObject();
}

// Whole points, or points with a decimal fraction where the profile ranks more finely.
void WriteScore(int64_t score, int64_t resolution, JsonWriter& json) {
  if (resolution == 1) {
    json.Int(score);
  } else {
    json.Double(static_cast<double>(score) / static_cast<double>(resolution));
  }
}

// Devices and configuration in few words, the node selector as in the claim's status.
void WriteAllocation(const api::AllocationResult& allocation, JsonWriter& json) {
  json.BeginObject().Key("devices").BeginArray();
  for (const api::DeviceRequestAllocationResult& device : allocation.devices().results()) {
    json.BeginArray().String(device.request()).String(device.driver());
    json.String(device.pool()).String(device.device());
    if (device.admin_access()) json.String("admin");
    json.EndArray();
  }
  json.EndArray().Key("nodeSelector");
  if (allocation.has_node_selector()) {
    WriteValue(ParseJson(ToJson(allocation.node_selector())).root(), json);
  } else {
    json.Null();
  }
  if (!allocation.devices().config().empty()) {
    json.Key("config").BeginArray();
    for (const api::DeviceAllocationConfiguration& config : allocation.devices().config()) {
      json.BeginArray().String(config.source());
      json.String(config.device_configuration().opaque().driver());
      for (const std::string& request : config.requests()) json.String(request);
      json.EndArray();
    }
    json.EndArray();
  }
  json.EndObject();
}

void WriteAllocations(absl::Span<const PlannedAllocation> allocations, JsonWriter& json) {
  json.Key("devices").BeginObject();
  for (const PlannedAllocation& planned : allocations) {
    WriteAllocation(*planned.allocation, json.Key(planned.claim));
  }
  json.EndObject();
}

void WriteNode(const NodeExplanation& node, int64_t resolution, JsonWriter& json) {
  json.BeginObject().Key("name").String(node.name).Key("filter");
  WriteStatus(node.filter, json);
  if (node.total.has_value()) {
    json.Key("scores").BeginObject();
    for (const auto& [plugin, score] : node.scores) {
      WriteScore(score, resolution, json.Key(plugin));
    }
    WriteScore(*node.total, resolution, json.EndObject().Key("total"));
  }
  if (!node.allocations.empty()) WriteAllocations(node.allocations, json);
  if (!node.notes.empty()) {
    json.Key("notes").BeginObject();
    for (const PluginNotes& of_plugin : node.notes) {
      json.Key(of_plugin.plugin.view()).BeginObject();
      for (const NodeNote& note : of_plugin.notes) json.Key(note.name).String(note.text);
      json.EndObject();
    }
    json.EndObject();
  }
  json.EndObject();
}

std::vector<std::string> SortedKeys(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  std::vector<std::string> keys;
  for (const auto& pod : pods) keys.push_back(pod->key());
  std::sort(keys.begin(), keys.end());
  return keys;
}

void WritePostFilter(const PostFilterExplanation& shown, JsonWriter& json) {
  const PostFilterResult& result = shown.result;
  json.BeginObject();
  WriteStatusFields(shown.status, json);
  json.Key("nominatedNode").String(result.nominated_node.value_or(""));
  json.Key("nominatedNodes").StringArray(result.EquallyGoodNodes());
  json.Key("victims").StringArray(SortedKeys(result.victims));
  if (!result.candidates.empty()) {
    json.Key("candidates").BeginObject();
    for (const std::shared_ptr<const PreemptionCandidate>& candidate : result.candidates) {
      json.Key(candidate->node).BeginObject();
      json.Key("victims").StringArray(SortedKeys(candidate->victims));
      json.Key("pdbViolations").Int(candidate->pdb_violations).EndObject();
    }
    json.EndObject();
  }
  json.EndObject();
}

void WritePod(const PodExplanation& pod, JsonWriter& json) {
  json.BeginObject();
  json.Key("pod").String(pod.pod).Key("profile").String(pod.profile);
  if (!pod.group.empty()) json.Key("group").String(pod.group);
  if (!pod.alone.empty()) json.Key("alone").String(pod.alone);
  if (!pod.skipped.empty()) json.Key("skipped").String(pod.skipped);
  if (pod.pre_enqueue.has_value()) {
    json.Key("preEnqueue");
    WriteStatus(*pod.pre_enqueue, json);
  }
  json.Key("preFilter");
  if (pod.pre_filter.has_value()) {
    json.BeginObject();
    WriteStatusFields(pod.pre_filter->status, json);
    json.Key("nodeNames");
    if (pod.pre_filter->node_names.has_value()) {
      json.StringArray(*pod.pre_filter->node_names);
    } else {
      json.Null();
    }
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("nodes").BeginArray();
  for (const NodeExplanation& node : pod.nodes) WriteNode(node, pod.score_resolution, json);
  json.EndArray().Key("bestNodes").StringArray(pod.best_nodes);
  if (pod.nominated.has_value()) {
    json.Key("nominated").BeginObject();
    json.Key("node").String(pod.nominated->node);
    json.Key("feasible").Bool(pod.nominated->feasible).EndObject();
  }
  json.Key("postFilter");
  if (pod.post_filter.has_value()) {
    WritePostFilter(*pod.post_filter, json);
  } else {
    json.Null();
  }
  if (!pod.error.empty()) json.Key("error").String(pod.error);
  if (!pod.message.empty()) json.Key("message").String(pod.message);
  json.EndObject();
}

void WriteGroup(const GroupExplanation& group, JsonWriter& json) {
  json.BeginObject().Key("group").String(group.group).Key("profile").String(group.profile);
  json.Key("minMember").Int(group.min_member).Key("running").Int(group.running);
  json.Key("answer").String(group.answer);
  json.Key("starts").Bool(group.starts).Key("placements").BeginObject();
  for (const auto& [pod, node] : group.placements) json.Key(pod).String(node);
  json.EndObject().Key("plans").BeginObject();
  for (const auto& [pod, plan] : group.plans) {
    json.Key(pod).BeginObject().Key("nominatedNode").String(plan.nominated_node.value_or(""));
    json.Key("victims").StringArray(SortedKeys(plan.victims)).EndObject();
  }
  json.EndObject();
  if (!group.message.empty()) json.Key("message").String(group.message);
  json.EndObject();
}

// --- Table --------------------------------------------------------------------------------------

constexpr size_t kBestShown = 5;  // feasible nodes shown in a table, best first

// "37", or "37.512" at a resolution of 1000.
std::string ScoreText(int64_t score, int64_t resolution) {
  std::string text = absl::StrCat(score / resolution);
  if (resolution > 1) {
    const std::string fraction = absl::StrCat(score % resolution);
    const size_t digits = absl::StrCat(resolution).size() - 1;
    absl::StrAppend(&text, ".", std::string(digits - fraction.size(), '0'), fraction);
  }
  return text;
}

void PrintNotes(const NodeExplanation& node) {
  for (const PluginNotes& of_plugin : node.notes) {
    for (const NodeNote& note : of_plugin.notes) {
      PrintOut("  %s\n", OneLine(absl::StrCat(node.name, ": ", of_plugin.plugin.view(), " ",
                                              note.name, ": ", note.text)));
    }
  }
}

void PrintFeasible(const PodExplanation& pod) {
  std::vector<const NodeExplanation*> feasible;
  for (const NodeExplanation& node : pod.nodes) {
    if (node.total.has_value()) feasible.push_back(&node);
  }
  if (feasible.empty()) return;
  std::stable_sort(
      feasible.begin(), feasible.end(),
      [](const NodeExplanation* a, const NodeExplanation* b) { return *a->total > *b->total; });
  TextTable table({"NODE", "SCORE", "OF WHICH"});
  for (size_t i = 0; i < std::min(feasible.size(), kBestShown); ++i) {
    const auto text = [&](int64_t score) { return ScoreText(score, pod.score_resolution); };
    table.AddRow({feasible[i]->name, text(*feasible[i]->total),
                  absl::StrJoin(feasible[i]->scores, ", ", [&](std::string* out, const auto& of) {
                    absl::StrAppend(out, of.first, " ", text(of.second));
                  })});
  }
  PrintOut("%s", table.ToString());
  for (size_t i = 0; i < std::min(feasible.size(), kBestShown); ++i) PrintNotes(*feasible[i]);
  if (feasible.size() > kBestShown) {
    PrintOut("and %d more feasible nodes\n", feasible.size() - kBestShown);
  }
}

void PrintRejections(const PodExplanation& pod) {
  std::map<std::pair<std::string, std::string>, std::pair<int, std::string>> counts;
  std::vector<const NodeExplanation*> examples;
  for (const NodeExplanation& node : pod.nodes) {
    if (node.filter.ok()) continue;
    auto& [count, example] = counts[{std::string(node.filter.plugin()), node.filter.message()}];
    if (count++ > 0) continue;
    example = node.name;
    examples.push_back(&node);
  }
  if (counts.empty()) return;
  std::vector<std::pair<std::pair<std::string, std::string>, std::pair<int, std::string>>> rows(
      counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  TextTable table({"NODES", "REJECTED BY", "REASON", "FOR EXAMPLE"});
  for (const auto& [why, how_many] : rows) {
    table.AddRow({absl::StrCat(how_many.first), why.first,
                  why.second.empty() ? "(it gave no reason)" : why.second, how_many.second});
  }
  PrintOut("%s", table.ToString());
  for (const NodeExplanation* node : examples) PrintNotes(*node);
}

std::string WouldMakeRoom(const PostFilterResult& plan) {
  return OneLine(absl::StrCat("would make room on ", plan.nominated_node.value_or("no node"),
                              " by evicting ", absl::StrJoin(SortedKeys(plan.victims), ", ")));
}

void PrintPostFilter(const PodExplanation& pod) {
  if (!pod.post_filter.has_value() || !pod.post_filter->status.ok()) return;
  PrintOut("%s %s\n", pod.post_filter->status.plugin(), WouldMakeRoom(pod.post_filter->result));
}

// Where the pod would go, or why nowhere, if it is evaluated on its own.
std::string VerdictAlone(const PodExplanation& pod) {
  if (pod.best_nodes.empty()) return pod.message;
  std::string verdict = absl::StrCat("would go to ", pod.best_nodes.front());
  if (pod.best_nodes.size() == 2) {
    absl::StrAppend(&verdict, " (or ", pod.best_nodes[1], ", just as good)");
  } else if (pod.best_nodes.size() > 2) {
    absl::StrAppend(&verdict, " (or one of ", pod.best_nodes.size() - 1, " others, just as good)");
  }
  return verdict;
}

// What becomes of it is what becomes of its group, if it has one.
std::string Verdict(const PodExplanation& pod, const GroupExplanation* group) {
  if (!pod.skipped.empty()) {
    return Styled(Style::kDim, absl::StrCat("not scheduled: ", pod.skipped));
  }
  if (!pod.error.empty()) return Styled(Style::kBad, absl::StrCat("error: ", pod.error));
  if (group != nullptr && !group->starts) {
    const std::string verdict = Styled(Style::kBad, group->message);
    if (group->plans.contains(pod.pod)) {
      const PostFilterResult& plan = group->plans.at(pod.pod);
      return absl::StrCat(verdict, ", this pod on ",
                          OneLine(plan.nominated_node.value_or("no node")));
    }
    // Where it would go on its own says nothing: it is not scheduled on its own.
    return pod.nodes.empty() || !pod.best_nodes.empty()
               ? verdict
               : absl::StrCat(verdict, "; on its own it fits nowhere either");
  }
  const auto placed = group == nullptr ? std::map<std::string, std::string>::const_iterator()
                                       : group->placements.find(pod.pod);
  if (group != nullptr && placed != group->placements.end()) {
    return Styled(Style::kGood, absl::StrCat("would go to ", placed->second, " with ",
                                             group->placements.size(), " of ", group->group));
  }
  if (group != nullptr && group->plans.contains(pod.pod)) {
    return Styled(Style::kBad, WouldMakeRoom(group->plans.at(pod.pod)));
  }
  if (group != nullptr && !pod.best_nodes.empty()) {
    return Styled(Style::kBad,
                  absl::StrCat("the rest of ", group->group,
                               " leaves no room for it; on its own it ", VerdictAlone(pod)));
  }
  return Styled(pod.best_nodes.empty() ? Style::kBad : Style::kGood, VerdictAlone(pod));
}

void PrintPod(const PodExplanation& pod, const GroupExplanation* group) {
  const std::string verdict = Verdict(pod, group);
  PrintOut("%s: %s\n", Styled(Style::kBold, pod.pod), verdict);
  if (!pod.alone.empty()) PrintOut("placed on its own: %s\n", pod.alone);
  PrintFeasible(pod);
  PrintRejections(pod);
  // A group that does not start evicts as a whole, or nobody: its message says who goes.
  if (group == nullptr || group->starts) PrintPostFilter(pod);
  PrintOut("\n");
}

// Each group once, however many of its pods are explained.
class ExplainedGroups {
 public:
  explicit ExplainedGroups(Explainer& explainer) : explainer_(explainer) {}

  // The group that the pod is scheduled with, or null. Valid as long as this is.
  const GroupExplanation* Find(const PodExplanation& explanation, const PodInfo& pod) {
    if (explanation.group.empty() || !explanation.skipped.empty()) return nullptr;
    const auto [it, is_new] = found_.try_emplace({explanation.profile, explanation.group});
    if (is_new) {
      it->second = explainer_.ExplainGroup(pod);
      if (it->second.has_value()) in_order_.push_back(&*it->second);
    }
    return it->second.has_value() ? &*it->second : nullptr;
  }
  // In the order of their first pods.
  absl::Span<const GroupExplanation* const> in_order() const { return in_order_; }

 private:
  Explainer& explainer_;
  std::map<std::pair<std::string, std::string>, std::optional<GroupExplanation>> found_;
  std::vector<const GroupExplanation*> in_order_;
};

// Explains the pods that the options name. False if the one pod that they name is not pending.
bool ExplainPods(const CommandOptions& options, Explainer& explainer, ExplainedGroups& groups,
                 JsonWriter& json) {
  bool found = options.pod.empty();
  Progress progress;
  int done = 0;
  for (const auto& pod : explainer.pending()) {
    if (!options.pod.empty() && pod->key() != options.pod) continue;
    found = true;
    ++done;
    progress.Show(
        [&] { return absl::StrCat("explaining pod ", done, " of ", explainer.pending().size()); });
    const PodExplanation explanation = explainer.Explain(pod);
    const GroupExplanation* const group = groups.Find(explanation, *pod);
    if (options.output == OutputFormat::kJson) {
      WritePod(explanation, json);
    } else {
      progress.Clear();
      PrintPod(explanation, group);
    }
  }
  progress.Clear();
  return found;
}

// What comes behind the pods.
void PrintRest(const CommandOptions& options, const Explainer& explainer,
               const ExplainedGroups& groups, const TroubleReport& troubles, JsonWriter& json) {
  if (options.output == OutputFormat::kJson) {
    json.EndArray();
    if (!groups.in_order().empty()) {
      json.Key("groups").BeginArray();
      for (const GroupExplanation* group : groups.in_order()) WriteGroup(*group, json);
      json.EndArray();
    }
    troubles.WriteTo(json);
    json.EndObject();
    PrintOut("%s\n", json.text());
  } else if (explainer.pending().empty()) {
    PrintOut("There is no pending pod in the input.\n");
  } else {
    PrintOut("%s", troubles.ToTable());
  }
}

}  // namespace

int RunExplain(const CommandOptions& options, const Registry& registry) {
  const std::optional<KubeSchedulerConfiguration> configuration =
      ReadConfiguration(options, registry);
  std::optional<Manifests> manifests = ReadCluster(options.clusters);
  if (!configuration.has_value() || !manifests.has_value()) return 1;
  WarnOfUnreadMarks(*configuration, registry, manifests->objects);
  PrintProblems(CheckObjects(*manifests));
  RunResourceClaimController(manifests->objects);
  const std::optional<ExtenderList> extenders = MakeExtenders(*configuration);
  if (!extenders.has_value()) return 1;
  const RealClock clock;
  Problems problems;
  const std::unique_ptr<Explainer> explainer = Explainer::Create(
      *configuration, registry, clock, std::move(manifests->objects), problems, *extenders);
  PrintProblems(problems);
  if (explainer == nullptr || !problems.ok()) return 1;

  JsonWriter json;
  if (options.output == OutputFormat::kJson) json.BeginObject().Key("pods").BeginArray();
  ExplainedGroups groups(*explainer);
  if (!ExplainPods(options, *explainer, groups, json)) {
    PrintErrorF("there is no pending pod %s in the input", options.pod);
    return 1;
  }
  const TroubleReport troubles{explainer->troubles()};
  PrintRest(options, *explainer, groups, troubles, json);
  return troubles.ExitStatus(0);
}

}  // namespace berth
