// SPDX-License-Identifier: Apache-2.0
// What the cluster writes to an API server, and what it makes of the answers.
#include "kubernetes/kubernetes_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/kubernetes/wire.pb.h"
#include "berth/testing/objects.h"
#include "kubernetes/envelope.h"
#include "kubernetes/find_connection.h"
#include "kubernetes/object_body.h"
#include "tests/kubernetes/scripted_server.h"
#include "tests/kubernetes/temporary_folder.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kPod[] = "/api/v1/namespaces/default/pods/p";

IdentityPtr ThePod() {
  return std::make_shared<const Identity>(Kind::kPod, "default", "p", "uid-1");
}

// The pod as the server has it: `uid`, on `node`, with further metadata, spec and status in JSON.
ScriptedAnswer PodAnswer(absl::string_view uid, absl::string_view node,
                         absl::string_view metadata = "", absl::string_view status = "{}") {
  return {.body = absl::StrCat(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p",)",
                               R"("namespace":"default","resourceVersion":"7","uid":")", uid, "\"",
                               metadata, R"(},"spec":{"nodeName":")", node, R"("},"status":)",
                               status, "}")};
}

class KubernetesClusterTest : public ::testing::Test {
 protected:
  KubernetesCluster& cluster() {
    if (cluster_ == nullptr) {
      options_.qps = 0;
      options_.warn = [this](absl::string_view text) {
        MutexLock lock(mutex_);
        warnings_.emplace_back(text);
      };
      cluster_ = std::make_unique<KubernetesCluster>(server_.connection(), options_);
    }
    return *cluster_;
  }
  void UseJson() { options_.content_type = "application/json"; }
  std::vector<std::string> warnings() {
    MutexLock lock(mutex_);
    return warnings_;
  }

  Mutex mutex_;
  std::vector<std::string> warnings_ ABSL_GUARDED_BY(mutex_);
  ScriptedServer server_;
  KubernetesClusterOptions options_;
  std::unique_ptr<KubernetesCluster> cluster_;
};

// --- Bind ----------------------------------------------------------------------------------------

using BindTest = KubernetesClusterTest;

const std::string kBinding = absl::StrCat("POST ", kPod, "/binding");
const std::string kGet = absl::StrCat("GET ", kPod);

PodBinding ToNode(const std::string& node) {
  return {ThePod(), node, {{"devices", "0,1"}}, {{"zone", "a"}}};
}

TEST_F(BindTest, TheBindingHasUidAnnotationsLabelsAndTarget) {
  server_.On(kBinding, {{.code = 201}});
  ASSERT_TRUE(cluster().Bind(ToNode("n")).ok());
  const TestRequest request = server_.Last(kBinding);
  EXPECT_EQ(request.headers.at("content-type"), kProtobufType);
  const absl::StatusOr<Enveloped> body = OpenEnvelope(request.body);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->kind, "Binding");
  kubernetes_wire::Binding sent;
  ASSERT_TRUE(sent.ParseFromString(body->raw));
  EXPECT_EQ(sent.metadata().uid(), "uid-1");
  EXPECT_EQ(sent.metadata().name(), "p");
  EXPECT_EQ(sent.metadata().namespace_(), "default");
  EXPECT_EQ(sent.metadata().annotations().at("devices"), "0,1");
  EXPECT_EQ(sent.metadata().labels().at("zone"), "a");
  EXPECT_EQ(sent.target().kind(), "Node");
  EXPECT_EQ(sent.target().name(), "n");
}

TEST_F(BindTest, InJsonTheSame) {
  UseJson();
  server_.On(kBinding, {{.code = 201}});
  ASSERT_TRUE(cluster().Bind(ToNode("n")).ok());
  EXPECT_EQ(server_.Last(kBinding).body,
            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","namespace":"default",)"
            R"("uid":"uid-1","labels":{"zone":"a"},"annotations":{"devices":"0,1"}},)"
            R"("target":{"kind":"Node","name":"n"}})");
}

