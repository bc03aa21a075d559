// SPDX-License-Identifier: Apache-2.0
// The client against a server: connections, deadlines, rates, retries, refusals, streams and the
// end.
#include "kubernetes/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <fstream>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/api_error.h"
#include "kubernetes/credentials.h"
#include "kubernetes/envelope.h"
#include "tests/kubernetes/temporary_folder.h"
#include "tests/kubernetes/test_server.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ApiClientOptions Unlimited() {
  ApiClientOptions options;
  options.qps = 0;
  return options;
}

Connection To(const TestServer& server) {
  Connection connection;
  connection.name = "test";
  connection.server = server.url();
  return connection;
}

// Something that comes from another thread.
template <class T>
class Later {
 public:
  void Set(T value) {
    MutexLock lock(mutex_);
    values_.push_back(std::move(value));
    changed_.SignalAll();
  }
  T Wait() {
    MutexLock lock(mutex_);
    while (values_.empty()) changed_.Wait(mutex_);
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::deque<T> values_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<ApiResponse> CallAndWait(ApiClient& client, ApiRequest request) {
  Later<absl::StatusOr<ApiResponse>> answer;
  client.Call(std::move(request),
              [&](absl::StatusOr<ApiResponse> response) { answer.Set(std::move(response)); });
  return answer.Wait();
}
absl::StatusOr<ApiResponse> Get(ApiClient& client, std::string target) {
  return CallAndWait(client, {.target = std::move(target)});
}

// Notes what comes: "start TYPE", "bytes TEXT", "end STATUS".
class Notes final : public StreamReceiver {
 public:
  void OnStart(absl::string_view content_type) override {
    said.Set(absl::StrCat("start ", content_type));
  }
  void OnBytes(absl::string_view bytes) override { said.Set(absl::StrCat("bytes ", bytes)); }
  void OnEnd(const absl::Status& status) override {
    said.Set(absl::StrCat("end ", status.ToString()));
  }
  Later<std::string> said;
};

TEST(ApiClientTest, SendsWhatIsAskedAndGetsTheAnswer) {
  Later<TestRequest> seen;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    seen.Set(request);
    answer.Send(201, "application/json", "{}");
  });
  Connection connection = To(server);
  connection.server += "/prefix";
  connection.token = "secret";
  connection.impersonate.user = "jane";
  connection.impersonate.groups = {"g"};
  connection.impersonate.extra = {{"acme.com/project", {"x"}}};
  ApiClient client(connection, Unlimited());
  const auto response = CallAndWait(client, {.method = "POST",
                                             .target = "/api/x?y=1",
                                             .accept = "a/b",
                                             .content_type = "c/d",
                                             .body = "text"});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->body, "{}");
  EXPECT_EQ(response->content_type, "application/json");
  const TestRequest request = seen.Wait();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/prefix/api/x?y=1");
  EXPECT_EQ(request.body, "text");
  EXPECT_EQ(request.headers.at("accept"), "a/b");
  EXPECT_EQ(request.headers.at("content-type"), "c/d");
  EXPECT_EQ(request.headers.at("authorization"), "Bearer secret");
  EXPECT_EQ(request.headers.at("impersonate-user"), "jane");
  EXPECT_EQ(request.headers.at("impersonate-group"), "g");
  EXPECT_EQ(request.headers.at("impersonate-extra-acme.com%2fproject"), "x");
}

TEST(ApiClientTest, ATokenCannotAddAHeader) {
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", ""); });
  Connection connection = To(server);
  connection.token = "x\r\nImpersonate-User: admin";
  ApiClient client(connection, Unlimited());
  const absl::Status status = Get(client, "/").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("the header Authorization"));
}

// Neither was what held a place among those under way given back, nor the next one let in.
TEST(ApiClientTest, WhatIsNotSentHoldsUpNothing) {
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", "pong"); });
  std::atomic<bool> leads = false;
  ApiClientOptions options = Unlimited();
  options.may_write = [&leads] { return leads.load(); };
  ApiClient client(To(server), options);
  Later<absl::Status> answers;
  for (int i = 0; i < 200; ++i) {
    client.Call({.method = "POST", .target = "/binding", .repeatable = Repeatable::kNo},
                [&](absl::StatusOr<ApiResponse> response) { answers.Set(response.status()); });
  }
  for (int i = 0; i < 200; ++i) {
    const absl::Status status = answers.Wait();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("was not sent"));
  }
  EXPECT_EQ(server.connections(), 0);
  const auto read = Get(client, "/x");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->body, "pong");
  leads = true;
  EXPECT_TRUE(CallAndWait(client, {.method = "POST", .target = "/binding"}).ok());
}

