// SPDX-License-Identifier: Apache-2.0
// Plugins in processes of their own, over gRPC: the side of the scheduler, and a server for plugins
// written in C++. docs/remote_plugins.md; the contract is berth/v1/plugin.proto.
#ifndef BERTH_REMOTE_PLUGINS_H_
#define BERTH_REMOTE_PLUGINS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/columns/aspects.h"
#include "berth/config/profile.h"
#include "berth/framework/args.h"
#include "berth/framework/registry.h"
#include "berth/framework/score.h"

namespace berth {

// What is found out about a remote plugin when a profile is made.
enum class RemoteCheck {
  kProcess,     // what the process, or its saved description, says
  kFieldsOnly,  // nothing but what is written: to check a configuration and not to run it
};

// The remote plugins of a KubeSchedulerConfiguration, in YAML or JSON: each pluginConfig entry
// whose args say `kind: RemotePluginArgs` makes a plugin of its name; those of a ConfigMap around a
// configuration, too. For the registry that the
// configuration is read with; what is wrong with it is reported there. The `berth` command does so.
std::vector<PluginRegistration> RemotePluginsIn(absl::string_view configuration,
                                                RemoteCheck check = RemoteCheck::kProcess);
// One of them, for a configuration that is made in another way.
PluginRegistration WithRemotePlugin(absl::string_view name,
                                    RemoteCheck check = RemoteCheck::kProcess);

// What the process at the address says of itself, as JSON, for RemotePluginArgs.descriptionFile.
// Error: it cannot be reached, or what it says makes no sense. `tls` as RemotePluginArgs; empty
// names for none.
absl::StatusOr<std::string> DescribeRemotePlugin(const std::string& address,
                                                 const std::string& ca_file = "",
                                                 const std::string& cert_file = "",
                                                 const std::string& key_file = "");

// A plugin written against Berth's headers, served to schedulers in other processes.
struct ServedPlugin {
  PluginRegistration registration;
  std::string version;
  // At which points; empty: at all of PreFilter, Filter, PostFilter, Score, Reserve, Permit,
  // PreBind, Bind and PostBind that the class has. PostFilter sees the code of each node, and pods
  // of nodes; which plugin rejected a node it does not see, and it cannot call the other plugins.
  std::vector<ExtensionPoint> points;
  // The fields of Description; see berth/v1/plugin.proto. There is no schema: sessions have no
  // arguments.
  bool is_signed = false;  // whether `signature` counts
  std::vector<std::string> signature;
  // The class is given nodes with their pods, so that "NodeRequested" means "NodePods" too.
  std::vector<std::string> depends_on;
  // If its NormalizeScores() is DefaultNormalizeScores() with this direction; another one cannot be
  // served.
  std::optional<ScoreDirection> normalization;
  PluginArgs args;  // with which each instance is made; the defaults if none are given
};

struct PluginServerOptions {
  std::string address;                       // unix:/PATH or HOST:PORT; port 0 takes any
  std::string ca_file, cert_file, key_file;  // of mutual TLS, or none
};

// Serves as long as it lives. Each session has an instance of its own, with a Handle that knows the
// nodes and pods that the scheduler sends, and no other object.
class PluginServer {
 public:
  static absl::StatusOr<std::unique_ptr<PluginServer>> Start(ServedPlugin plugin,
                                                             const PluginServerOptions& options);
  virtual ~PluginServer() = default;

  virtual std::string address() const = 0;
  // Until another thread ends the server.
  virtual void Wait() = 0;
};

}  // namespace berth

#endif  // BERTH_REMOTE_PLUGINS_H_