TEST_F(BindTest, AConflictIsWhatThePodSays) {
  const ScriptedAnswer ours = PodAnswer("uid-1", "n", R"(,"annotations":{"devices":"0,1"})");
  struct Case {
    absl::string_view name;
    ScriptedAnswer pod;
    absl::StatusCode want;
  };
  const Case cases[] = {
      {"an earlier try was done", ours, absl::StatusCode::kOk},
      {"that node, but by somebody else", PodAnswer("uid-1", "n"),
       absl::StatusCode::kFailedPrecondition},
      {"elsewhere", PodAnswer("uid-1", "m"), absl::StatusCode::kFailedPrecondition},
      {"nowhere, as it is being deleted", PodAnswer("uid-1", ""), absl::StatusCode::kAborted},
      {"another pod", PodAnswer("uid-2", "n"), absl::StatusCode::kNotFound},
      {"gone", Refusal(404, "NotFound"), absl::StatusCode::kNotFound},
      {"not to be told", Refusal(403, "Forbidden"), absl::StatusCode::kUnknown},
  };
  server_.On(kBinding, {Refusal(409, "Conflict", "pod p is already assigned to a node")});
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    server_.On(kGet, {c.pod});
    const absl::Status bound = cluster().Bind(ToNode("n"));
    EXPECT_EQ(bound.code(), c.want) << bound;
  }
}

TEST_F(BindTest, WhatMayHaveHappenedIsNotTriedAgain) {
  struct Case {
    absl::string_view name;
    ScriptedAnswer answer;
  };
  const Case cases[] = {
      {"the answer is lost", {.cut = true}},
      {"the server failed", Refusal(500, "InternalError")},
      {"a proxy has lost the server", {.code = 502, .content_type = "text/plain"}},
  };
  size_t asked = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    server_.On(kBinding, {c.answer});
    const absl::Status bound = cluster().Bind(ToNode("n"));
    EXPECT_EQ(bound.code(), absl::StatusCode::kUnknown) << bound;
    EXPECT_EQ(server_.Asked().size(), ++asked);
  }
}

TEST_F(BindTest, WhatCertainlyDidNotHappenIsTriedAgain) {
  server_.On(kBinding, {Refusal(429, "TooManyRequests"), {.code = 201}});
  EXPECT_TRUE(cluster().Bind(ToNode("n")).ok());
  EXPECT_THAT(server_.Asked(), ElementsAre(kBinding, kBinding));
}

TEST_F(BindTest, APodThatIsGoneIsNotFound) {
  EXPECT_EQ(cluster().Bind(ToNode("n")).code(), absl::StatusCode::kNotFound);
}

TEST_F(BindTest, AMissingRuleIsNamedOnce) {
  server_.On(kBinding,
             {Refusal(403, "Forbidden",
                      R"(pods \"p\" is forbidden: User \"u\" cannot create resource )"
                      R"(\"pods/binding\" in API group \"\" in the namespace \"default\")")});
  EXPECT_EQ(cluster().Bind(ToNode("n")).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(cluster().Bind(ToNode("n")).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr(R"(RBAC lacks the rule {apiGroups: [""], )"
                                                R"(resources: ["pods/binding"], )"
                                                R"(verbs: ["create"]} for this scheduler)")));
}

// --- AssignedNode --------------------------------------------------------------------------------

using AssignedNodeTest = KubernetesClusterTest;

TEST_F(AssignedNodeTest, IsTheServersWord) {
  server_.On(kGet, {PodAnswer("uid-1", "n"),
                    PodAnswer("uid-1", ""),
                    PodAnswer("uid-2", "n"),
                    {.body = "no object"},
                    Refusal(404, "NotFound")});
  EXPECT_EQ(*cluster().AssignedNode(*ThePod()), "n");
  EXPECT_EQ(*cluster().AssignedNode(*ThePod()), "");
  EXPECT_TRUE(absl::IsNotFound(cluster().AssignedNode(*ThePod()).status()));
  EXPECT_TRUE(absl::IsDataLoss(cluster().AssignedNode(*ThePod()).status()));
  EXPECT_TRUE(absl::IsNotFound(cluster().AssignedNode(*ThePod()).status()));
}

TEST_F(AssignedNodeTest, IsReadInProtobuf) {
  const Object pod = testing::MakePod().Name("p").Uid("uid-1").NodeName("n").Object();
  server_.On(kGet, {{.body = Envelope("v1", "Pod", pod.message().SerializeAsString()),
                     .content_type = kProtobufType}});
  EXPECT_EQ(*cluster().AssignedNode(*ThePod()), "n");
  EXPECT_EQ(server_.Last(kGet).headers.at("accept"), kProtobufType);
}

