// SPDX-License-Identifier: Apache-2.0
// Implementation of legacy_configuration.h.
#include "config/legacy_configuration.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "berth/api/time.h"
#include "config/arguments/field_text.h"
#include "config/configuration_file.h"

namespace berth {
namespace {

constexpr absl::string_view kFit = "NodeResourcesFit";

// --- What the old names mean ---------------------------------------------------------------------

struct OldName {
  absl::string_view name;
  std::vector<absl::string_view> plugins;  // none: it has no equal
  absl::string_view why = "";
};

// legacy_registry.go: RegisterMandatory..., registerPredicateConfigProducer.
const std::vector<OldName>& Predicates() {
  static const auto& names = *new std::vector<OldName>{
      {"PodFitsHostPorts", {"NodePorts"}},
      {"PodFitsPorts", {"NodePorts"}},
      {"PodFitsResources", {kFit}},
      {"HostName", {"NodeName"}},
      {"MatchNodeSelector", {"NodeAffinity"}},
      {"NoVolumeZoneConflict", {"VolumeZone"}},
      {"MaxCSIVolumeCountPred", {"NodeVolumeLimits"}},
      {"MaxEBSVolumeCount", {"NodeVolumeLimits"}, "in-tree volumes are counted as those of CSI"},
      {"MaxGCEPDVolumeCount", {"NodeVolumeLimits"}, "in-tree volumes are counted as those of CSI"},
      {"MaxAzureDiskVolumeCount",
       {"NodeVolumeLimits"},
       "in-tree volumes are counted as those of CSI"},
      {"MaxCinderVolumeCount", {"NodeVolumeLimits"}, "in-tree volumes are counted as those of CSI"},
      {"NoDiskConflict", {"VolumeRestrictions"}},
      {"GeneralPredicates", {kFit, "NodeName", "NodePorts", "NodeAffinity"}},
      {"PodToleratesNodeTaints", {"TaintToleration"}},
      {"CheckNodeUnschedulable", {"NodeUnschedulable"}},
      {"CheckVolumeBinding", {"VolumeBinding"}},
      {"MatchInterPodAffinity", {"InterPodAffinity"}},
      {"EvenPodsSpread", {"PodTopologySpread"}},
      {"CheckNodeCondition", {"TaintToleration"}, "nodes in that condition are tainted"},
      {"CheckNodeMemoryPressure", {"TaintToleration"}, "nodes in that condition are tainted"},
      {"CheckNodeDiskPressure", {"TaintToleration"}, "nodes in that condition are tainted"},
      {"CheckNodePIDPressure", {"TaintToleration"}, "nodes in that condition are tainted"},
  };
  return names;
}

const std::vector<OldName>& Priorities() {
  static const auto& names = *new std::vector<OldName>{
      {"SelectorSpreadPriority",
       {"PodTopologySpread"},
       "its default constraints spread by host and zone"},
      {"ServiceSpreadingPriority",
       {"PodTopologySpread"},
       "its default constraints spread by host and zone"},
      {"EvenPodsSpreadPriority", {"PodTopologySpread"}},
      {"InterPodAffinityPriority", {"InterPodAffinity"}},
      {"LeastRequestedPriority", {kFit}},
      {"MostRequestedPriority", {kFit}},
      {"RequestedToCapacityRatioPriority", {kFit}},
      {"BalancedResourceAllocation", {"NodeResourcesBalancedAllocation"}},
      {"NodeAffinityPriority", {"NodeAffinity"}},
      {"TaintTolerationPriority", {"TaintToleration"}},
      {"ImageLocalityPriority", {"ImageLocality"}},
      {"NodePreferAvoidPodsPriority",
       {},
       "the annotation is not read any more; taint the nodes instead"},
      {"EqualPriority", {}, "it never decided anything"},
      {"ResourceLimitsPriority", {}, "it ended with Kubernetes 1.20"},
  };
  return names;
}

// Plugins of older versions that v1 does not have.
const std::vector<OldName>& OldPlugins() {
  static const auto& names = *new std::vector<OldName>{
      {"NodeLabel", {}, "use NodeAffinity with addedAffinity"},
      {"ServiceAffinity", {}, "use podAffinity in the pods"},
      {"NodePreferAvoidPods", {}, "the annotation is not read any more; taint the nodes instead"},
      {"NodeResourceLimits", {}, "it ended with Kubernetes 1.20"},
      {"SelectorSpread", {}, "PodTopologySpread's default constraints spread by host and zone"},
      {"DefaultPodTopologySpread",
       {},
       "PodTopologySpread's default constraints spread by host and zone"},
      {"EBSLimits", {}, "NodeVolumeLimits does its work"},
      {"GCEPDLimits", {}, "NodeVolumeLimits does its work"},
      {"AzureDiskLimits", {}, "NodeVolumeLimits does its work"},
      {"CinderLimits", {}, "NodeVolumeLimits does its work"},
  };
  return names;
}

// The three plugins that are scoring strategies of NodeResourcesFit now.
absl::string_view StrategyOf(absl::string_view old_plugin) {
  if (old_plugin == "NodeResourcesLeastAllocated") return "LeastAllocated";
  if (old_plugin == "NodeResourcesMostAllocated") return "MostAllocated";
  return old_plugin == "RequestedToCapacityRatio" ? "RequestedToCapacityRatio" : "";
}
absl::string_view StrategyOfPriority(absl::string_view priority) {
  if (priority == "LeastRequestedPriority") return "LeastAllocated";
  if (priority == "MostRequestedPriority") return "MostAllocated";
  return priority == "RequestedToCapacityRatioPriority" ? "RequestedToCapacityRatio" : "";
}

const OldName* Find(const std::vector<OldName>& names, absl::string_view name) {
  const auto found = absl::c_find_if(names, [&](const OldName& old) { return old.name == name; });
  return found == names.end() ? nullptr : &*found;
}

// --- Writing -------------------------------------------------------------------------------------

using Lines = std::vector<std::string>;

void Indent(Lines& lines, int by) {
  for (std::string& line : lines) line.insert(0, by, ' ');
}

std::string Scalar(Value value) {
  if (value.IsNull()) return "null";
  if (value.IsString()) return YamlScalar(value.text());
  return std::string(value.text());
}

// As YAML in blocks. `drop`: of a map, keys that are left out at the top.
Lines Block(Value value, const std::set<absl::string_view>& drop = {}) {
  Lines lines;
  for (const Value::Item item : value.items()) {
    if (drop.contains(item.key)) continue;
    const std::string key = YamlScalar(item.key);
    const bool nests = (item.value.IsMap() || item.value.IsSequence()) && item.value.size() > 0;
    if (!nests) {
      lines.push_back(absl::StrCat(key, ": ",
                                   item.value.IsMap()        ? "{}"
                                   : item.value.IsSequence() ? "[]"
                                                             : Scalar(item.value)));
      continue;
    }
    lines.push_back(absl::StrCat(key, ":"));
    Lines inner = Block(item.value);
    if (item.value.IsMap()) Indent(inner, 2);
    lines.insert(lines.end(), inner.begin(), inner.end());
  }
  for (const Value element : value.elements()) {
    Lines inner = element.IsMap() || element.IsSequence() ? Block(element) : Lines{Scalar(element)};
    if (inner.empty()) inner = {element.IsMap() ? "{}" : "[]"};
    Indent(inner, 2);
    inner.front()[0] = '-';
    lines.insert(lines.end(), inner.begin(), inner.end());
  }
  return lines;
}

struct NewPlugin {
  std::string name;
  std::string weight;  // empty: none
};

struct NewProfile {
  std::string scheduler_name;
  std::string percentage;
  Lines comments;
  // By extension point, in the order of the file.
  std::map<std::string, std::pair<std::vector<NewPlugin>, std::vector<std::string>>> points;
  std::vector<std::pair<std::string, Lines>> args;  // by plugin
  std::optional<Lines> strategy;                    // scoringStrategy of NodeResourcesFit

