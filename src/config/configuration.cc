// SPDX-License-Identifier: Apache-2.0
// Reading of a configuration file: document, fields, profiles; and the way back to YAML.
#include "berth/configuration.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/input_file.h"
#include "berth/api/value.h"
#include "config/arguments/field_text.h"
#include "config/configuration_file.h"
#include "config/legacy_configuration.h"
#include "config/profiles.h"
#include "config/version_converter.h"

namespace berth {
namespace {

// Whether the document is meant to be a KubeSchedulerConfiguration, of whatever version.
bool CheckTypeMeta(Value root, Problems& problems) {
  FieldProblems fields(root, "", problems);
  if (!root.IsMap()) {
    problems.AddError(root.where(), "",
                      absl::StrCat("is ", root.KindText(), ", not a KubeSchedulerConfiguration"));
    return false;
  }
  const absl::string_view kind = root.Find("kind").text();
  const absl::string_view version = root.Find("apiVersion").text();
  if (kind == "Policy") {
    fields.Invalid("kind", kind,
                   "scheduling policies ended with Kubernetes 1.23; `berth convert` writes the "
                   "KubeSchedulerConfiguration that it means");
    return false;
  }
  if (kind.empty()) {
    fields.Required("kind", absl::StrCat("write kind: ", kConfigurationKind));
  } else if (kind != kConfigurationKind) {
    fields.Invalid("kind", kind, absl::StrCat("must be ", kConfigurationKind));
    return false;
  }
  if (version.empty()) {
    fields.Required("apiVersion", absl::StrCat("write apiVersion: ", kConfigurationVersion));
  } else if (version != kConfigurationVersion) {
    fields.Invalid("apiVersion", version,
                   IsReadByConvert(version)
                       ? absl::StrCat("is a version that kube-scheduler does not read any more; "
                                      "`berth convert` writes it as ",
                                      kConfigurationVersion)
                       : absl::StrCat("must be ", kConfigurationVersion));
  }
  return true;
}

// kube-scheduler v1.35 scheduler.go buildExtenders: what extenders manage alone takes the place of
// the ignoredResources of every profile.
void IgnoreManagedResources(KubeSchedulerConfiguration& configuration) {
  std::vector<std::string> ignored;
  for (const Extender& extender : configuration.extenders) {
    for (const ExtenderManagedResource& resource : extender.managed_resources) {
      if (resource.ignored_by_scheduler) ignored.push_back(resource.name);
    }
  }
  if (ignored.empty()) return;
  for (Profile& profile : configuration.profiles) {
    const auto found = profile.args.find("NodeResourcesFit");
    if (found == profile.args.end() || found->second.table() == nullptr) continue;
    const FieldTable& table = *found->second.table();
    // A copy by way of its text, which reads back as the same.
    Problems problems;
    const std::vector<Document> documents =
        ReadDocuments(found->second.ToString(), "NodeResourcesFitArgs", problems);
    std::shared_ptr<void> copy = table.MakeDefault();
    table.Decode(documents.empty() ? Value() : documents.front().root(), "", copy.get(), problems);
    for (const FieldTable::FieldSpec& field : table.fields()) {
      if (field.name == "ignoredResources") {
        *static_cast<std::vector<std::string>*>(field.member(copy.get())) = ignored;
      }
    }
    if (problems.ok()) found->second = PluginArgs(&table, copy);
  }
}

void Finish(ConfigurationFile& file, Value root, size_t problems_before_reading,
            const Registry& registry, LoadedConfiguration& loaded) {
  FieldProblems problems(root, "", loaded.problems);
  problems.DropReportedSince(problems_before_reading);
  loaded.configuration = file;
  loaded.configuration.profiles =
      BuildProfiles(file.profile_files, registry, problems, loaded.problems);
  IgnoreManagedResources(loaded.configuration);
}

void AppendPlugins(std::string& out, absl::string_view list,
                   const std::vector<PluginEntry>& entries) {
  if (entries.empty()) return;
  absl::StrAppend(&out, "      ", list, ":\n");
  for (const PluginEntry& entry : entries) {
    absl::StrAppend(&out, "      - {name: ", YamlScalar(entry.name),
                    entry.weight == 0 ? "" : absl::StrCat(", weight: ", entry.weight), "}\n");
  }
}

void AppendPluginSet(std::string& out, absl::string_view point, const PluginSet& set) {
  if (set.enabled.empty() && set.disabled.empty()) return;
  absl::StrAppend(&out, "    ", point, ":\n");
  AppendPlugins(out, "enabled", set.enabled);
  AppendPlugins(out, "disabled", set.disabled);
}

void AppendProfile(std::string& out, const Profile& profile) {
  absl::StrAppend(&out, "- schedulerName: ", YamlScalar(profile.scheduler_name), "\n");
  if (profile.percentage_of_nodes_to_score.has_value()) {
    absl::StrAppend(&out, "  percentageOfNodesToScore: ", *profile.percentage_of_nodes_to_score,
                    "\n");
  }
  absl::StrAppend(&out, "  plugins:\n");
  // The merged list takes the place of the defaults.
  PluginSet multi_point = profile.multi_point;
  multi_point.disabled = {{.name = "*"}};
  AppendPluginSet(out, "multiPoint", multi_point);
  for (int i = 0; i < kExtensionPointCount; ++i) {
    const auto point = static_cast<ExtensionPoint>(i);
    AppendPluginSet(out, ExtensionPointField(point), profile.at(point));
  }
  if (profile.args.empty()) return;
  absl::StrAppend(&out, "  pluginConfig:\n");
  for (const auto& [name, args] : profile.args) {
    absl::StrAppend(&out, "  - name: ", YamlScalar(name), "\n    args: ", args.ToString(), "\n");
  }
}

}  // namespace

LoadedConfiguration ParseConfiguration(absl::string_view text, const std::string& file_name,
                                       const Registry& registry) {
  LoadedConfiguration loaded;
  loaded.configuration = DefaultConfiguration(registry);
  Problems& problems = loaded.problems;
  const std::vector<Document> documents = ReadDocuments(text, file_name, problems);
  if (documents.empty()) {
    if (problems.ok()) {
      problems.AddError({.file = Symbol::Intern(file_name)}, "",
                        "is empty; a KubeSchedulerConfiguration is needed");
    }
    return loaded;
  }
  for (size_t i = 1; i < documents.size(); ++i) {
    problems.AddError(documents[i].root().where(), "",
                      "a second document; a configuration file holds one");
  }
  const Value root = documents[0].root();
  if (root.Find("kind").text() == "ConfigMap") {
    std::string inner, key;
    if (!FindInConfigMap(root, inner, key, problems)) return loaded;
    LoadedConfiguration wrapped =
        ParseConfiguration(inner, absl::StrCat(file_name, ", data.", key), registry);
    wrapped.problems.Append(std::move(problems));
    return wrapped;
  }
  if (CheckTypeMeta(root, problems)) {
    const size_t before = problems.size();
    ConfigurationFile file;
    ConfigurationFile::Fields().Decode(root, "", &file, problems);
    Finish(file, root, before, registry, loaded);
  }
  problems.SortByLocation();
  return loaded;
}

LoadedConfiguration LoadConfigurationFile(const std::string& path, const Registry& registry) {
  const absl::StatusOr<std::string> text = ReadInputFile(path);
  if (text.ok()) return ParseConfiguration(*text, InputName(path), registry);
  LoadedConfiguration loaded;
  loaded.configuration = DefaultConfiguration(registry);
  loaded.problems.AddError({.file = Symbol::Intern(InputName(path))}, "",
                           absl::StrCat("cannot be read: ", text.status().message()));
  return loaded;
}

KubeSchedulerConfiguration DefaultConfiguration(const Registry& registry) {
  LoadedConfiguration loaded;
  ConfigurationFile file;
  Finish(file, Value(), 0, registry, loaded);
  return std::move(loaded.configuration);
}

std::string ConfigurationToYaml(const KubeSchedulerConfiguration& configuration) {
  ConfigurationFile file;
  static_cast<KubeSchedulerConfiguration&>(file) = configuration;
  file.contention_profiling = configuration.enable_contention_profiling;
  std::string out;
  for (const FieldTable::FieldSpec& field : ConfigurationFile::Fields().fields()) {
    if (field.name != "profiles") {
      absl::StrAppend(&out, field.name, ": ", field.type.print(field.Of(&file)), "\n");
    }
  }
  absl::StrAppend(&out, "profiles:\n");
  for (const Profile& profile : configuration.profiles) AppendProfile(out, profile);
  return out;
}

}  // namespace berth