// --- Evict ---------------------------------------------------------------------------------------

using EvictTest = KubernetesClusterTest;

const std::string kPatch = absl::StrCat("PATCH ", kPod, "/status");
const std::string kDelete = absl::StrCat("DELETE ", kPod);

TEST_F(EvictTest, SaysWhyAndDeletesThatPodOnly) {
  UseJson();
  server_.On(kGet, {PodAnswer("uid-1", "n", R"(,"generation":3)")});
  server_.On(kPatch, {PodAnswer("uid-1", "n")}).On(kDelete, {{}});
  ASSERT_TRUE(cluster().Evict(*ThePod(), "for another").ok());
  EXPECT_THAT(server_.Asked(), ElementsAre(kGet, kPatch, kDelete));
  EXPECT_THAT(server_.Last(kPatch).body,
              HasSubstr(R"("type":"DisruptionTarget","status":"True","observedGeneration":3)"));
  EXPECT_THAT(server_.Last(kPatch).body,
              HasSubstr(R"("reason":"PreemptionByScheduler","message":"for another")"));
  EXPECT_EQ(server_.Last(kDelete).body,
            R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"uid-1"}})");
}

TEST_F(EvictTest, APodThatGoesAlreadyIsLeftAlone) {
  server_.On(kGet, {PodAnswer("uid-1", "n", R"(,"deletionTimestamp":"2026-01-02T03:04:05Z")")});
  EXPECT_TRUE(cluster().Evict(*ThePod(), "for another").ok());
  EXPECT_THAT(server_.Asked(), ElementsAre(kGet));
}

TEST_F(EvictTest, APodThatIsGoneIsNotFound) {
  // Before, at the condition, at the deletion; and when another has its name by then.
  EXPECT_TRUE(absl::IsNotFound(cluster().Evict(*ThePod(), "")));
  server_.On(kGet, {PodAnswer("uid-1", "n")});
  EXPECT_TRUE(absl::IsNotFound(cluster().Evict(*ThePod(), "")));
  EXPECT_THAT(server_.Asked(), Not(::testing::Contains(kDelete)));
  server_.On(kPatch, {PodAnswer("uid-1", "n")});
  EXPECT_TRUE(absl::IsNotFound(cluster().Evict(*ThePod(), "")));
  server_.On(kGet, {PodAnswer("uid-1", "n"), PodAnswer("uid-2", "n")});
  server_.On(kDelete, {Refusal(409, "Conflict", "Precondition failed: UID")});
  EXPECT_TRUE(absl::IsNotFound(cluster().Evict(*ThePod(), "")));
}

TEST_F(EvictTest, ARefusalIsAnError) {
  server_.On(kGet, {PodAnswer("uid-1", "n")});
  server_.On(kPatch, {PodAnswer("uid-1", "n")}).On(kDelete, {Refusal(403, "Forbidden")});
  EXPECT_EQ(cluster().Evict(*ThePod(), "").code(), absl::StatusCode::kPermissionDenied);
  server_.On(kDelete, {Refusal(409, "Conflict")});
  EXPECT_TRUE(absl::IsAborted(cluster().Evict(*ThePod(), "")));
}

// --- PatchPodStatus ------------------------------------------------------------------------------

using PatchPodStatusTest = KubernetesClusterTest;

PodStatusPatch Unschedulable(const std::string& message) {
  return {.pod = ThePod(),
          .condition_type = "PodScheduled",
          .condition_reason = "Unschedulable",
          .condition_message = message};
}

TEST_F(PatchPodStatusTest, IsAStrategicMergePatchOfThatPod) {
  UseJson();
  server_.On(kGet, {PodAnswer("uid-1", "")}).On(kPatch, {PodAnswer("uid-1", "")});
  PodStatusPatch patch = Unschedulable("no node");
  patch.nominated_node_name = "n";
  ASSERT_TRUE(cluster().PatchPodStatus(patch).ok());
  const TestRequest request = server_.Last(kPatch);
  EXPECT_EQ(request.headers.at("content-type"), "application/strategic-merge-patch+json");
  EXPECT_THAT(request.body, HasSubstr(R"({"metadata":{"uid":"uid-1"},"status":{"conditions":[)"));
  EXPECT_THAT(request.body, HasSubstr(R"("nominatedNodeName":"n")"));
}

