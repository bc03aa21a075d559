// SPDX-License-Identifier: Apache-2.0
// Kubeconfig::Merge: from the text of a file to entries, each with its problems.
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/json.h"
#include "berth/api/value.h"
#include "kubernetes/kubeconfig.h"

namespace berth {

absl::StatusOr<std::string> ParseServer(absl::string_view text) {
  std::string server(text);
  if (!absl::StrContains(server, "://")) server = "https://" + server;
  if (!absl::StartsWith(server, "https://") && !absl::StartsWith(server, "http://")) {
    return absl::InvalidArgumentError("is neither https:// nor http://");
  }
  const size_t host = server.find("://") + 3;
  if (host == server.size() || absl::StrContains("/:?#", server[host])) {
    return absl::InvalidArgumentError("has no host");
  }
  for (const char c : server) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '?' || c == '#') {
      return absl::InvalidArgumentError(
          "is not an address: it has white space, a query or a fragment");
    }
  }
  while (absl::EndsWith(server, "/")) server.pop_back();
  return server;
}

// Reads the fields of one entry: what is wrong goes to its problems with the path of the field.
class KubeconfigReader {
 public:
  KubeconfigReader(Value entry, std::string subject, std::string path, std::string folder,
                   Problems& problems)
      : entry_(entry),
        subject_(std::move(subject)),
        path_(std::move(path)),
        folder_(std::move(folder)),
        problems_(problems) {
    if (entry && !entry.IsMap() && !entry.IsNull()) {
      problems_.AddError(entry.where(), subject_,
                         absl::StrCat(path_, ": is ", entry.KindText(), ", not a map"));
    }
  }

  void Fail(absl::string_view field, absl::string_view what) const {
    const Value value = entry_.Find(field);
    problems_.AddError((value ? value : entry_).where(), subject_,
                       field.empty() ? absl::StrCat(path_, ": ", what)
                                     : absl::StrCat(path_, ".", field, ": ", what));
  }

  bool Has(absl::string_view field) const { return !entry_.Find(field).IsNull(); }

  std::string String(absl::string_view field) const {
    const Value value = entry_.Find(field);
    if (value.IsNull()) return "";
    if (value.IsString() || value.IsNumber()) return std::string(value.text());
    Fail(field, absl::StrCat("is ", value.KindText(), ", not a string"));
    return "";
  }

  bool Bool(absl::string_view field) const {
    const Value value = entry_.Find(field);
    if (value.IsNull()) return false;
    const std::optional<bool> truth = value.AsBool();
    if (!truth.has_value())
      Fail(field, absl::StrCat("is ", value.KindText(), ", not true or false"));
    return truth.value_or(false);
  }

  std::vector<std::string> Strings(absl::string_view field) const {
    std::vector<std::string> texts;
    const Value value = entry_.Find(field);
    if (value.IsNull()) return texts;
    if (!value.IsSequence()) {
      Fail(field, absl::StrCat("is ", value.KindText(), ", not a list of strings"));
      return texts;
    }
    for (const Value element : value.elements()) {
      if (!element.IsString()) Fail(field, "has an element that is no string; quote it");
      texts.emplace_back(element.text());
    }
    return texts;
  }

  // A path, relative to the folder of the file.
  std::string Path(absl::string_view field) const {
    std::string path = String(field);
    if (path.empty() || path[0] == '/' || folder_.empty()) return path;
    return absl::StrCat(folder_, "/", path);
  }

  // "certificate-authority" and "certificate-authority-data".
  PemSource Pem(const std::string& field) const {
    PemSource source;
    source.file = Path(field);
    const std::string data_field = absl::StrCat(field, "-data");
    const std::string encoded = String(data_field);
    if (encoded.empty()) return source;
    if (!source.file.empty()) {
      Fail(data_field, absl::StrCat("is set beside ", field, "; set one of them"));
    }
    if (!absl::Base64Unescape(encoded, &source.data)) {
      Fail(data_field, "is not base64; give the PEM file in base64, in one line");
    } else if (!absl::StrContains(source.data, "-----BEGIN ")) {
      Fail(data_field, "is not PEM in base64: there is no \"-----BEGIN\" in it");
    }
    return source;
  }

  // The extension of that name as JSON; empty if there is none.
  std::string Extension(absl::string_view name) const {
    for (const Value element : entry_.Find("extensions").elements()) {
      if (element.Find("name").text() != name) continue;
      JsonWriter json;
      WriteValue(element.Find("extension"), json);
      return std::string(json.text());
    }
    return "";
  }