TEST(ApiClientTest, ManyRequestsShareAnHttp2Connection) {
  const TestCertificates certificates = MakeTestCertificates("IP:127.0.0.1");
  TestServer server({.certificates = &certificates, .http2 = true}, [](const TestRequest& request,
                                                                       TestAnswer& answer) {
    answer.Send(200, "text/plain", absl::StrCat(request.client_name, request.target));
  });
  Connection connection = To(server);
  connection.certificate_authority.data = certificates.authority_pem;
  connection.client_certificate.data = certificates.client_pem;
  connection.client_key.data = certificates.client_key_pem;
  ApiClient client(connection, Unlimited());
  Later<std::string> bodies;
  for (int i = 0; i < 200; ++i) {
    client.Call({.target = absl::StrCat("/", i)},
                [&bodies, i](absl::StatusOr<ApiResponse> response) {
                  bodies.Set(!response.ok() ? response.status().ToString()
                             : response->body == absl::StrCat("client/", i) ? "right"
                                                                            : response->body);
                });
  }
  for (int i = 0; i < 200; ++i) EXPECT_EQ(bodies.Wait(), "right");
  EXPECT_EQ(server.connections(), 1);
}

TEST(ApiClientTest, TrustsTheAuthorityAndTheNameItWasTold) {
  const TestCertificates certificates = MakeTestCertificates("DNS:kube.test");
  const TestCertificates others = MakeTestCertificates("DNS:kube.test");
  TestServer server({.certificates = &certificates, .http2 = true},
                    [](const TestRequest& request, TestAnswer& answer) {
                      answer.Send(200, "text/plain", request.headers.at("host"));
                    });
  const auto get = [&](const std::string& authority, const std::string& name, bool insecure) {
    Connection connection = To(server);
    connection.certificate_authority.data = authority;
    connection.tls_server_name = name;
    connection.insecure_skip_tls_verify = insecure;
    ApiClient client(connection, Unlimited());
    return CallAndWait(client, {.target = "/", .timeout = absl::Milliseconds(300)});
  };
  const auto right = get(certificates.authority_pem, "kube.test", false);
  ASSERT_TRUE(right.ok()) << right.status();
  EXPECT_EQ(right->body, absl::StrCat("127.0.0.1:", server.port()));
  EXPECT_FALSE(get(certificates.authority_pem, "", false).ok());     // another name
  EXPECT_FALSE(get(others.authority_pem, "kube.test", false).ok());  // another authority
  EXPECT_FALSE(get("", "kube.test", false).ok());                    // the system's
  EXPECT_TRUE(get("", "", true).ok());
}

TEST(ApiClientTest, ARefusalIsAnErrorWithReasonAndMessage) {
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    if (request.target == "/json") {
      answer.Send(
          404, "application/json",
          R"({"kind":"Status","code":404,"reason":"NotFound","message":"pods \"p\" not found"})");
    } else if (request.target == "/protobuf") {
      kubernetes_wire::Status status;
      status.set_reason("AlreadyExists");
      status.set_message("there");
      answer.Send(409, "application/vnd.kubernetes.protobuf",
                  Envelope("v1", "Status", status.SerializeAsString()));
    } else {
      answer.Send(403, "text/html", "<html>no</html>");
    }
  });
  ApiClient client(To(server), Unlimited());
  const absl::Status absent = Get(client, "/json").status();
  EXPECT_TRUE(absl::IsNotFound(absent)) << absent;
  EXPECT_EQ(absent.message(), "NotFound: pods \"p\" not found");
  const absl::Status conflict = Get(client, "/protobuf").status();
  EXPECT_TRUE(absl::IsAlreadyExists(conflict)) << conflict;
  const auto error = ApiError::Of(conflict);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, 409);
  EXPECT_EQ(error->reason, "AlreadyExists");
  EXPECT_EQ(error->message, "there");
  EXPECT_EQ(Get(client, "/html").status().message(), "HTTP 403: <html>no</html>");
  EXPECT_FALSE(ApiError::Of(absl::UnavailableError("x")).has_value());
}

