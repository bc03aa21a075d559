// SPDX-License-Identifier: Apache-2.0
#include "serve/hosted_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "berth/api/core_v1.pb.h"
#include "serve/cluster_set.h"
#include "serve_stage.h"

namespace berth {
namespace {

using testing::Changes;
using testing::Gone;
using ::testing::HasSubstr;
using testing::Hello;
using testing::Json;
using testing::NodeJson;
using testing::PodJson;

// A client without a socket: it reads when the test lets it.
class Client final : public ClusterClient {
 public:
  void OnReady() override {
    MutexLock lock(mutex_);
    ready_ = true;
    changed_.SignalAll();
  }
  void OnEnd(absl::Status why) override {
    MutexLock lock(mutex_);
    end_ = std::move(why);
    changed_.SignalAll();
  }
  std::optional<absl::Status> end() {
    MutexLock lock(mutex_);
    return end_;
  }
  // Until something may have happened, for some time at most.
  void Wait() {
    MutexLock lock(mutex_);
    if (!ready_ && !end_.has_value()) changed_.WaitFor(mutex_, absl::Milliseconds(20));
    ready_ = false;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  bool ready_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
};

// What one client sees of a cluster.
struct Seen {
  explicit Seen(HostedCluster& hosted) : cluster(hosted), client(std::make_shared<Client>()) {}

  void Read() {
    while (const HostedCluster::Message message = cluster.Next(*client)) {
      if (message->has_applied()) applied[message->applied().sequence()] = message->applied();
      most_events = std::max(most_events, message->events().events_size());
      for (const v1::SchedulerEvent& event : message->events().events()) {
        revision = event.revision();
        if (event.has_placement()) {
          placements[event.placement().pod().name()] = event.placement().node();
          ++told[event.placement().pod().name()];
        }
        if (event.has_eviction()) evicted.insert(event.eviction().pod().name());
        if (event.has_condition()) {
          conditions[event.condition().pod().name()] = event.condition().message();
        }
        if (event.has_written()) written[event.written().name()] = event.written().json();
      }
      cluster.Told(*client, *message);
    }
  }
  ::testing::AssertionResult Until(const std::function<bool()>& done) {
    for (const absl::Time end = absl::Now() + absl::Seconds(60); absl::Now() < end;) {
      Read();
      if (done()) return ::testing::AssertionSuccess();
      client->Wait();
    }
    return ::testing::AssertionFailure() << "nothing came for a minute";
  }

  HostedCluster& cluster;
  std::shared_ptr<Client> client;
  std::map<uint64_t, v1::Applied> applied;
  std::map<std::string, std::string> placements, conditions;
  std::map<std::string, std::string> written;  // JSON by the object's name
  std::map<std::string, int> told;
  std::set<std::string> evicted;
  uint64_t revision = 0;
  int most_events = 0;
};

TEST(HostedClusterTest, NothingIsPlacedBeforeEverythingIsKnown) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  Seen seen(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), seen.client).ok());
  ASSERT_TRUE(
      cluster.Submit(*seen.client, Changes(1, {Json(PodJson("p", 1)), Json(NodeJson("n1", 1))}))
          .ok());
  ASSERT_TRUE(seen.Until([&] { return seen.applied.contains(1); }));
  absl::SleepFor(absl::Milliseconds(20));
  seen.Read();
  EXPECT_TRUE(seen.placements.empty());
  ASSERT_TRUE(cluster.Submit(*seen.client, Changes(2, {}, true)).ok());
  EXPECT_TRUE(seen.Until([&] { return seen.placements["p"] == "n1"; }));
}