TEST_F(PatchPodStatusTest, NothingIsWrittenIfItIsSo) {
  server_.On(kGet, {PodAnswer("uid-1", "", "",
                              R"({"nominatedNodeName":"n","conditions":[{"type":"PodScheduled",)"
                              R"("status":"False","reason":"Unschedulable","message":"m"}]})")});
  PodStatusPatch patch = Unschedulable("m");
  patch.nominated_node_name = "n";
  EXPECT_TRUE(cluster().PatchPodStatus(patch).ok());
  EXPECT_THAT(server_.Asked(), ElementsAre(kGet));
}

TEST_F(PatchPodStatusTest, AnotherPodOfThatNameIsNotFound) {
  for (const int code : {409, 422}) {  // a precondition, or a uid that cannot be changed
    server_.On(kGet, {PodAnswer("uid-1", ""), PodAnswer("uid-2", "")});
    server_.On(kPatch, {Refusal(code, code == 409 ? "Conflict" : "Invalid")});
    EXPECT_TRUE(absl::IsNotFound(cluster().PatchPodStatus(Unschedulable("m"))));
  }
}

TEST_F(PatchPodStatusTest, OnlyTheLastOfManyIsSentAfterTheOneUnderWay) {
  server_.On(kGet, {PodAnswer("uid-1", "")});
  ScriptedAnswer first = PodAnswer("uid-1", "");
  first.held = true;
  server_.On(kPatch, {first, PodAnswer("uid-1", "")});
  KubernetesCluster& under_test = cluster();
  std::vector<std::thread> callers;
  callers.emplace_back([&] { EXPECT_TRUE(under_test.PatchPodStatus(Unschedulable("1")).ok()); });
  server_.WaitFor(2);  // GET, PATCH
  // Each takes over from the one before, which then ends: all but the last are joined here.
  const auto patch = [&](const PodStatusPatch& what) {
    EXPECT_TRUE(under_test.PatchPodStatus(what).ok());
  };
  PodStatusPatch nomination{.pod = ThePod(), .nominated_node_name = "n"};
  std::thread second(patch, nomination);
  absl::SleepFor(absl::Milliseconds(50));
  std::thread third(patch, Unschedulable("3"));
  second.join();
  std::thread fourth(patch, Unschedulable("4"));
  third.join();
  server_.Release();
  fourth.join();
  callers[0].join();
  EXPECT_THAT(server_.Asked(), ElementsAre(kGet, kPatch, kGet, kPatch));
  // What the second said of the node is in what the fourth wrote.
  EXPECT_THAT(server_.Last(kPatch).body, HasSubstr(R"("message":"4")"));
  EXPECT_THAT(server_.Last(kPatch).body, HasSubstr(R"("nominatedNodeName":"n")"));
}

// --- Update --------------------------------------------------------------------------------------

using UpdateTest = KubernetesClusterTest;

const char kGroup[] = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups/g";
const std::string kGetGroup = absl::StrCat("GET ", kGroup);
const std::string kPatchGroup = absl::StrCat("PATCH ", kGroup);

ScriptedAnswer GroupAnswer(const std::string& version = "5") {
  return {.body = absl::StrCat(
              R"({"apiVersion":"scheduling.x-k8s.io/v1alpha1","kind":"PodGroup","metadata":)",
              R"({"name":"g","namespace":"default","resourceVersion":")", version,
              R"(","labels":{"team":"a"}},"spec":{"minMember":3,"tomorrow":true},)",
              R"("status":{"phase":"Scheduling","running":1,"failed":2,"tomorrow":1}})")};
}

std::shared_ptr<api::PodGroup> TheGroup() {
  const auto group = DecodeObject(Kind::kPodGroup, kJsonType, GroupAnswer().body);
  EXPECT_TRUE(group.ok()) << group.status();
  return std::make_shared<api::PodGroup>(group->As<api::PodGroup>());
}