TEST(ApiClientTest, RetriesWhatIsSafe) {
  std::atomic<int> tries = 0;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    const int nth = ++tries;
    if (nth > 2) {
      answer.Send(200, "text/plain", "done");
    } else if (absl::StartsWith(request.target, "/cut")) {
      answer.Cut();
    } else {
      answer.Send(std::stoi(request.target.substr(1)), "text/plain", "", {{"Retry-After", "0"}});
    }
  });
  const auto sent = [&](const std::string& target, Repeatable repeatable) {
    tries = 0;
    ApiClient client(To(server), Unlimited());
    const auto response = CallAndWait(
        client, {.method = "POST", .target = target, .body = "b", .repeatable = repeatable});
    return absl::StrCat(tries.load(),
                        response.ok() ? "" : absl::StatusCodeToString(response.status().code()));
  };
  EXPECT_EQ(sent("/429", Repeatable::kYes), "3");
  EXPECT_EQ(sent("/500", Repeatable::kYes), "3");
  EXPECT_EQ(sent("/cut", Repeatable::kYes), "3");
  EXPECT_EQ(sent("/429", Repeatable::kNo), "3");
  EXPECT_EQ(sent("/503", Repeatable::kNo), "3");
  EXPECT_EQ(sent("/500", Repeatable::kNo), "1UNAVAILABLE");
  EXPECT_EQ(sent("/504", Repeatable::kNo), "1UNAVAILABLE");
  EXPECT_EQ(sent("/cut", Repeatable::kNo), "1UNKNOWN");
  EXPECT_EQ(sent("/404", Repeatable::kYes), "1NOT_FOUND");
  EXPECT_EQ(sent("/409", Repeatable::kYes), "1ABORTED");
}

TEST(ApiClientTest, RetryAfterIsObeyed) {
  std::atomic<int> tries = 0;
  TestServer server([&](const TestRequest&, TestAnswer& answer) {
    answer.Send(++tries > 1 ? 200 : 429, "text/plain", "", {{"Retry-After", "1"}});
  });
  ApiClient client(To(server), Unlimited());
  const absl::Time start = MonotonicNow();
  EXPECT_TRUE(Get(client, "/").ok());
  EXPECT_GE(MonotonicNow() - start, absl::Seconds(1));
}

TEST(ApiClientTest, AServerThatIsNotThereWasSentNothing) {
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", "back"); });
  server.Stop();
  ApiClient client(To(server), Unlimited());
  const auto refused = CallAndWait(
      client,
      {.method = "POST", .repeatable = Repeatable::kNo, .timeout = absl::Milliseconds(300)});
  EXPECT_TRUE(absl::IsUnavailable(refused.status())) << refused.status();
  // It is tried again until it is there.
  Later<bool> ok;
  client.Call({.method = "POST", .repeatable = Repeatable::kNo},
              [&](absl::StatusOr<ApiResponse> response) { ok.Set(response.ok()); });
  absl::SleepFor(absl::Milliseconds(150));
  server.Restart();
  EXPECT_TRUE(ok.Wait());
}

