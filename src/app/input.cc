// SPDX-License-Identifier: Apache-2.0
// Implementation of input.h.
#include "app/input.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "api/input_file.h"
#include "app/terminal.h"
#include "berth/http_extender.h"
#include "devices/admin_access_of_objects.h"
#include "devices/pools_of_objects.h"
#include "devices/references_of_objects.h"
#include "devices/selectors_of_objects.h"
#include "engine/framework_set.h"
#include "quota/quotas_of_objects.h"

namespace berth {
namespace {

constexpr size_t kWorkloadsShown = 10;

// What stands for workloads whose controllers do not run here.
void PrintWorkloads(const std::vector<WorkloadPods>& workloads) {
  for (size_t i = 0; i < std::min(workloads.size(), kWorkloadsShown); ++i) {
    const WorkloadPods& made = workloads[i];
    PrintErrorF("%s: %s", made.workload,
                made.why_none.empty() ? absl::StrCat(made.pods, made.pods == 1 ? " pod" : " pods",
                                                     " made of its template")
                                      : absl::StrCat("no pods here, ", made.why_none));
  }
  if (workloads.size() > kWorkloadsShown) {
    PrintErrorF("and %d more workloads", workloads.size() - kWorkloadsShown);
  }
}

// "12 v1 ConfigMap, 3 v1 Secret"
std::string KindCounts(const std::map<std::string, int>& kinds) {
  return absl::StrJoin(kinds, ", ", [](std::string* out, const auto& kind) {
    absl::StrAppend(out, kind.second, " ", kind.first);
  });
}

}  // namespace

void PrintProblems(const Problems& problems) {
  for (const Problem& problem : problems) {
    const bool warning = problem.severity == Severity::kWarning;
    Print(stderr,
          absl::StrCat(Styled(warning ? Style::kDim : Style::kBad, problem.ToString(), stderr),
                       "\n"));
  }
  if (problems.unlisted() > 0) {
    Print(stderr, absl::StrCat("and ", problems.unlisted(), " more\n"));
  }
  if (problems.errors() > 1) Print(stderr, absl::StrCat(problems.errors(), " errors\n"));
}

namespace {

std::optional<KubeSchedulerConfiguration> Checked(LoadedConfiguration loaded,
                                                  const Registry& registry) {
  FrameworkSet::Check(loaded.configuration, registry, loaded.problems);
  loaded.problems.SortByLocation();
  PrintProblems(loaded.problems);
  if (!loaded.problems.ok()) return std::nullopt;
  return std::move(loaded.configuration);
}

}  // namespace

std::optional<KubeSchedulerConfiguration> ReadConfiguration(const std::string& path,
                                                            const CommandOptions& options,
                                                            const Registry& registry) {
  const auto read = options.read_configs.find(path);
  return Checked(read == options.read_configs.end()
                     ? LoadConfigurationFile(path, registry)
                     : ParseConfiguration(read->second, InputName(path), registry),
                 registry);
}

std::optional<KubeSchedulerConfiguration> ReadConfiguration(const CommandOptions& options,
                                                            const Registry& registry) {
  if (!options.configs.empty()) {
    return ReadConfiguration(options.configs.back(), options, registry);
  }
  LoadedConfiguration loaded;
  loaded.configuration = DefaultConfiguration(registry);
  return Checked(std::move(loaded), registry);
}

std::optional<ExtenderList> MakeExtenders(const KubeSchedulerConfiguration& configuration) {
  absl::StatusOr<ExtenderList> extenders = NewHttpExtenders(configuration.extenders);
  if (extenders.ok()) return *std::move(extenders);
  PrintError(extenders.status().message());
  return std::nullopt;
}

std::optional<Manifests> ReadCluster(const std::vector<std::string>& paths) {
  Manifests manifests = ReadManifests(paths);
  if (!manifests.problems.ok()) {
    manifests.problems.Append(CheckObjects(manifests));
    manifests.problems.SortByLocation();
  }
  PrintProblems(manifests.problems);
  if (!manifests.problems.ok()) return std::nullopt;
  PrintWorkloads(manifests.workloads);
  if (manifests.objects.empty() && manifests.workloads.empty()) {
    PrintErrorF("nothing that a scheduler reads is in %s%s", absl::StrJoin(paths, ", "),
                manifests.ignored_kinds.empty()
                    ? ""
                    : absl::StrCat("; it has ", KindCounts(manifests.ignored_kinds)));
    return std::nullopt;
  }
  if (!manifests.ignored_kinds.empty()) {
    PrintErrorF("left out, as a scheduler does not read them: %s",
                KindCounts(manifests.ignored_kinds));
  }
  return manifests;
}

Problems CheckObjects(const Manifests& manifests) {
  Problems problems = CheckQuotasOf(manifests);
  problems.Append(CheckSelectorsOf(manifests));
  problems.Append(CheckAdminAccessOf(manifests));
  problems.Append(CheckDeviceReferencesOf(manifests));
  problems.Append(CheckPoolsOf(manifests));
  return problems;
}

}  // namespace berth