TEST_F(UpdateTest, OnlyWhatChangedIsWritten) {
  server_.On(kGetGroup, {GroupAnswer()}).On(kPatchGroup, {{}});
  server_.On(absl::StrCat(kPatchGroup, "/status"), {{}});
  const std::shared_ptr<api::PodGroup> group = TheGroup();
  group->mutable_status()->set_phase("Running");
  group->mutable_status()->set_running(3);
  group->mutable_status()->clear_failed();
  (*group->mutable_metadata()->mutable_labels())["of-no"] = "importance";
  ASSERT_TRUE(cluster().Update({Object::Of(group), ObjectUpdate::Part::kStatus}).ok());
  const TestRequest status = server_.Last(absl::StrCat(kPatchGroup, "/status"));
  EXPECT_EQ(status.headers.at("content-type"), "application/merge-patch+json");
  EXPECT_EQ(status.body, R"({"metadata":{"resourceVersion":"5"},)"
                         R"("status":{"failed":null,"phase":"Running","running":3}})");
  // And of the rest nothing that is of the status.
  ASSERT_TRUE(cluster().Update({Object::Of(group)}).ok());
  EXPECT_EQ(server_.Last(kPatchGroup).body,
            R"({"metadata":{"resourceVersion":"5","labels":{"of-no":"importance"}}})");
}

TEST_F(UpdateTest, WhatIsSoIsNotWritten) {
  server_.On(kGetGroup, {GroupAnswer()});
  ASSERT_TRUE(cluster().Update({Object::Of(TheGroup()), ObjectUpdate::Part::kStatus}).ok());
  EXPECT_THAT(server_.Asked(), ElementsAre(kGetGroup));
}

TEST_F(UpdateTest, WhatWasChangedMeanwhileIsAborted) {
  const std::shared_ptr<api::PodGroup> group = TheGroup();
  group->mutable_spec()->set_min_member(4);
  server_.On(kGetGroup, {GroupAnswer("6")});
  EXPECT_TRUE(absl::IsAborted(cluster().Update({Object::Of(group)})));
  server_.On(kGetGroup, {GroupAnswer()}).On(kPatchGroup, {Refusal(409, "Conflict")});
  EXPECT_TRUE(absl::IsAborted(cluster().Update({Object::Of(group)})));
  server_.On(kGetGroup, {Refusal(404, "NotFound")});
  EXPECT_TRUE(absl::IsNotFound(cluster().Update({Object::Of(group)})));
}

TEST_F(UpdateTest, AnEditIsOfTheLatestAndIsTriedAgain) {
  const std::string patch_status = absl::StrCat(kPatchGroup, "/status");
  server_.On(kGetGroup, {GroupAnswer("5"), GroupAnswer("6")});
  server_.On(patch_status, {Refusal(409, "Conflict"), {}});
  ObjectEdit edit{.object = Object::Of(TheGroup()).identity(),
                  .part = ObjectUpdate::Part::kStatus,
                  .edit = [](google::protobuf::Message& latest) {
                    static_cast<api::PodGroup&>(latest).mutable_status()->set_running(4);
                    return absl::OkStatus();
                  }};
  ASSERT_TRUE(cluster().Edit(edit).ok());
  EXPECT_THAT(server_.Asked(), ElementsAre(kGetGroup, patch_status, kGetGroup, patch_status));
  EXPECT_EQ(server_.Last(patch_status).body,
            R"({"metadata":{"resourceVersion":"6"},"status":{"running":4}})");
  // What is not wanted, or is so already, is not written.
  server_.On(kGetGroup, {GroupAnswer("7")});
  edit.edit = [](google::protobuf::Message&) { return absl::FailedPreconditionError("no"); };
  EXPECT_TRUE(absl::IsFailedPrecondition(cluster().Edit(edit)));
  edit.edit = [](google::protobuf::Message&) { return absl::OkStatus(); };
  EXPECT_TRUE(cluster().Edit(edit).ok());
  EXPECT_EQ(server_.Asked().size(), 6u);
}

TEST_F(UpdateTest, OfAPodIsInvalid) {
  EXPECT_TRUE(absl::IsInvalidArgument(cluster().Update({testing::MakePod().Object()})));
  EXPECT_THAT(server_.Asked(), IsEmpty());
}

