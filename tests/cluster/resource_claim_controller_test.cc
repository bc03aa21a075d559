// SPDX-License-Identifier: Apache-2.0
// What the in-memory cluster makes of templates and of claims that nobody uses any more, and how
// objects are edited.
#include "cluster/resource_claim_controller.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/in_memory_cluster.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using testing::ObjectsFromYaml;

constexpr char kTemplate[] =
    "{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: t, namespace: "
    "default}, spec: {metadata: {labels: {a: b}, annotations: {c: d}}, spec: {devices: {requests: "
    "[{name: r, exactly: {deviceClassName: any}}]}}}}";

std::string PodYaml(const std::string& name, const std::string& status = "") {
  return absl::StrCat(
      "{apiVersion: v1, kind: Pod, metadata: {name: ", name, ", namespace: default, uid: uid-",
      name, "}, spec: {resourceClaims: [{name: ref, resourceClaimTemplateName: t}]}", status, "}");
}

class ResourceClaimControllerTest : public ::testing::Test {
 protected:
  ResourceClaimControllerTest() : cluster_(clock_) { cluster_.RunResourceClaimController(); }

  void Set(const std::string& yaml) {
    for (Object& object : ObjectsFromYaml(yaml)) cluster_.Set(std::move(object));
  }
  std::vector<std::string> Claims() {
    std::vector<std::string> names;
    for (const Object& claim : cluster_.List(Kind::kResourceClaim)) {
      names.emplace_back(claim.name());
    }
    return names;
  }
  std::shared_ptr<const api::ResourceClaim> Claim(const std::string& name) {
    return std::static_pointer_cast<const api::ResourceClaim>(
        cluster_.Find(Kind::kResourceClaim, "default/" + name));
  }
  std::string ClaimOfPod(const std::string& pod) {
    const auto found =
        std::static_pointer_cast<const api::Pod>(cluster_.Find(Kind::kPod, "default/" + pod));
    if (found->status().resource_claim_statuses().empty()) return "";
    return found->status().resource_claim_statuses(0).resource_claim_name();
  }
  // As PreBind does.
  void Allocate(const std::string& name, const std::vector<std::string>& pods) {
    for (const Object& object : cluster_.List(Kind::kResourceClaim)) {
      if (object.name() != name) continue;
      const absl::Status edited = cluster_.Edit(
          {.object = object.identity(),
           .part = ObjectUpdate::Part::kStatus,
           .edit = [&](google::protobuf::Message& latest) {
             auto& status = *static_cast<api::ResourceClaim&>(latest).mutable_status();
             status.mutable_allocation()->mutable_devices()->add_results()->set_device("x");
             for (const std::string& pod : pods) {
               auto& user = *status.add_reserved_for();
               user.set_resource("pods");
               user.set_name(pod);
               user.set_uid("uid-" + pod);
             }
             return absl::OkStatus();
           }});
      EXPECT_TRUE(edited.ok()) << edited;
    }
  }

  SimulatedClock clock_{absl::UnixEpoch()};
  InMemoryCluster cluster_;
};

TEST_F(ResourceClaimControllerTest, MakesClaimsOfTemplates) {
  Set(kTemplate);
  Set(PodYaml("p"));
  ASSERT_THAT(Claims(), ElementsAre("p-ref"));
  EXPECT_EQ(ClaimOfPod("p"), "p-ref");
  const auto claim = Claim("p-ref");
  EXPECT_EQ(claim->metadata().labels().at("a"), "b");
  EXPECT_EQ(claim->metadata().annotations().at("c"), "d");
  ASSERT_EQ(claim->metadata().owner_references_size(), 1);
  EXPECT_EQ(claim->metadata().owner_references(0).uid(), "uid-p");
  EXPECT_TRUE(claim->metadata().owner_references(0).controller());
  EXPECT_FALSE(claim->metadata().uid().empty());
  EXPECT_EQ(claim->spec().devices().requests(0).exactly().device_class_name(), "any");
}

TEST_F(ResourceClaimControllerTest, WaitsForTheTemplate) {
  Set(PodYaml("p"));
  EXPECT_TRUE(Claims().empty());
  Set(kTemplate);
  EXPECT_THAT(Claims(), ElementsAre("p-ref"));
}

TEST_F(ResourceClaimControllerTest, LeavesAloneWhatHasAnEntryOrHasEnded) {
  Set(kTemplate);
  Set(PodYaml("p", ", status: {resourceClaimStatuses: [{name: ref, resourceClaimName: mine}]}"));
  Set(PodYaml("q", ", status: {phase: Succeeded}"));
  EXPECT_TRUE(Claims().empty());
}

TEST_F(ResourceClaimControllerTest, TakesAnotherNameIfItsOwnIsTaken) {
  Set("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: p-ref, namespace: "
      "default}, spec: {}}");
  Set(kTemplate);
  Set(PodYaml("p"));
  EXPECT_THAT(Claims(), ElementsAre("p-ref", "p-ref-1"));
  EXPECT_EQ(ClaimOfPod("p"), "p-ref-1");
}

TEST_F(ResourceClaimControllerTest, AClaimGoesWithItsPod) {
  Set(kTemplate);
  Set(PodYaml("p"));
  Allocate("p-ref", {"p"});
  cluster_.Finish("default/p");
  EXPECT_TRUE(Claims().empty());
  Set(PodYaml("q"));
  cluster_.Delete(Kind::kPod, "default/q");
  EXPECT_TRUE(Claims().empty());
}