// Though the handle of libcurl has sent something before.
TEST(ApiClientTest, AServerThatHasGoneWasSentNothing) {
  auto server = std::make_unique<TestServer>(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", ""); });
  ApiClient client(To(*server), Unlimited());
  const ApiRequest request = {.method = "POST",
                              .target = "/p",
                              .body = "text",
                              .repeatable = Repeatable::kNo,
                              .timeout = absl::Milliseconds(300)};
  ASSERT_TRUE(CallAndWait(client, request).ok());
  server.reset();
  const absl::Status status = CallAndWait(client, request).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;  // Unknown if it may have happened
}

TEST(ApiClientTest, EveryCallHasADeadline) {
  TestServer server([](const TestRequest& request, TestAnswer& answer) {
    if (request.target == "/half") answer.Send(200, "text/plain", "half");
    while (!answer.IsGone()) {
    }
  });
  ApiClient client(To(server), Unlimited());
  for (const std::string target : {"/silent", "/half"}) {
    const auto late = CallAndWait(client, {.target = target, .timeout = absl::Milliseconds(100)});
    EXPECT_TRUE(absl::IsDeadlineExceeded(late.status())) << late.status();
    EXPECT_THAT(std::string(late.status().message()), HasSubstr("it may have happened"));
  }
}

TEST(ApiClientTest, KeepsToTheRate) {
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", ""); });
  ApiClientOptions options;
  options.qps = 20;
  options.burst = 5;
  ApiClient client(To(server), options);
  Later<absl::Time> ended;
  const absl::Time start = MonotonicNow();
  for (int i = 0; i < 11; ++i) {
    client.Call({}, [&](absl::StatusOr<ApiResponse>) { ended.Set(MonotonicNow()); });
  }
  absl::Time last;
  for (int i = 0; i < 11; ++i) last = ended.Wait();
  EXPECT_GE(last - start, absl::Milliseconds(300));  // 6 beyond the burst, 50 ms each
}

TEST(ApiClientTest, WhatWaitsForTheRateIsSentWhenThatIsLifted) {
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", ""); });
  ApiClientOptions options;
  options.qps = 0.01;
  options.burst = 1;
  ApiClient client(To(server), options);
  Later<absl::Status> ended;
  for (int i = 0; i < 30; ++i) {
    client.Call({}, [&](const absl::StatusOr<ApiResponse>& got) { ended.Set(got.status()); });
  }
  EXPECT_TRUE(ended.Wait().ok());
  client.LiftRateLimit();
  for (int i = 1; i < 30; ++i) EXPECT_TRUE(ended.Wait().ok());
}

// One after the other on the same handle of libcurl.
TEST(ApiClientTest, NothingOfARequestIsLeftInTheNext) {
  Later<TestRequest> seen;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    seen.Set(request);
    answer.Send(request.target == "/refused" ? 404 : 200, "text/plain", "");
  });
  ApiClient client(To(server), Unlimited());
  const auto send = [&](ApiRequest request) {
    (void)CallAndWait(client, std::move(request));
    return seen.Wait();
  };
  const auto length_of = [](const TestRequest& request) {
    const auto found = request.headers.find("content-length");
    return found == request.headers.end() ? "" : found->second;
  };
  for (int i = 0; i < 3; ++i) {
    const TestRequest posted =
        send({.method = "POST", .target = "/p", .content_type = "c/d", .body = "text"});
    EXPECT_EQ(posted.method, "POST");
    EXPECT_EQ(posted.body, "text");
    EXPECT_EQ(length_of(posted), "4");
    const TestRequest got = send({.target = "/refused"});
    EXPECT_EQ(got.method, "GET");
    EXPECT_EQ(got.body, "");
    EXPECT_EQ(got.headers.count("content-type"), 0u);
    EXPECT_EQ(length_of(got), "");
    const TestRequest removed = send({.method = "DELETE", .target = "/d"});
    EXPECT_EQ(removed.method, "DELETE");
    EXPECT_EQ(length_of(removed), "");
    const TestRequest patched =
        send({.method = "PATCH", .target = "/q", .content_type = "e/f", .body = "more of it"});
    EXPECT_EQ(patched.method, "PATCH");
    EXPECT_EQ(patched.body, "more of it");
    const TestRequest empty = send({.method = "POST", .target = "/e"});
    EXPECT_EQ(empty.method, "POST");
    EXPECT_EQ(empty.body, "");
    EXPECT_EQ(length_of(empty), "0");
  }
}

// A crowd of calls was late together, and so was each that came after it: what had died unsent had
// taken the tokens of half a minute.
TEST(ApiClientTest, WhatWaitsForTheRateIsNotLate) {
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", ""); });
  ApiClientOptions options;
  options.qps = 200;
  options.burst = 1;
  ApiClient client(To(server), options);
  Later<absl::Status> ended;
  const absl::Time start = MonotonicNow();
  for (int i = 0; i < 200; ++i) {
    client.Call(
        {.method = "POST", .repeatable = Repeatable::kNo, .timeout = absl::Milliseconds(300)},
        [&](const absl::StatusOr<ApiResponse>& answer) { ended.Set(answer.status()); });
  }
  for (int i = 0; i < 200; ++i) {
    const absl::Status status = ended.Wait();
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_GE(MonotonicNow() - start, absl::Milliseconds(900));
}

TEST(ApiClientTest, WhatEndsInTheLineCostsNoToken) {
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", ""); });
  ApiClientOptions options;
  options.qps = 10;
  options.burst = 1;
  ApiClient client(To(server), options);
  std::vector<ApiClient::RequestId> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(client.Call({}, [](const absl::StatusOr<ApiResponse>&) {}));
  }
  for (const ApiClient::RequestId call : calls) client.Cancel(call);
  const absl::Time start = MonotonicNow();
  EXPECT_TRUE(Get(client, "/").ok());
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(5));
}