TEST(HostedClusterTest, PlacesEvictsAndSaysWhyNot) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  Seen seen(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), seen.client).ok());
  ASSERT_TRUE(cluster
                  .Submit(*seen.client, Changes(1,
                                                {Json(NodeJson("n1", 2)), Json(PodJson("small", 2)),
                                                 Json(PodJson("large", 9))},
                                                true))
                  .ok());
  ASSERT_TRUE(seen.Until(
      [&] { return seen.placements.contains("small") && seen.conditions.contains("large"); }));
  EXPECT_THAT(seen.conditions["large"], HasSubstr("0/1 nodes are available: 1 Insufficient cpu"));
  ASSERT_TRUE(
      cluster.Submit(*seen.client, Changes(2, {Json(PodJson("urgent", 2, "\"priority\":9,"))}))
          .ok());
  ASSERT_TRUE(seen.Until([&] { return seen.evicted.contains("small"); }));
  // It keeps its place until it is gone, even if the client sends it as it was.
  ASSERT_TRUE(
      cluster.Submit(*seen.client, Changes(3, {Json(PodJson("small", 2), v1::Change::MODIFIED)}))
          .ok());
  ASSERT_TRUE(seen.Until([&] { return seen.applied.contains(3); }));
  EXPECT_FALSE(seen.placements.contains("urgent"));
  ASSERT_TRUE(cluster.Submit(*seen.client, Changes(4, {Gone("Pod", "small")})).ok());
  EXPECT_TRUE(seen.Until([&] { return seen.placements["urgent"] == "n1"; }));
}

TEST(HostedClusterTest, AGangIsPlacedWhole) {
  const ClusterServerOptions options = testing::ServeOptions(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: '*'}]}
)");
  HostedCluster cluster(options, "i");
  Seen seen(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), seen.client).ok());
  const std::string member = R"("labels":{"scheduling.x-k8s.io/pod-group":"g"},)";
  ASSERT_TRUE(
      cluster
          .Submit(*seen.client,
                  Changes(1,
                          {Json(NodeJson("n1", 1)),
                           Json(R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup",
                                    "metadata":{"name":"g"},"spec":{"minMember":2}})"),
                           Json(PodJson("a", 1, "", member)), Json(PodJson("b", 1, "", member))},
                          true))
          .ok());
  ASSERT_TRUE(seen.Until([&] { return seen.conditions.contains("b"); }));
  EXPECT_TRUE(seen.placements.empty());
  ASSERT_TRUE(cluster.Submit(*seen.client, Changes(2, {Json(NodeJson("n2", 1))})).ok());
  EXPECT_TRUE(seen.Until([&] { return seen.placements.size() == 2; }));
}

// --- Claims ---

// Two devices of the node n1, and claims a, b and c for one of them each, without one.
std::vector<v1::Change> TwoDevices() {
  std::vector<v1::Change> changes = {
      Json(NodeJson("n1", 8)),
      Json(
          R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"any"},"spec":{}})"),
      Json(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},
               "spec":{"driver":"d","nodeName":"n1","pool":{"name":"n1","generation":1,
               "resourceSliceCount":1},"devices":[{"name":"x0"},{"name":"x1"}]}})")};
  return changes;
}
v1::Change Claim(const std::string& name, const std::string& status = "",
                 v1::Change::Type type = v1::Change::ADDED) {
  return Json(absl::StrCat(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
                               "metadata":{"name":")",
                           name, R"("},"spec":{"devices":{"requests":[
                               {"name":"r","exactly":{"deviceClassName":"any"}}]}})",
                           status, "}"),
              type);
}
v1::Change PodWith(const std::string& claim, const std::string& name = "") {
  return Json(PodJson(
      name.empty() ? "p-" + claim : name, 1,
      absl::StrCat(R"("resourceClaims":[{"name":"gpu","resourceClaimName":")", claim, R"("}],)")));
}
// "x0" or "x1", or "".
std::string DeviceIn(const std::string& json) {
  for (const char* name : {"x0", "x1"}) {
    if (absl::StrContains(json, absl::StrCat("\"device\":\"", name, "\""))) return name;
  }
  return "";
}

