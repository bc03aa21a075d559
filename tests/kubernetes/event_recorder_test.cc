// SPDX-License-Identifier: Apache-2.0
// Events: what is written, series, what is tried again, what is dropped.
#include "kubernetes/event_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "berth/api/time.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/envelope.h"
#include "tests/kubernetes/scripted_server.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kEvents = "/apis/events.k8s.io/v1/namespaces/default/events";
const std::string kPost = absl::StrCat("POST ", kEvents);

IdentityPtr Pod(const std::string& name) {
  return std::make_shared<const Identity>(Kind::kPod, "default", name, absl::StrCat(name, "-uid"));
}

RecordedEvent Failed(absl::string_view text = "no node") {
  return {.regarding = Pod("p"),
          .scheduler_name = Symbol::Intern("mine"),
          .warning = true,
          .reason = "FailedScheduling",
          .action = "Scheduling",
          .text = std::string(text)};
}

class EventRecorderTest : public ::testing::Test {
 protected:
  EventRecorderTest() {
    options_.content_type = kProtobufType;
    options_.host_name = "here";
    options_.retry_after = absl::Milliseconds(10);
    client_options_.qps = 0;
    client_options_.warn = [this](absl::string_view text) {
      MutexLock lock(mutex_);
      warnings_.emplace_back(text);
    };
  }
  EventRecorder& recorder() {
    if (recorder_ == nullptr) {
      recorder_ = std::make_unique<EventRecorder>(server_.connection(), client_options_, options_);
    }
    return *recorder_;
  }
  void Record(const RecordedEvent& event) {
    recorder().Record(event, {event.regarding, "7"}, {event.related, "8"});
  }
  void Flush() { recorder().Flush(absl::Seconds(10)); }
  // The event of the last creation.
  kubernetes_wire::Event Created() {
    kubernetes_wire::Event event;
    const absl::StatusOr<Enveloped> body = OpenEnvelope(server_.Last(kPost).body);
    EXPECT_TRUE(body.ok() && event.ParseFromString(body->raw)) << body.status();
    return event;
  }
  std::string PatchOf(const kubernetes_wire::Event& event) {
    return absl::StrCat("PATCH ", kEvents, "/", event.metadata().name());
  }
  size_t WarningCount() {
    MutexLock lock(mutex_);
    return warnings_.size();
  }

  Mutex mutex_;
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
  ScriptedServer server_;
  ApiClientOptions client_options_;
  EventRecorderOptions options_;
  std::unique_ptr<EventRecorder> recorder_;
};

TEST_F(EventRecorderTest, AnEventHasWhatKubeSchedulersHas) {
  server_.On(kPost, {{.code = 201}});
  RecordedEvent preempted{.regarding = Pod("p"),
                          .scheduler_name = Symbol::Intern("mine"),
                          .reason = "Preempted",
                          .action = "Preempting",
                          .text = "Preempted by pod q-uid on node n",
                          .related = Pod("q")};
  const absl::Time before = absl::Now() - absl::Microseconds(1);
  Record(preempted);
  Flush();
  EXPECT_EQ(OpenEnvelope(server_.Last(kPost).body)->api_version, "events.k8s.io/v1");
  const kubernetes_wire::Event event = Created();
  EXPECT_EQ(event.metadata().namespace_(), "default");
  const std::string& name = event.metadata().name();
  EXPECT_TRUE(absl::StartsWith(name, "p.")) << name;
  const absl::Time named =
      absl::FromUnixNanos(std::stoll(std::string(absl::StripPrefix(name, "p.")), nullptr, 16));
  EXPECT_GE(named, before);
  EXPECT_LE(named, absl::Now());
  EXPECT_EQ(ToTime(event.event_time()), absl::FromUnixMicros(absl::ToUnixMicros(named)));
  EXPECT_EQ(event.reporting_controller(), "mine");
  EXPECT_EQ(event.reporting_instance(), "mine-here");
  EXPECT_EQ(event.reason(), "Preempted");
  EXPECT_EQ(event.action(), "Preempting");
  EXPECT_EQ(event.type(), "Normal");
  EXPECT_EQ(event.note(), "Preempted by pod q-uid on node n");
  EXPECT_EQ(event.regarding().DebugString(),
            "kind: \"Pod\"\nnamespace: \"default\"\nname: \"p\"\nuid: \"p-uid\"\n"
            "api_version: \"v1\"\nresource_version: \"7\"\n");
  EXPECT_EQ(event.related().uid(), "q-uid");
  EXPECT_FALSE(event.has_series());
}

