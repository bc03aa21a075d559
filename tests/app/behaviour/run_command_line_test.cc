// SPDX-License-Identifier: Apache-2.0
// `berth run` as users meet it without a cluster: its flags, kube-scheduler's flags, and what is
// said of what is wrong.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/app/run_command.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A server that nobody is behind.
std::string Kubeconfig(const std::string& user = "token: t") {
  return WriteTemporary("kubeconfig", absl::StrCat(R"(
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {)",
                                                   user, "}}]\n"));
}

constexpr char kOutsideAPod[] = "env -u KUBERNETES_SERVICE_HOST -u KUBERNETES_SERVICE_PORT ";

Outcome BerthRun(absl::string_view flags) {
  return RunShell(absl::StrCat(kOutsideAPod, "timeout 20 ", BerthCommand(), " run ", flags));
}

TEST(RunCommandLineTest, KubeSchedulersFlagsAreTaken) {
  const std::string written = WriteTemporary("written.yaml", "");
  // As kubeadm's manifest has them, and what people add.
  const Outcome outcome = BerthRun(absl::StrCat(
      "--authentication-kubeconfig=/etc/kubernetes/scheduler.conf "
      "--authorization-kubeconfig=/etc/kubernetes/scheduler.conf --bind-address=127.0.0.1 "
      "--kubeconfig=/etc/kubernetes/scheduler.conf --leader-elect=true --v=2 "
      "--leader-elect-lease-duration=1m --leader-elect-renew-deadline 40s "
      "--leader-elect-retry-period=5s --kube-api-qps=100 --kube-api-burst=200 --profiling=false "
      "--feature-gates=A=true,B=false --tls-min-version=VersionTLS13 "
      "--tls-sni-cert-key=a.crt,a.key --tls-sni-cert-key b.crt,b.key --logging-format=json "
      "--authorization-always-allow-paths=/healthz,/metrics --secure-port=10259 "
      "--requestheader-allowed-names=x --permit-port-sharing --write-config-to ",
      written));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("--profiling has no effect: "),
                                 HasSubstr("--feature-gates has no effect: "),
                                 HasSubstr("--requestheader-allowed-names has no effect: "),
                                 HasSubstr("--permit-port-sharing has no effect: "),
                                 HasSubstr("--tls-sni-cert-key has no effect: ")));
  EXPECT_THAT(ReadWhole(written),
              AllOf(HasSubstr("leaseDuration: \"1m\""), HasSubstr("renewDeadline: \"40s\""),
                    HasSubstr("qps: 100"), HasSubstr("kubeconfig: \"/etc/kubernetes")));
  EXPECT_EQ(RunBerth(absl::StrCat("validate ", written)).status, 0);
}

TEST(RunCommandLineTest, VerbosityIsReadAsKlogReadsIt) {
  const std::string written = WriteTemporary("v.yaml", "");
  for (const absl::string_view flag : {"-v=2", "-v 2", "--v=2", "--v 2", "-v2"}) {
    EXPECT_EQ(BerthRun(absl::StrCat(flag, " --write-config-to ", written)).status, 0) << flag;
  }
  const Outcome bad = BerthRun("-v=loud");
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("loud"));
}

TEST(RunCommandLineTest, SwitchesAreReadAsGoReadsThem) {
  const std::string written = WriteTemporary("switch.yaml", "");
  const auto leader_elect = [&](absl::string_view flag) {
    EXPECT_EQ(BerthRun(absl::StrCat(flag, " --write-config-to ", written)).status, 0) << flag;
    const std::string file = ReadWhole(written);
    const size_t found = file.find("leaderElect: ");
    return file.substr(found, file.find_first_of(",}\n", found) - found);
  };
  for (const absl::string_view on : {"", "=1", "=t", "=T", "=TRUE", "=True", "=true"}) {
    EXPECT_EQ(leader_elect(absl::StrCat("--leader-elect", on)), "leaderElect: true") << on;
  }
  for (const absl::string_view off : {"=0", "=f", "=F", "=FALSE", "=False", "=false"}) {
    EXPECT_EQ(leader_elect(absl::StrCat("--leader-elect", off)), "leaderElect: false") << off;
  }
  for (const absl::string_view flag :
       {"--leader-elect=maybe", "--leader-elect=2", "--leader-elect=yes", "--profiling=maybe",
        "--authentication-skip-lookup=-", "--leader-elect=99999999999999999999"}) {
    const Outcome outcome = BerthRun(flag);
    EXPECT_EQ(outcome.status, 2) << flag;
    EXPECT_THAT(outcome.err, HasSubstr("is neither true nor false")) << flag;
  }
}