TEST(HostedClusterTest, ClaimsGetDevicesThatNobodyElseHas) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  Seen seen(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), seen.client).ok());
  std::vector<v1::Change> changes = TwoDevices();
  for (const char* claim : {"a", "b", "c"}) changes.push_back(Claim(claim));
  for (const char* claim : {"a", "b", "c"}) changes.push_back(PodWith(claim));
  changes.push_back(PodWith("a", "second"));  // shares the claim
  ASSERT_TRUE(cluster.Submit(*seen.client, Changes(1, std::move(changes), true)).ok());
  ASSERT_TRUE(
      seen.Until([&] { return seen.placements.size() == 3 && seen.conditions.contains("p-c"); }));
  EXPECT_TRUE(seen.placements.contains("p-a") && seen.placements.contains("p-b") &&
              seen.placements.contains("second"));
  EXPECT_EQ(DeviceIn(seen.written["a"]), "x0");
  EXPECT_EQ(DeviceIn(seen.written["b"]), "x1");
  EXPECT_THAT(seen.written["a"], HasSubstr("\"name\":\"second\""));  // reserved for both
  EXPECT_THAT(seen.conditions["p-c"], HasSubstr("cannot allocate all claims"));

  // Who sends a claim as it was before takes nothing away from the pods that have it.
  ASSERT_TRUE(cluster
                  .Submit(*seen.client, Changes(2, {Claim("a", "", v1::Change::MODIFIED),
                                                    Claim("b", "", v1::Change::MODIFIED)}))
                  .ok());
  ASSERT_TRUE(seen.Until([&] { return seen.applied.contains(2); }));
  absl::SleepFor(absl::Milliseconds(50));
  seen.Read();
  EXPECT_FALSE(seen.placements.contains("p-c"));

  // The client ends a pod and frees its claim, as kube-controller-manager would.
  ASSERT_TRUE(cluster
                  .Submit(*seen.client,
                          Changes(3, {Gone("Pod", "p-b"), Claim("b", "", v1::Change::MODIFIED)}))
                  .ok());
  ASSERT_TRUE(seen.Until([&] { return seen.placements.contains("p-c"); }));
  EXPECT_EQ(DeviceIn(seen.written["c"]), "x1");
}

// A client that comes back and missed what was written is told of it.
TEST(HostedClusterTest, SentAnewClaimsKeepTheirDevicesAndAreToldAgain) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  const auto everything = [] {
    std::vector<v1::Change> changes = TwoDevices();
    for (const char* claim : {"a", "b"}) {
      changes.push_back(Claim(claim));
      changes.push_back(PodWith(claim));
    }
    return changes;
  };
  {
    Seen first(cluster);
    ASSERT_TRUE(cluster.Attach(Hello("c"), first.client).ok());
    ASSERT_TRUE(cluster.Submit(*first.client, Changes(1, everything(), true)).ok());
    ASSERT_TRUE(first.Until([&] { return first.placements.size() == 2; }));
    cluster.Detach(*first.client);
  }
  Seen second(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), second.client).ok());
  std::vector<v1::Change> changes = everything();
  changes.push_back(Claim("c"));
  changes.push_back(PodWith("c"));
  ASSERT_TRUE(cluster.Submit(*second.client, Changes(1, std::move(changes), true)).ok());
  ASSERT_TRUE(second.Until(
      [&] { return second.placements.size() == 2 && second.conditions.contains("p-c"); }));
  EXPECT_EQ(DeviceIn(second.written["a"]), "x0");
  EXPECT_EQ(DeviceIn(second.written["b"]), "x1");
  EXPECT_FALSE(second.placements.contains("p-c"));
}

TEST(HostedClusterTest, ObjectsThatCannotBeUsedAreNamedAndTheOthersAreIn) {
  ClusterServerOptions options = testing::ServeOptions();
  options.max_objects = 2;
  HostedCluster cluster(options, "i");
  Seen seen(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), seen.client).ok());
  v1::Change broken;
  broken.set_type(v1::Change::ADDED);
  broken.mutable_object()->set_api_version("v1");
  broken.mutable_object()->set_kind("Pod");
  broken.mutable_object()->set_protobuf("\xff\xff\xff");
  v1::Change bad_quantity = Json(PodJson("q", 1));
  const std::string json = bad_quantity.object().json();
  bad_quantity.mutable_object()->set_json(
      std::string(json).replace(json.find("\"1\""), 3, "\"one\""));
  ASSERT_TRUE(cluster
                  .Submit(*seen.client, Changes(1,
                                                {broken, Json("{"), bad_quantity, v1::Change(),
                                                 Json(NodeJson("n1", 1)), Json(PodJson("p", 1)),
                                                 Json(PodJson("too-many", 1))},
                                                true))
                  .ok());
  ASSERT_TRUE(seen.Until([&] { return seen.placements.contains("p") && !seen.applied.empty(); }));
  std::set<uint32_t> refused;
  for (const v1::ObjectProblem& problem : seen.applied[1].problems()) {
    EXPECT_FALSE(problem.message().empty());
    refused.insert(problem.change());
  }
  EXPECT_EQ(refused, (std::set<uint32_t>{0, 1, 2, 3, 6}));
}

