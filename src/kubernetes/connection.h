// SPDX-License-Identifier: Apache-2.0
// Where an API server is, and as which user to call it: what a kubeconfig or a service account come
// to.
#ifndef BERTH_SRC_KUBERNETES_CONNECTION_H_
#define BERTH_SRC_KUBERNETES_CONNECTION_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace berth {

// PEM text, given as such or by the file that holds it now. At most one of them is set.
struct PemSource {
  std::string data;
  std::string file;
  bool empty() const { return data.empty() && file.empty(); }
};

// A program that prints credentials (client.authentication.k8s.io).
struct ExecPlugin {
  std::string api_version;
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // beside the process's own
  std::string install_hint;
  bool provide_cluster_info = false;
};

// The user that is impersonated.
struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

struct Connection {
  std::string name;  // for messages: "context kind-test of /home/me/.kube/config"
  std::string
      server;  // "https://10.0.0.1:6443", with a path if there is one, without a slash at the end
  PemSource certificate_authority;  // empty: the system's
  std::string tls_server_name;      // empty: the server's host
  bool insecure_skip_tls_verify = false;
  std::string proxy_url;
  // Nothing is asked for compressed; exec plugins are told what the kubeconfig says.
  bool disable_compression = false;
  std::string exec_config;     // JSON that is for exec plugins; may be empty
  std::string namespace_name;  // the context's

  PemSource client_certificate, client_key;
  std::string token;
  std::string token_file;  // read again and again; its text goes before `token`
  std::string username, password;
  std::optional<ExecPlugin> exec;
  Impersonation impersonate;
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_CONNECTION_H_
