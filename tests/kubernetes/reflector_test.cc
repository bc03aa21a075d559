// SPDX-License-Identifier: Apache-2.0
// A reflector against a model of an API server: whatever goes wrong on the way, what the sink sees
// is in order, and in the end it is what the server has.
#include "kubernetes/reflector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "kubernetes/api_error.h"
#include "kubernetes/envelope.h"
#include "kubernetes/resource.h"
#include "tests/kubernetes/model_server.h"

namespace berth::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Seen = ModelServer::Seen;

// A reflector and a server, with time that passes when they wait.
class Wire {
 public:
  Wire(Kind kind, uint64_t seed)
      : server(kind, seed), reflector(kind, {.seed = seed, .warn = [this](absl::string_view text) {
                                               warnings.emplace_back(text);
                                             }}) {}

  // The next thing that happens; false if nothing does, but time passes.
  bool Step() {
    if (!under_way_) {
      server.Begin(reflector.Next(now));
      under_way_ = true;
    }
    Seen seen = server.Next();
    switch (seen.what) {
      case Seen::What::kStart:
        Check(reflector.OnStart(seen.text));
        return true;
      case Seen::What::kBytes:
        if (!broken_.ok()) return true;
        Check(reflector.OnBytes(seen.text, events_));
        Take();
        return true;
      case Seen::What::kEnd: {
        last_wait = reflector.OnEnd(broken_.ok() ? seen.status : broken_, now, events_);
        EXPECT_GE(last_wait, absl::ZeroDuration());
        now += last_wait;
        broken_ = absl::OkStatus();
        under_way_ = false;
        Take();
        return true;
      }
      case Seen::What::kNothing:
        now += absl::Seconds(10);
        if (broken_.ok()) return false;
        // The client ends what the reflector will not have any more.
        server.CutNow();
        return true;
    }
    return false;
  }
  void Settle() {
    for (int i = 0; Step(); ++i) ASSERT_LT(i, 100'000) << "it never ends";
  }
  // Until the request that is under way, or the next one, has ended.
  void UntilEnd() {
    Step();
    while (under_way_) Step();
  }

  // What the sink has been told.
  ModelObjects View() const { return view_; }

  ModelServer server;
  std::vector<std::string> warnings;
  Reflector reflector;
  absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  absl::Duration last_wait;
  int sets = 0, deletions = 0;

 private:
  void Check(absl::Status status) {
    if (!status.ok()) broken_ = std::move(status);
  }

  // No event of an object is out of order.
  void Take() {
    for (const WatchEvent& event : std::exchange(events_, {})) {
      const Object& object = *event.object;
      const std::string name(object.name()), uid(object.uid());
      const auto known = view_.find(name);
      if (event.type == WatchEvent::Type::kDeleted) {
        ++deletions;
        ASSERT_TRUE(known != view_.end()) << name << " was not there";
        ASSERT_EQ(known->second.uid, uid);
        view_.erase(known);
        ended_.insert(uid);
        continue;
      }
      ++sets;
      const uint64_t version = VersionOf(object);
      ASSERT_FALSE(ended_.contains(uid)) << name << " had ended";
      if (known != view_.end()) {
        ASSERT_EQ(known->second.uid, uid) << name << " was replaced without an end";
        ASSERT_LT(known->second.version, version) << name;
      }
      view_[name] = {uid, version};
    }
  }

  static uint64_t VersionOf(const Object& object) {
    return VersionNumber(object.kind() == Kind::kPod
                             ? object.Share<api::Pod>()->metadata().resource_version()
                             : object.Share<api::PodGroup>()->metadata().resource_version());
  }

  bool under_way_ = false;
  absl::Status broken_;
  std::vector<WatchEvent> events_;
  ModelObjects view_;
  std::set<std::string> ended_;  // uids
};

TEST(ReflectorTest, ListsByAWatchThatGoesOnAsTheWatch) {
  Wire wire(Kind::kPod, 1);
  wire.server.Set("a");
  wire.server.Set("b");
  EXPECT_FALSE(wire.reflector.synced());
  wire.Settle();
  EXPECT_TRUE(wire.reflector.synced());
  wire.server.Set("a");
  wire.server.Delete("b");
  wire.Settle();
  EXPECT_EQ(wire.View(), wire.server.objects());
  EXPECT_EQ(wire.sets, 3);
  ASSERT_EQ(wire.server.targets.size(), 1);
  EXPECT_THAT(wire.server.targets[0],
              AllOf(HasSubstr("/api/v1/pods?watch=true&allowWatchBookmarks=true&timeoutSeconds="),
                    HasSubstr("&resourceVersion=&"), HasSubstr("&sendInitialEvents=true"),
                    HasSubstr("&resourceVersionMatch=NotOlderThan"),
                    HasSubstr("&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3D"
                              "Failed")));
}

TEST(ReflectorTest, ListsInPagesIfTheServerHasNoSuchWatch) {
  Wire wire(Kind::kPod, 1);
  wire.server.faults().streams = wire.server.faults().caches_lag = false;
  for (int i = 0; i < 7; ++i) wire.server.Set(absl::StrCat("p", i));
  wire.Settle();
  EXPECT_EQ(wire.View(), wire.server.objects());
  EXPECT_THAT(wire.server.targets,
              ElementsAre(HasSubstr("sendInitialEvents"), HasSubstr("?resourceVersion=0&limit=500"),
                          HasSubstr("?limit=500&continue=8_p2"), HasSubstr("continue=8_p5"),
                          AllOf(HasSubstr("watch=true"), HasSubstr("resourceVersion=8&"),
                                Not(HasSubstr("sendInitialEvents")))));
}

TEST(ReflectorTest, ListsAllAtOnceWhenAPageHasExpired) {
  Wire wire(Kind::kPod, 1);
  wire.server.faults().streams = wire.server.faults().caches_lag = false;
  for (int i = 0; i < 7; ++i) wire.server.Set(absl::StrCat("p", i));
  wire.UntilEnd();  // refused
  wire.UntilEnd();  // the first page
  EXPECT_EQ(wire.View().size(), 3);
  wire.server.Delete("p1");
  wire.server.faults().expired_page = 100;
  wire.Settle();
  EXPECT_EQ(wire.View(), wire.server.objects());
  EXPECT_EQ(wire.deletions, 1);
  EXPECT_THAT(wire.server.targets,
              Contains(AllOf(HasSubstr("?resourceVersion=4"), Not(HasSubstr("limit")))));
}

TEST(ReflectorTest, ResumesAWatchWhereItEnded) {
  Wire wire(Kind::kPod, 1);
  wire.server.Set("a");
  wire.Settle();
  wire.server.Set("b");
  wire.server.faults().end = 100;
  wire.UntilEnd();
  wire.server.faults().end = 0;
  wire.server.Delete("a");
  wire.Settle();
  EXPECT_EQ(wire.View(), wire.server.objects());
  EXPECT_THAT(wire.server.targets, ElementsAre(HasSubstr("sendInitialEvents"),
                                               AllOf(HasSubstr("resourceVersion=3"),
                                                     Not(HasSubstr("sendInitialEvents")))));
}

TEST(ReflectorTest, FindsWhatWasDeletedWhileTheHistoryWasCompacted) {
  Wire wire(Kind::kPod, 1);
  for (const char* const name : {"a", "b", "c", "d"}) wire.server.Set(name);
  wire.Settle();
  wire.server.faults().end = 100;
  wire.server.Set("a");
  wire.UntilEnd();
  wire.server.faults().end = 0;
  wire.server.Delete("a");
  wire.server.Delete("b");  // and created again
  wire.server.Set("b");
  wire.server.Set("c");
  wire.server.Compact();
  wire.Settle();
  EXPECT_EQ(wire.View(), wire.server.objects());
  EXPECT_EQ(wire.deletions, 2);
  EXPECT_EQ(wire.sets, 4 + 1 + 2) << "d has not changed, and is not told of again";
}

TEST(ReflectorTest, ListsAtOnceWhenAWatchHasExpiredButNotInALoop) {
  std::vector<WatchEvent> events;
  Wire wire(Kind::kPod, 1);
  wire.Settle();
  Reflector& reflector = wire.reflector;
  ApiError gone;
  gone.code = 410;
  EXPECT_EQ(reflector.OnEnd(gone.ToStatus(), wire.now, events), absl::ZeroDuration());
  EXPECT_THAT(reflector.Next(wire.now).target,
              AllOf(HasSubstr("sendInitialEvents"), HasSubstr("&resourceVersion=&")));
  EXPECT_GT(reflector.OnEnd(gone.ToStatus(), wire.now, events), absl::ZeroDuration());
}

TEST(ReflectorTest, AcceptsThatARestoredServerIsOlder) {
  Wire wire(Kind::kPod, 1);
  wire.server.Set("a");
  wire.Settle();
  const uint64_t before = wire.server.revision();
  wire.server.Set("a");
  wire.server.Set("b");
  wire.Settle();
  wire.server.Restore(before);
  // The sink's order is another's business here.
  std::vector<WatchEvent> events;
  Reflector& reflector = wire.reflector;
  EXPECT_EQ(reflector.OnEnd(absl::UnavailableError("cut"), wire.now, events), absl::ZeroDuration());
  EXPECT_THAT(reflector.Next(wire.now).target, HasSubstr("resourceVersion=4"));
  ApiError too_new;
  too_new.code = 504;
  too_new.message = "Too large resource version: 4, current: 2";
  EXPECT_EQ(reflector.OnEnd(too_new.ToStatus(), wire.now, events), absl::ZeroDuration());
  wire.server.Begin(reflector.Next(wire.now));
  for (Seen seen = wire.server.Next(); seen.what != Seen::What::kNothing;
       seen = wire.server.Next()) {
    const bool is_start = seen.what == Seen::What::kStart;
    ASSERT_TRUE(
        (is_start ? reflector.OnStart(seen.text) : reflector.OnBytes(seen.text, events)).ok());
  }
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[0].type, WatchEvent::Type::kSet);
  EXPECT_EQ(events[0].object->name(), "a");
  EXPECT_EQ(events[1].type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(events[1].object->name(), "b");
}

TEST(ReflectorTest, AnAbsentResourceIsEmptyUntilItIsInstalled) {
  Wire wire(Kind::kPodGroup, 1);
  wire.server.RemoveResource();
  wire.UntilEnd();
  EXPECT_TRUE(wire.reflector.synced());
  EXPECT_TRUE(wire.reflector.trouble().ok());
  EXPECT_LE(wire.last_wait, Reflector::kAskAgainForAbsent);
  EXPECT_GE(wire.last_wait, Reflector::kAskAgainForAbsent * 0.9);
  wire.server.InstallResource();
  wire.server.Set("g");
  wire.Settle();
  EXPECT_EQ(wire.View(), wire.server.objects());
  wire.server.RemoveResource();
  for (int i = 0; i < 10; ++i) wire.Step();
  EXPECT_THAT(wire.View(), IsEmpty());
}

TEST(ReflectorTest, SaysWhichRuleIsMissing) {
  std::vector<WatchEvent> events;
  Reflector reflector(Kind::kReplicaSet, {});
  reflector.Next(absl::UnixEpoch());
  ApiError forbidden;
  forbidden.code = 403;
  forbidden.reason = "Forbidden";
  forbidden.message = "User \"jane\" cannot watch";
  const absl::Duration wait = reflector.OnEnd(forbidden.ToStatus(), absl::UnixEpoch(), events);
  EXPECT_GE(wait, absl::Milliseconds(400));
  EXPECT_LE(wait, absl::Milliseconds(800));
  EXPECT_FALSE(reflector.synced());
  EXPECT_TRUE(absl::IsPermissionDenied(reflector.trouble()));
  EXPECT_THAT(std::string(reflector.trouble().message()),
              HasSubstr("{apiGroups: [\"apps\"], resources: [\"replicasets\"], verbs: [\"list\", "
                        "\"watch\"]}: User \"jane\" cannot watch"));
}

TEST(ReflectorTest, BuiltInKindsMustBeThere) {
  std::vector<WatchEvent> events;
  Reflector reflector(Kind::kNode, {});
  reflector.Next(absl::UnixEpoch());
  ApiError absent;
  absent.code = 404;
  reflector.OnEnd(absent.ToStatus(), absl::UnixEpoch(), events);
  EXPECT_FALSE(reflector.synced());
  EXPECT_FALSE(reflector.trouble().ok());
}

// Those that came with Kubernetes 1.34 need not be.
TEST(ReflectorTest, ResourceClaimsNeedNotBeThere) {
  std::vector<WatchEvent> events;
  Reflector reflector(Kind::kResourceClaim, {});
  reflector.Next(absl::UnixEpoch());
  ApiError absent;
  absent.code = 404;
  reflector.OnEnd(absent.ToStatus(), absl::UnixEpoch(), events);
  EXPECT_TRUE(reflector.synced());
  EXPECT_TRUE(reflector.trouble().ok());
}

// Asked for it again and again, the server would refuse for good.
TEST(ReflectorTest, AVersionThatTheServerCannotReadIsForgotten) {
  std::vector<WatchEvent> events;
  Reflector reflector(Kind::kPodGroup, {});
  absl::Time now = absl::UnixEpoch();
  reflector.Next(now);
  ASSERT_TRUE(reflector.OnStart("application/json").ok());
  ASSERT_TRUE(reflector
                  .OnBytes(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"odd",)"
                           R"("annotations":{"k8s.io/initial-events-end":"true"}}}})"
                           "\n",
                           events)
                  .ok());
  now += absl::Minutes(1) + reflector.OnEnd(absl::OkStatus(), now + absl::Minutes(1), events);
  EXPECT_THAT(reflector.Next(now).target, HasSubstr("resourceVersion=odd"));
  ApiError unreadable;
  unreadable.code = 400;
  reflector.OnEnd(unreadable.ToStatus(), now, events);
  EXPECT_THAT(reflector.Next(now).target, Not(HasSubstr("odd")));
}