TEST_F(ResourceClaimControllerTest, TheLastUserOfASharedClaimFreesItsDevices) {
  Set("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: s, namespace: "
      "default}, spec: {}}");
  for (const char* const name : {"p", "q"}) {
    Set(absl::StrCat("{apiVersion: v1, kind: Pod, metadata: {name: ", name,
                     ", namespace: default, uid: uid-", name,
                     "}, spec: {resourceClaims: [{name: ref, resourceClaimName: s}]}}"));
  }
  Allocate("s", {"p", "q"});
  cluster_.Finish("default/p");
  EXPECT_EQ(Claim("s")->status().reserved_for_size(), 1);
  EXPECT_TRUE(Claim("s")->status().has_allocation());
  cluster_.Delete(Kind::kPod, "default/q");
  EXPECT_EQ(Claim("s")->status().reserved_for_size(), 0);
  EXPECT_FALSE(Claim("s")->status().has_allocation());
  // What was never reserved stays as it is.
  Allocate("s", {});
  EXPECT_TRUE(Claim("s")->status().has_allocation());
}

TEST_F(ResourceClaimControllerTest, EditsAreOfTheLatestStateAndOfOnePart) {
  Set("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: s, namespace: "
      "default}, spec: {}}");
  const Object claim = cluster_.List(Kind::kResourceClaim)[0];
  const std::string version = claim.As<api::ResourceClaim>().metadata().resource_version();
  const auto edit = [&](ObjectUpdate::Part part, absl::Status status) {
    return cluster_.Edit({.object = claim.identity(),
                          .part = part,
                          .edit = [status](google::protobuf::Message& latest) {
                            auto& changed = static_cast<api::ResourceClaim&>(latest);
                            *changed.mutable_metadata()->add_finalizers() = "f";
                            changed.mutable_status()->add_reserved_for()->set_name("p");
                            return status;
                          }});
  };
  EXPECT_TRUE(edit(ObjectUpdate::Part::kStatus, absl::OkStatus()).ok());
  EXPECT_TRUE(Claim("s")->metadata().finalizers().empty());
  EXPECT_EQ(Claim("s")->status().reserved_for_size(), 1);
  EXPECT_TRUE(edit(ObjectUpdate::Part::kAllButStatus, absl::OkStatus()).ok());
  EXPECT_THAT(Claim("s")->metadata().finalizers(), ElementsAre("f"));
  EXPECT_EQ(Claim("s")->status().reserved_for_size(), 1);
  EXPECT_NE(Claim("s")->metadata().resource_version(), version);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      edit(ObjectUpdate::Part::kAllButStatus, absl::FailedPreconditionError("no"))));
  EXPECT_EQ(Claim("s")->metadata().finalizers_size(), 1);
  cluster_.Delete(Kind::kResourceClaim, "default/s");
  EXPECT_TRUE(absl::IsNotFound(edit(ObjectUpdate::Part::kStatus, absl::OkStatus())));
}

TEST(RunResourceClaimController, MakesClaimsOfAList) {
  std::vector<Object> objects = ObjectsFromYaml(absl::StrCat(PodYaml("p"), "\n---\n", kTemplate));
  RunResourceClaimController(objects);
  ASSERT_EQ(objects.size(), 3u);
  EXPECT_EQ(objects[2].key(), "default/p-ref");
  EXPECT_EQ(objects[0].As<api::Pod>().status().resource_claim_statuses(0).resource_claim_name(),
            "p-ref");
  RunResourceClaimController(objects);
  EXPECT_EQ(objects.size(), 3u);
}

// Of pods that have ended or are not there, as in a cluster that runs: `explain` and `simulate`
// begin with the same claims.
TEST(RunResourceClaimController, FreesClaimsOfAList) {
  const auto claim = [](absl::string_view name, absl::string_view user, absl::string_view owner) {
    return absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: ", name,
        ", namespace: default",
        owner.empty()
            ? ""
            : absl::StrCat(", ownerReferences: [{apiVersion: v1, kind: Pod, name: ", owner,
                           ", uid: uid-", owner, ", controller: true}]"),
        "}, spec: {}, status: {allocation: {}, reservedFor: [{resource: pods, name: ", user,
        ", uid: uid-", user, "}]}}");
  };
  std::vector<Object> objects = ObjectsFromYaml(absl::StrJoin(
      {PodYaml("runs", ", status: {phase: Running}"), PodYaml("ended", ", status: {phase: Failed}"),
       claim("used", "runs", ""), claim("left", "ended", ""), claim("gone", "nobody", ""),
       claim("own", "ended", "ended")},
      "\n---\n"));
  RunResourceClaimController(objects);
  std::vector<std::string> claims;
  for (const Object& object : objects) {
    if (object.kind() != Kind::kResourceClaim) continue;
    const bool has_devices = object.As<api::ResourceClaim>().status().has_allocation();
    claims.push_back(absl::StrCat(object.name(), has_devices ? " has devices" : " is free"));
  }
  EXPECT_THAT(claims, ElementsAre("used has devices", "left is free", "gone is free"));
}

}  // namespace
}  // namespace berth
