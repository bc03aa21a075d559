// SPDX-License-Identifier: Apache-2.0
// Implementation of version_converter.h.
#include "config/version_converter.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/arguments/field_text.h"
#include "config/legacy_names.h"

namespace berth {
namespace {

// What v1 takes for granted. Another kind says what the plugin is: RemotePluginArgs.
std::set<absl::string_view> ImpliedBy(const std::string& plugin, Value args) {
  const absl::string_view kind = args.Find("kind").text();
  if (kind.empty() || kind == plugin + "Args") return {"apiVersion", "kind"};
  return {"apiVersion"};
}

enum class Age { kAlpha1, kAlpha2, kBeta1, kBeta2, kBeta3, kV1 };

std::optional<Age> AgeOf(absl::string_view version) {
  static const auto& ages =
      *new std::map<absl::string_view, Age>{{"componentconfig/v1alpha1", Age::kAlpha1},
                                            {"kubescheduler.config.k8s.io/v1alpha1", Age::kAlpha1},
                                            {"kubescheduler.config.k8s.io/v1alpha2", Age::kAlpha2},
                                            {"kubescheduler.config.k8s.io/v1beta1", Age::kBeta1},
                                            {"kubescheduler.config.k8s.io/v1beta2", Age::kBeta2},
                                            {"kubescheduler.config.k8s.io/v1beta3", Age::kBeta3},
                                            {"kubescheduler.config.k8s.io/v1", Age::kV1}};
  const auto age = ages.find(version);
  if (age == ages.end()) return std::nullopt;
  return age->second;
}

class VersionConverter {
 public:
  VersionConverter(ConvertedFile& file, Problems& problems) : file_(file), problems_(problems) {}

  void Convert(Value root, absl::string_view version) {
    const std::optional<Age> age = AgeOf(version);
    if (!age.has_value()) {
      problems_.AddError(root.Find("apiVersion") ? root.Find("apiVersion").where() : root.where(),
                         "",
                         absl::StrCat("apiVersion: ", YamlQuoted(version),
                                      " is no version that kube-scheduler had"));
      return;
    }
    file_.CopyFields(root,
                     {{"healthzBindAddress", "the flags --bind-address and --secure-port say it"},
                      {"metricsBindAddress", "the flags --bind-address and --secure-port say it"},
                      {"failureDomains", "topology keys are in the pods"}});
    ConvertLeaderElection(root.Find("leaderElection"));
    const Value profiles = root.Find("profiles");
    if (profiles.IsSequence() && profiles.size() > 0) {
      for (const Value profile : profiles.elements()) ConvertProfile(root, profile, *age);
    } else {
      ConvertProfile(root, root, *age);
    }
    file_.CopyExtenders(root.Find("extenders"));
  }

 private:
  void ConvertLeaderElection(Value election) {
    if (!election.IsMap()) return;
    Lines lines;
    for (const Value::Item item : election.items()) {
      std::string key(item.key);
      if (key == "lockObjectName") key = "resourceName";
      if (key == "lockObjectNamespace") key = "resourceNamespace";
      if (item.key == "resourceLock" && item.value.text() != "leases") {
        file_.CommentAtTop(item.value,
                           absl::StrCat("leaderElection.resourceLock ", item.value.text(),
                                        ": no equal: leases is the one that is left"));
        continue;
      }
      if (item.value.IsMap() || item.value.IsSequence()) continue;
      lines.push_back(absl::StrCat("  ", YamlScalar(key), ": ", Scalar(item.value)));
    }
    file_.AddField(lines.empty() ? "leaderElection: {}" : "leaderElection:");
    for (std::string& line : lines) file_.AddField(std::move(line));
  }

  void ConvertProfile(Value root, Value old, Age age) {
    const Value name = old.Find("schedulerName");
    ConvertedProfile profile{.scheduler_name =
                                 name ? std::string(name.text()) : "default-scheduler"};
    if (old.Find("percentageOfNodesToScore") && age >= Age::kBeta3 && root.Find("profiles")) {
      profile.percentage = Scalar(old.Find("percentageOfNodesToScore"));
    }
    ConvertAlgorithm(root.Find("algorithmSource"), profile);
    ConvertPluginArgs(old.Find("pluginConfig"), profile);
    ConvertPlugins(old.Find("plugins"), age, profile);
    if (age < Age::kBeta3) file_.AddOldDefaultWeights(profile);
    file_.AddSymmetricWeight(root, profile);
    if (const Value timeout = root.Find("bindTimeoutSeconds");
        timeout.AsInt64().has_value() && profile.ArgsOf("VolumeBinding") == nullptr) {
      profile.args.emplace_back("VolumeBinding",
                                Lines{absl::StrCat("bindTimeoutSeconds: ", timeout.text())});
    }
    if (root.Find("disablePreemption").AsBool().value_or(false)) {
      profile.Disable("postFilter", "DefaultPreemption");
    }
    file_.AddProfile(std::move(profile));
  }

