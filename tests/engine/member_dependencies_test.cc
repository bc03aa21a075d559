// SPDX-License-Identifier: Apache-2.0
// Members are ordered so that each comes behind those that it needs.
#include "engine/member_dependencies.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MakePod;
using testing::PodBuilder;

PodBuilder Member(const std::string& name) {
  return MakePod().Name(name).Namespace("default").Label("app", name).Request("cpu", "1");
}

PodBuilder Near(const std::string& name, const std::string& other) {
  return Member(name).PodAffinity("kubernetes.io/hostname", {{"app", other}});
}

std::vector<std::string> Ordered(std::vector<PodBuilder> members) {
  MemberOrder pods;
  for (PodBuilder& member : members) pods.push_back(member.Obj());
  std::vector<std::string> names;
  for (const auto& pod : NeededFirst(pods)) names.emplace_back(pod->name());
  return names;
}

TEST(NeededFirst, WhoOthersNeed) {
  EXPECT_THAT(Ordered({Near("b", "a"), Member("a")}), ElementsAre("a", "b"));
  EXPECT_THAT(Ordered({Near("c", "b"), Near("b", "a"), Member("a"), Member("d")}),
              ElementsAre("a", "b", "c", "d"));
}

TEST(NeededFirst, WhoCanEvictLess) {
  EXPECT_THAT(Ordered({Member("a").Priority(5), Member("b").Priority(5).PreemptNever(),
                       Member("c").Priority(1)}),
              ElementsAre("b", "c", "a"));
  EXPECT_THAT(Ordered({Near("b", "a").Priority(1), Member("a").Priority(5)}),
              ElementsAre("a", "b"));
}

TEST(NeededFirst, EmptyIfNothingChanges) {
  EXPECT_THAT(Ordered({Member("a"), Member("b")}), IsEmpty());
  EXPECT_THAT(Ordered({Member("a"), Near("b", "a")}), IsEmpty());
  EXPECT_THAT(Ordered({Near("b", "b"), Near("a", "a")}), IsEmpty()) << "they need no other";
  EXPECT_THAT(Ordered({Near("b", "x"), Member("a")}), IsEmpty()) << "no member is meant";
  EXPECT_THAT(Ordered({Near("b", "a"), Near("a", "b")}), IsEmpty()) << "neither can be first";
}

TEST(NeededFirst, NotOfVeryManyKinds) {
  std::vector<PodBuilder> members = {Near("b", "a")};
  for (int i = 0; i < 300; ++i) members.push_back(Member(absl::StrCat("m", i)));
  members.push_back(Member("a"));
  EXPECT_THAT(Ordered(std::move(members)), IsEmpty());
}

}  // namespace
}  // namespace berth
