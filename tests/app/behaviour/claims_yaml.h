// SPDX-License-Identifier: Apache-2.0
// A node with devices and a pod with claims, as YAML, and what `berth explain` says of them.
#ifndef BERTH_TESTS_APP_BEHAVIOUR_CLAIMS_YAML_H_
#define BERTH_TESTS_APP_BEHAVIOUR_CLAIMS_YAML_H_

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "tests/app/run_command.h"

namespace berth {

inline constexpr char kNodes[] = R"(
apiVersion: v1
kind: Node
metadata: {name: n0}
status: {allocatable: {cpu: '8', memory: 8Gi, pods: '110'}}
)";

inline std::string ClassOf(absl::string_view driver, absl::string_view more = "") {
  return absl::StrCat(
      "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: ", driver,
      "}\nspec: {", more, "selectors: [{cel: {expression: device.driver == \"", driver, "\"}}]}\n");
}

// Of the node n0, in a pool of the driver's name. `spec`: devices and counters.
inline std::string SliceOf(absl::string_view driver, absl::string_view spec, int slices = 1,
                           absl::string_view name = "") {
  return absl::StrCat(
      "---\napiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: ", driver, name,
      "}\nspec:\n  driver: ", driver, "\n  nodeName: n0\n  pool: {name: ", driver,
      ", generation: 1, resourceSliceCount: ", slices, "}\n", spec);
}

// gpu-0 to gpu-N.
inline std::string Gpus(int count, absl::string_view each = "") {
  std::string devices = "  devices:\n";
  for (int i = 0; i < count; ++i) absl::StrAppend(&devices, "  - {name: gpu-", i, each, "}\n");
  return devices;
}

// `devices`: spec.devices, `results`: of an allocation on the node, or "".
inline std::string ClaimOf(absl::string_view name, absl::string_view devices,
                           absl::string_view results = "", absl::string_view node = "n0") {
  std::string claim = absl::StrCat(
      "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: ", name,
      ", namespace: default, uid: ", name, "}\nspec: {devices: {", devices, "}}\n");
  if (results.empty()) return claim;
  return absl::StrCat(claim, "status:\n  allocation:\n    devices: {results: [", results,
                      "]}\n    nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: "
                      "metadata.name, operator: In, values: [",
                      node, "]}]}]}\n");
}
inline std::string RequestOf(absl::string_view driver, absl::string_view more = "") {
  return absl::StrCat("requests: [{name: r, exactly: {deviceClassName: ", driver, more, "}}]");
}

inline std::string PodOf(const std::vector<std::string>& claims, absl::string_view resources = "") {
  std::string pod = absl::StrCat(
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [{name: c, image: "
      "x",
      resources, "}]\n");
  if (!claims.empty()) absl::StrAppend(&pod, "  resourceClaims:\n");
  for (const std::string& claim : claims) {
    absl::StrAppend(&pod, "  - {name: ", claim, ", resourceClaimName: ", claim, "}\n");
  }
  return pod;
}

// Whether the pod can run, and what is said of its claims on n0.
inline std::vector<std::string> Explain(const std::string& cluster) {
  const std::string config = WriteTemporary("gates.yaml", R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: DynamicResources
    args: {featureGates: {DRAExtendedResource: true, DRAPartitionableDevices: true, DRAConsumableCapacity: true, DRADeviceTaints: true}}
)");
  const Outcome outcome = RunBerth(absl::StrCat("explain --config ", config, " --cluster ",
                                                WriteTemporary("claims.yaml", kNodes + cluster)));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(outcome.out, '\n')) {
    if (absl::StartsWith(line, "default/p: ")) {
      lines.emplace_back(absl::StrContains(line, "would go to n0") ? "fits" : "does not fit");
    } else if (absl::ConsumePrefix(&line, "  n0: DynamicResources ")) {
      lines.emplace_back(line);
    }
  }
  return lines;
}

}  // namespace berth

#endif  // BERTH_TESTS_APP_BEHAVIOUR_CLAIMS_YAML_H_
