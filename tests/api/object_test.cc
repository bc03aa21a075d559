// SPDX-License-Identifier: Apache-2.0
// Kinds, objects and problems.
#include "berth/api/object.h"

#include <gmock/gmock.h>

#include <sstream>
#include <string>

#include "berth/api/core_v1.pb.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"

namespace berth {
namespace {

TEST(KindTest, Names) {
  EXPECT_EQ(AllKinds().size(), static_cast<size_t>(kKindCount));
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
  EXPECT_EQ(FindKind("scheduling.sigs.k8s.io/v1alpha1", "PodGroup"), Kind::kPodGroup);
  EXPECT_EQ(FindKind("v1", "pod"), std::nullopt);
  EXPECT_EQ(FindKind("apps/v1", "Pod"), std::nullopt);
  EXPECT_EQ(FindKind("policy/v1beta1", "PodDisruptionBudget"), std::nullopt);
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
