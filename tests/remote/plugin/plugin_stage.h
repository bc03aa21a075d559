// SPDX-License-Identifier: Apache-2.0
// What tests of remote plugins have in common: sockets, and a simulated cluster with a remote
// plugin in its profile.
#ifndef BERTH_TESTS_REMOTE_PLUGIN_PLUGIN_STAGE_H_
#define BERTH_TESTS_REMOTE_PLUGIN_PLUGIN_STAGE_H_

#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/configuration.h"
#include "berth/remote_plugins.h"
#include "berth/simulation.h"
#include "berth/testing/objects.h"

namespace berth::testing {

// "unix:/tmp/…": another one each time.
inline std::string FreshAddress() {
  static std::atomic<int> number = 0;
  return absl::StrCat("unix:/tmp/berth-remote-", getpid(), "-", ++number, ".sock");
}

inline const Registry& RemoteRegistry() {
  static const Registry& registry =
      *new Registry(BuiltinRegistry({WithRemotePlugin("Remote")}).value());
  return registry;
}

// A configuration whose profile has the remote plugin Remote besides the defaults. `more` are
// further fields of its arguments, "failurePolicy: Ignore, "; `disabled` plugins are left out.
inline std::string RemoteProfile(const std::string& address, const std::string& more = "",
                                 const std::string& disabled = "") {
  return absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Remote, weight: 3}]
      disabled: [)",
                      disabled, R"(]
  pluginConfig:
  - name: Remote
    args: {kind: RemotePluginArgs, )",
                      more, "address: '", address, "'}\n");
}

inline std::string ProblemsOf(const std::string& configuration) {
  const LoadedConfiguration loaded =
      ParseConfiguration(configuration, "config.yaml", RemoteRegistry());
  return loaded.problems.ok() ? "" : std::string(loaded.problems.ToStatus().message());
}

inline absl::StatusOr<std::unique_ptr<Simulation>> Simulate(const std::string& configuration,
                                                            std::vector<Object> objects) {
  LoadedConfiguration loaded = ParseConfiguration(configuration, "config.yaml", RemoteRegistry());
  if (!loaded.problems.ok()) return loaded.problems.ToStatus();
  return Simulation::Create({.configuration = std::move(loaded.configuration),
                             .registry = &RemoteRegistry(),
                             .objects = std::move(objects)});
}

// Serves a built-in plugin.
inline std::unique_ptr<PluginServer> ServeBuiltin(const std::string& name,
                                                  const std::string& address,
                                                  ServedPlugin served = {}) {
  served.registration = *RemoteRegistry().Find(name);
  served.version = "test";
  auto server = PluginServer::Start(std::move(served), {.address = address});
  BERTH_CHECK(server.ok()) << server.status().ToString();
  return *std::move(server);
}

}  // namespace berth::testing

#endif  // BERTH_TESTS_REMOTE_PLUGIN_PLUGIN_STAGE_H_