// The API server takes it in no other namespace.
TEST_F(EventRecorderTest, WhatHasNoNamespaceHasItsEventsInDefault) {
  server_.On(kPost, {{.code = 201}});
  RecordedEvent event = Failed();
  event.regarding = std::make_shared<const Identity>(Kind::kClusterQuota, "", "team", "team-uid");
  Record(event);
  Flush();
  EXPECT_EQ(Created().metadata().namespace_(), "default");
  EXPECT_EQ(Created().regarding().namespace_(), "");
  EXPECT_EQ(Created().regarding().kind(), "ClusterQuota");
  EXPECT_EQ(Created().regarding().api_version(), "scheduling.berth.dev/v1alpha1");
}

TEST_F(EventRecorderTest, TheSecondMakesASeriesAndTheRestIsCounted) {
  options_.finish_after = absl::Milliseconds(300);
  server_.On(kPost, {{.code = 201}});
  Record(Failed("no node"));
  Flush();
  const kubernetes_wire::Event event = Created();
  server_.On(PatchOf(event), {{}});
  Record(Failed("still no node"));
  Flush();
  const TestRequest patch = server_.Last(PatchOf(event));
  EXPECT_EQ(patch.headers.at("content-type"), "application/strategic-merge-patch+json");
  EXPECT_THAT(patch.body, HasSubstr(R"({"series":{"count":2,"lastObservedTime":"20)"));
  for (int i = 3; i <= 5; ++i) Record(Failed());
  Flush();
  EXPECT_THAT(server_.Asked(), SizeIs(2));
  // When it has not come for long, the count is written, and the next one is a new event.
  EXPECT_THAT(server_.WaitFor(3).body, HasSubstr(R"("count":5)"));
  absl::SleepFor(absl::Milliseconds(50));
  Record(Failed());
  Flush();
  EXPECT_EQ(server_.Asked().back(), kPost);
  EXPECT_NE(Created().metadata().name(), event.metadata().name());
}

TEST_F(EventRecorderTest, AnotherStateOfThePodIsAnotherEvent) {
  server_.On(kPost, {{.code = 201}});
  recorder().Record(Failed(), {Pod("p"), "7"}, {});
  recorder().Record(Failed(), {Pod("p"), "8"}, {});
  Flush();
  EXPECT_THAT(server_.Asked(), ::testing::ElementsAre(kPost, kPost));
}

TEST_F(EventRecorderTest, ALongSeriesIsWrittenNowAndThen) {
  options_.refresh_every = absl::Milliseconds(100);
  server_.On(kPost, {{.code = 201}});
  Record(Failed());
  Flush();
  server_.On(PatchOf(Created()), {{}});
  Record(Failed());
  Record(Failed());
  EXPECT_THAT(server_.WaitFor(2).body, HasSubstr(R"("count":2)"));
  EXPECT_THAT(server_.WaitFor(3).body, HasSubstr(R"("count":3)"));
}

TEST_F(EventRecorderTest, ASeriesOfAnEventThatTheServerHasForgottenIsCreated) {
  server_.On(kPost, {{.code = 201}});
  Record(Failed());
  Flush();
  const std::string name = Created().metadata().name();
  Record(Failed());  // PATCH is not found
  Flush();
  EXPECT_THAT(server_.Asked(), SizeIs(3));
  EXPECT_EQ(Created().metadata().name(), name);
  EXPECT_EQ(Created().series().count(), 2);
}

TEST_F(EventRecorderTest, ALostAnswerIsTriedAgainAndARefusalIsNot) {
  client_options_.seed = 1;
  server_.On(kPost, {{.cut = true}, Refusal(409, "AlreadyExists")});
  Record(Failed());
  Flush();
  EXPECT_EQ(server_.Asked().size(), 2U);
  server_.On(kPost, {Refusal(403, "Forbidden", "the namespace is being terminated")});
  RecordedEvent other = Failed();
  other.reason = "Other";
  Record(other);
  Flush();
  EXPECT_EQ(server_.Asked().size(), 3U);
  EXPECT_EQ(WarningCount(), 0U);
}

TEST_F(EventRecorderTest, RecordingNeverWaitsAndDropsWhatIsTooMuch) {
  options_.max_queued = 3;
  options_.max_under_way = 1;
  server_.On(kPost, {{.code = 201, .held = true}});
  for (int i = 0; i < 10; ++i) {
    RecordedEvent event = Failed();
    event.regarding = Pod(absl::StrCat("p", i));
    Record(event);
  }
  EXPECT_EQ(recorder().dropped(), 7);
  EXPECT_EQ(WarningCount(), 1U);
  server_.Release();
  Flush();
  EXPECT_THAT(server_.Asked(), SizeIs(3));
}

TEST_F(EventRecorderTest, TheEndDoesNotWaitForAServerThatHangs) {
  server_.On(kPost, {{.code = 201, .held = true}});
  Record(Failed());
  server_.WaitFor(1);
  const absl::Time before = absl::Now();
  recorder().Flush(absl::Milliseconds(50));
  recorder_ = nullptr;
  EXPECT_LT(absl::Now() - before, absl::Seconds(5));
}

}  // namespace
}  // namespace berth