// What Berth does not read is left out of what the watch delivers, and must not be lost for it.
TEST_F(UpdateTest, ABuiltInKindIsReadInProtobufAndPatchedToo) {
  const std::string path = "/api/v1/persistentvolumes/pv";
  api::PersistentVolume served;
  served.mutable_metadata()->set_name("pv");
  served.mutable_metadata()->set_resource_version("5");
  served.mutable_spec()->set_storage_class_name("local");
  served.spec().GetReflection()->MutableUnknownFields(served.mutable_spec())->AddVarint(999, 7);
  server_.On(absl::StrCat("GET ", path),
             {{.body = Envelope("v1", "PersistentVolume", served.SerializeAsString()),
               .content_type = kProtobufType}});
  server_.On(absl::StrCat("PATCH ", path), {{}});
  auto volume = std::make_shared<api::PersistentVolume>(served);
  volume->DiscardUnknownFields();
  volume->mutable_spec()->mutable_claim_ref()->set_name("c");
  ASSERT_TRUE(cluster().Update({Object::Of(volume)}).ok());
  EXPECT_EQ(server_.Last(absl::StrCat("PATCH ", path)).body,
            R"({"metadata":{"resourceVersion":"5"},"spec":{"claimRef":{"name":"c"}}})");
}

// --- Create and Delete ---------------------------------------------------------------------------

const std::string kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const std::string kPostClaim = absl::StrCat("POST ", kClaims);
const std::string kDeleteClaim = absl::StrCat("DELETE ", kClaims, "/p-extended-resources-x7k9m");

Object SpecialClaim() {
  return testing::ObjectsFromYaml(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {namespace: default, "
      "generateName: p-extended-resources-, annotations: "
      "{resource.kubernetes.io/extended-resource-claim: 'true'}}, spec: {devices: {requests: "
      "[{name: container-0-request-0, exactly: {deviceClassName: gpu, count: 2}}]}}}")[0];
}

using CreateTest = KubernetesClusterTest;

TEST_F(CreateTest, TheAnswerIsTheObjectAsTheServerHasIt) {
  api::ResourceClaim made = SpecialClaim().As<api::ResourceClaim>();
  made.mutable_metadata()->set_name("p-extended-resources-x7k9m");
  made.mutable_metadata()->set_uid("uid-2");
  made.mutable_metadata()->set_resource_version("9");
  server_.On(kPostClaim,
             {{.code = 201,
               .body = Envelope("resource.k8s.io/v1", "ResourceClaim", made.SerializeAsString()),
               .content_type = kProtobufType}});
  const absl::StatusOr<Object> created = cluster().Create(SpecialClaim());
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->name(), "p-extended-resources-x7k9m");
  EXPECT_EQ(created->uid(), "uid-2");
  const TestRequest request = server_.Last(kPostClaim);
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  EXPECT_THAT(request.body, HasSubstr(R"("generateName":"p-extended-resources-")"));
  EXPECT_THAT(request.body, HasSubstr(R"("deviceClassName":"gpu")"));
  EXPECT_THAT(request.body, HasSubstr(R"("count":)"));
  EXPECT_THAT(request.body, Not(HasSubstr("\"status\"")));
}

TEST_F(CreateTest, WhatMayHaveHappenedIsNotTriedAgain) {
  server_.On(kPostClaim, {Refusal(504, "Timeout")});
  EXPECT_TRUE(absl::IsUnknown(cluster().Create(SpecialClaim()).status()));
  EXPECT_THAT(server_.Asked(), ElementsAre(kPostClaim));
}

TEST_F(CreateTest, ARefusalIsAnError) {
  server_.On(kPostClaim, {Refusal(409, "AlreadyExists"), Refusal(403, "Forbidden")});
  EXPECT_TRUE(absl::IsAlreadyExists(cluster().Create(SpecialClaim()).status()));
  EXPECT_FALSE(cluster().Create(SpecialClaim()).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(cluster().Create(testing::MakePod().Object()).status()));
  EXPECT_EQ(server_.Asked().size(), 2u);
}

using DeleteTest = KubernetesClusterTest;

TEST_F(DeleteTest, DeletesThatObjectOnly) {
  server_.On(kDeleteClaim, {{}, Refusal(404, "NotFound")});
  UseJson();
  const Identity claim(Kind::kResourceClaim, "default", "p-extended-resources-x7k9m", "uid-2");
  ASSERT_TRUE(cluster().Delete(claim).ok());
  EXPECT_THAT(server_.Last(kDeleteClaim).body, HasSubstr(R"("preconditions":{"uid":"uid-2"})"));
  EXPECT_TRUE(absl::IsNotFound(cluster().Delete(claim)));
  EXPECT_TRUE(absl::IsInvalidArgument(cluster().Delete(*ThePod())));
  EXPECT_EQ(server_.Asked().size(), 2u);
}