TEST(ReflectorTest, AServerThatMakesPagesOfTheWholeListIsNotAskedInALoop) {
  std::vector<WatchEvent> events;
  Reflector reflector(Kind::kPodGroup, {});
  const absl::Time now = absl::UnixEpoch();
  const auto refuse = [&](int code) {
    ApiError error;
    error.code = code;
    reflector.Next(now);
    return reflector.OnEnd(error.ToStatus(), now, events);
  };
  refuse(415);  // no watch that begins with what exists
  int at_once = 0;
  for (int i = 0; i < 20; ++i) {
    reflector.Next(now);
    ASSERT_TRUE(reflector.OnStart("application/json").ok());
    ASSERT_TRUE(reflector.OnBytes(R"({"metadata":{"continue":"c"}})", events).ok());
    reflector.OnEnd(absl::OkStatus(), now, events);
    if (refuse(410) > absl::ZeroDuration()) break;
    ++at_once;
  }
  EXPECT_LE(at_once, 5);
}

TEST(ReflectorTest, BacksOffAndObeysRetryAfter) {
  std::vector<WatchEvent> events;
  Reflector reflector(Kind::kNode, {});
  absl::Time now = absl::UnixEpoch();
  const auto fail = [&](absl::Status status) {
    reflector.Next(now);
    const absl::Duration wait = reflector.OnEnd(status, now, events);
    now += wait;
    return wait;
  };
  const auto expect_waits = [&](int code, absl::Duration longest) {
    ApiError error;
    error.code = code;
    for (int i = 0; i < 8; ++i) fail(error.ToStatus());
    for (int i = 0; i < 20; ++i) {
      const absl::Duration wait = fail(error.ToStatus());
      EXPECT_GE(wait, longest / 2) << code;
      EXPECT_LE(wait, longest) << code;
    }
  };
  expect_waits(403, absl::Seconds(30));
  expect_waits(500, absl::Seconds(10));  // when it is over, work goes on soon
  // A server that is away is asked more often.
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(fail(absl::UnavailableError("no connection")), absl::Seconds(5));
  }
  ApiError busy;
  busy.code = 429;
  busy.retry_after = absl::Seconds(77);
  EXPECT_EQ(fail(busy.ToStatus()), absl::Seconds(77));
  now += absl::Minutes(3);  // of health
  ApiError failure;
  failure.code = 500;
  EXPECT_LE(fail(failure.ToStatus()), absl::Milliseconds(800));
  EXPECT_LE(fail(absl::UnavailableError("no connection")), absl::Milliseconds(800));
}