TEST(ApiClientTest, WhatPeopleReadWaitsForTheRestButNotForEver) {
  Later<std::string> seen;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    seen.Set(request.target);
    answer.Send(200, "text/plain", "");
  });
  ApiClientOptions options;
  options.qps = 100;
  options.burst = 1;
  ApiClient client(To(server), options);
  Later<bool> ended;
  const auto call = [&](const std::string& target, Priority priority) {
    client.Call({.target = target, .priority = priority},
                [&](const absl::StatusOr<ApiResponse>&) { ended.Set(true); });
  };
  for (int i = 0; i < 40; ++i) call("/low", Priority::kLow);
  for (int i = 0; i < 40; ++i) call("/usual", Priority::kUsual);
  for (int i = 0; i < 80; ++i) ended.Wait();
  int low = 0, usual = 0, low_before_the_last_usual = 0;
  for (int i = 0; i < 80; ++i) {
    if (seen.Wait() == "/low") {
      ++low;
    } else if (++usual == 40) {
      low_before_the_last_usual = low;
    }
  }
  EXPECT_EQ(low, 40);
  EXPECT_GE(low_before_the_last_usual, 5);   // one in eight
  EXPECT_LE(low_before_the_last_usual, 20);  // some may have come before the first usual one
}

// For a binding the difference is whether somebody must look what became of it.
TEST(ApiClientTest, WhatIsLateUnsentIsUnavailable) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);  // takes connections, and says nothing
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 8), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  Connection connection;
  connection.server = absl::StrCat("https://127.0.0.1:", ntohs(address.sin_port));
  ApiClient client(connection, Unlimited());
  const absl::Status status = CallAndWait(client, {.method = "POST",
                                                   .repeatable = Repeatable::kNo,
                                                   .timeout = absl::Milliseconds(200)})
                                  .status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("it was not sent"));
  close(listener);
}

