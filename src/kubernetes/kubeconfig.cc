// SPDX-License-Identifier: Apache-2.0
// Implementation of kubeconfig.h: merging and resolving. kubeconfig_reader.cc reads.
#include "kubernetes/kubeconfig.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "api/input_file.h"

namespace berth {
namespace {

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

absl::Status Missing(absl::string_view what, const std::string& name, absl::string_view asked_by,
                     const std::vector<std::string>& files) {
  return absl::InvalidArgumentError(absl::StrCat(
      absl::StrJoin(files, ":"), ": ", asked_by, " \"", name, "\", and there is no such ", what,
      ". `kubectl config get-", what == "user" ? "users" : absl::StrCat(what, "s"),
      "` lists those that there are."));
}

}  // namespace

absl::StatusOr<Connection> Kubeconfig::Resolve(const std::string& context) const {
  const std::string name = context.empty() ? current_context_ : context;
  if (name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(absl::StrJoin(files_, ":"),
                     ": current-context: is not set. Name a context, or set one with `kubectl "
                     "config use-context`."));
  }
  const auto found = contexts_.find(name);
  if (found == contexts_.end()) {
    return Missing("context", name,
                   context.empty() ? "current-context names" : "the context asked for is", files_);
  }
  const Entry<Context>& entry = found->second;
  Problems problems = entry.problems;
  const auto cluster = clusters_.find(entry.value.cluster);
  const auto user = users_.find(entry.value.user);
  if (entry.value.cluster.empty()) {
    problems.AddError(entry.where, absl::StrCat("context ", name),
                      "context.cluster: is not set. Name an entry of `clusters`.");
  } else if (cluster == clusters_.end()) {
    return Missing("cluster", entry.value.cluster, absl::StrCat("context ", name, " names"),
                   files_);
  } else {
    problems.Append(cluster->second.problems);
  }
  if (!entry.value.user.empty() && user == users_.end()) {
    return Missing("user", entry.value.user, absl::StrCat("context ", name, " names"), files_);
  }
  if (user != users_.end()) problems.Append(user->second.problems);
  if (!problems.ok()) return problems.ToStatus();

  Connection connection = user != users_.end() ? user->second.value : Connection();
  const Connection& server = cluster->second.value;
  connection.name = absl::StrCat("context ", name, " of ", entry.where.file.view());
  connection.server = server.server;
  connection.certificate_authority = server.certificate_authority;
  connection.tls_server_name = server.tls_server_name;
  connection.insecure_skip_tls_verify = server.insecure_skip_tls_verify;
  connection.proxy_url = server.proxy_url;
  connection.disable_compression = server.disable_compression;
  connection.exec_config = server.exec_config;
  connection.namespace_name = entry.value.namespace_name;
  return connection;
}

absl::StatusOr<Kubeconfig> LoadKubeconfig(const std::string& path, const std::string& environment,
                                          const std::string& home) {
  std::vector<std::string> files;
  if (!path.empty()) {
    files.push_back(path);
  } else if (!environment.empty()) {
    for (const absl::string_view file : absl::StrSplit(environment, ':', absl::SkipEmpty())) {
      if (Exists(std::string(file))) files.emplace_back(file);
    }
    if (files.empty()) {
      return absl::NotFoundError(absl::StrCat(
          "KUBECONFIG names ", environment, ", and none of that exists. Correct it or unset it."));
    }
  } else {
    const std::string standard = absl::StrCat(home, "/.kube/config");
    if (home.empty() || !Exists(standard)) {
      return absl::NotFoundError(
          "no kubeconfig: name one with --kubeconfig or KUBECONFIG, or have ~/.kube/config");
    }
    files.push_back(standard);
  }
  Kubeconfig merged;
  Problems problems;
  for (const std::string& file : files) {
    absl::StatusOr<std::string> text = ReadInputFile(file);
    if (!text.ok()) {
      problems.AddError({Symbol::Intern(InputName(file)), 0, 0}, "",
                        std::string(text.status().message()));
      continue;
    }
    merged.Merge(*text, file, problems);
  }
  if (!problems.ok()) return problems.ToStatus();
  return merged;
}

}  // namespace berth
