// SPDX-License-Identifier: Apache-2.0
// Kubeconfig files: what is taken from them, and what is said of what is wrong.
#include "kubernetes/kubeconfig.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "kubernetes/credentials.h"
#include "kubernetes/in_cluster.h"
#include "tests/kubernetes/temporary_folder.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kPem[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

// One context, with these lines in its cluster and its user.
std::string OneContext(absl::string_view cluster, absl::string_view user) {
  return absl::StrCat(
      "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
      "contexts: [{name: c, context: {cluster: k, user: u, namespace: ns}}]\n"
      "clusters:\n- name: k\n  cluster: {",
      cluster, "}\nusers:\n- name: u\n  user: {", user, "}\n");
}

absl::StatusOr<Connection> Resolve(absl::string_view text, const std::string& context = "",
                                   const std::string& file = "/etc/k/config") {
  Kubeconfig config;
  Problems problems;
  config.Merge(text, file, problems);
  if (!problems.ok()) return problems.ToStatus();
  return config.Resolve(context);
}

TEST(KubeconfigTest, AllFieldsOfClusterAndUser) {
  const std::string pem = absl::Base64Escape(kPem);
  const auto connection = Resolve(
      OneContext(absl::StrCat("server: 'https://10.0.0.1:6443/', certificate-authority-data: ", pem,
                              ", tls-server-name: kube, proxy-url: 'socks5://p:1'"),
                 "client-certificate: pki/c.pem, client-key: /abs/k.pem, tokenFile: t, as: jane, "
                 "as-groups: [a, b], "
                 "as-uid: '7', as-user-extra: {scopes: [x]}"));
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(connection->server, "https://10.0.0.1:6443");
  EXPECT_EQ(connection->certificate_authority.data, kPem);
  EXPECT_EQ(connection->tls_server_name, "kube");
  EXPECT_EQ(connection->proxy_url, "socks5://p:1");
  EXPECT_EQ(connection->namespace_name, "ns");
  EXPECT_EQ(connection->client_certificate.file, "/etc/k/pki/c.pem");
  EXPECT_EQ(connection->client_key.file, "/abs/k.pem");
  EXPECT_EQ(connection->token_file, "/etc/k/t");
  EXPECT_EQ(connection->impersonate.user, "jane");
  EXPECT_EQ(connection->impersonate.uid, "7");
  EXPECT_THAT(connection->impersonate.groups, ElementsAre("a", "b"));
  EXPECT_THAT(connection->impersonate.extra, ElementsAre(Pair("scopes", ElementsAre("x"))));
  EXPECT_THAT(connection->name, HasSubstr("/etc/k/config"));
}

TEST(KubeconfigTest, ReadsAnExecPlugin) {
  const auto connection = Resolve(OneContext(
      "server: 'https://a'",
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [get, token], "
      "env: [{name: A, value: b}], installHint: get it, provideClusterInfo: true, interactiveMode: "
      "Never}"));
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_TRUE(connection->exec.has_value());
  EXPECT_EQ(connection->exec->command, "/etc/k/./plugin");
  EXPECT_THAT(connection->exec->args, ElementsAre("get", "token"));
  EXPECT_THAT(connection->exec->env, ElementsAre(Pair("A", "b")));
  EXPECT_TRUE(connection->exec->provide_cluster_info);
}

TEST(KubeconfigTest, WhoHasCredentialsNeedsNoPlugin) {
  for (const absl::string_view own :
       {"token: t", "tokenFile: t", "username: u", "client-certificate: c, client-key: k"}) {
    const auto connection = Resolve(
        OneContext("server: 'https://a'",
                   absl::StrCat(own,
                                ", exec: {apiVersion: client.authentication.k8s.io/v1, command: p, "
                                "interactiveMode: Never}")));
    ASSERT_TRUE(connection.ok()) << connection.status();
    EXPECT_FALSE(connection->exec.has_value()) << own;
  }
}

