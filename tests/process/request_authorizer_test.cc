// SPDX-License-Identifier: Apache-2.0
// Who may see what: requests with every kind of credentials against an API server that knows some.
#include "process/request_authorizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "berth/mutex.h"
#include "process/secure_server.h"
#include "tests/kubernetes/temporary_folder.h"
#include "tests/kubernetes/test_server.h"
#include "tests/process/https_client.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

// Its tokens: "good" is the user prometheus, "poor" one who may nothing, "broken" cannot be
// reviewed. Of /metrics, prometheus and the certificate "client" may `get`.
class FakeApiServer {
 public:
  explicit FakeApiServer(std::string authority_pem)
      : authority_pem_(std::move(authority_pem)),
        server_(
            [this](const TestRequest& request, TestAnswer& answer) { Serve(request, answer); }) {}

  Connection connection() const { return {.name = "test", .server = server_.url()}; }
  int calls(const std::string& target) {
    MutexLock lock(mutex_);
    return calls_[target];
  }
  void SetAuthority(std::string pem) {
    MutexLock lock(mutex_);
    authority_pem_ = std::move(pem);
  }
  std::atomic<bool> refuses = false;
  std::atomic<bool> talks_nonsense = false;

 private:
  void Serve(const TestRequest& request, TestAnswer& answer) {
    std::string authority;
    {
      MutexLock lock(mutex_);
      ++calls_[request.target];
      authority = absl::StrReplaceAll(authority_pem_, {{"\n", "\\n"}});
    }
    const auto send = [&](absl::string_view body) {
      answer.Send(200, "application/json", talks_nonsense ? "{\"kind\":[[[" : body);
    };
    if (refuses) {
      answer.Send(403, "application/json",
                  R"({"kind":"Status","code":403,"reason":"Forbidden","message":"not you"})");
    } else if (absl::EndsWith(request.target, "/tokenreviews")) {
      const auto has = [&](const char* token) {
        return absl::StrContains(request.body, absl::StrCat("\"token\":\"", token, "\""));
      };
      const char* const user = has("good") ? "prometheus" : has("poor") ? "nobody" : nullptr;
      if (has("broken")) {
        send(R"({"kind":"TokenReview","status":{"error":"webhook is down"}})");
      } else if (user == nullptr) {
        send(R"({"kind":"TokenReview","status":{"user":{}}})");
      } else {
        send(absl::StrCat(R"({"kind":"TokenReview","status":{"authenticated":true,"user":)",
                          R"({"username":")", user, R"(","uid":"u","groups":["monitors"],)",
                          R"("extra":{"k":["v"]}}}})"));
      }
    } else if (absl::EndsWith(request.target, "/subjectaccessreviews")) {
      const bool known = absl::StrContains(request.body, R"("user":"prometheus","uid":"u",)"
                                                         R"("groups":["monitors",)"
                                                         R"("system:authenticated"],)"
                                                         R"("extra":{"k":["v"]})") ||
                         absl::StrContains(request.body, R"("user":"client")");
      const bool allowed =
          known && absl::StrContains(request.body, R"({"path":"/metrics","verb":"get"})");
      send(absl::StrCat(R"({"kind":"SubjectAccessReview","status":{"allowed":)",
                        allowed ? "true" : "false", allowed ? "" : R"(,"reason":"no rule")", "}}"));
    } else {
      send(absl::StrCat(R"({"kind":"ConfigMap","data":{"client-ca-file":")", authority, "\"}}"));
    }
  }

  Mutex mutex_;
  std::map<std::string, int> calls_ ABSL_GUARDED_BY(mutex_);
  std::string authority_pem_ ABSL_GUARDED_BY(mutex_);
  TestServer server_;
};

constexpr char kTokenTarget[] = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr char kAccessTarget[] = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

class RequestAuthorizerTest : public ::testing::Test {
 protected:
  RequestAuthorizerTest()
      : certificates_(MakeTestCertificates("IP:127.0.0.1")),
        others_(MakeTestCertificates("IP:127.0.0.1")),
        api_(certificates_.authority_pem),
        client_(api_.connection(), {.qps = 0}) {
    options_.authentication = &client_;
    options_.authorization = &client_;
    options_.timeout = absl::Seconds(2);
  }

