// SPDX-License-Identifier: Apache-2.0
// Building of profiles: kube-scheduler v1.35 setDefaults_KubeSchedulerProfile and validation.go,
// and stricter where upstream finds out later or never.
#include "config/profiles.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/near_miss.h"
#include "config/arguments/field_text.h"
#include "config/plugin_sets.h"

namespace berth {
namespace {

std::string RemovedText(absl::string_view name) {
  return absl::StrCat("was invalid in version \"", kConfigurationVersion,
                      "\" (KubeSchedulerConfiguration is version \"", kConfigurationVersion,
                      "\"); ", AdviceForKubeSchedulerPlugin(name));
}

std::string PluginNames(const PluginSet& set) {
  const auto names = [](const std::vector<PluginEntry>& entries) {
    return absl::StrJoin(entries, ", ", [](std::string* out, const PluginEntry& entry) {
      absl::StrAppend(out, entry.name, entry.weight == 0 ? "" : absl::StrCat(":", entry.weight));
    });
  };
  return absl::StrCat("enabled [", names(set.enabled), "] disabled [", names(set.disabled), "]");
}

// Whether there is nothing in the arguments but apiVersion and kind.
bool IsEmptyArgs(Value args) {
  if (!args.IsNull() && !args.IsMap()) return false;
  for (const Value::Item item : args.items()) {
    if (item.key != "apiVersion" && item.key != "kind") return false;
  }
  return true;
}

// One profile of the file.
class ProfileBuilder {
 public:
  ProfileBuilder(const ProfileFile& file, const std::string& path, const Registry& registry,
                 FieldProblems problems, Problems& all)
      : file_(file), path_(path), registry_(registry), problems_(std::move(problems)), all_(all) {
    for (const auto& [name, registration] : registry.plugins()) known_.push_back(name);
  }

  Profile Build(bool is_the_only_one) {
    profile_.where = problems_.Where("");
    profile_.percentage_of_nodes_to_score = file_.percentage_of_nodes_to_score;
    // An explicit "" stays empty; only an absent name is defaulted.
    profile_.scheduler_name =
        file_.scheduler_name.value_or(is_the_only_one ? profile_.scheduler_name : "");
    if (profile_.scheduler_name.empty()) {
      problems_.Required("schedulerName", "the spec.schedulerName of the profile's pods");
    }
    for (int i = 0; i < kExtensionPointCount; ++i) {
      const auto point = static_cast<ExtensionPoint>(i);
      const std::string field = absl::StrCat("plugins.", ExtensionPointField(point));
      profile_.at(point) =
          MergePluginSet({}, ReadPluginSet(field, file_.plugins.at(point), HasWeights(point)));
    }
    profile_.multi_point =
        MergePluginSet(DefaultMultiPoint(registry_),
                       ReadPluginSet("plugins.multiPoint", file_.plugins.multi_point, true));
    ReadArguments();
    return std::move(profile_);
  }

 private:
  PluginSet ReadPluginSet(const std::string& field, const PluginSetFile& file, bool has_weights) {
    PluginSet set;
    std::set<absl::string_view> seen;
    for (size_t i = 0; i < file.enabled.size(); ++i) {
      const PluginFile& plugin = file.enabled[i];
      const std::string entry = ElementPath(field + ".enabled", i);
      if (!CheckEnabled(entry, plugin)) continue;
      if (!seen.insert(plugin.name).second) {
        problems_.Duplicate(entry + ".name", plugin.name);
        continue;
      }
      if (plugin.weight != 0 && !has_weights) {
        problems_.AddWarning(entry + ".weight",
                             "has no effect here; give weights in score or multiPoint");
      } else if (plugin.weight < 0) {
        problems_.AddWarning(entry + ".weight",
                             "is negative: nodes that the plugin likes best are chosen last");
      }
      set.enabled.push_back(
          {.name = plugin.name, .weight = plugin.weight, .where = problems_.Where(entry)});
    }
    for (size_t i = 0; i < file.disabled.size(); ++i) {
      const std::string entry = ElementPath(field + ".disabled", i);
      if (!CheckDisabled(entry, file.disabled[i].name)) continue;
      set.disabled.push_back({.name = file.disabled[i].name, .where = problems_.Where(entry)});
    }
    return set;
  }