  Connection Cluster() const;
  Connection User() const;
  ExecPlugin Exec() const;
  KubeconfigReader Sub(absl::string_view field) const {
    return {entry_.Find(field), subject_, absl::StrCat(path_, ".", field), folder_, problems_};
  }
  Impersonation Impersonate() const;
  Value value() const { return entry_; }

  // Calls `read` with a reader, and the name, of each entry of the list `list` that is the first of
  // its name.
  template <class T, class Read>
  static void ReadEntries(Value root, const char* list, const char* kind, const std::string& folder,
                          std::map<std::string, Kubeconfig::Entry<T>>& entries, Problems& problems,
                          Read read) {
    const Value value = root.Find(list);
    if (value.IsNull()) return;
    if (!value.IsSequence()) {
      problems.AddError(value.where(), "",
                        absl::StrCat(list, ": is ", value.KindText(), ", not a list of entries"));
      return;
    }
    size_t index = 0;
    for (const Value element : value.elements()) {
      const std::string path = absl::StrCat(list, "[", index++, "]");
      const Value name = element.Find("name");
      if (name.text().empty()) {
        problems.AddError(element.where(), "", absl::StrCat(path, ".name: is not set"));
        continue;
      }
      Kubeconfig::Entry<T> entry;
      entry.where = element.where();
      const KubeconfigReader reader(element.Find(kind), absl::StrCat(kind, " ", name.text()),
                                    absl::StrCat(path, ".", kind), folder, entry.problems);
      entry.value = read(reader);
      entries.emplace(std::string(name.text()), std::move(entry));
    }
  }

  static void Read(Value root, const std::string& file_name, Kubeconfig& into, Problems& problems);

 private:
  Value entry_;
  std::string subject_, path_, folder_;
  Problems& problems_;
};

Connection KubeconfigReader::Cluster() const {
  Connection cluster;
  cluster.server = String("server");
  if (cluster.server.empty()) {
    Fail("server", "is not set. It is the API server's address, such as https://10.0.0.1:6443");
  } else if (absl::StatusOr<std::string> server = ParseServer(cluster.server); server.ok()) {
    cluster.server = *std::move(server);
  } else {
    Fail("server", server.status().message());
  }
  cluster.certificate_authority = Pem("certificate-authority");
  cluster.tls_server_name = String("tls-server-name");
  cluster.insecure_skip_tls_verify = Bool("insecure-skip-tls-verify");
  if (cluster.insecure_skip_tls_verify && !cluster.certificate_authority.empty()) {
    Fail("insecure-skip-tls-verify",
         "is true and there is a certificate authority; remove one of them");
  }
  cluster.proxy_url = String("proxy-url");
  if (!cluster.proxy_url.empty()) {
    const auto is = [&](absl::string_view scheme) {
      return absl::StartsWith(cluster.proxy_url, scheme);
    };
    if (!is("http://") && !is("https://") && !is("socks5://") && !is("socks5h://")) {
      Fail("proxy-url", "does not begin with http://, https:// or socks5://");
    }
  }
  cluster.disable_compression = Bool("disable-compression");
  cluster.exec_config = Extension("client.authentication.k8s.io/exec");
  return cluster;
}

Impersonation KubeconfigReader::Impersonate() const {
  Impersonation as;
  as.user = String("as");
  as.uid = String("as-uid");
  as.groups = Strings("as-groups");
  const KubeconfigReader extra = Sub("as-user-extra");
  for (const Value::Item item : extra.value().items()) {
    as.extra[std::string(item.key)] = extra.Strings(item.key);
  }
  if (as.user.empty() && (!as.uid.empty() || !as.groups.empty() || !as.extra.empty())) {
    Fail("as", "is not set, but other fields of impersonation are; set it too");
  }
  return as;
}