  void Enable(const std::string& point, std::string name, std::string weight = "") {
    std::vector<NewPlugin>& enabled = points[point].first;
    if (absl::c_none_of(enabled, [&](const NewPlugin& other) { return other.name == name; })) {
      enabled.push_back({std::move(name), std::move(weight)});
    }
  }
  void Disable(const std::string& point, const std::string& name) {
    std::vector<std::string>& disabled = points[point].second;
    if (!absl::c_linear_search(disabled, name)) disabled.push_back(name);
  }
  Lines* ArgsOf(absl::string_view plugin) {
    for (auto& [name, lines] : args) {
      if (name == plugin) return &lines;
    }
    return nullptr;
  }
};

class Converter {
 public:
  explicit Converter(Problems& problems) : problems_(problems) {}

  // A document of any of the old kinds.
  void Convert(Value root) {
    const absl::string_view kind = root.Find("kind").text();
    const absl::string_view version = root.Find("apiVersion").text();
    // The first tutorials leave out a Policy's kind.
    const bool is_policy =
        kind == "Policy" || (kind.empty() && (root.Find("predicates") || root.Find("priorities")));
    if (is_policy) {
      ConvertPolicy(root);
    } else if (kind == kConfigurationKind) {
      ConvertVersion(root, version);
    } else {
      problems_.AddError(root.where(), "",
                         absl::StrCat("kind ", kind.empty() ? "is missing" : YamlQuoted(kind),
                                      "; a Policy, a KubeSchedulerConfiguration, or a ConfigMap "
                                      "with one of them can be converted"));
    }
  }

