// SPDX-License-Identifier: Apache-2.0
// Implementation of policy_converter.h.
#include "config/policy_converter.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/legacy_names.h"

namespace berth {
namespace {

class PolicyConverter {
 public:
  explicit PolicyConverter(ConvertedFile& file) : file_(file) {}

  void Convert(Value root) {
    ConvertedProfile profile{.scheduler_name = "default-scheduler"};
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
      file_.CommentAtTop(item.value, absl::StrCat(item.key, ": no field of a Policy; left out"));
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
      file_.AddOldDefaultWeights(profile);
    }
    file_.AddSymmetricWeight(root, profile);
    if (const Value all = root.Find("alwaysCheckAllPredicates"); all.AsBool().value_or(false)) {
      file_.CommentAtTop(all,
                         "alwaysCheckAllPredicates: no equal: a node's first reason is reported");
    }
    file_.CopyExtenders(root.Find("extenders"));
    file_.AddProfile(std::move(profile));
  }

 private:
  // Turns off what is a default and was not named.
  static void LimitTo(const std::set<std::string>& named, const std::vector<std::string>& points,
                      const std::vector<absl::string_view>& defaults, ConvertedProfile& profile) {
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

  void AddPredicate(Value predicate, ConvertedProfile& profile, std::set<std::string>& filters) {
    const std::string name(predicate.Find("name").text());
    const Value argument = predicate.Find("argument");
    if (argument.Find("labelsPresence")) {
      profile.comments.push_back(file_.Comment(
          argument,
          absl::StrCat("Predicate ", name,
                       " (labelsPresence): no equal: use NodeAffinity with addedAffinity")));
    } else if (argument.Find("serviceAffinity")) {
      profile.comments.push_back(file_.Comment(
          argument, absl::StrCat("Predicate ", name,
                                 " (serviceAffinity): no equal: use podAffinity in the pods")));
    } else if (const OldName* const old = FindPredicate(name); old != nullptr) {
      for (const absl::string_view plugin : old->plugins) filters.insert(std::string(plugin));
      if (!old->why.empty()) {
        profile.comments.push_back(file_.Comment(
            predicate,
            absl::StrCat("Predicate ", name, ": ", old->plugins.front(), ", ", old->why)));
      }
    } else {
      profile.comments.push_back(file_.Comment(
          predicate, absl::StrCat("Predicate ", name, ": no equal: kube-scheduler never had it")));
    }
  }

  void AddPriority(Value priority, ConvertedProfile& profile, std::set<std::string>& scores) {
    const std::string name(priority.Find("name").text());
    const Value argument = priority.Find("argument");
    const std::string weight = WeightOf(priority.Find("weight"));
    const Value ratio = argument.Find("requestedToCapacityRatioArguments");
    if (argument.Find("serviceAntiAffinity") || argument.Find("labelPreference")) {
      profile.comments.push_back(
          file_.Comment(argument, absl::StrCat("Priority ", name, ": no equal: use ",
                                               argument.Find("labelPreference")
                                                   ? "NodeAffinity with addedAffinity"
                                                   : "topologySpreadConstraints in the pods")));
      return;
    }
    const OldName* const old =
        FindPriority(ratio ? absl::string_view("RequestedToCapacityRatioPriority") : name);
    if (old == nullptr || old->plugins.empty()) {
      profile.comments.push_back(file_.Comment(
          priority, absl::StrCat("Priority ", name, ": no equal: ",
                                 old == nullptr ? "kube-scheduler never had it" : old->why)));
      return;
    }
    const std::string plugin(old->plugins.front());
    if (!old->why.empty()) {
      profile.comments.push_back(
          file_.Comment(priority, absl::StrCat("Priority ", name, ": ", plugin, ", ", old->why)));
    }
    if (const absl::string_view strategy = StrategyOfPriority(old->name); !strategy.empty()) {
      file_.SetStrategy(profile, strategy, ratio, priority);
    }
    scores.insert(plugin);
    profile.Enable("score", plugin, weight);
  }

  ConvertedFile& file_;
};

}  // namespace

void ConvertPolicy(Value root, ConvertedFile& file) { PolicyConverter(file).Convert(root); }

}  // namespace berth