// The first client of the cluster sends a node and pod "a", and hears of its place.
bool PlacesPodA(HostedCluster& cluster, Seen& seen) {
  return cluster.Attach(Hello("c"), seen.client).ok() &&
         cluster
             .Submit(*seen.client,
                     Changes(1, {Json(NodeJson("n1", 9)), Json(PodJson("a", 1))}, true))
             .ok() &&
         seen.Until([&] { return seen.placements.contains("a"); });
}

TEST(HostedClusterTest, AStreamGoesOnWhereItWas) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  Seen first(cluster);
  ASSERT_TRUE(PlacesPodA(cluster, first));
  ASSERT_TRUE(cluster.Submit(*first.client, Changes(2, {Json(PodJson("b", 1))})).ok());
  cluster.Detach(*first.client);
  Seen second(cluster);
  v1::Hello hello = Hello("c");
  hello.mutable_resume()->set_incarnation("i");
  hello.mutable_resume()->set_revision(first.revision);
  const absl::StatusOr<v1::Welcome> welcome = cluster.Attach(hello, second.client);
  ASSERT_TRUE(welcome.ok());
  EXPECT_TRUE(welcome->resumed()) << welcome->why_not();
  EXPECT_EQ(welcome->applied(), 2u);
  EXPECT_TRUE(second.Until([&] { return second.placements.contains("b"); }));
  EXPECT_FALSE(second.placements.contains("a"));
  EXPECT_EQ(cluster.Submit(*second.client, Changes(2, {})).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostedClusterTest, ARevisionThatWasNeverToldIsNotCalledOld) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  Seen first(cluster);
  ASSERT_TRUE(PlacesPodA(cluster, first));
  cluster.Detach(*first.client);
  Seen second(cluster);
  v1::Hello hello = Hello("c");
  hello.mutable_resume()->set_incarnation("i");
  hello.mutable_resume()->set_revision(1000);
  const absl::StatusOr<v1::Welcome> welcome = cluster.Attach(hello, second.client);
  ASSERT_TRUE(welcome.ok());
  EXPECT_FALSE(welcome->resumed());
  EXPECT_EQ(welcome->why_not(),
            absl::StrCat("there is no revision 1000 yet: the latest is ", welcome->revision()));
}

TEST(HostedClusterTest, SentAnewWhatIsMissingGoesAndPlacementsAreToldAgain) {
  ClusterServerOptions options = testing::ServeOptions();
  options.max_events = 1;
  HostedCluster cluster(options, "i");
  Seen first(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), first.client).ok());
  ASSERT_TRUE(cluster
                  .Submit(*first.client, Changes(1,
                                                 {Json(NodeJson("n1", 2)), Json(PodJson("a", 1)),
                                                  Json(PodJson("b", 1))},
                                                 true))
                  .ok());
  ASSERT_TRUE(first.Until([&] { return first.placements.size() == 2; }));
  cluster.Detach(*first.client);
  for (const char* incarnation : {"another", "i"}) {
    Seen second(cluster);
    v1::Hello hello = Hello("c");
    hello.mutable_resume()->set_incarnation(incarnation);
    hello.mutable_resume()->set_revision(0);
    const absl::StatusOr<v1::Welcome> welcome = cluster.Attach(hello, second.client);
    ASSERT_TRUE(welcome.ok());
    EXPECT_FALSE(welcome->resumed());
    EXPECT_FALSE(welcome->why_not().empty());
    // b is gone; a's place was never heard of.
    ASSERT_TRUE(cluster
                    .Submit(*second.client, Changes(1,
                                                    {Json(NodeJson("n1", 2)), Json(PodJson("a", 1)),
                                                     Json(PodJson("c", 1))},
                                                    true))
                    .ok());
    ASSERT_TRUE(second.Until([&] { return second.placements.size() == 2; }));
    EXPECT_EQ(second.placements["a"], "n1");
    EXPECT_EQ(second.placements["c"], "n1");
    std::set<std::string> names;
    for (const Object& object : cluster.Objects()) names.insert(std::string(object.name()));
    EXPECT_EQ(names, (std::set<std::string>{"n1", "a", "c"}));
    cluster.Detach(*second.client);
  }
}