  absl::Status Start() {
    absl::StatusOr<std::unique_ptr<RequestAuthorizer>> made = RequestAuthorizer::Create(options_);
    if (!made.ok()) return made.status();
    authorizer_ = *std::move(made);
    SecureServerOptions options;
    options.bind_address = "127.0.0.1";
    options.port = 0;
    Endpoints endpoints;
    for (const char* const path : {"/metrics", "/configz", "/healthz"}) {
      endpoints.Add(path, [](const ServerRequest&) { return ServerResponse{.body = "here"}; });
    }
    server_ = *SecureServer::Start(options, authorizer_->Check(), std::move(endpoints));
    return absl::OkStatus();
  }
  HttpsAnswer Ask(const std::string& path, const std::string& token = "",
                  const TestCertificates* certificates = nullptr,
                  const std::string& method = "GET") {
    HttpsCall call{.url = absl::StrCat("https://127.0.0.1:", server_->port(), path),
                   .method = method};
    if (!token.empty()) call.headers.push_back("Authorization: Bearer " + token);
    if (certificates != nullptr) {
      call.client_pem = certificates->client_pem;
      call.client_key_pem = certificates->client_key_pem;
    }
    return Fetch(call);
  }

  const TestCertificates certificates_, others_;
  FakeApiServer api_;
  ApiClient client_;
  RequestAuthorizerOptions options_;
  std::unique_ptr<RequestAuthorizer> authorizer_;
  std::unique_ptr<SecureServer> server_;
};

TEST_F(RequestAuthorizerTest, EveryKindOfCredentials) {
  ASSERT_TRUE(Start().ok());
  struct Case {
    std::string name, path, token;
    const TestCertificates* certificates;
    int code;
    std::string body;
    std::string method = "GET";
  };
  const std::string unauthorized =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
      R"("message":"Unauthorized","reason":"Unauthorized","code":401})"
      "\n";
  const auto forbidden = [](const std::string& user, const std::string& what) {
    return absl::StrCat(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)",
                        R"("message":"forbidden: User \")", user, R"(\" cannot )", what,
                        R"(: no rule","reason":"Forbidden","details":{},"code":403})", "\n");
  };
  const TestCertificates* const ours = &certificates_;
  const TestCertificates* const foreign = &others_;
  for (const Case& c : std::vector<Case>{
           {"health needs nobody", "/healthz", "", nullptr, 200, "here"},
           {"health does not bear a wrong token", "/healthz", "bad", nullptr, 401, unauthorized},
           {"anonymous", "/metrics", "", nullptr, 403,
            forbidden("system:anonymous", R"(get path \"/metrics\")")},
           {"good token", "/metrics", "good", nullptr, 200, "here"},
           {"good token, other path", "/configz", "good", nullptr, 403,
            forbidden("prometheus", R"(get path \"/configz\")")},
           {"good token, path that is not there", "/<x>", "good", nullptr, 403,
            forbidden("prometheus", R"(get path \"/&lt;x&gt;\")")},
           {"good token, other verb", "/metrics", "good", nullptr, 403,
            forbidden("prometheus", R"(delete path \"/metrics\")"), "DELETE"},
           {"poor token", "/metrics", "poor", nullptr, 403,
            forbidden("nobody", R"(get path \"/metrics\")")},
           {"wrong token", "/metrics", "bad", nullptr, 401, unauthorized},
           {"token that cannot be reviewed", "/metrics", "broken", nullptr, 401, unauthorized},
           {"our certificate", "/metrics", "", ours, 200, "here"},
           {"our certificate goes before the token", "/metrics", "bad", ours, 200, "here"},
           {"foreign certificate", "/metrics", "", foreign, 401, unauthorized},
           {"foreign certificate, good token", "/metrics", "good", foreign, 200, "here"},
       }) {
    const HttpsAnswer answer = Ask(c.path, c.token, c.certificates, c.method);
    EXPECT_EQ(answer.code, c.code) << c.name;
    EXPECT_EQ(answer.body, c.body) << c.name;
  }
}