  int comments() const { return comments_; }

  std::string ToYaml(absl::string_view from) const {
    std::string out = absl::StrCat("# Converted from ", from, ".\n");
    for (const std::string& comment : comments_at_top_) absl::StrAppend(&out, "# ", comment, "\n");
    absl::StrAppend(&out, "apiVersion: ", kConfigurationVersion, "\nkind: ", kConfigurationKind,
                    "\n");
    for (const std::string& line : fields_) absl::StrAppend(&out, line, "\n");
    absl::StrAppend(&out, "profiles:\n");
    for (const NewProfile& profile : profiles_) AppendProfile(profile, out);
    return out;
  }

 private:
  std::string Comment(Value where, absl::string_view text) {
    ++comments_;
    std::string line = absl::StrCat(
        text, where.where().line > 0 ? absl::StrCat(" (line ", where.where().line, ")") : "");
    // Names of the input may have anything in them.
    absl::c_replace_if(
        line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
    return line;
  }
  void CommentAtTop(Value where, absl::string_view text) {
    comments_at_top_.push_back(Comment(where, text));
  }

  static void AppendProfile(const NewProfile& profile, std::string& out) {
    absl::StrAppend(&out, "- schedulerName: ", YamlScalar(profile.scheduler_name), "\n");
    for (const std::string& comment : profile.comments)
      absl::StrAppend(&out, "  # ", comment, "\n");
    if (!profile.percentage.empty()) {
      absl::StrAppend(&out, "  percentageOfNodesToScore: ", profile.percentage, "\n");
    }
    const bool any_point = absl::c_any_of(profile.points, [](const auto& point) {
      return !point.second.first.empty() || !point.second.second.empty();
    });
    if (any_point) absl::StrAppend(&out, "  plugins:\n");
    for (const auto& [point, lists] : profile.points) {
      if (lists.first.empty() && lists.second.empty()) continue;
      absl::StrAppend(&out, "    ", point, ":\n");
      if (!lists.first.empty()) absl::StrAppend(&out, "      enabled:\n");
      for (const NewPlugin& plugin : lists.first) {
        absl::StrAppend(&out, "      - name: ", YamlScalar(plugin.name), "\n");
        if (!plugin.weight.empty()) absl::StrAppend(&out, "        weight: ", plugin.weight, "\n");
      }
      if (!lists.second.empty()) absl::StrAppend(&out, "      disabled:\n");
      for (const std::string& name : lists.second) {
        absl::StrAppend(&out, "      - name: ", YamlScalar(name), "\n");
      }
    }
    if (profile.args.empty()) return;
    absl::StrAppend(&out, "  pluginConfig:\n");
    for (const auto& [name, lines] : profile.args) {
      absl::StrAppend(&out, "  - name: ", YamlScalar(name),
                      "\n    args:", lines.empty() ? " {}" : "", "\n");
      for (const std::string& line : lines) absl::StrAppend(&out, "      ", line, "\n");
    }
  }

  // The strategy becomes part of NodeResourcesFit's arguments.
  static void Finish(NewProfile& profile) {
    if (!profile.strategy.has_value()) return;
    Lines* args = profile.ArgsOf(kFit);
    if (args == nullptr) {
      profile.args.emplace_back(std::string(kFit), Lines());
      args = &profile.args.back().second;
    }
    Lines strategy = *profile.strategy;
    Indent(strategy, 2);
    if (absl::c_linear_search(*args, "scoringStrategy:")) return;  // the file has one of its own
    args->push_back("scoringStrategy:");
    args->insert(args->end(), strategy.begin(), strategy.end());
  }

  // Of the old arguments `args`: LeastAllocated and MostAllocated have resources, the third shape
  // and resources, in a Policy in a map of its own.
  void SetStrategy(NewProfile& profile, absl::string_view type, Value args, Value where) {
    Lines strategy = {absl::StrCat("type: ", type)};
    const auto add = [&strategy](absl::string_view key, Value value, int indent) {
      if (!value.IsSequence() || value.size() == 0) return;
      Lines inner = Block(value);
      Indent(inner, indent);
      strategy.push_back(absl::StrCat(std::string(indent, ' '), key, ":"));
      strategy.insert(strategy.end(), inner.begin(), inner.end());
    };
    add("resources", args.Find("resources"), 0);
    if (type == "RequestedToCapacityRatio") {
      strategy.push_back("requestedToCapacityRatio:");
      add("shape", args.Find("shape"), 2);
      if (!args.Find("shape")) strategy.back() += " {}";
    }
    if (profile.strategy.has_value() && profile.strategy->front() != strategy.front()) {
      profile.comments.push_back(
          Comment(where, absl::StrCat("There is one scoringStrategy; no equal for another with \"",
                                      strategy.front(), "\"")));
      return;
    }
    profile.strategy = std::move(strategy);
  }

  void CopyFields(Value root, const std::map<absl::string_view, absl::string_view>& dropped) {
    static const auto& copied = *new std::set<absl::string_view>{"parallelism",
                                                                 "clientConnection",
                                                                 "percentageOfNodesToScore",
                                                                 "podInitialBackoffSeconds",
                                                                 "podMaxBackoffSeconds",
                                                                 "enableProfiling",
                                                                 "enableContentionProfiling",
                                                                 "delayCacheUntilActive"};
    static const auto& handled = *new std::set<absl::string_view>{"apiVersion",
                                                                  "kind",
                                                                  "metadata",
                                                                  "profiles",
                                                                  "extenders",
                                                                  "leaderElection",
                                                                  "schedulerName",
                                                                  "plugins",
                                                                  "pluginConfig",
                                                                  "algorithmSource",
                                                                  "hardPodAffinitySymmetricWeight",
                                                                  "bindTimeoutSeconds",
                                                                  "disablePreemption"};
    for (const Value::Item item : root.items()) {
      if (copied.contains(item.key)) {
        CopyField(std::string(item.key), item.value);
      } else if (const auto why = dropped.find(item.key); why != dropped.end()) {
        CommentAtTop(item.value, absl::StrCat(item.key, ": no equal: ", why->second));
      } else if (!handled.contains(item.key)) {
        CommentAtTop(item.value,
                     absl::StrCat(item.key, ": no such field in any version; left out"));
      }
    }
  }
  void CopyField(const std::string& key, Value value) {
    if (!value.IsMap() && !value.IsSequence()) {
      fields_.push_back(absl::StrCat(key, ": ", Scalar(value)));
      return;
    }
    Lines inner = Block(value);
    if (inner.empty()) {
      fields_.push_back(absl::StrCat(key, ": ", value.IsMap() ? "{}" : "[]"));
      return;
    }
    if (value.IsMap()) Indent(inner, 2);
    fields_.push_back(absl::StrCat(key, ":"));
    fields_.insert(fields_.end(), inner.begin(), inner.end());
  }

  // --- Policy ---

  void ConvertPolicy(Value root) {
    NewProfile profile{.scheduler_name = "default-scheduler"};
    AddPolicy(root, profile);
    Finish(profile);
    profiles_.push_back(std::move(profile));
  }

  void AddPolicy(Value root, NewProfile& profile) {
    for (const Value::Item item : root.items()) {
      static const auto& known = *new std::set<absl::string_view>{"kind",
                                                                  "apiVersion",
                                                                  "metadata",
                                                                  "predicates",
                                                                  "priorities",
                                                                  "extenders",
                                                                  "hardPodAffinitySymmetricWeight",
                                                                  "alwaysCheckAllPredicates"};
      if (known.contains(item.key)) continue;
      CommentAtTop(item.value, absl::StrCat(item.key, ": no field of a Policy; left out"));
    }
    std::set<std::string> filters, scores;
    if (const Value predicates = root.Find("predicates"); predicates.IsSequence()) {
      filters = {"NodeUnschedulable", "TaintToleration"};  // RegisterMandatoryFitPredicate
      for (const Value predicate : predicates.elements()) AddPredicate(predicate, profile, filters);
      LimitTo(filters, {"filter", "preFilter"},
              {"NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts",
               kFit, "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone",
               "PodTopologySpread", "InterPodAffinity"},
              profile);
    }
    if (const Value priorities = root.Find("priorities"); priorities.IsSequence()) {
      for (const Value priority : priorities.elements()) AddPriority(priority, profile, scores);
      LimitTo(scores, {"score"},
              {"TaintToleration", "NodeAffinity", kFit, "PodTopologySpread", "InterPodAffinity",
               "NodeResourcesBalancedAllocation", "ImageLocality", "DynamicResources"},
              profile);
    } else {
      OldDefaultWeights(profile);
    }
    AddSymmetricWeight(root, profile);
    if (const Value all = root.Find("alwaysCheckAllPredicates"); all.AsBool().value_or(false)) {
      CommentAtTop(all, "alwaysCheckAllPredicates: no equal: a node's first reason is told");
    }
    ConvertExtenders(root.Find("extenders"));
  }

  // Turns off what is a default and was not named.
  static void LimitTo(const std::set<std::string>& named, const std::vector<std::string>& points,
                      const std::vector<absl::string_view>& defaults, NewProfile& profile) {
    static const auto& has_pre_filter = *new std::set<absl::string_view>{
        "NodeAffinity",       "NodePorts",         kFit,
        "VolumeRestrictions", "NodeVolumeLimits",  "VolumeBinding",
        "VolumeZone",         "PodTopologySpread", "InterPodAffinity"};
    for (const std::string& point : points) {
      for (const absl::string_view plugin : defaults) {
        if (named.contains(std::string(plugin))) continue;
        if (plugin == "VolumeBinding") {  // its Reserve needs what its PreFilter found
          profile.Disable("multiPoint", std::string(plugin));
          continue;
        }
        if (point == "preFilter" && !has_pre_filter.contains(plugin)) continue;
        profile.Disable(point, std::string(plugin));
      }
    }
  }

  void AddPredicate(Value predicate, NewProfile& profile, std::set<std::string>& filters) {
    const std::string name(predicate.Find("name").text());
    const Value argument = predicate.Find("argument");
    if (argument.Find("labelsPresence")) {
      profile.comments.push_back(Comment(
          argument,
          absl::StrCat("Predicate ", name,
                       " (labelsPresence): no equal: use NodeAffinity with addedAffinity")));
    } else if (argument.Find("serviceAffinity")) {
      profile.comments.push_back(Comment(
          argument, absl::StrCat("Predicate ", name,
                                 " (serviceAffinity): no equal: use podAffinity in the pods")));
    } else if (const OldName* const old = Find(Predicates(), name); old != nullptr) {
      for (const absl::string_view plugin : old->plugins) filters.insert(std::string(plugin));
      if (!old->why.empty()) {
        profile.comments.push_back(
            Comment(predicate,
                    absl::StrCat("Predicate ", name, ": ", old->plugins.front(), ", ", old->why)));
      }
    } else {
      profile.comments.push_back(Comment(
          predicate, absl::StrCat("Predicate ", name, ": no equal: kube-scheduler never had it")));
    }
  }

  void AddPriority(Value priority, NewProfile& profile, std::set<std::string>& scores) {
    const std::string name(priority.Find("name").text());
    const Value argument = priority.Find("argument");
    const std::string weight = Weight(priority.Find("weight"));
    const Value ratio = argument.Find("requestedToCapacityRatioArguments");
    if (argument.Find("serviceAntiAffinity") || argument.Find("labelPreference")) {
      profile.comments.push_back(
          Comment(argument, absl::StrCat("Priority ", name, ": no equal: use ",
                                         argument.Find("labelPreference")
                                             ? "NodeAffinity with addedAffinity"
                                             : "topologySpreadConstraints in the pods")));
      return;
    }
    const OldName* const old =
        Find(Priorities(), ratio ? absl::string_view("RequestedToCapacityRatioPriority") : name);
    if (old == nullptr || old->plugins.empty()) {
      profile.comments.push_back(Comment(
          priority, absl::StrCat("Priority ", name, ": no equal: ",
                                 old == nullptr ? "kube-scheduler never had it" : old->why)));
      return;
    }
    const std::string plugin(old->plugins.front());
    if (!old->why.empty()) {
      profile.comments.push_back(
          Comment(priority, absl::StrCat("Priority ", name, ": ", plugin, ", ", old->why)));
    }
    if (const absl::string_view strategy = StrategyOfPriority(old->name); !strategy.empty()) {
      SetStrategy(profile, strategy, ratio, priority);
    }
    scores.insert(plugin);
    profile.Enable("score", plugin, weight);
  }

  static std::string Weight(Value weight) {
    return weight.AsInt64().has_value() && *weight.AsInt64() != 0 ? std::string(weight.text()) : "";
  }

  // Before v1beta3 these had the weight 1.
  void OldDefaultWeights(NewProfile& profile) {
    std::set<std::string> named;
    for (const NewPlugin& plugin : profile.points["score"].first) named.insert(plugin.name);
    const std::vector<std::string>& disabled = profile.points["score"].second;
    if (absl::c_linear_search(disabled, "*")) return;
    bool any = false;
    for (const std::string plugin : {"TaintToleration", "NodeAffinity", "InterPodAffinity"}) {
      if (named.contains(plugin) || absl::c_linear_search(disabled, plugin)) continue;
      profile.Enable("score", plugin, "1");
      any = true;
    }
    if (any) {
      profile.comments.push_back(
          Comment(Value(), "The weights of score that are 1 were the defaults of that version"));
    }
  }

  void AddSymmetricWeight(Value root, NewProfile& profile) {
    const Value weight = root.Find("hardPodAffinitySymmetricWeight");
    if (!weight.AsInt64().has_value()) return;
    if (profile.ArgsOf("InterPodAffinity") != nullptr) return;
    profile.args.emplace_back("InterPodAffinity",
                              Lines{absl::StrCat("hardPodAffinityWeight: ", weight.text())});
  }

  void ConvertExtenders(Value extenders) {
    if (!extenders.IsSequence() || extenders.size() == 0) return;
    fields_.push_back("extenders:");
    for (const Value extender : extenders.elements()) {
      Lines lines;
      for (const Value::Item item : extender.items()) {
        if (item.key == "apiVersion") continue;  // of what is sent; there is one left
        std::string key(item.key);
        if (key == "enableHttps") key = "enableHTTPS";
        if (key == "BindVerb") key = "bindVerb";
        if (key == "httpTimeout" && item.value.AsInt64().has_value()) {  // nanoseconds
          lines.push_back(
              absl::StrCat(key, ": ", DurationToString(absl::Nanoseconds(*item.value.AsInt64()))));
        } else if ((item.value.IsMap() || item.value.IsSequence()) && item.value.size() > 0) {
          Lines inner = Block(item.value);
          if (item.value.IsMap()) Indent(inner, 2);
          lines.push_back(absl::StrCat(YamlScalar(key), ":"));
          lines.insert(lines.end(), inner.begin(), inner.end());
        } else {
          lines.push_back(absl::StrCat(YamlScalar(key), ": ",
                                       item.value.IsMap()        ? "{}"
                                       : item.value.IsSequence() ? "[]"
                                                                 : Scalar(item.value)));
        }
      }
      if (lines.empty()) continue;
      Indent(lines, 2);
      lines.front()[0] = '-';
      fields_.insert(fields_.end(), lines.begin(), lines.end());
    }
    if (fields_.back() == "extenders:") fields_.back() = "extenders: []";
  }

  // --- KubeSchedulerConfiguration ---

  enum class Age { kAlpha1, kAlpha2, kBeta1, kBeta2, kBeta3, kV1 };

  void ConvertVersion(Value root, absl::string_view version) {
    static const auto& ages = *new std::map<absl::string_view, Age>{
        {"componentconfig/v1alpha1", Age::kAlpha1},
        {"kubescheduler.config.k8s.io/v1alpha1", Age::kAlpha1},
        {"kubescheduler.config.k8s.io/v1alpha2", Age::kAlpha2},
        {"kubescheduler.config.k8s.io/v1beta1", Age::kBeta1},
        {"kubescheduler.config.k8s.io/v1beta2", Age::kBeta2},
        {"kubescheduler.config.k8s.io/v1beta3", Age::kBeta3},
        {"kubescheduler.config.k8s.io/v1", Age::kV1}};
    const auto age = ages.find(version);
    if (age == ages.end()) {
      problems_.AddError(root.Find("apiVersion") ? root.Find("apiVersion").where() : root.where(),
                         "",
                         absl::StrCat("apiVersion: ", YamlQuoted(version),
                                      " is no version that kube-scheduler had"));
      return;
    }
    CopyFields(root, {{"healthzBindAddress", "the flags --bind-address and --secure-port say it"},
                      {"metricsBindAddress", "the flags --bind-address and --secure-port say it"},
                      {"failureDomains", "topology keys are in the pods"}});
    ConvertLeaderElection(root.Find("leaderElection"));
    const Value profiles = root.Find("profiles");
    if (profiles.IsSequence() && profiles.size() > 0) {
      for (const Value profile : profiles.elements()) ConvertProfile(root, profile, age->second);
    } else {
      ConvertProfile(root, root, age->second);
    }
    ConvertExtenders(root.Find("extenders"));
  }

  void ConvertLeaderElection(Value election) {
    if (!election.IsMap()) return;
    fields_.push_back("leaderElection:");
    for (const Value::Item item : election.items()) {
      std::string key(item.key);
      if (key == "lockObjectName") key = "resourceName";
      if (key == "lockObjectNamespace") key = "resourceNamespace";
      if (item.key == "resourceLock" && item.value.text() != "leases") {
        CommentAtTop(item.value, absl::StrCat("leaderElection.resourceLock ", item.value.text(),
                                              ": no equal: leases is the one that is left"));
        continue;
      }
      if (item.value.IsMap() || item.value.IsSequence()) continue;
      fields_.push_back(absl::StrCat("  ", YamlScalar(key), ": ", Scalar(item.value)));
    }
    if (fields_.back() == "leaderElection:") fields_.back() = "leaderElection: {}";
  }

  void ConvertProfile(Value root, Value old, Age age) {
    const Value name = old.Find("schedulerName");
    NewProfile profile{.scheduler_name = name ? std::string(name.text()) : "default-scheduler"};
    if (old.Find("percentageOfNodesToScore") && age >= Age::kBeta3 && root.Find("profiles")) {
      profile.percentage = Scalar(old.Find("percentageOfNodesToScore"));
    }
    ConvertAlgorithm(root.Find("algorithmSource"), profile);
    ConvertPluginArgs(old.Find("pluginConfig"), profile);
    ConvertPlugins(old.Find("plugins"), age, profile);
    if (age < Age::kBeta3) OldDefaultWeights(profile);
    AddSymmetricWeight(root, profile);
    if (const Value timeout = root.Find("bindTimeoutSeconds");
        timeout.AsInt64().has_value() && profile.ArgsOf("VolumeBinding") == nullptr) {
      profile.args.emplace_back("VolumeBinding",
                                Lines{absl::StrCat("bindTimeoutSeconds: ", timeout.text())});
    }
    if (root.Find("disablePreemption").AsBool().value_or(false)) {
      profile.Disable("postFilter", "DefaultPreemption");
    }
    Finish(profile);
    profiles_.push_back(std::move(profile));
  }

  void ConvertAlgorithm(Value source, NewProfile& profile) {
    if (const Value provider = source.Find("provider");
        provider.text() == "ClusterAutoscalerProvider") {
      profile.Enable("score", std::string(kFit), "1");
      SetStrategy(profile, "MostAllocated", Value(), provider);
    } else if (provider && provider.text() != "DefaultProvider") {
      profile.comments.push_back(Comment(
          provider, absl::StrCat("algorithmSource.provider ", provider.text(), ": no equal")));
    }
    if (const Value policy = source.Find("policy"); policy) {
      profile.comments.push_back(
          Comment(policy, "algorithmSource.policy: convert the Policy that it names, too"));
    }
  }

  void ConvertPluginArgs(Value configs, NewProfile& profile) {
    for (const Value config : configs.elements()) {
      const std::string name(config.Find("name").text());
      const Value args = config.Find("args");
      if (!StrategyOf(name).empty()) {
        strategy_args_[name] = args;
      } else if (const OldName* const old = Find(OldPlugins(), name); old != nullptr) {
        profile.comments.push_back(
            Comment(config, absl::StrCat("Arguments of ", name, ": no equal: ", old->why)));
      } else if (profile.ArgsOf(name) == nullptr) {
        profile.args.emplace_back(name, Block(args, {"apiVersion", "kind"}));
      }
    }
  }

  void ConvertPlugins(Value plugins, Age age, NewProfile& profile) {
    static const auto& points = *new std::set<absl::string_view>{
        "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore",  "score",
        "reserve",    "permit",    "preBind",   "bind",   "postBind",   "multiPoint"};
    for (const Value::Item item : plugins.items()) {
      std::string point(item.key);
      if (age == Age::kAlpha1 && point == "postFilter") point = "preScore";  // its name until 1.18
      if (point == "unreserve") point = "reserve";                           // its own until 1.19
      if (!points.contains(point)) {
        profile.comments.push_back(
            Comment(item.value, absl::StrCat("plugins.", point, ": no such extension point")));
        continue;
      }
      for (const Value plugin : item.value.Find("disabled").elements()) {
        DisablePlugin(point, plugin, profile);
      }
      for (const Value plugin : item.value.Find("enabled").elements()) {
        EnablePlugin(point, plugin, profile);
      }
    }
    // Of the old scoring plugins only one was a default.
    if (least_disabled_ && !profile.strategy.has_value())
      profile.Disable("score", std::string(kFit));
    const auto least = strategy_args_.find("NodeResourcesLeastAllocated");
    if (!least_disabled_ && !profile.strategy.has_value() && least != strategy_args_.end()) {
      SetStrategy(profile, "LeastAllocated", least->second, least->second);
    }
    strategy_args_.clear();
    least_disabled_ = false;
  }

  void DisablePlugin(const std::string& point, Value plugin, NewProfile& profile) {
    const std::string name(plugin.Find("name").text());
    if (!StrategyOf(name).empty()) {
      least_disabled_ |= StrategyOf(name) == "LeastAllocated" && point == "score";
      return;
    }
    if (Find(OldPlugins(), name) != nullptr) return;  // it is not there to be disabled
    profile.Disable(point, name);
  }

  void EnablePlugin(const std::string& point, Value plugin, NewProfile& profile) {
    const std::string name(plugin.Find("name").text());
    const std::string weight = Weight(plugin.Find("weight"));
    if (const absl::string_view strategy = StrategyOf(name); !strategy.empty()) {
      if (point != "score" && point != "multiPoint") return;
      const auto args = strategy_args_.find(name);
      SetStrategy(profile, strategy, args == strategy_args_.end() ? Value() : args->second, plugin);
      profile.Enable("score", std::string(kFit), weight);
      return;
    }
    if (const OldName* const old = Find(OldPlugins(), name); old != nullptr) {
      profile.comments.push_back(
          Comment(plugin, absl::StrCat(name, " at ", point, ": no equal: ", old->why)));
      return;
    }
    profile.Enable(point, name, weight);
  }

  Problems& problems_;
  int comments_ = 0;
  Lines comments_at_top_, fields_;
  std::vector<NewProfile> profiles_;
  std::map<std::string, Value> strategy_args_;  // of the profile that is converted
  bool least_disabled_ = false;
};

bool LooksLikeConfiguration(Value root) {
  const absl::string_view kind = root.Find("kind").text();
  return kind == "Policy" || kind == kConfigurationKind ||
         (kind.empty() && (root.Find("predicates") || root.Find("priorities")));
}

}  // namespace

bool FindInConfigMap(Value config_map, std::string& text, std::string& key, Problems& problems) {
  std::vector<std::string> keys;
  for (const Value::Item item : config_map.Find("data").items()) {
    if (!item.value.IsString()) continue;
    Problems ignored;
    const std::vector<Document> documents = ReadDocuments(item.value.text(), "", ignored);
    if (documents.empty() || !LooksLikeConfiguration(documents.front().root())) continue;
    keys.emplace_back(item.key);
    text = std::string(item.value.text());
  }
  if (keys.size() == 1) {
    key = keys.front();
    return true;
  }
  problems.AddError(config_map.where(), "ConfigMap",
                    keys.empty()
                        ? "data has no KubeSchedulerConfiguration"
                        : absl::StrCat("data has ", keys.size(),
                                       " configurations; write the one you mean to a file"));
  return false;
}

ConvertedConfiguration ConvertConfiguration(absl::string_view text, const std::string& file) {
  ConvertedConfiguration converted;
  const std::vector<Document> documents = ReadDocuments(text, file, converted.problems);
  if (!converted.problems.ok()) return converted;
  if (documents.size() != 1) {
    converted.problems.AddError({.file = Symbol::Intern(file)}, "",
                                documents.empty() ? "is empty" : "has more than one document");
    return converted;
  }
  const Value root = documents.front().root();
  if (root.Find("kind").text() == "ConfigMap") {
    std::string inner, key;
    if (!FindInConfigMap(root, inner, key, converted.problems)) return converted;
    return ConvertConfiguration(inner, absl::StrCat(file, ", data.", key));
  }
  Converter converter(converted.problems);
  converter.Convert(root);
  if (!converted.problems.ok()) return converted;
  const absl::string_view kind = root.Find("kind").text();
  const absl::string_view version = root.Find("apiVersion").text();
  std::string from = kind == kConfigurationKind ? absl::StrCat(kind, " ", version) : "a Policy";
  converted.yaml = converter.ToYaml(from);
  converted.comments = converter.comments();
  return converted;
}

}  // namespace berth
