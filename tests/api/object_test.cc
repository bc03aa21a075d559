// SPDX-License-Identifier: Apache-2.0
// Kinds, objects and problems.
#include "berth/api/object.h"

#include <gmock/gmock.h>

#include <sstream>
#include <string>

#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/manifest.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"

namespace berth {
namespace {

TEST(KindTest, Names) {
  EXPECT_GE(AllKinds().size(), static_cast<size_t>(kKindCount));
  EXPECT_EQ(kKindOf<api::Pod>, Kind::kPod);
  EXPECT_EQ(kKindOf<api::PodGroup>, Kind::kPodGroup);
  EXPECT_EQ(ApiVersion(Kind::kPod), "v1");
  EXPECT_EQ(ApiVersion(Kind::kPodGroup), "scheduling.x-k8s.io/v1alpha1");
  EXPECT_EQ(GroupResource(Kind::kPod), "pods.v1");
  EXPECT_EQ(GroupResource(Kind::kPodGroup), "podgroups.v1alpha1.scheduling.x-k8s.io");
  EXPECT_TRUE(IsNamespaced(Kind::kCSIStorageCapacity));
  EXPECT_FALSE(IsNamespaced(Kind::kCSIDriver));
}

TEST(KindTest, IsFoundByVersionAndName) {
  for (const Kind kind : AllKinds()) EXPECT_EQ(FindKind(ApiVersion(kind), KindName(kind)), kind);
  EXPECT_EQ(FindKind("scheduling.incubator.k8s.io/v1alpha1", "PodGroup"), Kind::kVolcanoPodGroup);
  EXPECT_EQ(FindKind("scheduling.k8s.io/v1alpha3", "PodGroup"), Kind::kKubernetesPodGroup);
  EXPECT_EQ(FindKind("scheduling.sigs.k8s.io/v1alpha1", "PodGroup"), Kind::kPodGroup);
  EXPECT_EQ(FindKind("v1", "pod"), std::nullopt);
  EXPECT_EQ(FindKind("apps/v1", "Pod"), std::nullopt);
  EXPECT_EQ(FindKind("policy/v1beta1", "PodDisruptionBudget"), std::nullopt);
}

TEST(KindTest, CanBeRegistered) {
  const KindDescription pool = {"example.com", "v1", "LicencePool", "licencepools", true};
  const absl::StatusOr<Kind> kind = RegisterKind(pool);
  ASSERT_TRUE(kind.ok()) << kind.status();
  EXPECT_TRUE(IsRegisteredKind(*kind));
  EXPECT_FALSE(IsRegisteredKind(Kind::kDevice));
  EXPECT_THAT(AllKinds(), ::testing::Contains(*kind));
  EXPECT_EQ(GroupResource(*kind), "licencepools.v1.example.com");
  EXPECT_EQ(FindKind("example.com/v1", "LicencePool"), *kind);
  EXPECT_EQ(RegisterKind(pool).value(), *kind);
  EXPECT_EQ(ApiVersion(RegisterKind({"", "v1", "ConfigMap", "configmaps", true}).value()), "v1");
}

TEST(KindTest, IsRegisteredOnce) {
  ASSERT_TRUE(RegisterKind({"example.com", "v1", "Rack", "racks", false}).ok());
  const absl::Status other = RegisterKind({"example.com", "v2", "Rack", "racks", false}).status();
  EXPECT_TRUE(absl::IsAlreadyExists(other)) << other;
  EXPECT_EQ(other.message(), "Rack is known already, as racks.v1.example.com");
  const absl::Status known = RegisterKind({"", "v1", "Pod", "pods", true}).status();
  EXPECT_EQ(known.message(), "Pod is known already, as pods.v1; Berth reads it itself");
  EXPECT_TRUE(absl::IsInvalidArgument(RegisterKind({"example.com", "v1", "", "x"}).status()));
}

TEST(KindTest, ObjectsOfARegisteredOneAreReadAsTheyAre) {
  const Kind kind =
      RegisterKind({"example.com", "v1", "LicencePool", "licencepools", true}).value();
  const Manifests read = ParseManifest(
      "{apiVersion: example.com/v1, kind: LicencePool, metadata: {name: solver, uid: u},"
      " spec: {seats: 3, json: [1.5, null, yes, .inf]}}",
      "pool.yaml");
  ASSERT_TRUE(read.problems.ok()) << read.problems.ToStatus();
  ASSERT_EQ(read.objects.size(), 1u);
  const Object& pool = read.objects.front();
  EXPECT_EQ(pool.kind(), kind);
  EXPECT_EQ(pool.key(), "default/solver");
  EXPECT_EQ(pool.uid(), "u");
  EXPECT_EQ(
      pool.json(),
      R"({"apiVersion":"example.com/v1","kind":"LicencePool","metadata":{"name":"solver","uid":"u"},"spec":{"seats":3,"json":[1.5,null,true,null]}})");
  EXPECT_EQ(ToJson(pool.message()), pool.json());
}

TEST(ObjectTest, NamesItself) {
  auto pod = std::make_shared<api::Pod>();
  pod->mutable_metadata()->set_name("p");
  pod->mutable_metadata()->set_namespace_("ns");
  const Object object = Object::Of(pod);
  EXPECT_EQ(object.kind(), Kind::kPod);
  EXPECT_EQ(object.name(), "p");
  EXPECT_EQ(object.namespace_name(), "ns");
  EXPECT_EQ(object.key(), "ns/p");
  EXPECT_EQ(object.uid(), "Pod/ns/p");
  EXPECT_EQ(object.ToString(), "Pod ns/p");
  EXPECT_EQ(&object.As<api::Pod>(), pod.get());
  EXPECT_EQ(object.Share<api::Pod>(), pod);
}

TEST(ObjectTest, SurvivesMoves) {
  auto node = std::make_shared<api::Node>();
  node->mutable_metadata()->set_name("n");
  node->mutable_metadata()->set_namespace_("ignored");
  node->mutable_metadata()->set_uid("u");
  Object first = Object::Of(node);
  const Object object = std::move(first);
  EXPECT_EQ(object.name(), "n");
  EXPECT_EQ(object.namespace_name(), "");
  EXPECT_EQ(object.key(), "n");
  EXPECT_EQ(object.uid(), "u");
}

TEST(ObjectDeathTest, ChecksTheKind) {
  auto node = std::make_shared<api::Node>();
  node->mutable_metadata()->set_name("n");
  const Object object = Object::Of(node);
  EXPECT_DEATH(object.As<api::Pod>(), "check failed: .* Node n");
}

TEST(ProblemTest, Prints) {
  const Symbol file = Symbol::Intern("a.yaml");
  std::ostringstream out;
  out << Problem{{file, 3, 7}, "Pod default/p", "spec.x: is bad"};
  EXPECT_EQ(out.str(), "a.yaml:3:7: error: Pod default/p: spec.x: is bad");
  EXPECT_EQ((Problem{{file, 3}, "", "odd", Severity::kWarning}).ToString(),
            "a.yaml:3: warning: odd");
  EXPECT_EQ((Problem{{file}, "", "gone"}).ToString(), "a.yaml: error: gone");
  EXPECT_EQ((Problem{{}, "", "gone"}).ToString(), "error: gone");
}

TEST(ProblemsTest, OnlyErrorsMakeAStatus) {
  Problems problems;
  problems.AddWarning({}, "", "careful");
  EXPECT_TRUE(problems.ok());
  EXPECT_TRUE(problems.ToStatus().ok());
  Problems more;
  const Symbol a = Symbol::Intern("a"), b = Symbol::Intern("b");
  more.AddError({b, 2, 1}, "", "second");
  more.AddError({a, 9, 9}, "", "first");
  problems.Append(std::move(more));
  EXPECT_EQ(problems.errors(), 2);
  EXPECT_EQ(problems.size(), 3u);
  problems.SortByLocation();
  EXPECT_EQ(problems.ToStatus().message(), "a:9:9: error: first\nb:2:1: error: second");
}

}  // namespace
}  // namespace berth