TEST(ReflectorTest, DoesNotAskInALoopWhereWatchesEndAtOnce) {
  std::vector<WatchEvent> events;
  Wire wire(Kind::kPod, 1);
  wire.Settle();
  Reflector& reflector = wire.reflector;
  reflector.OnEnd(absl::OkStatus(), wire.now, events);
  const absl::Time begin = wire.now;
  for (int i = 0; i < 100; ++i) {
    reflector.Next(wire.now);
    EXPECT_TRUE(reflector.OnStart(kJsonType).ok());
    wire.now += reflector.OnEnd(absl::OkStatus(), wire.now, events);
  }
  EXPECT_GT(wire.now - begin, absl::Minutes(20));
}

TEST(ReflectorTest, AnObjectThatCannotBeReadIsSaidOnceAndLeftOut) {
  Wire wire(Kind::kPodGroup, 1);
  Reflector& reflector = wire.reflector;
  std::vector<WatchEvent> events;
  const auto feed = [&](absl::string_view type, absl::string_view version,
                        absl::string_view members) {
    const absl::Status fed = reflector.OnBytes(
        absl::StrCat(R"({"type":")", type,
                     R"(","object":{"kind":"PodGroup","metadata":{"namespace":"ns","name":"g",)",
                     R"("uid":"u","resourceVersion":")", version, R"("},"spec":{"minMember":)",
                     members, "}}}\n"),
        events);
    ASSERT_TRUE(fed.ok()) << fed;
  };
  reflector.Next(wire.now);
  ASSERT_TRUE(reflector.OnStart(kJsonType).ok());
  feed("ADDED", "5", "\"many\"");
  feed("MODIFIED", "6", "[]");
  EXPECT_THAT(wire.warnings,
              ElementsAre(AllOf(HasSubstr("PodGroup ns/g is left out"), HasSubstr("minMember"))));
  EXPECT_THAT(events, IsEmpty());
  feed("MODIFIED", "7", "3");
  ASSERT_EQ(events.size(), 1);
  feed("MODIFIED", "8", "{}");  // it stays as it was
  EXPECT_EQ(wire.warnings.size(), 2);
  feed("DELETED", "9", "{}");
  ASSERT_EQ(events.size(), 2);
  EXPECT_EQ(events[1].type, WatchEvent::Type::kDeleted);
  EXPECT_EQ(events[1].object->As<api::PodGroup>().spec().min_member(), 3);
}