TEST(KubeconfigTest, APluginIsToldWhatTheClusterHasForIt) {
  const auto connection = Resolve(OneContext(
      "server: 'https://a', disable-compression: true, extensions: [{name: other, extension: 1}, "
      "{name: client.authentication.k8s.io/exec, extension: {audience: '06e3', n: [1, null]}}]",
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: p, provideClusterInfo: true, "
      "interactiveMode: Never}"));
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(ExecInfo(*connection, ""),
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{)"
            R"("cluster":{"server":"https://a","disable-compression":true,)"
            R"("config":{"audience":"06e3","n":[1,null]}},"interactive":false}})");
}

TEST(KubeconfigTest, TheFirstFileThatHasAnEntryGivesAllOfIt) {
  Kubeconfig config;
  Problems problems;
  config.Merge("clusters: [{name: k, cluster: {server: 'https://first'}}]\n", "/a/1", problems);
  config.Merge(OneContext("server: 'https://second', tls-server-name: t", "tokenFile: f"), "/b/2",
               problems);
  config.Merge("current-context: other\ncontexts: [{name: other, context: {cluster: k, user: u}}]",
               "/c/3", problems);
  ASSERT_TRUE(problems.ok()) << problems.ToString();
  const auto current = config.Resolve("");
  ASSERT_TRUE(current.ok()) << current.status();
  EXPECT_EQ(current->server, "https://first");
  EXPECT_EQ(current->tls_server_name, "");
  EXPECT_EQ(current->token_file, "/b/f");
  EXPECT_EQ(current->namespace_name, "ns");
  EXPECT_TRUE(config.Resolve("other").ok());
}

TEST(KubeconfigTest, AnEntryThatIsNotUsedMayBeWrong) {
  EXPECT_TRUE(
      Resolve(
          "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
          "clusters: [{name: k, cluster: {server: a}}, {name: broken, cluster: {server: 'x y'}}]\n"
          "users: [{name: old, user: {auth-provider: {name: gcp}}}]\n")
          .ok());
}