  void ConvertAlgorithm(Value source, ConvertedProfile& profile) {
    if (const Value provider = source.Find("provider");
        provider.text() == "ClusterAutoscalerProvider") {
      profile.Enable("score", std::string(kFit), "1");
      file_.SetStrategy(profile, "MostAllocated", Value(), provider);
    } else if (provider && provider.text() != "DefaultProvider") {
      profile.comments.push_back(file_.Comment(
          provider, absl::StrCat("algorithmSource.provider ", provider.text(), ": no equal")));
    }
    if (const Value policy = source.Find("policy"); policy) {
      profile.comments.push_back(
          file_.Comment(policy, "algorithmSource.policy: convert the Policy that it names, too"));
    }
  }

  void ConvertPluginArgs(Value configs, ConvertedProfile& profile) {
    for (const Value config : configs.elements()) {
      const std::string name(config.Find("name").text());
      const Value args = config.Find("args");
      if (!StrategyOf(name).empty()) {
        strategy_args_[name] = args;
      } else if (const OldName* const old = FindOldPlugin(name); old != nullptr) {
        profile.comments.push_back(
            file_.Comment(config, absl::StrCat("Arguments of ", name, ": no equal: ", old->why)));
      } else if (profile.ArgsOf(name) == nullptr) {
        profile.args.emplace_back(name, Block(args, ImpliedBy(name, args)));
      }
    }
  }

  void ConvertPlugins(Value plugins, Age age, ConvertedProfile& profile) {
    static const auto& points = *new std::set<absl::string_view>{
        "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore",  "score",
        "reserve",    "permit",    "preBind",   "bind",   "postBind",   "multiPoint"};
    const bool is_strategy_given = profile.strategy.has_value();  // by algorithmSource
    for (const Value::Item item : plugins.items()) {
      std::string point(item.key);
      if (age == Age::kAlpha1 && point == "postFilter") point = "preScore";  // its name until 1.18
      if (point == "unreserve") point = "reserve";                           // its own until 1.19
      if (!points.contains(point)) {
        profile.comments.push_back(file_.Comment(
            item.value, absl::StrCat("plugins.", point, ": no such extension point")));
        continue;
      }
      for (const Value plugin : item.value.Find("disabled").elements()) {
        DisablePlugin(point, plugin, profile);
      }
      for (const Value plugin : item.value.Find("enabled").elements()) {
        EnablePlugin(point, plugin, profile);
      }
    }
    // Only one of the old scoring plugins was a default.
    if (least_disabled_ && !profile.strategy.has_value())
      profile.Disable("score", std::string(kFit));
    const auto least = strategy_args_.find("NodeResourcesLeastAllocated");
    if (!least_disabled_ && !profile.strategy.has_value() && least != strategy_args_.end()) {
      file_.SetStrategy(profile, "LeastAllocated", least->second, least->second);
    }
    const bool is_beside = age < Age::kBeta2 && !is_strategy_given && !least_disabled_ &&
                           !absl::c_linear_search(profile.points["score"].second, "*");
    if (is_beside && profile.strategy.has_value() &&
        profile.strategy->front() != "type: LeastAllocated") {
      profile.comments.push_back(
          file_.Comment(plugins.Find("score"),
                        "There is one scoringStrategy; no equal for NodeResourcesLeastAllocated, a "
                        "default of that version beside it"));
    }
    strategy_args_.clear();
    least_disabled_ = false;
  }

  void DisablePlugin(const std::string& point, Value plugin, ConvertedProfile& profile) {
    const std::string name(plugin.Find("name").text());
    if (!StrategyOf(name).empty()) {
      least_disabled_ |= StrategyOf(name) == "LeastAllocated" && point == "score";
      return;
    }
    if (FindOldPlugin(name) != nullptr) return;  // it is not there to be disabled
    profile.Disable(point, name);
  }

  void EnablePlugin(const std::string& point, Value plugin, ConvertedProfile& profile) {
    const std::string name(plugin.Find("name").text());
    const std::string weight = WeightOf(plugin.Find("weight"));
    if (const absl::string_view strategy = StrategyOf(name); !strategy.empty()) {
      if (point != "score" && point != "multiPoint") return;
      const auto args = strategy_args_.find(name);
      file_.SetStrategy(profile, strategy, args == strategy_args_.end() ? Value() : args->second,
                        plugin);
      profile.Enable("score", std::string(kFit), weight);
      return;
    }
    if (const OldName* const old = FindOldPlugin(name); old != nullptr) {
      profile.comments.push_back(
          file_.Comment(plugin, absl::StrCat(name, " at ", point, ": no equal: ", old->why)));
      return;
    }
    profile.Enable(point, name, weight);
  }

  ConvertedFile& file_;
  Problems& problems_;
  std::map<std::string, Value> strategy_args_;  // of the profile that is converted
  bool least_disabled_ = false;
};

}  // namespace

void ConvertVersion(Value root, absl::string_view version, ConvertedFile& file,
                    Problems& problems) {
  VersionConverter(file, problems).Convert(root, version);
}

bool IsReadByConvert(absl::string_view version) { return AgeOf(version).has_value(); }

}  // namespace berth
