// Objects other than pods and nodes.
#include "cache/objects.h"

#include "berth/api/core_v1.pb.h"
#include "berth/api/policy_v1.pb.h"
#include "gmock/gmock.h"

namespace berth {
namespace {

using ::testing::ElementsAre;

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