// A client takes messages of 4 MiB by default.
TEST(HostedClusterTest, ManyEventsAreManyMessages) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  std::vector<v1::Change> changes = {Json(NodeJson("n1", 100'000))};
  constexpr size_t kPods = 2000;
  for (size_t i = 0; i < kPods; ++i) changes.push_back(Json(PodJson(absl::StrCat("p", i), 1)));
  for (int round = 0; round < 2; ++round) {  // the second time, all are told again at once
    Seen seen(cluster);
    ASSERT_TRUE(cluster.Attach(Hello("c"), seen.client).ok());
    ASSERT_TRUE(cluster.Submit(*seen.client, Changes(1, changes, true)).ok());
    ASSERT_TRUE(seen.Until([&] { return seen.placements.size() == kPods; }));
    EXPECT_LE(seen.most_events, 512);
    cluster.Detach(*seen.client);
  }
}

TEST(HostedClusterTest, SentAnewAPodThatWaitsIsToldWhyAgain) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  for (int i = 0; i < 3; ++i) {
    Seen seen(cluster);
    ASSERT_TRUE(cluster.Attach(Hello("c"), seen.client).ok());
    ASSERT_TRUE(cluster
                    .Submit(*seen.client,
                            Changes(1, {Json(NodeJson("n1", 2)), Json(PodJson("large", 9))}, true))
                    .ok());
    ASSERT_TRUE(seen.Until([&] { return seen.conditions.contains("large"); }));
    EXPECT_THAT(seen.conditions["large"], HasSubstr("1 Insufficient cpu"));
    cluster.Detach(*seen.client);
  }
}

TEST(HostedClusterTest, WhoIsNotReadIsNotScheduledForAndMissesNothing) {
  ClusterServerOptions options = testing::ServeOptions();
  options.max_events = 100;
  HostedCluster cluster(options, "i");
  Seen seen(cluster);
  v1::Hello hello = Hello("c");
  hello.set_acknowledges(true);
  ASSERT_TRUE(cluster.Attach(hello, seen.client).ok());
  std::vector<v1::Change> changes;
  changes.push_back(Json(NodeJson("n1", 100'000)));
  constexpr size_t kPods = 1000;
  for (size_t i = 0; i < kPods; ++i) changes.push_back(Json(PodJson(absl::StrCat("p", i), 1)));
  ASSERT_TRUE(cluster.Submit(*seen.client, Changes(1, std::move(changes), true)).ok());
  // Up to the limit, and what one portion of steps comes to.
  absl::SleepFor(absl::Milliseconds(200));
  seen.Read();
  const size_t unacknowledged = seen.placements.size();
  EXPECT_GE(unacknowledged, 100u);
  EXPECT_LE(unacknowledged, 100u + 256u);
  // Nothing more comes until it is acknowledged, and changes are taken in meanwhile.
  ASSERT_TRUE(cluster.Submit(*seen.client, Changes(2, {Json(PodJson("later", 1))})).ok());
  ASSERT_TRUE(seen.Until([&] { return seen.applied.contains(2); }));
  EXPECT_EQ(seen.placements.size(), unacknowledged);
  ASSERT_TRUE(seen.Until([&] {
    EXPECT_TRUE(cluster.Acknowledge(*seen.client, seen.revision).ok());
    return seen.placements.contains("later");
  }));
  EXPECT_EQ(seen.placements.size(), kPods + 1);
  for (const auto& [pod, times] : seen.told) EXPECT_EQ(times, 1) << pod;
  EXPECT_EQ(cluster.Acknowledge(*seen.client, 1'000'000).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(HostedClusterTest, NoMoreIsTakenInThanThereIsRoomFor) {
  ClusterServerOptions options = testing::ServeOptions();
  options.changes_per_second = 1000;
  HostedCluster cluster(options, "i");
  Seen seen(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), seen.client).ok());
  std::vector<v1::Change> changes;
  for (int i = 0; i < 1100; ++i) changes.push_back(Gone("Pod", "p"));
  EXPECT_TRUE(cluster.HasRoom(*seen.client));
  ASSERT_TRUE(cluster.Submit(*seen.client, Changes(1, std::move(changes))).ok());
  EXPECT_FALSE(cluster.HasRoom(*seen.client));  // 100 too many: a tenth of a second
  EXPECT_TRUE(seen.Until([&] { return cluster.HasRoom(*seen.client); }));
}

TEST(HostedClusterTest, OneClientAtATime) {
  const ClusterServerOptions options = testing::ServeOptions();
  HostedCluster cluster(options, "i");
  Seen first(cluster), second(cluster);
  ASSERT_TRUE(cluster.Attach(Hello("c"), first.client).ok());
  EXPECT_EQ(cluster.Attach(Hello("c"), second.client).status().code(),
            absl::StatusCode::kAlreadyExists);
  v1::Hello hello = Hello("c");
  hello.set_take_over(true);
  EXPECT_TRUE(cluster.Attach(hello, second.client).ok());
  ASSERT_TRUE(first.client->end().has_value());
  EXPECT_EQ(first.client->end()->code(), absl::StatusCode::kAborted);
  // What the first one still sends is nobody's.
  EXPECT_TRUE(cluster.Submit(*first.client, Changes(1, {Json(NodeJson("n1", 1))})).ok());
  ASSERT_TRUE(cluster.Submit(*second.client, Changes(1, {}, true)).ok());
  ASSERT_TRUE(second.Until([&] { return second.applied.contains(1); }));
  EXPECT_TRUE(cluster.Objects().empty());
  hello.set_protocol_version(7);
  EXPECT_EQ(cluster.Attach(hello, first.client).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(ClusterSetTest, LimitsForgetsAndEnds) {
  ClusterServerOptions options = testing::ServeOptions();
  options.max_clusters = 1;
  options.idle_timeout = absl::Milliseconds(50);
  ClusterSet clusters(options);
  const auto client = std::make_shared<Client>();
  EXPECT_EQ(clusters.Attach(Hello("a b"), client).status().code(),
            absl::StatusCode::kInvalidArgument);
  auto attached = clusters.Attach(Hello("a"), client);
  ASSERT_TRUE(attached.ok());
  EXPECT_EQ(clusters.Attach(Hello("b"), client).status().code(),
            absl::StatusCode::kResourceExhausted);
  absl::SleepFor(absl::Milliseconds(120));
  EXPECT_NE(clusters.Find("a"), nullptr);  // it has a client
  const std::string incarnation = attached->welcome.incarnation();
  attached->cluster->Detach(*client);
  clusters.Return(std::move(attached->cluster));
  for (const absl::Time end = absl::Now() + absl::Seconds(60);
       clusters.Find("a") != nullptr && absl::Now() < end;) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(clusters.Find("a"), nullptr);
  auto again = clusters.Attach(Hello("a"), client);
  ASSERT_TRUE(again.ok());
  EXPECT_NE(again->welcome.incarnation(), incarnation);
  clusters.Forget(*again->cluster);
  EXPECT_EQ(clusters.Find("a"), nullptr);
  clusters.End(absl::UnavailableError("the server ends"));
  EXPECT_EQ(clusters.Attach(Hello("c"), client).status().code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace berth
