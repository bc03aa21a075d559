// SPDX-License-Identifier: Apache-2.0
// The members of groups, as rules and against a model. BERTH_TEST_SEED repeats one sequence.
#include "group/group_index.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::optional<std::string> GroupByLabel(const PodInfo& pod) {
  const Symbol* name = pod.labels().Find("group");
  if (name == nullptr) return std::nullopt;
  return absl::StrCat(pod.namespace_name().view(), "/", name->view());
}

PodBuilder Member(absl::string_view name, absl::string_view group = "g") {
  return MakePod().Name(name).Label("group", group);
}

std::string Uid(absl::string_view name) { return absl::StrCat("default/", name); }

void AppendWords(const PodInfo& pod, std::string& text) {
  if (const Symbol* const words = pod.labels().Find("says")) absl::StrAppend(&text, words->view());
}

// What is kept of kinds, against a count of all members: as "priority and words: counts", sorted.
std::vector<std::string> Describe(absl::Span<const MemberKind> kinds) {
  std::vector<std::string> result;
  for (const MemberKind& kind : kinds) {
    std::string words;
    AppendWords(*kind.pod, words);
    const MemberCounts& counts = kind.counts;
    result.push_back(absl::StrCat(kind.pod->priority(), " ", words, ": ", counts.members, " ",
                                  counts.assigned, " ", counts.bound, " ", counts.running, " ",
                                  counts.staying, " ", counts.gated, " ", counts.ready));
  }
  std::sort(result.begin(), result.end());
  return result;
}

void ExpectCountsHold(const GroupMembers& group) {
  MemberCounts counts;
  for (const GroupMember& member : group.members()) counts.Add(member);
  ASSERT_TRUE(group.counts() == counts);
  ASSERT_EQ(Describe(group.kinds()), Describe(CountKinds(group.members(), AppendWords)));
}

// "name@node" of each member, in order.
std::vector<std::string> Members(const GroupIndex& index, absl::string_view group) {
  std::vector<std::string> result;
  const GroupMembers* members = index.Find(group);
  if (members == nullptr) return result;
  for (const GroupMember& member : members->members()) {
    result.push_back(absl::StrCat(member.pod->name(), "@", member.node_name));
  }
  return result;
}

TEST(GroupIndex, MembersInOrderOfArrival) {
  GroupIndex index(GroupByLabel);
  EXPECT_THAT(index.SetPod(Member("b").Obj()), ElementsAre("default/g"));
  index.SetPod(Member("a").NodeName("n").Obj());
  index.SetPod(Member("c").Obj());
  EXPECT_THAT(index.SetPod(MakePod().Name("alone").Obj()), IsEmpty());
  index.SetPod(Member("b").Priority(7).Obj());
  EXPECT_THAT(Members(index, "default/g"), ElementsAre("b@", "a@n", "c@"));
  EXPECT_EQ(index.Find("default/g")->members().front().pod->priority(), 7);
  EXPECT_EQ(index.Find("default/g")->assigned_count(), 1);
  EXPECT_EQ(index.Find("default/g")->name(), "default/g");
  EXPECT_EQ(index.Find("default/h"), nullptr);
  EXPECT_EQ(index.GroupOfPod(Uid("a")), "default/g");
  EXPECT_EQ(index.GroupOfPod(Uid("alone")), std::nullopt);
}

TEST(GroupIndex, MembersThatGo) {
  GroupIndex index(GroupByLabel);
  for (const char* name : {"a", "b", "c"}) index.SetPod(Member(name).NodeName("n").Obj());
  EXPECT_EQ(index.RemovePod(Uid("b")), "default/g");
  EXPECT_EQ(index.RemovePod(Uid("b")), std::nullopt);
  EXPECT_THAT(index.SetPod(Member("a").NodeName("n").Phase("Succeeded").Obj()),
              ElementsAre("default/g"));
  EXPECT_THAT(Members(index, "default/g"), ElementsAre("c@n"));
  EXPECT_EQ(index.Find("default/g")->assigned_count(), 1);
  index.RemovePod(Uid("c"));
  EXPECT_EQ(index.Find("default/g"), nullptr);
  EXPECT_EQ(index.size(), 0);
}