TEST_F(DeleteTest, AnotherObjectOfThatNameStays) {
  server_.On(kDeleteClaim, {Refusal(409, "Conflict")});
  server_.On(absl::StrCat("GET ", kClaims, "/p-extended-resources-x7k9m"),
             {{.body = R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":)"
                       R"({"name":"p-extended-resources-x7k9m","namespace":"default",)"
                       R"("uid":"uid-3"}})"}});
  const Identity claim(Kind::kResourceClaim, "default", "p-extended-resources-x7k9m", "uid-2");
  EXPECT_TRUE(absl::IsNotFound(cluster().Delete(claim)));
}

// --- Edit ----------------------------------------------------------------------------------------

// The server compares what cannot be changed byte by byte: a driver's parameters with their spaces.
TEST_F(KubernetesClusterTest, AnEditedClaimGoesBackAsItWasRead) {
  const std::string path = absl::StrCat(kClaims, "/p-gpu-x7k9m");
  api::ResourceClaim claim = SpecialClaim().As<api::ResourceClaim>();
  claim.mutable_metadata()->set_uid("uid-2");
  claim.mutable_metadata()->set_resource_version("9");
  const std::string parameters = R"({"kind": "GpuConfig", "apiVersion":"gpu.example.com/v1" })";
  claim.mutable_spec()
      ->mutable_devices()
      ->add_config()
      ->mutable_device_configuration()
      ->mutable_opaque()
      ->mutable_parameters()
      ->set_raw(parameters);
  claim.mutable_spec()
      ->GetReflection()
      ->MutableUnknownFields(claim.mutable_spec())
      ->AddVarint(999, 7);
  server_.On(absl::StrCat("GET ", path),
             {{.body = Envelope("resource.k8s.io/v1", "ResourceClaim", claim.SerializeAsString()),
               .content_type = kProtobufType}});
  server_.On(absl::StrCat("PUT ", path), {Refusal(409, "Conflict"), {}});
  const auto add_finalizer = [](google::protobuf::Message& latest) {
    static_cast<api::ResourceClaim&>(latest).mutable_metadata()->add_finalizers("in-use");
    return absl::OkStatus();
  };
  const auto edit = [&](absl::string_view uid) {
    return cluster().Edit(
        {.object = std::make_shared<Identity>(Kind::kResourceClaim, "default", "p-gpu-x7k9m", uid),
         .part = ObjectUpdate::Part::kAllButStatus,
         .edit = add_finalizer});
  };
  ASSERT_TRUE(edit("uid-2").ok());  // at the second try
  claim.mutable_metadata()->add_finalizers("in-use");
  const TestRequest request = server_.Last(absl::StrCat("PUT ", path));
  EXPECT_EQ(request.headers.at("content-type"), kProtobufType);
  const absl::StatusOr<Enveloped> sent = OpenEnvelope(request.body);
  ASSERT_TRUE(sent.ok());
  EXPECT_EQ(sent->api_version, "resource.k8s.io/v1");
  EXPECT_EQ(sent->kind, "ResourceClaim");
  EXPECT_EQ(sent->raw, claim.SerializeAsString());
  EXPECT_TRUE(absl::IsNotFound(edit("uid-3")));
}

// --- Statuses of groups --------------------------------------------------------------------------

// Delivers nothing further.
class Ignored final : public WatchSink {
 public:
  void Deliver(std::vector<WatchEvent>) override {}
};

const std::string kListGroups =
    "GET /apis/scheduling.x-k8s.io/v1alpha1/podgroups?resourceVersion=0&limit=500";
const std::string kListEnded =
    "GET /api/v1/pods?labelSelector=scheduling.x-k8s.io%2Fpod-group&fieldSelector="
    "status.phase%21%3DPending%2Cstatus.phase%21%3DRunning%2Cstatus.phase%21%3DUnknown";

