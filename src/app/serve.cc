// SPDX-License-Identifier: Apache-2.0
// `berth serve`: schedules clusters that clients describe over gRPC.
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/input_file.h"
#include "app/commands.h"
#include "app/input.h"
#include "app/terminal.h"
#include "berth/cluster_server.h"
#include "berth/mutex.h"
#include "berth/remote_plugins.h"
#include "process/termination.h"

namespace berth {
namespace {

// How long questions that are under way may go on when the server ends.
constexpr absl::Duration kGrace = absl::Seconds(5);
// For bindings that wait for other processes.
constexpr int kBindingThreads = 16;

// Whether PreBind, Bind or PostBind may wait for something outside the process.
bool BindingsMayWait(const CommandOptions& options,
                     const KubeSchedulerConfiguration& configuration) {
  if (!configuration.extenders.empty() || !options.plugin_libraries.empty()) return true;
  if (options.configs.empty()) return false;
  const auto read = options.read_configs.find(options.configs.back());
  const absl::StatusOr<std::string> text =
      read == options.read_configs.end() ? ReadInputFile(options.configs.back()) : read->second;
  return text.ok() && !RemotePluginsIn(*text).empty();
}

}  // namespace

int RunServe(const CommandOptions& options, const Registry& registry) {
  std::optional<KubeSchedulerConfiguration> configuration = ReadConfiguration(options, registry);
  if (!configuration.has_value()) return 1;
  std::optional<ExtenderList> extenders = MakeExtenders(*configuration);
  if (!extenders.has_value()) return 1;
  ClusterServerOptions serve = options.serve;
  serve.binding_threads = BindingsMayWait(options, *configuration) ? kBindingThreads : 0;
  serve.configuration = *std::move(configuration);
  serve.registry = &registry;
  serve.extenders = *std::move(extenders);

  Mutex mutex;
  CondVar changed;
  bool ending = false;
  const TerminationSignals signals([&] {
    MutexLock lock(mutex);
    ending = true;
    changed.SignalAll();
  });
  const absl::StatusOr<std::unique_ptr<ClusterServer>> server =
      ClusterServer::Start(std::move(serve));
  if (!server.ok()) {
    PrintError(
        absl::StrReplaceAll(server.status().message(), {{"caFile", "--client-ca-file"},
                                                        {"certFile", "--tls-cert-file"},
                                                        {"keyFile", "--tls-private-key-file"}}));
    return 1;
  }
  PrintOut("listening on %s\n", (*server)->address());
  std::fflush(stdout);
  {
    MutexLock lock(mutex);
    while (!ending) changed.Wait(mutex);
  }
  (*server)->Shutdown(kGrace);
  return 0;
}

}  // namespace berth