TEST(ReflectorTest, AnswersThatAreNoneAreTrouble) {
  std::vector<WatchEvent> events;
  Reflector reflector(Kind::kNode, {});
  for (const char* const type : {"text/html", "", "application/xml"}) {
    reflector.Next(absl::UnixEpoch());
    const absl::Status refused = reflector.OnStart(type);
    ASSERT_FALSE(refused.ok());
    EXPECT_GT(reflector.OnEnd(refused, absl::UnixEpoch(), events), absl::ZeroDuration());
    EXPECT_THAT(std::string(reflector.trouble().message()), HasSubstr("not application/"));
  }
}

// What chance brings, of a hundred requests each.
void RunWithFaults(Kind kind, uint64_t seed) {
  Wire wire(kind, seed);
  std::mt19937_64 random(seed ^ 0x726566);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  const auto some = [&](int at_most) { return static_cast<int>(below(at_most + 1)); };
  wire.server.faults() = {.refusal = some(20),
                          .no_connection = some(20),
                          .cut = some(30),
                          .end = some(30),
                          .error_event = some(10),
                          .duplicate = some(50),
                          .expired_page = some(50),
                          .wrong_type = some(5),
                          .streams = below(2) == 0,
                          .caches_lag = below(4) != 0};
  for (int i = 0; i < 2000; ++i) {
    switch (below(20)) {
      case 0:
      case 1:
      case 2:
      case 3:
        wire.server.Set(absl::StrCat("p", below(12)));
        break;
      case 4:
      case 5:
        wire.server.Delete(absl::StrCat("p", below(12)));
        break;
      case 6:
        if (below(4) == 0) wire.server.Compact();
        break;
      case 7:
        if (IsCustomResource(kind) && below(20) == 0) {
          wire.server.installed() ? wire.server.RemoveResource() : wire.server.InstallResource();
        }
        break;
      default:
        wire.Step();
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  wire.server.faults() = {.streams = below(2) == 0};
  wire.server.CutNow();
  if (wire.server.installed()) {
    for (int i = 0; i < 3; ++i) wire.Settle();
  } else {
    for (int i = 0; i < 10; ++i) wire.UntilEnd();
  }
  EXPECT_EQ(wire.View(), wire.server.objects());
  EXPECT_TRUE(wire.reflector.synced());
  EXPECT_TRUE(wire.reflector.trouble().ok()) << wire.reflector.trouble();
  EXPECT_EQ(wire.reflector.objects(), wire.server.objects().size());
}

TEST(ReflectorTest, WhateverGoesWrongTheSinkSeesWhatTheServerHas) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    for (const Kind kind : {Kind::kPod, Kind::kPodGroup}) {
      SCOPED_TRACE(absl::StrCat(KindName(kind), ", seed ", seed));
      RunWithFaults(kind, seed);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace berth::testing
