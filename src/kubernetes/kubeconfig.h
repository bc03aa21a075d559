// SPDX-License-Identifier: Apache-2.0
// Kubeconfig files as kubectl reads them.
#ifndef BERTH_SRC_KUBERNETES_KUBECONFIG_H_
#define BERTH_SRC_KUBERNETES_KUBECONFIG_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "kubernetes/connection.h"

namespace berth {

// The entries of one file, or of several that were merged. An entry that is wrong is no reason to
// refuse the others: what is wrong with it is reported when it is used.
class Kubeconfig {
 public:
  // Adds the entries of `text`. An entry, or a current context, that is there already stays as it
  // is. Paths are relative to the folder of `file_name`. Reports what is no kubeconfig at all.
  void Merge(absl::string_view text, const std::string& file_name, Problems& problems);

  // What `context` names; the current context if it is empty. The errors name file, field and what
  // to do.
  absl::StatusOr<Connection> Resolve(const std::string& context) const;

 private:
  template <class T>
  struct Entry {
    T value;
    SourceLocation where;
    Problems problems;  // of this entry
  };
  struct Context {
    std::string cluster, user, namespace_name;
  };
  template <class T>
  using Entries = std::map<std::string, Entry<T>>;
  friend class KubeconfigReader;

  std::vector<std::string> files_;
  std::string current_context_;
  Entries<Context> contexts_;
  Entries<Connection> clusters_;  // with the fields of a cluster
  Entries<Connection> users_;     // with the fields of a user
};

// The address of a server, made whole: "10.0.0.1:6443/" is "https://10.0.0.1:6443". The error says
// what is wrong with `text`, as the end of a sentence.
absl::StatusOr<std::string> ParseServer(absl::string_view text);

// The files that kubectl would read: `path` if it is not empty; else those of `environment`, the
// value of KUBECONFIG, of which some may be missing; else ~/.kube/config in `home`.
absl::StatusOr<Kubeconfig> LoadKubeconfig(const std::string& path, const std::string& environment,
                                          const std::string& home);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_KUBECONFIG_H_