// HTTP/2 ends the stream alone, and the next call took the same connection.
TEST(ApiClientTest, AConnectionThatHasGoneSilentIsNotUsedAgain) {
  const TestCertificates certificates = MakeTestCertificates("IP:127.0.0.1");
  TestServer server({.certificates = &certificates, .http2 = true},
                    [](const TestRequest& request, TestAnswer& answer) {
                      while (request.target == "/silent" && !answer.IsGone()) {
                      }
                      answer.Send(200, "text/plain", "");
                    });
  Connection connection = To(server);
  connection.certificate_authority.data = certificates.authority_pem;
  ApiClient client(connection, Unlimited());
  EXPECT_TRUE(Get(client, "/").ok());
  EXPECT_TRUE(Get(client, "/").ok());
  EXPECT_EQ(server.connections(), 1);
  absl::SleepFor(absl::Milliseconds(100));
  const absl::Status late =
      CallAndWait(client, {.target = "/silent", .timeout = absl::Milliseconds(200)}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_TRUE(Get(client, "/").ok());
  EXPECT_EQ(server.connections(), 2);
}

// As after a firewall has forgotten the connection: a watch hears nothing, and no call is under
// way.
TEST(ApiClientTest, AStreamOnADeadConnectionEnds) {
  const TestCertificates certificates = MakeTestCertificates("IP:127.0.0.1");
  std::atomic<bool> is_dead = false;
  std::atomic<int> asked = 0;
  TestServer server({.certificates = &certificates, .http2 = true},
                    [&](const TestRequest& request, TestAnswer& answer) {
                      if (request.target == "/version") ++asked;
                      while (request.target == "/version" && is_dead && !answer.IsGone()) {
                      }
                      answer.Send(200, "text/plain", "first");
                      while (request.target == "/watch" && !answer.IsGone()) {
                        absl::SleepFor(absl::Milliseconds(5));
                      }
                    });
  Connection connection = To(server);
  connection.certificate_authority.data = certificates.authority_pem;
  ApiClientOptions options = Unlimited();
  options.stream_silence = absl::Milliseconds(100);
  options.silence_timeout = absl::Milliseconds(500);
  ApiClient client(connection, options);
  auto notes = std::make_shared<Notes>();
  client.Stream({.target = "/watch"}, notes);
  EXPECT_EQ(notes->said.Wait(), "start text/plain");
  EXPECT_EQ(notes->said.Wait(), "bytes first");
  while (asked < 2) absl::SleepFor(absl::Milliseconds(10));  // it is silent, and lives
  EXPECT_EQ(server.connections(), 1);
  is_dead = true;
  EXPECT_THAT(notes->said.Wait(), HasSubstr("end UNAVAILABLE"));
  is_dead = false;
  EXPECT_TRUE(Get(client, "/").ok());
  EXPECT_EQ(server.connections(), 2);
}

// Seconds of a header or a body; a watch obeys them.
TEST(ApiErrorTest, RetryAfterIsNotForYears) {
  EXPECT_EQ(RetryAfter(0), std::nullopt);
  EXPECT_EQ(RetryAfter(-1), std::nullopt);
  EXPECT_EQ(RetryAfter(7), absl::Seconds(7));
  EXPECT_EQ(RetryAfter(2147483647), absl::Minutes(2));
  const std::string body =
      R"({"kind":"Status","code":429,"details":{"retryAfterSeconds":2147483647}})";
  EXPECT_EQ(ParseApiError(429, kJsonType, body).retry_after, absl::Minutes(2));
  kubernetes_wire::Status status;
  status.mutable_details()->set_retry_after_seconds(2147483647);
  EXPECT_EQ(ToApiError(status).retry_after, absl::Minutes(2));
}

TEST(ApiClientTest, AStopEndsWhatIsUnderWayAndWhatComes) {
  TestServer server([&](const TestRequest&, TestAnswer& answer) {
    while (!answer.IsGone()) {
    }
  });
  ApiClient client(To(server), Unlimited());
  Later<absl::StatusCode> code;
  client.Call(
      {}, [&](const absl::StatusOr<ApiResponse>& response) { code.Set(response.status().code()); });
  client.Stop();
  EXPECT_EQ(code.Wait(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(absl::IsCancelled(Get(client, "/").status()));
}

TEST(ApiClientTest, AStreamComesChunkByChunk) {
  Later<bool> go_on;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    if (request.target == "/no") {
      answer.Send(410, "application/json",
                  R"({"kind":"Status","reason":"Expired","message":"old","code":410})");
      return;
    }
    answer.Start(200, "text/plain");
    answer.Write("one");
    go_on.Wait();
    answer.Write("two");
    if (go_on.Wait()) answer.Cut();
  });
  ApiClient client(To(server), Unlimited());
  auto notes = std::make_shared<Notes>();
  client.Stream({.target = "/"}, notes);
  EXPECT_EQ(notes->said.Wait(), "start text/plain");
  EXPECT_EQ(notes->said.Wait(), "bytes one");
  go_on.Set(true);
  EXPECT_EQ(notes->said.Wait(), "bytes two");
  go_on.Set(false);
  EXPECT_EQ(notes->said.Wait(), "end OK");

  client.Stream({.target = "/no"}, notes);
  EXPECT_THAT(notes->said.Wait(), HasSubstr("Expired: old"));

  client.Stream({.target = "/"}, notes);
  for (int i = 0; i < 2; ++i) go_on.Set(true);
  std::string said;
  while (!absl::StartsWith(said = notes->said.Wait(), "end")) {
  }
  EXPECT_THAT(said, HasSubstr("UNAVAILABLE"));
}

TEST(ApiClientTest, CancelsCallsAndStreams) {
  std::atomic<int> gone = 0;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    if (request.target == "/stream") answer.Start(200, "text/plain");
    while (!answer.IsGone()) {
    }
    ++gone;
  });
  ApiClient client(To(server), Unlimited());
  auto notes = std::make_shared<Notes>();
  const ApiClient::RequestId stream = client.Stream({.target = "/stream"}, notes);
  EXPECT_EQ(notes->said.Wait(), "start text/plain");
  client.Cancel(stream);
  EXPECT_THAT(notes->said.Wait(), HasSubstr("CANCELLED"));
  Later<absl::StatusCode> code;
  const ApiClient::RequestId call = client.Call(
      {}, [&](absl::StatusOr<ApiResponse> response) { code.Set(response.status().code()); });
  client.Cancel(call);
  EXPECT_EQ(code.Wait(), absl::StatusCode::kCancelled);
  client.Cancel(call);
}

