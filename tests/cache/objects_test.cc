// SPDX-License-Identifier: Apache-2.0
// Objects other than pods and nodes.
#include "cache/objects.h"

#include <algorithm>

#include "berth/api/core_v1.pb.h"
#include "berth/api/policy_v1.pb.h"
#include "gmock/gmock.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Object Service(const std::string& namespace_name, const std::string& name,
               const std::string& app = "") {
  auto message = std::make_shared<api::Service>();
  message->mutable_metadata()->set_namespace_(namespace_name);
  message->mutable_metadata()->set_name(name);
  if (!app.empty()) (*message->mutable_spec()->mutable_selector())["app"] = app;
  return Object::Of(message);
}

Object Namespace(const std::string& name, const std::string& team) {
  auto message = std::make_shared<api::Namespace>();
  message->mutable_metadata()->set_name(name);
  (*message->mutable_metadata()->mutable_labels())["team"] = team;
  return Object::Of(message);
}

std::vector<std::string> Keys(const Objects& objects, Kind kind) {
  std::vector<std::string> keys;
  for (const Object* object : objects.List(kind)) keys.emplace_back(object->key());
  return keys;
}

TEST(Objects, ListsInOrderOfArrival) {
  Objects objects;
  EXPECT_EQ(objects.Set(Service("b", "x")), std::nullopt);
  objects.Set(Service("a", "x"));
  objects.Set(Service("a", "w"));
  EXPECT_THAT(Keys(objects, Kind::kService), ElementsAre("b/x", "a/x", "a/w"));
  ASSERT_TRUE(objects.Set(Service("b", "x", "web")).has_value());
  EXPECT_THAT(Keys(objects, Kind::kService), ElementsAre("b/x", "a/x", "a/w"))
      << "a replaced one keeps its place";
  EXPECT_EQ(objects.Find<api::Service>("b", "x")->spec().selector().at("app"), "web");
  ASSERT_TRUE(objects.Remove(Kind::kService, "b", "x").has_value());
  EXPECT_FALSE(objects.Remove(Kind::kService, "b", "x").has_value());
  objects.Set(Service("b", "x"));
  EXPECT_THAT(Keys(objects, Kind::kService), ElementsAre("a/x", "a/w", "b/x"));
  EXPECT_EQ(objects.size(Kind::kService), 3);
}

TEST(Objects, KindsAreApart) {
  Objects objects;
  objects.Set(Service("a", "x"));
  EXPECT_EQ(objects.Find<api::PodDisruptionBudget>("a", "x"), nullptr);
  EXPECT_EQ(objects.Find<api::Service>("", "x"), nullptr);
  EXPECT_TRUE(objects.List(Kind::kPodDisruptionBudget).empty());
}

TEST(Objects, TheVersionChangesWithItsKindAlone) {
  Objects objects;
  const uint64_t budgets = objects.version(Kind::kPodDisruptionBudget);
  uint64_t before = objects.version(Kind::kService);
  const auto changed = [&] {
    return std::exchange(before, objects.version(Kind::kService)) != before;
  };
  objects.Set(Service("a", "x"));
  EXPECT_TRUE(changed());
  objects.Set(Service("a", "x"));
  EXPECT_TRUE(changed());
  objects.Remove(Kind::kService, "a", "y");
  EXPECT_FALSE(changed());
  objects.Remove(Kind::kService, "a", "x");
  EXPECT_TRUE(changed());
  EXPECT_EQ(objects.version(Kind::kPodDisruptionBudget), budgets);
}

std::vector<std::string> ChangedSince(const Objects& objects, Kind kind, uint64_t version) {
  const auto changes = objects.ChangesSince(kind, version);
  if (!changes.has_value()) return {"not known"};
  std::vector<std::string> keys;
  for (const IdentityPtr& changed : *changes) keys.push_back(changed->key());
  return keys;
}

TEST(Objects, SaysWhatChangedOfAKind) {
  Objects objects;
  EXPECT_THAT(ChangedSince(objects, Kind::kService, 0), IsEmpty());
  objects.Set(Service("a", "x"));
  objects.Set(Service("a", "y"));
  objects.Set(Namespace("a", "red"));
  const uint64_t version = objects.version(Kind::kService);
  objects.Set(Service("a", "x", "web"));
  objects.Remove(Kind::kService, "a", "y");
  objects.Remove(Kind::kService, "a", "z");
  EXPECT_THAT(ChangedSince(objects, Kind::kService, 0), ElementsAre("a/x", "a/y", "a/x", "a/y"));
  EXPECT_THAT(ChangedSince(objects, Kind::kService, version), ElementsAre("a/x", "a/y"));
  EXPECT_THAT(ChangedSince(objects, Kind::kService, objects.version(Kind::kService)), IsEmpty());
  EXPECT_THAT(ChangedSince(objects, Kind::kNamespace, 0), ElementsAre("a"));
  EXPECT_THAT(ChangedSince(objects, Kind::kPodDisruptionBudget, 0), IsEmpty());
  EXPECT_THAT(ChangedSince(objects, Kind::kService, objects.version(Kind::kService) + 1),
              ElementsAre("not known"));
}

TEST(Objects, KeepsTheLatestChanges) {
  Objects objects;
  objects.Set(Namespace("first", "red"));
  for (size_t i = 0; i < 3 * Objects::kKeptChanges; ++i) {
    objects.Set(Service("a", i % 2 == 0 ? "even" : "odd"));
    const uint64_t version = objects.version(Kind::kService);
    const uint64_t kept = std::min<uint64_t>(version, Objects::kKeptChanges);
    ASSERT_EQ(objects.ChangesSince(Kind::kService, version - kept)->size(), kept);
    ASSERT_EQ(objects.ChangesSince(Kind::kService, version - 1)->front()->name(),
              i % 2 == 0 ? "even" : "odd");
    if (version > 2 * Objects::kKeptChanges) {
      ASSERT_EQ(objects.ChangesSince(Kind::kService, 0), std::nullopt) << version;
    }
  }
  EXPECT_THAT(ChangedSince(objects, Kind::kNamespace, 0), ElementsAre("first"));
}

TEST(Objects, KnowsTheLabelsOfNamespaces) {
  Objects objects;
  const Symbol prod = Symbol::Intern("prod");
  EXPECT_EQ(objects.NamespaceLabels(prod), nullptr);
  objects.Set(Namespace("prod", "red"));
  EXPECT_EQ(*objects.NamespaceLabels(prod), LabelSet({{"team", "red"}}));
  objects.Set(Namespace("prod", "blue"));
  EXPECT_EQ(*objects.NamespaceLabels(prod), LabelSet({{"team", "blue"}}));
  objects.Remove(Kind::kNamespace, "", "prod");
  EXPECT_EQ(objects.NamespaceLabels(prod), nullptr);
}

}  // namespace
}  // namespace berth
