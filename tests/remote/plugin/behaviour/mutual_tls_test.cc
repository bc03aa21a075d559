// SPDX-License-Identifier: Apache-2.0
// A remote plugin over TCP: both ends show a certificate, and what is wrong with one is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "absl/time/clock.h"
#include "tests/kubernetes/test_certificates.h"
#include "tests/remote/plugin/plugin_stage.h"

namespace berth::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The files of one end.
struct Files {
  std::string ca, cert, key;
};

class MutualTls : public ::testing::Test {
 protected:
  MutualTls()
      : good_(MakeTestCertificates("IP:127.0.0.1")),
        others_(MakeTestCertificates("IP:127.0.0.1")) {}
  ~MutualTls() override {
    for (const std::string& path : written_) unlink(path.c_str());
  }

  std::string Write(const std::string& text) {
    static int number = 0;
    written_.push_back(
        absl::StrCat(::testing::TempDir(), "berth-tls-", getpid(), "-", ++number, ".pem"));
    std::ofstream(written_.back()) << text;
    return written_.back();
  }
  Files ServerFiles(const TestCertificates& of, const std::string& authority) {
    return {Write(authority), Write(of.server_pem), Write(of.server_key_pem)};
  }
  Files ClientFiles(const TestCertificates& of, const std::string& authority) {
    return {Write(authority), Write(of.client_pem), Write(of.client_key_pem)};
  }

  static absl::StatusOr<std::unique_ptr<PluginServer>> Serve(const Files& files) {
    return PluginServer::Start({.registration = *RemoteRegistry().Find("NodeUnschedulable"),
                                .is_signed = true,
                                .signature = {"spec.tolerations"},
                                .depends_on = {"NodeUnschedulable"}},
                               {.address = "127.0.0.1:0",
                                .ca_file = files.ca,
                                .cert_file = files.cert,
                                .key_file = files.key});
  }

  // How many pods a scheduler binds that is such a client, or what is wrong with it.
  static absl::StatusOr<size_t> Schedule(const std::string& address, const Files& files,
                                         const std::string& more = "") {
    std::string tls;
    if (!files.ca.empty()) {
      tls = absl::StrCat("caFile: ", files.ca, ", certFile: ", files.cert, ", keyFile: ", files.key,
                         ", ");
    }
    auto simulation = Simulate(RemoteProfile(address, absl::StrCat(tls, more)),
                               {MakeNode().Name("n").Capacity("cpu", "8").Pods(20).Object(),
                                MakePod().Name("p").Request("cpu", "1").Object()});
    if (!simulation.ok()) return simulation.status();
    (*simulation)->RunUntilIdle();
    EXPECT_EQ((*simulation)->scheduler().PluginCounters()["Remote/failures"], 0);
    return (*simulation)->cluster().Bindings().size();
  }

  const TestCertificates good_, others_;
  std::vector<std::string> written_;
};

TEST_F(MutualTls, BothEndsHaveToBeTrusted) {
  const auto server = Serve(ServerFiles(good_, good_.authority_pem));
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string address = (*server)->address();
  const Files files = ClientFiles(good_, good_.authority_pem);
  const auto bound = Schedule(address, files, "deadline: 20s, startTimeout: 60s, ");
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(*bound, 1u);
  EXPECT_TRUE(DescribeRemotePlugin(address, files.ca, files.cert, files.key).ok());

  const auto trouble = [&](const Files& wrong) {
    const auto scheduled = Schedule(address, wrong, "startTimeout: 2s, ");
    EXPECT_FALSE(scheduled.ok());
    return std::string(scheduled.status().message());
  };
  // The scheduler trusts another authority.
  EXPECT_THAT(trouble(ClientFiles(good_, others_.authority_pem)),
              AllOf(HasSubstr("the remote plugin Remote at 127.0.0.1:"),
                    HasSubstr("the peer's certificate has expired, or was not signed by ")));
  // The process trusts another authority than the scheduler's.
  EXPECT_THAT(trouble(ClientFiles(others_, good_.authority_pem)),
              HasSubstr("is it signed by the authority that the peer trusts?"));
  // No certificate, and no TLS.
  EXPECT_THAT(trouble({}), HasSubstr("it may speak TLS: see caFile"));
}

TEST_F(MutualTls, CertificatesThatExpiredAreRefused) {
  const TestCertificates old = MakeTestCertificates("IP:127.0.0.1", -absl::Minutes(1));
  // One's own, at both ends.
  EXPECT_THAT(Serve(ServerFiles(old, good_.authority_pem)).status().message(),
              HasSubstr(": the certificate expired on "));
  const auto server = Serve(ServerFiles(good_, good_.authority_pem));
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_THAT(
      Schedule((*server)->address(), ClientFiles(old, good_.authority_pem), "startTimeout: 2s, ")
          .status()
          .message(),
      HasSubstr(": the certificate expired on "));
  // The peer's: it was good when the server began.
  const TestCertificates brief = MakeTestCertificates("IP:127.0.0.1", absl::Seconds(2));
  const auto aging = Serve(ServerFiles(brief, good_.authority_pem));
  ASSERT_TRUE(aging.ok()) << aging.status();
  absl::SleepFor(absl::Seconds(3));
  EXPECT_THAT(
      Schedule((*aging)->address(), ClientFiles(good_, brief.authority_pem), "startTimeout: 2s, ")
          .status()
          .message(),
      HasSubstr("the peer's certificate has expired, or was not signed by "));
}

TEST_F(MutualTls, AKeyThatIsNotTheCertificatesIsNamed) {
  Files files = ServerFiles(good_, good_.authority_pem);
  files.key = Write(others_.server_key_pem);
  EXPECT_THAT(Serve(files).status().message(), HasSubstr(" is not the key of "));
  files.key = Write("nothing");
  EXPECT_THAT(Serve(files).status().message(), HasSubstr(" has no private key in PEM form"));
  files.cert = files.key;
  EXPECT_THAT(Serve(files).status().message(), HasSubstr(" has no certificate in PEM form"));
}

TEST_F(MutualTls, TheNameHasToBeThatOfTheCertificate) {
  const TestCertificates named = MakeTestCertificates("DNS:plugin.test");
  const auto server = Serve(ServerFiles(named, named.authority_pem));
  ASSERT_TRUE(server.ok()) << server.status();
  const Files files = ClientFiles(named, named.authority_pem);
  EXPECT_THAT(Schedule((*server)->address(), files, "startTimeout: 2s, ").status().message(),
              HasSubstr("the peer's certificate is for another name: see serverName"));
  const auto bound = Schedule((*server)->address(), files,
                              "serverName: plugin.test, deadline: 20s, startTimeout: 60s, ");
  ASSERT_TRUE(bound.ok()) << bound.status();
  EXPECT_EQ(*bound, 1u);
}

}  // namespace
}  // namespace berth::testing
