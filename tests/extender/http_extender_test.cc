// SPDX-License-Identifier: Apache-2.0
// Extenders over HTTP: what they are sent, and every way in which an answer may be wrong.
#include "berth/http_extender.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "tests/kubernetes/test_certificates.h"
#include "tests/kubernetes/test_server.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::shared_ptr<const PodInfo> MakePod(const std::string& resource = "cpu") {
  return *PodInfo::Create(testing::MakePod()
                              .Name("p")
                              .Namespace("default")
                              .Uid("u-1")
                              .Request(resource, "1")
                              .Object()
                              .packed());
}

class HttpExtenderTest : public ::testing::Test {
 protected:
  HttpExtenderTest() {
    for (const char* name : {"a", "b"}) {
      auto message = std::make_shared<api::Node>(testing::MakeNode().Name(name).Message());
      nodes_.emplace_back(*NodeSpec::Create(message));
    }
    for (const NodeInfo& node : nodes_) pointers_.push_back(&node);
  }
  ~HttpExtenderTest() override { server_.reset(); }

  Extender Configuration() {
    return {.url_prefix = server_->url() + "/scheduler/",
            .filter_verb = "filter",
            .preempt_verb = "preempt",
            .prioritize_verb = "prioritize",
            .bind_verb = "bind",
            .weight = 2,
            .http_timeout = absl::Seconds(20),
            .node_cache_capable = true};
  }
  std::shared_ptr<SchedulerExtender> Make(const Extender& configuration) {
    const absl::StatusOr<ExtenderList> made = NewHttpExtenders({configuration});
    EXPECT_TRUE(made.ok()) << made.status();
    return made->front();
  }
  // Answers everything so.
  void Answer(std::string body, int code = 200) {
    Handle([=](const TestRequest&, TestAnswer& answer) {
      answer.Send(code, "application/json", body);
    });
  }
  void Handle(TestServer::Handler handler, TestServer::Options options = {}) {
    server_ = std::make_unique<TestServer>(
        options,
        [this, handler = std::move(handler)](const TestRequest& request, TestAnswer& answer) {
          {
            MutexLock lock(mutex_);
            last_ = request;
          }
          handler(request, answer);
        });
  }
  TestRequest last() {
    MutexLock lock(mutex_);
    return last_;
  }
  std::string FilterError(const Extender& configuration) {
    return std::string(Make(configuration)->Filter(*MakePod(), pointers_).status().message());
  }

  std::vector<NodeInfo> nodes_;
  std::vector<const NodeInfo*> pointers_;
  Mutex mutex_;
  TestRequest last_;
  std::unique_ptr<TestServer> server_;
};

TEST_F(HttpExtenderTest, FilterByNames) {
  Answer(R"({"nodenames": ["b"], "FailedNodes": {"a": "no"}, "what": [1]} and more)");
  const auto extender = Make(Configuration());
  const auto result = extender->Filter(*MakePod(), pointers_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(result->nodes, ElementsAre("b"));
  EXPECT_EQ(result->failed.at("a"), "no");
  const TestRequest request = last();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.target, "/scheduler/filter");
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  EXPECT_THAT(request.body, AllOf(StartsWith("{\"Pod\":{"), HasSubstr("\"uid\":\"u-1\""),
                                  HasSubstr(",\"Nodes\":null,\"NodeNames\":[\"a\",\"b\"]}")));
}

TEST_F(HttpExtenderTest, FilterByNodes) {
  Answer(R"({"Nodes": {"items": [{"metadata": {"name": "a"}}]}, "NodeNames": ["b"]})");
  Extender configuration = Configuration();
  configuration.node_cache_capable = false;
  const auto extender = Make(configuration);
  for (int i = 0; i < 2; ++i) {  // the second time from what is kept of the nodes
    const auto result = extender->Filter(*MakePod(), pointers_);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_THAT(result->nodes, ElementsAre("a"));
    EXPECT_THAT(last().body, AllOf(HasSubstr("\"Nodes\":{\"metadata\":{},\"items\":[{"),
                                   HasSubstr("\"name\":\"b\""), HasSubstr("\"NodeNames\":null}")));
  }
}

TEST_F(HttpExtenderTest, Prioritize) {
  Answer(R"([{"Host": "a", "Score": 7}, {"host": "b"}, null])");
  const auto extender = Make(Configuration());
  const auto wait = extender->Prioritize(*MakePod(), pointers_);
  const SchedulerExtender::Priorities priorities = wait();
  ASSERT_TRUE(priorities.ok()) << priorities.status();
  ASSERT_EQ(priorities->size(), 3u);
  EXPECT_EQ((*priorities)[0].score, 7);
  EXPECT_EQ((*priorities)[1].node, "b");
  extender->Prioritize(*MakePod(), pointers_);  // nobody waits
}