TEST(ApiClientTest, AStreamHasADeadlineForItsBeginningAndItsEnd) {
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    if (request.target == "/starts") answer.Start(200, "text/plain");
    while (!answer.IsGone()) {
    }
  });
  ApiClient client(To(server), Unlimited());
  auto notes = std::make_shared<Notes>();
  client.Stream({.target = "/silent", .timeout = absl::Milliseconds(50)}, notes);
  EXPECT_THAT(notes->said.Wait(), HasSubstr("DEADLINE_EXCEEDED"));
  client.Stream(
      {.target = "/starts", .timeout = absl::Seconds(10), .stream_timeout = absl::Milliseconds(50)},
      notes);
  EXPECT_EQ(notes->said.Wait(), "start text/plain");
  EXPECT_THAT(notes->said.Wait(), HasSubstr("DEADLINE_EXCEEDED"));
}

TEST(ApiClientTest, TheEndCancelsWhatIsUnderWay) {
  TestServer server([&](const TestRequest&, TestAnswer& answer) {
    while (!answer.IsGone()) {
    }
  });
  std::vector<absl::StatusCode> codes;
  auto notes = std::make_shared<Notes>();
  {
    ApiClient client(To(server), Unlimited());
    for (int i = 0; i < 3; ++i) {
      client.Call({}, [&](absl::StatusOr<ApiResponse> response) {
        codes.push_back(response.status().code());
      });
    }
    client.Stream({}, notes);
  }
  EXPECT_THAT(codes, ElementsAre(absl::StatusCode::kCancelled, absl::StatusCode::kCancelled,
                                 absl::StatusCode::kCancelled));
  EXPECT_THAT(notes->said.Wait(), HasSubstr("CANCELLED"));
}

TEST(ApiClientTest, ATokenThatTheServerRefusesIsReadAgain) {
  const TemporaryFolder folder;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    answer.Send(request.headers.at("authorization") == "Bearer new" ? 200 : 401, "text/plain", "");
  });
  Connection connection = To(server);
  connection.token_file = folder.Write("token", "old");
  ApiClient client(connection, Unlimited());
  EXPECT_TRUE(absl::IsUnauthenticated(Get(client, "/").status()));
  folder.Write("token", "new");
  EXPECT_TRUE(Get(client, "/").ok());
}

TEST(ApiClientTest, ACertificateThatHasExpiredIsNamed) {
  const TemporaryFolder folder;
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(401, "text/plain", ""); });
  const auto said_of = [&](absl::Duration life) {
    const TestCertificates made = MakeTestCertificates("IP:127.0.0.1", life);
    Connection connection = To(server);
    // Which are read again after each 401.
    connection.client_certificate.file = folder.Write("pem", made.client_pem);
    connection.client_key.file = folder.Write("key", made.client_key_pem);
    ApiClientOptions options = Unlimited();
    std::string said;
    options.warn = [&](absl::string_view text) { absl::StrAppend(&said, text, "\n"); };
    ApiClient client(connection, options);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(absl::IsUnauthenticated(Get(client, "/").status()));
    return said;
  };
  EXPECT_EQ(said_of(absl::Hours(1)), "");
  const absl::Time end = absl::Now() - absl::Minutes(30);
  const std::string said = said_of(-absl::Minutes(30));
  EXPECT_THAT(said, testing::StartsWith("test: the client certificate has expired, at 20"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  const absl::Time read =
      CertificateEnd(MakeTestCertificates("IP:127.0.0.1", -absl::Minutes(30)).client_pem);
  EXPECT_LT(absl::AbsDuration(read - end), absl::Minutes(1));
  EXPECT_EQ(CertificateEnd("-----BEGIN CERTIFICATE-----"), absl::InfiniteFuture());
}

TEST(ApiClientTest, ATokenFileThatVanishesLeavesTheTokenThatWas) {
  const TemporaryFolder folder;
  std::atomic<int> asked = 0;
  // The second request makes it look for another token.
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    answer.Send(++asked == 2 ? 401 : 200, "text/plain", request.headers.at("authorization"));
  });
  Connection connection = To(server);
  connection.token_file = folder.Write("token", "old");
  ApiClientOptions options = Unlimited();
  Later<std::string> warned;
  options.warn = [&](absl::string_view text) { warned.Set(std::string(text)); };
  ApiClient client(connection, options);
  ASSERT_TRUE(Get(client, "/").ok());
  ASSERT_EQ(unlink(connection.token_file.c_str()), 0);
  const absl::StatusOr<ApiResponse> after = Get(client, "/");
  ASSERT_TRUE(after.ok()) << after.status();
  EXPECT_EQ(after->body, "Bearer old");
  EXPECT_EQ(asked, 3);
  EXPECT_THAT(warned.Wait(), HasSubstr("/token: No such file"));
}

