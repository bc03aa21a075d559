// SPDX-License-Identifier: Apache-2.0
// Identity and IdentityMap: names, who is found how, and that nothing moves or is lost.
#include "berth/api/identity.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/identity_map.h"
#include "berth/api/object.h"

namespace berth {
namespace {

IdentityPtr Pod(absl::string_view name, absl::string_view uid = "") {
  return std::make_shared<const Identity>(Kind::kPod, "ns", name, uid);
}

TEST(Identity, HasTheNamesOfItsObject) {
  const Identity pod(Kind::kPod, "ns", "p", "u");
  EXPECT_EQ(pod.key(), "ns/p");
  EXPECT_EQ(pod.namespace_name(), "ns");
  EXPECT_EQ(pod.name(), "p");
  EXPECT_EQ(pod.uid(), "u");
  EXPECT_TRUE(pod.has_uid());
  EXPECT_TRUE(pod.Is("ns", "p", "u"));
  EXPECT_FALSE(pod.Is("ns", "p", ""));
  EXPECT_FALSE(pod.Is("ns", "p", "v"));
  EXPECT_FALSE(pod.Is("ns", "q", "u"));
  EXPECT_FALSE(pod.Is("other", "p", "u"));
  EXPECT_EQ(pod.key_hash(), Identity::HashOf("ns/p"));
  EXPECT_EQ(pod.uid_hash(), Identity::HashOf("u"));
}

TEST(Identity, WithoutAUidItsNamesTellItFromAllOthers) {
  EXPECT_EQ(Pod("p")->uid(), "Pod/ns/p");
  EXPECT_FALSE(Pod("p")->has_uid());
  EXPECT_TRUE(Pod("p")->Is("ns", "p", ""));
  EXPECT_EQ(Identity(Kind::kNode, "", "n", "").uid(), "Node/n");
}

TEST(Identity, OfAKindWithoutNamespacesHasNone) {
  const Identity node(Kind::kNode, "ignored", "n", "u");
  EXPECT_EQ(node.key(), "n");
  EXPECT_EQ(node.name(), "n");
  EXPECT_EQ(node.namespace_name(), "");
  EXPECT_TRUE(node.Is("also ignored", "n", "u"));
}

TEST(Identity, IsSharedByTheStatesOfAPod) {
  auto message = std::make_shared<api::Pod>();
  message->mutable_metadata()->set_namespace_("ns");
  message->mutable_metadata()->set_name("p");
  const Object pod(PackedPod::Pack(*message));
  const auto changed =
      pod.packed()->With([](api::Pod& own) { own.mutable_status()->set_phase("Running"); });
  EXPECT_EQ(Object(changed).identity(), pod.identity());
  EXPECT_EQ(changed->Bound(Symbol::Intern("n"), absl::UnixEpoch())->identity(), pod.identity());
  const auto another =
      pod.packed()->With([](api::Pod& own) { own.mutable_metadata()->set_uid("u"); });
  EXPECT_NE(another->identity(), pod.identity());
  EXPECT_EQ(another->identity()->uid(), "u");
}

TEST(IdentityMap, FindsByIdentityByAnotherOneOfTheSameNameAndByName) {
  IdentityMap<int, ByUid> map;
  EXPECT_EQ(map.Find("u"), nullptr);
  const IdentityPtr pod = Pod("p", "u");
  const auto added = map.FindOrAdd(pod, 7);
  EXPECT_TRUE(added.second);
  EXPECT_EQ(map.Find(*pod), added.first);
  EXPECT_EQ(*map.Find("u"), 7);
  EXPECT_EQ(*map.Find(*Pod("renamed", "u")), 7);
  EXPECT_EQ(map.Find(*Pod("p", "v")), nullptr);
  EXPECT_EQ(map.FindOrAdd(Pod("p", "u"), 8), std::make_pair(added.first, false));
  EXPECT_EQ(*map.Find("u"), 7);
  EXPECT_FALSE(map.Erase("v"));
  EXPECT_TRUE(map.Erase(*pod));
  EXPECT_FALSE(map.Erase(*pod));
  EXPECT_TRUE(map.empty());
}

TEST(IdentityMap, ByKeyAUidDoesNotMatter) {
  IdentityMap<int, ByKey> map;
  map.FindOrAdd(Pod("p", "u"), 1);
  EXPECT_EQ(*map.Find(*Pod("p", "another")), 1);
  EXPECT_EQ(*map.Find("ns/p"), 1);
  EXPECT_FALSE(map.Contains("ns/q"));
}

TEST(IdentityMap, ErasesAnEntryThatIsNamedByItself) {
  IdentityMap<IdentityPtr, ByUid> map;
  map.FindOrAdd(Pod("p", "a uid that is too long to be kept in a string itself"));
  std::vector<const Identity*> all;
  map.ForEach([&](const Identity& who, const IdentityPtr&) { all.push_back(&who); });
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(map.Erase(*all.front()));
  EXPECT_TRUE(map.empty());
}

// Against std::map, with values that must stay where they are.
TEST(IdentityMap, IsAMapWhateverIsDone) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    IdentityMap<int, ByUid> map;
    std::map<std::string, int*> model;
    for (int step = 0; step < 4000; ++step) {
      const uint32_t number = random() % 600;
      const IdentityPtr pod = Pod(absl::StrCat("p", number), absl::StrCat("u", number));
      if (random() % 3 != 0) {
        const auto [value, is_new] = map.FindOrAdd(pod, step);
        ASSERT_EQ(is_new, model.emplace(pod->uid(), value).second);
        ASSERT_EQ(model[pod->uid()], value) << "it has moved";
      } else {
        ASSERT_EQ(map.Erase(*pod), model.erase(pod->uid()) == 1);
      }
      ASSERT_EQ(map.size(), model.size());
    }
    size_t seen = 0;
    map.ForEach([&](const Identity& who, const int& value) {
      ++seen;
      EXPECT_EQ(model.at(who.uid()), &value);
    });
    EXPECT_EQ(seen, model.size());
    for (const auto& [uid, value] : model) EXPECT_EQ(map.Find(uid), value);
  }
}

}  // namespace
}  // namespace berth