TEST(GroupIndex, KindsByWhatMembersSay) {
  GroupIndex index(GroupByLabel, nullptr, AppendWords);
  for (const char* name : {"a", "b", "c"}) index.SetPod(Member(name).Obj());
  const GroupMembers& group = *index.Find("default/g");
  const uint64_t version = group.kinds_version();
  index.SetPod(Member("d").Obj());
  index.SetPod(Member("a").NodeName("n").Obj());
  EXPECT_THAT(Describe(group.kinds()), ElementsAre("0 : 4 1 1 1 1 0 4"));
  EXPECT_EQ(group.kinds_version(), version) << "nobody says anything new";
  index.SetPod(Member("b").Label("says", "three").Obj());
  index.SetPod(Member("c").Priority(5).SchedulingGate("hold").Obj());
  EXPECT_THAT(Describe(group.kinds()),
              ElementsAre("0 : 2 1 1 1 1 0 2", "0 three: 1 0 0 0 0 0 1", "5 : 1 0 0 0 0 1 0"));
  const uint64_t third = group.kinds_version();
  EXPECT_NE(third, version);
  index.RemovePod(Uid("b"));
  EXPECT_THAT(Describe(group.kinds()), ElementsAre("0 : 2 1 1 1 1 0 2", "5 : 1 0 0 0 0 1 0"));
  EXPECT_NE(group.kinds_version(), third);
}

TEST(GroupIndex, AllByName) {
  GroupIndex index(GroupByLabel);
  for (const char* group : {"h", "g", "i"}) index.SetPod(Member(group, group).Obj());
  index.RemovePod(Uid("i"));
  std::vector<std::string> names;
  for (const GroupMembers* group : index.All()) names.emplace_back(group->name());
  EXPECT_THAT(names, ElementsAre("default/g", "default/h"));
}

TEST(GroupIndex, AssumedMembersKeepTheirNode) {
  GroupIndex index(GroupByLabel);
  index.SetPod(Member("a").Obj());
  index.Assume(Uid("a"), "n");
  index.Assume(Uid("stranger"), "n");
  EXPECT_EQ(index.Find("default/g")->assigned_count(), 1);
  index.SetPod(Member("a").Priority(3).Obj());
  EXPECT_THAT(Members(index, "default/g"), ElementsAre("a@n")) << "an update of the pending pod";
  index.Forget(Uid("a"));
  index.Forget(Uid("stranger"));
  EXPECT_THAT(Members(index, "default/g"), ElementsAre("a@"));
  EXPECT_EQ(index.Find("default/g")->assigned_count(), 0);
  index.Assume(Uid("a"), "n");
  index.SetPod(Member("a").NodeName("m").Obj());
  EXPECT_THAT(Members(index, "default/g"), ElementsAre("a@m")) << "where the watch shows it";
  index.Forget(Uid("a"));
  EXPECT_THAT(Members(index, "default/g"), ElementsAre("a@m"));
}

TEST(GroupIndex, ALabelMovesAMember) {
  GroupIndex index(GroupByLabel);
  index.SetPod(Member("a").Obj());
  index.Assume(Uid("a"), "n");
  index.SetPod(Member("b", "h").Obj());
  EXPECT_THAT(index.SetPod(Member("a", "h").Obj()), ElementsAre("default/g", "default/h"));
  EXPECT_EQ(index.Find("default/g"), nullptr);
  EXPECT_THAT(Members(index, "default/h"), ElementsAre("b@", "a@n"));
  EXPECT_THAT(index.SetPod(MakePod().Name("a").Obj()), ElementsAre("default/h"));
  EXPECT_THAT(Members(index, "default/h"), ElementsAre("b@"));
}

// Who is seen again with another status is not asked for its group.
TEST(GroupIndex, AsksOnceAboutAPodThatIsBoundOrEvicted) {
  int asked = 0;
  GroupIndex index(
      [&asked](const PodInfo& pod) {
        ++asked;
        return GroupByLabel(pod);
      },
      nullptr, AppendWords);
  const auto pending = Member("a").Obj();
  index.SetPod(pending);
  EXPECT_EQ(asked, 1);
  const auto see = [&](std::shared_ptr<const PackedPod> packed, const PodInfo& before) {
    auto pod = PodInfo::Create(std::move(packed), &before).value();
    EXPECT_THAT(index.SetPod(pod), ElementsAre("default/g"));
    ExpectCountsHold(*index.Find("default/g"));
    return pod;
  };
  const auto bound =
      see(pending->packed()->Bound(Symbol::Intern("n"), absl::UnixEpoch()), *pending);
  EXPECT_THAT(Members(index, "default/g"), ElementsAre("a@n"));
  see(bound->packed()->Evicted(absl::UnixEpoch(), ""), *bound);
  EXPECT_EQ(index.Find("default/g")->counts().running, 0);
  EXPECT_EQ(asked, 1);
  see(PackedPod::Pack(*bound->packed()->Unpack()), *bound);
  EXPECT_EQ(index.Find("default/g")->counts().running, 1);
  EXPECT_EQ(asked, 2) << "its metadata is another one";
  index.SetPod(index.Find("default/g")->members().front().pod);
  EXPECT_EQ(asked, 3) << "the same pod, since its group may be another one";
}