TEST(RunCommandLineTest, VersionIsAFlagToo) {
  const Outcome outcome = BerthRun("--version");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, RunBerth("version").out);
}

TEST(RunCommandLineTest, AMistakeIsUsage) {
  struct Case {
    absl::string_view flags, said;
  };
  for (const Case& c : {
           Case{"--kubeconfg x", "did you mean \"--kubeconfig\"?"},
           Case{"--leader-elect-retry-period=fast", "fast is no duration"},
           Case{"--secure-port=99999", "99999"},
           Case{"--kube-api-qps=nan", "nan is no number"},
           Case{"--kube-api-qps=1e400", "1e400 is no number"},
           Case{"--tls-cert-file=a.crt", "--tls-private-key-file"},
           Case{"--tls-min-version=VersionTLS14", "VersionTLS14"},
           Case{"--logging-format=xml", "xml"},
           Case{"stray", "unexpected argument \"stray\""},
       }) {
    const Outcome outcome = BerthRun(c.flags);
    EXPECT_EQ(outcome.status, 2) << c.flags;
    EXPECT_THAT(outcome.err, HasSubstr(std::string(c.said))) << c.flags;
  }
}

TEST(RunCommandLineTest, HelpAndCompletionHaveTheFlagsThatDoSomething) {
  const Outcome help = BerthRun("--help");
  EXPECT_THAT(help.out, AllOf(HasSubstr("--leader-elect-lease-duration"),
                              HasSubstr("Leader election"), Not(HasSubstr("--feature-gates"))));
  const Outcome completed = RunBerth("__complete run --leader");
  EXPECT_THAT(completed.out, HasSubstr("--leader-elect-resource-name"));
  EXPECT_THAT(RunBerth("__complete run --feat").out, Not(HasSubstr("--feature-gates")));
}

TEST(RunCommandLineTest, WithoutAClusterASentenceSaysWhatToDo) {
  const std::string no_port = " --secure-port=0 --leader-elect=false";
  struct Case {
    std::string flags, said;
  };
  for (const Case& c : {
           Case{no_port, "Name a file with --kubeconfig"},
           Case{"--kubeconfig /no/such/file" + no_port, "/no/such/file"},
           Case{"--master https://a --kubeconfig /no/such/file" + no_port, "/no/such/file"},
           Case{"--master ftp://a" + no_port, "--master=ftp://a is neither https:// nor http://"},
           Case{"--kubeconfig " + WriteTemporary("broken", "kind: {") + no_port, "broken"},
           Case{"--kubeconfig " + WriteTemporary("empty-kubeconfig", "kind: Config\n") + no_port,
                "empty-kubeconfig"},
           Case{"--kubeconfig " + Kubeconfig() +
                    " --tls-cert-file /no.crt "
                    "--tls-private-key-file /no.key",
                "certificate /no.crt: No such file"},
           Case{"--kubeconfig " + Kubeconfig() + " --bind-address 300.1.2.3", "300.1.2.3"},
           Case{"--kubeconfig " + Kubeconfig() + " --authorization-kubeconfig /no/file",
                "/no/file"},
       }) {
    const Outcome outcome = BerthRun(c.flags);
    EXPECT_EQ(outcome.status, 1) << c.flags << outcome.err;
    EXPECT_THAT(outcome.err, AllOf(HasSubstr("\"Cannot run\" err="), HasSubstr(c.said))) << c.flags;
  }
}

TEST(RunCommandLineTest, APortThatIsTakenIsNamed) {
  const int taken = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(taken, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(taken, 1), 0);
  ASSERT_EQ(getsockname(taken, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = absl::StrCat(ntohs(address.sin_port));
  const Outcome outcome = BerthRun(absl::StrCat("--kubeconfig ", Kubeconfig(),
                                                " --bind-address 127.0.0.1 --secure-port ", port));
  close(taken);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr(port), HasSubstr("in use")));
}

// It keeps trying, and ends when it is told to.
TEST(RunCommandLineTest, AServerThatIsDownIsWaitedForAndNamed) {
  Process process({"/usr/bin/env", "-u", "KUBERNETES_SERVICE_HOST", BerthCommand(), "run",
                   "--kubeconfig", Kubeconfig(), "--secure-port=0"});
  ASSERT_TRUE(process.WaitUntilItCatchesInterrupts(true));
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (process.output().find("127.0.0.1") == std::string::npos && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(50));
  }
  EXPECT_THAT(process.output(), HasSubstr("127.0.0.1"));
  process.Interrupt();
  const int status = process.Wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << process.output();
  EXPECT_THAT(process.output(), HasSubstr("Requested to terminate"));
}

}  // namespace
}  // namespace berth
