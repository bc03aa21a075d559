// SPDX-License-Identifier: Apache-2.0
// The watches of a scheduler against a server: what is delivered and when it ends, and what is said
// of trouble.
#include "kubernetes/watch_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/mutex.h"
#include "tests/kubernetes/test_server.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Notes what comes, in words: "set Pod ns/a", "deleted Node n", "synced".
class Notes final : public WatchSink {
 public:
  void Deliver(std::vector<WatchEvent> events) override {
    MutexLock lock(mutex_);
    for (const WatchEvent& event : events) {
      said_.push_back(event.type == WatchEvent::Type::kSynced ? "synced"
                      : event.type == WatchEvent::Type::kSet
                          ? absl::StrCat("set ", event.object->ToString())
                          : absl::StrCat("deleted ", event.object->ToString()));
    }
    changed_.SignalAll();
  }
  void Add(absl::string_view text) {
    MutexLock lock(mutex_);
    said_.emplace_back(text);
    changed_.SignalAll();
  }
  // What has come, when it is that many or more.
  std::vector<std::string> Wait(size_t count) {
    MutexLock lock(mutex_);
    while (said_.size() < count) changed_.Wait(mutex_);
    return said_;
  }
  std::vector<std::string> now() { return Wait(0); }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<std::string> said_ ABSL_GUARDED_BY(mutex_);
};

std::string Event(const std::string& type, Kind kind, const std::string& name, int version) {
  return absl::StrCat(R"({"type":")", type, R"(","object":{"kind":")", KindName(kind),
                      R"(","metadata":{"name":")", name,
                      IsNamespaced(kind) ? R"(","namespace":"ns)" : "", R"(","uid":"u-)", name,
                      R"(","resourceVersion":")", version, "\"}}}\n");
}
std::string EndOfList(Kind kind, int version) {
  return absl::StrCat(R"({"type":"BOOKMARK","object":{"kind":")", KindName(kind),
                      R"(","metadata":{"resourceVersion":")", version,
                      R"(","annotations":{"k8s.io/initial-events-end":"true"}}}})", "\n");
}

void Forbid(TestAnswer& answer) {
  answer.Send(403, "application/json",
              R"({"kind":"Status","code":403,"reason":"Forbidden","message":"User x cannot"})");
}

bool IsFor(const TestRequest& request, absl::string_view plural) {
  return absl::StrContains(request.target, absl::StrCat("/", plural, "?"));
}

void WaitUntilGone(TestAnswer& answer) {
  while (!answer.IsGone()) absl::SleepFor(absl::Milliseconds(5));
}

// A client, its set and what they say.
struct Watcher {
  explicit Watcher(const TestServer& server)
      : client(
            [&] {
              Connection connection;
              connection.name = "test";
              connection.server = server.url();
              connection.insecure_skip_tls_verify = true;
              return connection;
            }(),
            [] {
              ApiClientOptions options;
              options.qps = 0;
              return options;
            }()),
        set(client, {.warn = [this](absl::string_view text) { warnings.Add(text); }}) {}

  Notes sink, warnings;
  ApiClient client;
  WatchSet set;
};

void DeliversWhatExistsThenSyncedThenChanges(TestServer::Options options) {
  std::atomic<bool> more = false;
  TestServer server(options, [&](const TestRequest& request, TestAnswer& answer) {
    answer.Start(200, "application/json");
    if (IsFor(request, "pods")) {
      answer.Write(Event("ADDED", Kind::kPod, "a", 3));
      answer.Write(EndOfList(Kind::kPod, 5));
    } else {
      answer.Write(Event("ADDED", Kind::kNode, "n", 4));
      answer.Write(EndOfList(Kind::kNode, 5));
      while (!more) absl::SleepFor(absl::Milliseconds(1));
      answer.Write(Event("DELETED", Kind::kNode, "n", 6));
    }
    WaitUntilGone(answer);
  });
  Watcher watcher(server);
  watcher.set.Start(watcher.sink, {Kind::kNode, Kind::kPod});
  std::vector<std::string> said = watcher.sink.Wait(3);
  EXPECT_EQ(said.back(), "synced");
  EXPECT_THAT(said, AllOf(Contains("set Pod ns/a"), Contains("set Node n")));
  more = true;
  EXPECT_EQ(watcher.sink.Wait(4).back(), "deleted Node n");
  watcher.set.Stop();
}