TEST_F(HttpExtenderTest, Preempt) {
  Answer(R"({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u-2"}], "NumPDBViolations": 1}}})");
  const auto victim = *PodInfo::Create(
      testing::MakePod().Name("v").Namespace("default").Uid("u-2").NodeName("a").Object().packed());
  const PreemptionCandidate candidate{
      .row = 0, .node = "a", .victims = {victim}, .pdb_violations = 1};
  const std::vector<const PreemptionCandidate*> candidates = {&candidate};
  Extender configuration = Configuration();
  auto answer = Make(configuration)->ProcessPreemption(*MakePod(), candidates);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->at("a").uids, ElementsAre("u-2"));
  EXPECT_EQ(answer->at("a").pdb_violations, 1);
  EXPECT_THAT(
      last().body,
      HasSubstr(R"("NodeNameToVictims":null,"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"u-2"}],)"
                R"("NumPDBViolations":1}}})"));
  configuration.node_cache_capable = false;
  ASSERT_TRUE(Make(configuration)->ProcessPreemption(*MakePod(), candidates).ok());
  EXPECT_THAT(last().body, AllOf(HasSubstr("\"NodeNameToVictims\":{\"a\":{\"Pods\":[{"),
                                 HasSubstr("\"NodeNameToMetaVictims\":null}")));
}

TEST_F(HttpExtenderTest, Bind) {
  Answer("{}");
  const auto extender = Make(Configuration());
  EXPECT_TRUE(extender->Bind(*MakePod(), "a").ok());
  EXPECT_EQ(last().body, R"({"PodName":"p","PodNamespace":"default","PodUID":"u-1","Node":"a"})");
  Answer(R"({"Error": "taken"})");
  EXPECT_THAT(std::string(Make(Configuration())->Bind(*MakePod(), "a").message()),
              AllOf(HasSubstr("failed bind with extender at URL "), HasSubstr(", taken")));
}

// Each is an error that names the extender, and none costs more than itself.
TEST_F(HttpExtenderTest, WrongAnswers) {
  for (const char* body :
       {"", "nonsense", "{", "[]", "3", "{\"NodeNames\": 3}", "{\"NodeNames\": [3]}",
        "{\"NodeNames\": [\"\xff\"]}", "{\"FailedNodes\": []}", "{\"FailedNodes\": {\"a\": 1}}",
        "{\"Error\": 1}", "{\"Error\": \"the extender says no\"}"}) {
    Answer(body);
    EXPECT_THAT(
        FilterError(Configuration()),
        AllOf(StartsWith("failed filter with extender at URL http"), HasSubstr("/filter, ")))
        << body;
  }
  Answer(std::string(1'000'000, '['));  // deep
  EXPECT_THAT(FilterError(Configuration()), HasSubstr("not JSON"));
  Answer("{}", 503);
  EXPECT_THAT(FilterError(Configuration()), HasSubstr("code 503"));
  for (const char* body :
       {"{}", "[3]", "[{\"Score\": 1.5}]", "[{\"Score\": 1e30}]", "[{\"Host\": 1}]"}) {
    Answer(body);
    EXPECT_FALSE(Make(Configuration())->Prioritize(*MakePod(), pointers_)().ok()) << body;
  }
  for (const char* body : {"[]", "{\"NodeNameToMetaVictims\": []}",
                           "{\"NodeNameToMetaVictims\": {\"a\": {\"Pods\": 1}}}",
                           "{\"NodeNameToMetaVictims\": {\"a\": {\"Pods\": [{\"UID\": 1}]}}}"}) {
    Answer(body);
    EXPECT_FALSE(Make(Configuration())->ProcessPreemption(*MakePod(), {}).ok()) << body;
  }
}

TEST_F(HttpExtenderTest, NothingIsNoNode) {
  for (const char* body : {"{}", "null", "{\"NodeNames\": null, \"Nodes\": {\"items\": null}}"}) {
    Answer(body);
    const auto result = Make(Configuration())->Filter(*MakePod(), pointers_);
    ASSERT_TRUE(result.ok()) << body << ": " << result.status();
    EXPECT_THAT(result->nodes, ::testing::IsEmpty());
  }
}