Connection KubeconfigReader::User() const {
  Connection user;
  user.client_certificate = Pem("client-certificate");
  user.client_key = Pem("client-key");
  if (user.client_certificate.empty() != user.client_key.empty()) {
    Fail("", user.client_key.empty() ? "has a client certificate without client-key; set both"
                                     : "has a client-key without client-certificate; set both");
  }
  user.token = String("token");
  user.token_file = Path("tokenFile");
  user.username = String("username");
  user.password = String("password");
  const bool has_token = !user.token.empty() || !user.token_file.empty();
  if (has_token && !user.username.empty())
    Fail("username", "is set beside a token; set one of them");
  if (Has("exec")) {
    ExecPlugin plugin = Sub("exec").Exec();
    // client-go v0.35 exec.go UpdateTransportConfig: a user with credentials needs none of a
    // plugin.
    const bool has_others = has_token || !user.username.empty() || !user.client_certificate.empty();
    if (!has_others) user.exec = std::move(plugin);
  }
  if (Has("auth-provider")) {
    Fail("auth-provider",
         "is not supported, nor is it by kubectl for clouds since 1.26. Use an `exec` plugin of "
         "your "
         "provider, such as gke-gcloud-auth-plugin, kubelogin or `aws eks get-token`.");
  }
  user.impersonate = Impersonate();
  return user;
}

ExecPlugin KubeconfigReader::Exec() const {
  ExecPlugin plugin;
  plugin.api_version = String("apiVersion");
  const bool v1 = plugin.api_version == "client.authentication.k8s.io/v1";
  if (!v1 && plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    Fail("apiVersion", absl::StrCat(plugin.api_version.empty() ? "is not set" : "is not supported",
                                    "; use client.authentication.k8s.io/v1 or v1beta1"));
  }
  plugin.command = String("command");
  if (plugin.command.empty())
    Fail("command", "is not set. It is the program that prints the credential.");
  if (absl::StrContains(plugin.command, '/')) plugin.command = Path("command");
  plugin.args = Strings("args");
  size_t index = 0;
  for (const Value variable : entry_.Find("env").elements()) {
    const std::string name(variable.Find("name").text());
    if (name.empty()) Fail("env", absl::StrCat("[", index, "].name: is not set"));
    ++index;
    plugin.env.emplace_back(name, std::string(variable.Find("value").text()));
  }
  plugin.install_hint = String("installHint");
  plugin.provide_cluster_info = Bool("provideClusterInfo");
  const std::string mode = String("interactiveMode");
  if (mode == "Always") {
    Fail("interactiveMode",
         "is Always, but a scheduler has no terminal; use a plugin that needs none");
  } else if (mode != "Never" && mode != "IfAvailable" && (v1 || !mode.empty())) {
    Fail("interactiveMode", mode.empty() ? "is not set; use Never or IfAvailable"
                                         : "is none of Never, IfAvailable and Always");
  }
  return plugin;
}

void KubeconfigReader::Read(Value root, const std::string& file_name, Kubeconfig& into,
                            Problems& problems) {
  if (!root.IsMap()) {
    problems.AddError(root.where(), "", absl::StrCat("is ", root.KindText(), ", not a kubeconfig"));
    return;
  }
  const absl::string_view kind = root.Find("kind").text();
  const absl::string_view api_version = root.Find("apiVersion").text();
  if ((!kind.empty() && kind != "Config") || (!api_version.empty() && api_version != "v1")) {
    problems.AddError(
        root.where(), "",
        absl::StrCat("is a ", kind, " of ", api_version, ", not a Config of v1: no kubeconfig"));
    return;
  }
  const size_t slash = file_name.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : file_name.substr(0, slash);
  if (into.current_context_.empty())
    into.current_context_ = std::string(root.Find("current-context").text());
  ReadEntries(root, "clusters", "cluster", folder, into.clusters_, problems,
              [](const KubeconfigReader& entry) { return entry.Cluster(); });
  ReadEntries(root, "users", "user", folder, into.users_, problems,
              [](const KubeconfigReader& entry) { return entry.User(); });
  ReadEntries(root, "contexts", "context", folder, into.contexts_, problems,
              [](const KubeconfigReader& entry) {
                return Kubeconfig::Context{entry.String("cluster"), entry.String("user"),
                                           entry.String("namespace")};
              });
}

void Kubeconfig::Merge(absl::string_view text, const std::string& file_name, Problems& problems) {
  files_.push_back(file_name);
  const std::vector<Document> documents = ReadDocuments(text, file_name, problems);
  if (documents.size() > 1) {
    problems.AddError(documents[1].root().where(), "",
                      "has a second document; a kubeconfig is one");
    return;
  }
  if (!documents.empty()) KubeconfigReader::Read(documents[0].root(), file_name, *this, problems);
}

}  // namespace berth