  bool CheckEnabled(const std::string& entry, const PluginFile& plugin) {
    if (plugin.name.empty()) {
      problems_.Required(entry + ".name", "name a plugin");
      return false;
    }
    if (IsRemovedPlugin(plugin.name)) {
      problems_.Invalid(entry, plugin.name, RemovedText(plugin.name));
      return false;
    }
    if (plugin.name == "*") {
      problems_.Invalid(entry + ".name", "*", "only \"disabled\" takes \"*\"; name the plugins");
      return false;
    }
    if (registry_.Find(plugin.name) != nullptr) return true;
    problems_.Add(entry + ".name", NotFound(plugin.name));
    return false;
  }

  bool CheckDisabled(const std::string& entry, const std::string& name) {
    if (name.empty()) {
      problems_.Required(entry + ".name", "name a plugin, or \"*\" for all");
      return false;
    }
    if (name == "*" || registry_.Find(name) != nullptr) return true;
    if (AdviceForKubeSchedulerPlugin(name).empty()) {
      problems_.Add(entry + ".name", NotFound(name));
    } else {  // right with kube-scheduler, and nothing is lost
      problems_.AddWarning(entry + ".name",
                           absl::StrCat("\"", name, "\" is not in Berth; nothing to disable"));
    }
    return false;
  }

  std::string NotFound(absl::string_view name) const {
    const absl::string_view advice = AdviceForKubeSchedulerPlugin(name);
    return absl::StrCat("Not found: ", YamlQuoted(name), ": no such plugin",
                        advice.empty() ? DidYouMean(name, known_) : absl::StrCat("; ", advice));
  }

  void ReadArguments() {
    std::set<absl::string_view> enabled;
    const auto add = [&enabled](const PluginSet& set) {
      for (const PluginEntry& entry : set.enabled) enabled.insert(entry.name);
    };
    add(profile_.multi_point);
    for (const PluginSet& set : profile_.points) add(set);

    std::set<absl::string_view> seen;
    for (size_t i = 0; i < file_.plugin_config.size(); ++i) {
      const PluginConfigFile& config = file_.plugin_config[i];
      const std::string field = ElementPath("pluginConfig", i);
      const PluginRegistration* registration = registry_.Find(config.name);
      if (config.name.empty()) {
        problems_.Required(field + ".name", "name a plugin");
      } else if (IsRemovedPlugin(config.name)) {
        problems_.Invalid(field, config.name, RemovedText(config.name));
      } else if (registration == nullptr) {
        problems_.Add(field + ".name", NotFound(config.name));
      } else if (!enabled.contains(config.name)) {
        // kube-scheduler accepts it, and shared pluginConfig blocks rely on that.
        problems_.AddWarning(
            field + ".name",
            absl::StrCat("\"", config.name, "\" has arguments but is not enabled in this profile"));
      }
      if (!config.name.empty() && !seen.insert(config.name).second) {
        problems_.Add(field, absl::StrCat(DuplicateValue(config.name),
                                          ": repeated config for plugin ", config.name));
      }
      if (registration != nullptr) ReadPluginArgs(field, config, *registration);
    }
    for (const absl::string_view name : enabled) {
      const FieldTable* table = registry_.Find(name)->args;
      if (table == nullptr || profile_.args.contains(std::string(name))) continue;
      const PluginArgs defaults = PluginArgs::Defaults(table);
      if (!seen.contains(name)) {  // it may need arguments that have no default
        CheckUnwritten(*table, defaults.value(), WhereEnabled(name),
                       absl::StrCat("pluginConfig: has no entry for ", name, ": args"));
      }
      profile_.args.emplace(std::string(name), defaults);
    }
  }

  // Checks arguments of which nothing is in the file: what is missing is reported at `where`.
  void CheckUnwritten(const FieldTable& table, const void* args, SourceLocation where,
                      const std::string& path) {
    Problems found;
    table.Validate(Value(), JoinPath(path_, path), args, found);
    for (Problem problem : found) {
      problem.where = where;
      all_.Add(std::move(problem));
    }
  }

  // The first entry for the plugin that is in the file, or the profile, of a default plugin.
  SourceLocation WhereEnabled(absl::string_view name) const {
    SourceLocation where = profile_.where;
    const auto look = [&](const PluginSet& set) {
      for (const PluginEntry& entry : set.enabled) {
        if (where == profile_.where && entry.name == name && entry.where.line > 0) {
          where = entry.where;
        }
      }
    };
    look(profile_.multi_point);
    for (const PluginSet& set : profile_.points) look(set);
    return where;
  }