TEST_F(HttpExtenderTest, AnAnswerThatIsCutOffOrTooLarge) {
  Handle([](const TestRequest&, TestAnswer& answer) {
    answer.Start(200, "application/json");
    answer.Write("{\"NodeNames\": [");
    answer.Cut();
  });
  EXPECT_THAT(FilterError(Configuration()), StartsWith("failed filter with extender"));
  Handle([](const TestRequest&, TestAnswer& answer) {
    answer.Start(200, "application/json");
    const std::string spaces(1 << 20, ' ');
    while (answer.Write(spaces)) {
    }
  });
  EXPECT_THAT(FilterError(Configuration()), HasSubstr("the answer has more than"));
}

TEST_F(HttpExtenderTest, TheTimeoutIsForAllOfIt) {
  Handle([](const TestRequest&, TestAnswer& answer) {
    if (!answer.Start(200, "application/json")) return;
    while (!answer.IsGone() && answer.Write(" ")) {  // never silent, never done
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  Extender configuration = Configuration();
  configuration.http_timeout = absl::Milliseconds(200);
  const absl::Time begin = absl::Now();
  EXPECT_THAT(FilterError(configuration), HasSubstr("no complete answer within 200ms"));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(15));
}

TEST_F(HttpExtenderTest, NobodyListens) {
  Answer("{}");
  const Extender configuration = Configuration();
  server_->Stop();
  EXPECT_THAT(FilterError(configuration), StartsWith("failed filter with extender at URL http"));
}

TEST_F(HttpExtenderTest, ManagedResources) {
  Answer("{}");
  Extender configuration = Configuration();
  EXPECT_TRUE(Make(configuration)->IsInterested(*MakePod()));
  configuration.managed_resources = {{.name = "example.com/device"}};
  const auto extender = Make(configuration);
  EXPECT_FALSE(extender->IsInterested(*MakePod()));
  EXPECT_TRUE(extender->IsInterested(*MakePod("example.com/device")));
  const auto in_init = *PodInfo::Create(testing::MakePod()
                                            .Name("p")
                                            .InitContainer()
                                            .Limit("example.com/device", "0")
                                            .Object()
                                            .packed());
  EXPECT_TRUE(extender->IsInterested(*in_init));
}

TEST_F(HttpExtenderTest, IgnorableOnesComeLast) {
  Extender ignorable{.url_prefix = "http://1", .ignorable = true};
  const auto made = NewHttpExtenders({ignorable, {.url_prefix = "http://2"}});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)[0]->Name(), "http://2");
}

TEST_F(HttpExtenderTest, Tls) {
  const TestCertificates certificates = MakeTestCertificates("DNS:extender.test");
  Handle(
      [](const TestRequest&, TestAnswer& answer) {
        answer.Send(200, "application/json", "{\"NodeNames\":[\"a\"]}");
      },
      {.certificates = &certificates});
  Extender configuration = Configuration();
  EXPECT_FALSE(Make(configuration)->Filter(*MakePod(), pointers_).ok());  // nobody knows who it is
  configuration.enable_https = true;  // without roots: any server
  EXPECT_EQ(FilterError(configuration), "");
  configuration.tls_config = {.server_name = "extender.test",
                              .cert_data = certificates.client_pem,
                              .key_data = certificates.client_key_pem,
                              .ca_data = certificates.authority_pem};
  EXPECT_EQ(FilterError(configuration), "");
  EXPECT_EQ(last().client_name, "client");
  configuration.tls_config->server_name = "other.test";
  EXPECT_NE(FilterError(configuration), "");
}

TEST_F(HttpExtenderTest, WrongConfigurations) {
  const auto refusal = [](const Extender& extender) {
    return std::string(NewHttpExtenders({extender}).status().message());
  };
  EXPECT_THAT(refusal({.url_prefix = "extender.test"}),
              HasSubstr("extenders[0] (extender.test): "));
  EXPECT_THAT(
      refusal({.url_prefix = "https://x", .tls_config = ExtenderTlsConfig{.ca_file = "/no/such"}}),
      HasSubstr("/no/such cannot be read"));
  EXPECT_THAT(
      refusal({.url_prefix = "https://x", .tls_config = ExtenderTlsConfig{.cert_data = "c"}}),
      HasSubstr("one of certificate and key"));
  EXPECT_THAT(refusal({.url_prefix = "https://x",
                       .tls_config = ExtenderTlsConfig{.insecure = true, .ca_data = "c"}}),
              HasSubstr("insecure flag is not allowed"));
}

}  // namespace
}  // namespace berth