TEST(ApiClientTest, APluginIsRunOnceForManyRequestsAndAgainWhenItsTokenExpires) {
  const TemporaryFolder folder;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    answer.Send(200, "text/plain", request.headers.at("authorization"));
  });
  Connection connection = To(server);
  // Each run adds a line; what it prints has expired, so it counts for a second.
  connection.exec = ExecPlugin{
      .api_version = "client.authentication.k8s.io/v1",
      .command = folder.WriteProgram(
          "plugin",
          absl::StrCat(
              "echo >> ", folder.path(), "/runs\n", "runs=$(wc -l < ", folder.path(),
              "/runs)\n"
              "echo '{kind: ExecCredential, apiVersion: client.authentication.k8s.io/v1, "
              "status: {token: run'$runs', expirationTimestamp: \"2020-01-01T00:00:00Z\"}}'\n"))};
  ApiClient client(connection, Unlimited());
  Later<std::string> bodies;
  for (int i = 0; i < 5; ++i) {
    client.Call({}, [&](absl::StatusOr<ApiResponse> response) {
      bodies.Set(response.ok() ? response->body : response.status().ToString());
    });
  }
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bodies.Wait(), "Bearer run1");
  absl::SleepFor(absl::Seconds(1));
  EXPECT_EQ(Get(client, "/")->body, "Bearer run2");
}

TEST(ApiClientTest, WithoutCredentialsACallSaysWhy) {
  TestServer server(
      [](const TestRequest&, TestAnswer& answer) { answer.Send(200, "text/plain", ""); });
  Connection connection = To(server);
  connection.token_file = "/none/token";
  ApiClientOptions options = Unlimited();
  Later<std::string> warned;
  options.warn = [&](absl::string_view text) { warned.Set(std::string(text)); };
  ApiClient client(connection, options);
  EXPECT_THAT(std::string(Get(client, "/").status().message()),
              HasSubstr("/none/token: No such file"));
  EXPECT_THAT(warned.Wait(), HasSubstr("/none/token: No such file"));
}

TEST(ApiClientTest, APluginThatFailsIsNotRunInALoop) {
  const TemporaryFolder folder;
  TestServer server([](const TestRequest& request, TestAnswer& answer) {
    answer.Send(200, "text/plain", request.headers.at("authorization"));
  });
  Connection connection = To(server);
  const std::string runs = folder.path() + "/runs";
  // From the second run on it has a token, once that is allowed.
  connection.exec = ExecPlugin{
      .api_version = "client.authentication.k8s.io/v1",
      .command = folder.WriteProgram(
          "plugin", absl::StrCat("echo >> ", runs, "\n[ -e ", folder.path(), "/well ] || exit 1\n",
                                 "echo '{kind: ExecCredential, apiVersion: "
                                 "client.authentication.k8s.io/v1, status: {token: t}}'\n"))};
  ApiClientOptions options = Unlimited();
  std::atomic<int> warned = 0;
  options.warn = [&](absl::string_view) { ++warned; };
  ApiClient client(connection, options);
  for (int i = 0; i < 50; ++i) {
    EXPECT_THAT(std::string(Get(client, "/").status().message()), HasSubstr("exit code 1"));
  }
  const auto lines = [&] {
    std::ifstream file(runs);
    return std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n');
  };
  EXPECT_LE(lines(), 2);
  EXPECT_EQ(warned, 1);
  folder.Write("well", "");
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  absl::StatusOr<ApiResponse> answer = Get(client, "/");
  while (!answer.ok() && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(100));
    answer = Get(client, "/");
  }
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->body, "Bearer t");
  EXPECT_LE(lines(), 4);
}

TEST(ApiClientTest, GoesThroughAProxy) {
  TestServer proxy([](const TestRequest& request, TestAnswer& answer) {
    answer.Send(200, "text/plain", request.target);
  });
  Connection connection;
  connection.server = "http://kube.invalid:80";
  connection.proxy_url = proxy.url();
  ApiClient client(connection, Unlimited());
  const auto response = Get(client, "/x");
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->body, "http://kube.invalid/x");
}

}  // namespace
}  // namespace berth
