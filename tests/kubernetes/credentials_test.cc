// SPDX-License-Identifier: Apache-2.0
// Credentials from files and plugins.
#include "kubernetes/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "kubernetes/subprocess.h"
#include "tests/kubernetes/temporary_folder.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kV1[] = "client.authentication.k8s.io/v1";
const absl::Time kNow = absl::UnixEpoch() + absl::Hours(500'000);

absl::StatusOr<Credentials> Read(const Connection& connection) {
  const std::atomic<bool> give_up = false;
  return ReadCredentials(connection, kNow, give_up);
}

Connection WithPlugin(std::string command) {
  Connection connection;
  connection.server = "https://a";
  connection.exec = ExecPlugin{.api_version = kV1, .command = std::move(command)};
  return connection;
}

std::string Message(const absl::StatusOr<Credentials>& read) {
  return std::string(read.status().message());
}

TEST(CredentialsTest, ATokenFileGoesBeforeATokenAndIsReadAgain) {
  const TemporaryFolder folder;
  Connection connection;
  connection.token = "static";
  EXPECT_EQ(Read(connection)->token, "static");
  EXPECT_EQ(Read(connection)->read_again, absl::InfiniteFuture());
  connection.token_file = folder.path() + "/token";
  EXPECT_EQ(Read(connection)->token, "static");  // it is not there yet
  folder.Write("token", " one\n");
  EXPECT_EQ(Read(connection)->token, "one");
  EXPECT_EQ(Read(connection)->read_again, kNow + absl::Minutes(1));
  folder.Write("token", "two");
  EXPECT_EQ(Read(connection)->token, "two");
  connection.token.clear();
  folder.Write("token", "\n");
  EXPECT_THAT(Message(Read(connection)), HasSubstr("/token: is empty"));
}

// libcurl takes no more, and refusing it later would end the process.
TEST(CredentialsTest, CertificatesThatAreTooLargeAreAnError) {
  Connection connection;
  connection.certificate_authority.data = "-----BEGIN " + std::string(5 << 20, 'x');
  EXPECT_EQ(Message(Read(connection)),
            "the kubeconfig's certificate-authority-data is larger than 4 MiB");
}

TEST(CredentialsTest, CertificateFilesAreReadAgain) {
  const TemporaryFolder folder;
  Connection connection;
  connection.certificate_authority.data = "-----BEGIN CERTIFICATE-----";
  connection.client_certificate.file = folder.Write("c", "-----BEGIN CERTIFICATE-----");
  connection.client_key.file = folder.path() + "/k";
  EXPECT_THAT(Message(Read(connection)),
              AllOf(HasSubstr("/k: No such file"), HasSubstr("client-key")));
  folder.Write("k", "text");
  EXPECT_THAT(Message(Read(connection)), HasSubstr("is not PEM"));
  folder.Write("k", "-----BEGIN PRIVATE KEY-----");
  ASSERT_TRUE(Read(connection).ok());
  EXPECT_EQ(Read(connection)->read_again, kNow + absl::Minutes(5));
}

TEST(CredentialsTest, APluginGetsItsEnvironmentAndGivesATokenThatExpires) {
  const TemporaryFolder folder;
  Connection connection = WithPlugin(folder.WriteProgram(
      "plugin", absl::StrCat("[ \"$A:$1\" = b:arg ] || exit 3\n"
                             "echo \"$KUBERNETES_EXEC_INFO\" > ",
                             folder.path(),
                             "/info\n"
                             "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"",
                             kV1,
                             "\",\"status\":{\"token\":\"t\","
                             "\"expirationTimestamp\":\"2030-01-02T03:04:05Z\"}}'\n")));
  connection.exec->env = {{"A", "b"}};
  connection.exec->args = {"arg"};
  connection.exec->provide_cluster_info = true;
  connection.tls_server_name = "name";
  const auto read = Read(connection);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->token, "t");
  EXPECT_EQ(absl::FormatTime(read->read_again, absl::UTCTimeZone()), "2030-01-02T03:04:05+00:00");
  EXPECT_EQ(
      ExecInfo(connection, "P"),
      "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"spec\":{"
      "\"cluster\":{\"server\":\"https://a\",\"tls-server-name\":\"name\","
      "\"certificate-authority-data\":\"UA==\"},\"interactive\":false}}");
}

TEST(CredentialsTest, SaysWhatIsWrongWithAPlugin) {
  const TemporaryFolder folder;
  const auto prints = [&](absl::string_view text) {
    return Message(Read(WithPlugin(folder.WriteProgram("p", absl::StrCat("echo '", text, "'\n")))));
  };
  const auto credential = [](absl::string_view status) {
    return absl::StrCat("{\"kind\":\"ExecCredential\",\"apiVersion\":\"", kV1, "\",\"status\":{",
                        status, "}}");
  };
  EXPECT_THAT(prints("{"), HasSubstr("/p"));
  EXPECT_THAT(prints(""), HasSubstr("does not print one ExecCredential"));
  EXPECT_THAT(prints("{\"kind\":\"Pod\"}"), HasSubstr("its kind is another"));
  EXPECT_THAT(prints("{\"kind\":\"ExecCredential\",\"apiVersion\":\"v9\"}"),
              HasSubstr("prints apiVersion v9"));
  EXPECT_THAT(prints(credential("")), HasSubstr("neither status.token nor"));
  EXPECT_THAT(prints(credential("\"clientKeyData\":\"k\"")), HasSubstr("without the other"));
  EXPECT_THAT(prints(credential("\"token\":\"t\",\"expirationTimestamp\":\"soon\"")),
              HasSubstr("expirationTimestamp"));
  EXPECT_THAT(Message(Read(WithPlugin(folder.WriteProgram("f", "echo no luck >&2; exit 4\n")))),
              HasSubstr("exit code 4: no luck"));
  Connection absent = WithPlugin("/none/plugin");
  EXPECT_THAT(Message(Read(absent)), HasSubstr("Install it"));
  absent.exec->install_hint = "apt install it";
  EXPECT_THAT(Message(Read(absent)), HasSubstr("apt install it"));
}

TEST(SubprocessTest, IsKilledWithItsChildren) {
  const TemporaryFolder folder;
  ProcessRun run;
  run.command = folder.WriteProgram("p", "sleep 100 & sleep 100\n");
  run.timeout = absl::Milliseconds(200);
  EXPECT_TRUE(absl::IsDeadlineExceeded(RunProcess(run).status()));

  std::atomic<bool> give_up = false;
  run.timeout = absl::Seconds(100);
  run.give_up = &give_up;
  std::thread stop([&] {
    absl::SleepFor(absl::Milliseconds(100));
    give_up = true;
  });
  EXPECT_TRUE(absl::IsCancelled(RunProcess(run).status()));
  stop.join();

  run.give_up = nullptr;
  run.command = folder.WriteProgram("q", "yes\n");
  EXPECT_TRUE(absl::IsResourceExhausted(RunProcess(run).status()));
}

}  // namespace
}  // namespace berth