  // `field` is the entry.
  void ReadPluginArgs(const std::string& field, const PluginConfigFile& config,
                      const PluginRegistration& registration) {
    if (registration.args == nullptr) {
      if (!IsEmptyArgs(config.args)) {
        problems_.Add(field + ".args", absl::StrCat(config.name, " takes no arguments"));
      }
      return;
    }
    const std::shared_ptr<void> value = registration.args->MakeDefault();
    const int errors = all_.errors();
    if (config.args && !config.args.IsNull()) {
      registration.args->Decode(config.args, JoinPath(path_, field + ".args"), value.get(), all_);
    } else {
      registration.args->Read(config.args, "", value.get(), all_);
      CheckUnwritten(*registration.args, value.get(), problems_.Where(field), field + ".args");
    }
    // Arguments at fault are not for the plugin: it is made with defaults, to find what else is
    // wrong.
    if (all_.errors() > errors) return;
    profile_.args.try_emplace(config.name, PluginArgs(registration.args, value));
  }

  const ProfileFile& file_;
  const std::string path_;
  const Registry& registry_;
  FieldProblems problems_;
  Problems& all_;
  std::vector<std::string> known_;
  Profile profile_;
};

// validation.go validateCommonQueueSort: over the queueSort lists alone. What multiPoint adds is
// compared when the profiles are built.
void CheckCommonQueueSort(const std::vector<Profile>& profiles, FieldProblems& problems) {
  const std::string wanted = PluginNames(profiles[0].at(ExtensionPoint::kQueueSort));
  std::string name;
  for (size_t i = 0; i < profiles.size(); ++i) {
    const PluginSet& set = profiles[i].at(ExtensionPoint::kQueueSort);
    FieldProblems of_profile = problems.At(ElementPath("profiles", i));
    if (set.enabled.size() > 1) {
      of_profile.Invalid("plugins.queueSort.enabled", static_cast<double>(set.enabled.size()),
                         "only one queue sort plugin can be enabled");
    }
    if (i == 0) {
      if (!set.enabled.empty()) name = set.enabled[0].name;
      continue;
    }
    if (PluginNames(set) != wanted) {
      of_profile.Add("plugins.queueSort",
                     absl::StrCat("Invalid value: ", PluginNames(set),
                                  ": must be the same for all profiles; profiles[0] has ", wanted));
    }
    const auto args = [&](const Profile& profile) {
      const auto found = profile.args.find(name);
      return found == profile.args.end() ? PluginArgs() : found->second;
    };
    if (profiles[i].args.contains(name) &&
        args(profiles[i]).ToString() != args(profiles[0]).ToString()) {
      of_profile.Add(
          "pluginConfig",
          absl::StrCat("Invalid value: ", args(profiles[i]).ToString(),
                       ": queueSort must be the same for all profiles; the arguments of ", name,
                       " are ", args(profiles[0]).ToString(), " in profiles[0]"));
    }
  }
}

}  // namespace

std::vector<Profile> BuildProfiles(const std::vector<ProfileFile>& files, const Registry& registry,
                                   FieldProblems& problems, Problems& all) {
  const std::vector<ProfileFile> one(1);
  const std::vector<ProfileFile>& sources = files.empty() ? one : files;
  std::vector<Profile> profiles;
  std::map<std::string, size_t> index_of_name;
  for (size_t i = 0; i < sources.size(); ++i) {
    const std::string path = ElementPath("profiles", i);
    profiles.push_back(ProfileBuilder(sources[i], path, registry, problems.At(path), all)
                           .Build(sources.size() == 1));
    profiles.back().number = static_cast<int>(i) + 1;
    const std::string& name = profiles.back().scheduler_name;
    const auto [first, is_new] = index_of_name.emplace(name, i);
    if (!is_new && !name.empty()) {
      problems.Add(path + ".schedulerName",
                   absl::StrCat(DuplicateValue(name), ": it is also that of ",
                                ElementPath("profiles", first->second)));
    }
  }
  CheckCommonQueueSort(profiles, problems);
  return profiles;
}

}  // namespace berth