// One watch must not wait for another to end.
TEST(WatchSetTest, DeliversWhatExistsThenSyncedThenChanges) {
  const TestCertificates certificates = MakeTestCertificates("IP:127.0.0.1");
  DeliversWhatExistsThenSyncedThenChanges({});
  DeliversWhatExistsThenSyncedThenChanges({.certificates = &certificates});
  DeliversWhatExistsThenSyncedThenChanges({.certificates = &certificates, .http2 = true});
}

TEST(WatchSetTest, OfNoKindsIsSyncedAtOnce) {
  TestServer server([](const TestRequest&, TestAnswer& answer) { Forbid(answer); });
  Watcher watcher(server);
  watcher.set.Start(watcher.sink, {});
  EXPECT_THAT(watcher.sink.Wait(1), ElementsAre("synced"));
}

TEST(WatchSetTest, NothingComesAfterStop) {
  TestServer server([](const TestRequest&, TestAnswer& answer) {
    answer.Start(200, "application/json");
    answer.Write(EndOfList(Kind::kPod, 1));
    for (int i = 2; answer.Write(Event("ADDED", Kind::kPod, absl::StrCat("p", i), i)); ++i) {
    }
  });
  // The sink goes with the test's scope: ThreadSanitizer sees a delivery that comes later.
  for (int i = 0; i < 20; ++i) {
    Watcher watcher(server);
    auto sink = std::make_unique<Notes>();
    watcher.set.Start(*sink, {Kind::kPod});
    sink->Wait(static_cast<size_t>(i) * 10);
    watcher.set.Stop();
    sink.reset();
    // And it can be started again.
    watcher.set.Start(watcher.sink, {Kind::kPod});
    watcher.sink.Wait(1);
  }
}

TEST(WatchSetTest, SaysOnceWhatIsForbiddenAndSyncsWhenItIsAllowed) {
  std::atomic<bool> allowed = false;
  TestServer server([&](const TestRequest& request, TestAnswer& answer) {
    if (!allowed && !IsFor(request, "nodes")) return Forbid(answer);
    answer.Start(200, "application/json");
    answer.Write(EndOfList(IsFor(request, "nodes")  ? Kind::kNode
                           : IsFor(request, "pods") ? Kind::kPod
                                                    : Kind::kService,
                           5));
    WaitUntilGone(answer);
  });
  Watcher watcher(server);
  watcher.set.Start(watcher.sink, {Kind::kPod, Kind::kNode, Kind::kService});
  watcher.warnings.Wait(2);
  absl::SleepFor(absl::Seconds(2));  // it is asked for again, and again refused
  EXPECT_THAT(watcher.warnings.now(),
              ElementsAre(AllOf(HasSubstr("pods: may not be listed and watched"),
                                HasSubstr("resources: [\"pods\"], verbs: [\"list\", \"watch\"]"),
                                HasSubstr("User x cannot")),
                          HasSubstr("services: may not")));
  EXPECT_THAT(watcher.sink.now(), IsEmpty());
  allowed = true;
  EXPECT_THAT(watcher.sink.Wait(1), ElementsAre("synced"));
  EXPECT_THAT(watcher.warnings.Wait(3).at(2), HasSubstr("can be listed and watched again"));
}

TEST(WatchSetTest, AServerThatIsAwayIsSaidInOneLine) {
  TestServer server([](const TestRequest& request, TestAnswer& answer) {
    answer.Start(200, "application/json");
    answer.Write(EndOfList(IsFor(request, "nodes") ? Kind::kNode : Kind::kPod, 5));
    WaitUntilGone(answer);
  });
  server.Stop();
  Watcher watcher(server);
  watcher.set.Start(watcher.sink, {Kind::kPod, Kind::kNode});
  EXPECT_THAT(watcher.warnings.Wait(1),
              ElementsAre(AllOf(HasSubstr("pods, nodes: "), Not(HasSubstr(" ms: ")))));
  EXPECT_THAT(watcher.sink.now(), IsEmpty());
  server.Restart();
  EXPECT_THAT(watcher.sink.Wait(1), ElementsAre("synced"));
}

TEST(WatchSetTest, TheClientMayEndWhileItWatches) {
  TestServer server([](const TestRequest&, TestAnswer& answer) {
    answer.Start(200, "application/json");
    answer.Write(EndOfList(Kind::kPod, 1));
    WaitUntilGone(answer);
  });
  for (int i = 0; i < 5; ++i) {
    Watcher watcher(server);
    watcher.set.Start(watcher.sink, {Kind::kPod, Kind::kPodGroup});
    if (i > 0) watcher.sink.Wait(0);
  }
}

}  // namespace
}  // namespace berth