// The end of the process has twenty seconds, of which this took up to fifteen.
TEST_F(KubernetesClusterTest, StoppingDoesNotWaitForAStatus) {
  UseJson();
  Ignored ignored;
  ScriptedAnswer held;
  held.held = true;
  server_.On(kListGroups,
             {{.body = absl::StrCat(R"({"kind":"PodGroupList","metadata":{"resourceVersion":"9"},)",
                                    R"("items":[)", GroupAnswer().body, "]}")}});
  server_.On(absl::StrCat(kListEnded, "&resourceVersion=0&limit=500"), {held});
  ASSERT_TRUE(cluster().Watch(ignored, {Kind::kPodGroup}).ok());
  const auto is_asked = [&] {
    const std::vector<std::string> asked = server_.Asked();
    return std::any_of(asked.begin(), asked.end(), [](const std::string& request) {
      return absl::StartsWith(request, kListEnded);
    });
  };
  for (int i = 0; i < 500 && !is_asked(); ++i) absl::SleepFor(absl::Milliseconds(10));
  ASSERT_TRUE(is_asked()) << absl::StrJoin(server_.Asked(), "\n");
  const absl::Time start = MonotonicNow();
  cluster().StopWatching();
  EXPECT_LT(MonotonicNow() - start, absl::Seconds(3));
}

// --- Record and the end --------------------------------------------------------------------------

TEST_F(KubernetesClusterTest, AnEventIsWrittenBeforeTheEnd) {
  const std::string post = "POST /apis/events.k8s.io/v1/namespaces/default/events";
  server_.On(post, {{.code = 201}});
  cluster().Record({.regarding = ThePod(), .reason = "Scheduled", .action = "Binding"});
  cluster_ = nullptr;
  EXPECT_THAT(server_.Asked(), ElementsAre(post));
}

TEST(FindConnectionTest, WithoutAKubeconfigItIsTheServiceAccount) {
  const absl::Status none = FindConnection("", "").status();
  EXPECT_TRUE(absl::IsNotFound(none));
  EXPECT_THAT(std::string(none.message()), HasSubstr("this is no pod. Name a file"));
  EXPECT_TRUE(absl::IsInvalidArgument(FindConnection("", "kind").status()));
}

TEST(FindConnectionTest, AMasterIsCheckedAndReplacesTheServer) {
  const TemporaryFolder folder;
  const std::string file = folder.Write("config", R"(
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: https://one, tls-server-name: one}}]
users: [{name: u, user: {token: t}}]
)");
  const absl::StatusOr<Connection> connection = FindConnection(file, "", "two:6443/");
  ASSERT_TRUE(connection.ok()) << connection.status();
  EXPECT_EQ(connection->server, "https://two:6443");
  EXPECT_EQ(connection->tls_server_name, "");
  EXPECT_EQ(connection->token, "t");
  EXPECT_EQ(FindConnection("", "", "http://two/")->server, "http://two");
  EXPECT_THAT(std::string(FindConnection("/none", "", "https://two").status().message()),
              HasSubstr("/none"));
  EXPECT_THAT(std::string(FindConnection(file, "", "https://").status().message()),
              HasSubstr("--master=https:// has no host"));
}

TEST(FindConnectionTest, FilesThatCannotBeReadAreNamedAtOnce) {
  const TemporaryFolder folder;
  const std::string pem = folder.Write("pem", "-----BEGIN CERTIFICATE-----");
  const auto said = [&](absl::string_view cluster, absl::string_view user) {
    const std::string file = folder.Write(
        "config", absl::StrCat("current-context: c\ncontexts: [{name: c, context: {cluster: c, "
                               "user: u}}]\nclusters: [{name: c, cluster: {server: a",
                               cluster, "}}]\nusers: [{name: u, user: {", user, "}}]\n"));
    return std::string(FindConnection(file, "").status().message());
  };
  EXPECT_EQ(said(", certificate-authority: pem", "client-certificate: pem, client-key: pem"), "");
  EXPECT_THAT(said(", certificate-authority: none", ""),
              HasSubstr("/none: No such file or directory. It is the kubeconfig's "
                        "certificate-authority."));
  EXPECT_THAT(said("", "client-certificate: pem, client-key: none"), HasSubstr("client-key"));
  EXPECT_THAT(said("", "client-certificate: config, client-key: pem"), HasSubstr("is not PEM"));
  EXPECT_THAT(said("", "tokenFile: none"), HasSubstr("/none: No such file"));
  EXPECT_EQ(said("", "tokenFile: none, token: t"), "");
}

TEST(ConnectToClusterTest, SaysWhatIsWrongWithTheFile) {
  const auto connected = ConnectToCluster({.kubeconfig = "/does/not/exist"});
  ASSERT_FALSE(connected.ok());
  EXPECT_THAT(std::string(connected.status().message()), HasSubstr("/does/not/exist"));
}

}  // namespace
}  // namespace berth