TEST(KubeconfigTest, SaysFileFieldAndWhatToDo) {
  const struct {
    absl::string_view name, cluster, user, want;
  } cases[] = {
      {"no server", "tls-server-name: x", "", "clusters[0].cluster.server: is not set"},
      {"no host", "server: 'https://', tls-server-name: x", "", "server: has no host"},
      {"only a slash", "server: '/'", "", "server: has no host"},
      {"odd scheme", "server: 'ftp://x'", "",
       "clusters[0].cluster.server: is neither https:// nor http://"},
      {"not base64", "server: a, certificate-authority-data: '*'", "",
       "clusters[0].cluster.certificate-authority-data: is not base64"},
      {"not PEM", "server: a, certificate-authority-data: AAAA", "", "is not PEM"},
      {"both forms",
       "server: a, certificate-authority: f, certificate-authority-data: LS0tLS1CRUdJTiA=", "",
       "is set beside certificate-authority"},
      {"insecure and authority",
       "server: a, certificate-authority: f, insecure-skip-tls-verify: true", "",
       "insecure-skip-tls-verify: is true and there is a certificate authority"},
      {"not a bool", "server: a, insecure-skip-tls-verify: 3", "",
       "is a number, not true or false"},
      {"proxy", "server: a, proxy-url: 'p:1'", "", "proxy-url: does not begin with"},
      {"certificate alone", "server: a", "client-certificate: c", "without client-key"},
      {"key alone", "server: a", "client-key: c", "without client-certificate"},
      {"token and user name", "server: a", "token: t, username: u",
       "username: is set beside a token"},
      {"auth-provider", "server: a", "auth-provider: {name: gcp}",
       "users[0].user.auth-provider: is not supported"},
      {"exec version", "server: a",
       "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: c, interactiveMode: "
       "Never}",
       "exec.apiVersion: is not supported; use client.authentication.k8s.io/v1"},
      {"exec command", "server: a",
       "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}",
       "exec.command: is not set"},
      {"exec mode missing", "server: a",
       "exec: {apiVersion: client.authentication.k8s.io/v1, command: c}",
       "exec.interactiveMode: is not set"},
      {"exec asks people", "server: a",
       "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: c, interactiveMode: "
       "Always}",
       "a scheduler has no terminal"},
      {"groups without user", "server: a", "as-groups: [g]", "user.as: is not set"},
      {"not a list", "server: a", "as: u, as-groups: g", "not a list of strings"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto connection = Resolve(OneContext(c.cluster, c.user));
    ASSERT_FALSE(connection.ok());
    EXPECT_THAT(std::string(connection.status().message()), HasSubstr(std::string(c.want)));
    EXPECT_THAT(std::string(connection.status().message()), HasSubstr("/etc/k/config:"));
  }
}

TEST(KubeconfigTest, SaysWhatIsNotThere) {
  const auto error = [](absl::string_view text, const std::string& context = "") {
    return std::string(Resolve(text, context).status().message());
  };
  EXPECT_THAT(error("kind: Config"), HasSubstr("current-context: is not set"));
  EXPECT_THAT(error("current-context: c"),
              HasSubstr("current-context names \"c\", and there is no such context"));
  EXPECT_THAT(error("current-context: c", "d"), HasSubstr("\"d\", and there is no such context"));
  EXPECT_THAT(error("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]"),
              HasSubstr("context c names \"k\", and there is no such cluster"));
  EXPECT_THAT(error("current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                    "clusters: [{name: k, cluster: {server: a}}]"),
              HasSubstr("there is no such user"));
  EXPECT_THAT(error("kind: Pod\napiVersion: v1"), HasSubstr("no kubeconfig"));
  EXPECT_THAT(error("[]"), HasSubstr("not a kubeconfig"));
  EXPECT_THAT(error("clusters: {a: b}"), HasSubstr("not a list of entries"));
  EXPECT_THAT(error("clusters: [{cluster: {}}]"), HasSubstr("clusters[0].name: is not set"));
}

TEST(KubeconfigTest, FilesAreLookedForAsKubectlDoes) {
  const TemporaryFolder folder;
  const std::string one = folder.Write("one", OneContext("server: 'https://one'", ""));
  folder.Write(".kube/config", OneContext("server: 'https://home'", ""));
  const auto server = [](const absl::StatusOr<Kubeconfig>& config) {
    return config.ok() ? config->Resolve("")->server : std::string(config.status().message());
  };
  EXPECT_EQ(server(LoadKubeconfig(one, "/none", "/none")), "https://one");
  EXPECT_EQ(server(LoadKubeconfig("", "/none:" + one, "/none")), "https://one");
  EXPECT_EQ(server(LoadKubeconfig("", "", folder.path())), "https://home");
  EXPECT_THAT(server(LoadKubeconfig("/none", "", "")), HasSubstr("/none: error: No such file"));
  EXPECT_THAT(server(LoadKubeconfig("", "/none", "")), HasSubstr("KUBECONFIG names /none"));
  EXPECT_THAT(server(LoadKubeconfig("", "", "/none")), HasSubstr("name one with --kubeconfig"));
}

TEST(InClusterTest, TakesServerTokenAndAuthority) {
  const TemporaryFolder folder;
  std::map<std::string, std::string> environment;
  const auto variable = [&](const char* name) { return environment[name]; };
  EXPECT_TRUE(absl::IsNotFound(InClusterConnection(variable, folder.path()).status()));
  environment = {{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  EXPECT_THAT(std::string(InClusterConnection(variable, folder.path()).status().message()),
              HasSubstr("automountServiceAccountToken"));
  folder.Write("token", "secret\n");
  EXPECT_THAT(std::string(InClusterConnection(variable, folder.path()).status().message()),
              HasSubstr("ca.crt"));
  folder.Write("ca.crt", kPem);
  folder.Write("namespace", "kube-system");
  const auto connection = InClusterConnection(variable, folder.path());
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(connection->server, "https://[fd00::1]:443");
  EXPECT_EQ(connection->namespace_name, "kube-system");
  EXPECT_EQ(connection->token_file, folder.path() + "/token");
}

}  // namespace
}  // namespace berth