TEST_F(RequestAuthorizerTest, ReviewsAreRememberedForAWhile) {
  options_.token_cache_life = absl::Seconds(3);
  options_.allowed_cache_life = absl::Seconds(3);
  options_.denied_cache_life = absl::Seconds(3);
  ASSERT_TRUE(Start().ok());
  const auto ask_all = [&] {
    EXPECT_EQ(Ask("/metrics", "good").code, 200);
    EXPECT_EQ(Ask("/configz", "good").code, 403);
    EXPECT_EQ(Ask("/metrics", "bad").code, 401);
  };
  ask_all();
  const int tokens = api_.calls(kTokenTarget), accesses = api_.calls(kAccessTarget);
  EXPECT_EQ(tokens, 2);
  EXPECT_EQ(accesses, 2);
  ask_all();
  EXPECT_EQ(api_.calls(kTokenTarget), tokens);
  EXPECT_EQ(api_.calls(kAccessTarget), accesses);
  absl::SleepFor(absl::Milliseconds(3100));
  ask_all();
  EXPECT_EQ(api_.calls(kTokenTarget), 2 * tokens);
  EXPECT_EQ(api_.calls(kAccessTarget), 2 * accesses);
}

TEST_F(RequestAuthorizerTest, AFailedReviewIsNeitherAnAnswerNorRemembered) {
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Ask("/configz", "good").code, 403);
  api_.talks_nonsense = true;
  const HttpsAnswer failed = Ask("/metrics", "good");
  EXPECT_EQ(failed.code, 500);
  EXPECT_EQ(failed.body,
            "Internal Server Error: \"/metrics\": the API server did not answer with a "
            "SubjectAccessReview\n");
  EXPECT_EQ(Ask("/metrics", "poor").code, 401);
  api_.talks_nonsense = false;
  EXPECT_EQ(Ask("/metrics", "good").code, 200);
  EXPECT_EQ(Ask("/metrics", "poor").code, 403);
}

TEST_F(RequestAuthorizerTest, WithoutAuthenticationEveryoneIsAnonymous) {
  options_.authentication = nullptr;
  std::vector<std::string> warnings;
  options_.warn = [&](absl::string_view text) { warnings.emplace_back(text); };
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(warnings.size(), 1);
  EXPECT_EQ(Ask("/healthz", "bad").code, 200);
  EXPECT_THAT(Ask("/metrics", "good", &certificates_).body, HasSubstr("system:anonymous"));
}

TEST_F(RequestAuthorizerTest, WithoutAuthorizationOnlyTheAlwaysAllowedPaths) {
  options_.authorization = nullptr;
  options_.always_allow_paths = {"health*"};
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Ask("/healthz").code, 200);
  EXPECT_EQ(Ask("/metrics", "good").code, 403);
}

TEST_F(RequestAuthorizerTest, FollowsTheClientAuthorityInTheCluster) {
  api_.refuses = true;
  std::atomic<int> warnings = 0;
  options_.warn = [&](absl::string_view text) {
    EXPECT_THAT(std::string(text), HasSubstr("extension-apiserver-authentication-reader"));
    ++warnings;
  };
  options_.lookup_interval = options_.failed_lookup_interval = absl::Milliseconds(50);
  ASSERT_TRUE(Start().ok());
  absl::SleepFor(absl::Milliseconds(150));
  EXPECT_EQ(warnings, 1);
  api_.refuses = false;
  const auto comes_to = [&](const TestCertificates& certificates, int code) {
    for (int tries = 0; tries < 100; ++tries) {
      if (Ask("/metrics", "", &certificates).code == code) return true;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return false;
  };
  EXPECT_TRUE(comes_to(certificates_, 200));
  api_.SetAuthority(others_.authority_pem);
  EXPECT_TRUE(comes_to(others_, 200));
  EXPECT_EQ(Ask("/metrics", "", &certificates_).code, 401);
}

TEST_F(RequestAuthorizerTest, ALookupThatFailsEndsTheStartIfItMayNot) {
  api_.refuses = true;
  options_.tolerate_lookup_failure = false;
  EXPECT_THAT(std::string(Start().message()), HasSubstr("not you"));
  options_.skip_lookup = true;
  EXPECT_TRUE(Start().ok());
}

TEST_F(RequestAuthorizerTest, TakesTheClientAuthorityFromAFile) {
  const TemporaryFolder folder;
  options_.client_ca_file = folder.Write("ca.crt", "no certificate");
  EXPECT_THAT(std::string(Start().message()), HasSubstr("ca.crt holds no certificate"));
  folder.Write("ca.crt", others_.authority_pem);
  ASSERT_TRUE(Start().ok());
  EXPECT_EQ(Ask("/metrics", "", &others_).code, 200);
  EXPECT_EQ(Ask("/metrics", "", &certificates_).code, 401);
  EXPECT_EQ(api_.calls("/api/v1/namespaces/kube-system/configmaps/"
                       "extension-apiserver-authentication"),
            0);
}

}  // namespace
}  // namespace berth