void RunSequence(uint64_t seed) {
  SCOPED_TRACE(absl::StrCat("BERTH_TEST_SEED=", seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
  GroupIndex index(GroupByLabel, nullptr, AppendWords);
  std::map<std::string, std::pair<uint64_t, std::vector<std::string>>> kinds;  // as seen last
  struct Known {
    std::string name, node;
    bool bound;
  };
  std::map<std::string, std::vector<Known>> model;
  const auto find = [&](const std::string& name) -> std::pair<std::vector<Known>*, size_t> {
    for (auto& [group, members] : model) {
      for (size_t i = 0; i < members.size(); ++i) {
        if (members[i].name == name) return {&members, i};
      }
    }
    return {nullptr, 0};
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string name = absl::StrCat("p", below(24));
    const auto [members, at] = find(name);
    switch (below(5)) {
      case 0:
      case 1: {
        const std::string group = absl::StrCat("g", below(3));
        const bool bound = below(4) == 0;
        const bool terminal = below(10) == 0;
        PodBuilder pod = Member(name, group);
        if (bound) pod.NodeName("bound");
        if (terminal) pod.Phase("Failed");
        if (below(2) == 0) pod.Label("says", absl::StrCat("w", below(3)));
        if (below(4) == 0) pod.Priority(static_cast<int32_t>(below(2)));
        if (below(4) == 0) pod.SchedulingGate("hold");
        if (below(4) == 0) pod.Deleted();
        index.SetPod(pod.Obj());
        const std::string key = absl::StrCat("default/", group);
        Known known{name, bound ? "bound" : "", bound};
        if (members != nullptr) {
          if (!bound) known.node = (*members)[at].node;
          if (members == &model[key] && !terminal) {
            (*members)[at] = known;
            break;
          }
          members->erase(members->begin() + static_cast<int>(at));
        }
        if (!terminal) model[key].push_back(known);
        break;
      }
      case 2:
        index.RemovePod(Uid(name));
        if (members != nullptr) members->erase(members->begin() + static_cast<int>(at));
        break;
      case 3:
        index.Assume(Uid(name), "assumed");
        if (members != nullptr) (*members)[at].node = "assumed";
        break;
      case 4:
        index.Forget(Uid(name));
        if (members != nullptr) (*members)[at].node = (*members)[at].bound ? "bound" : "";
        break;
    }
    for (const auto& [group, wanted] : model) {
      if (below(2) == 0) continue;  // so that holes pile up
      std::vector<std::string> want;
      int assigned = 0;
      for (const Known& known : wanted) {
        want.push_back(absl::StrCat(known.name, "@", known.node));
        assigned += known.node.empty() ? 0 : 1;
      }
      ASSERT_EQ(Members(index, group), want) << "operation " << i;
      ASSERT_EQ(index.Find(group) == nullptr, want.empty());
      if (!want.empty()) {
        ASSERT_EQ(index.Find(group)->assigned_count(), assigned);
        ASSERT_NO_FATAL_FAILURE(ExpectCountsHold(*index.Find(group)));
        std::vector<std::string> now;
        for (const MemberKind& kind : index.Find(group)->kinds()) {
          now.push_back(absl::StrCat(kind.pod->priority()));
          AppendWords(*kind.pod, now.back());
        }
        std::sort(now.begin(), now.end());
        auto& [version, seen] = kinds[group];
        if (version == index.Find(group)->kinds_version()) {
          ASSERT_EQ(seen, now);
        }
        version = index.Find(group)->kinds_version();
        seen = now;
      }
    }
  }
}

TEST(GroupIndex, AgreesWithAModel) {
  if (const char* seed = std::getenv("BERTH_TEST_SEED")) {
    return RunSequence(std::strtoull(seed, nullptr, 10));
  }
  for (uint64_t seed = 1; seed <= 10 && !HasFatalFailure(); ++seed) RunSequence(seed);
}

}  // namespace
}  // namespace berth::testing
