// SPDX-License-Identifier: Apache-2.0
// Nominated pods. After the cases of kube-scheduler's nominator tests.
#include "cache/nominations.h"

#include "berth/testing/objects.h"
#include "gmock/gmock.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

PodBuilder Pod(absl::string_view name, int32_t priority = 0) {
  return MakePod().Name(name).Priority(priority);
}

std::vector<std::string> On(const Nominations& nominations, absl::string_view node) {
  std::vector<std::string> names;
  for (const auto& pod : nominations.NominatedPods(Symbol::Intern(node))) {
    names.emplace_back(pod->name());
  }
  return names;
}

TEST(Nominations, HighestPriorityFirstThenInOrder) {
  Nominations nominations;
  nominations.Nominate(Pod("a", 1).Obj(), "n");
  nominations.Nominate(Pod("b", 5).Obj(), "n");
  nominations.Nominate(Pod("c", 1).Obj(), "n");
  nominations.Nominate(Pod("d").Obj(), "m");
  EXPECT_THAT(On(nominations, "n"), ElementsAre("b", "a", "c"));
  EXPECT_THAT(On(nominations, "m"), ElementsAre("d"));
  EXPECT_THAT(On(nominations, "o"), IsEmpty());
  EXPECT_EQ(nominations.size(), 4);
  std::vector<std::string> all;
  nominations.ForEach([&](const PodInfo& pod, absl::string_view node) {
    all.push_back(absl::StrCat(pod.name(), "@", node));
  });
  EXPECT_THAT(all, ElementsAre("d@m", "b@n", "a@n", "c@n"));
}

TEST(Nominations, APodHasOneAtMost) {
  Nominations nominations;
  const auto pod = Pod("a").Obj();
  nominations.Nominate(pod, "n");
  nominations.Nominate(pod, "m");
  EXPECT_THAT(On(nominations, "n"), IsEmpty());
  EXPECT_EQ(nominations.NominatedNode(*pod), "m");
  nominations.Nominate(pod, "");
  EXPECT_EQ(nominations.size(), 0);
  EXPECT_EQ(nominations.NominatedNode(*pod), "");
  nominations.Remove(pod->uid());
}

TEST(Nominations, AddTakesWhatTheStatusSays) {
  Nominations nominations;
  nominations.Add(Pod("a").Obj());
  nominations.Add(Pod("b").NominatedNodeName("n").Obj());
  EXPECT_THAT(On(nominations, "n"), ElementsAre("b"));
  EXPECT_EQ(nominations.size(), 1);
}

TEST(Nominations, Updates) {
  struct Case {
    absl::string_view name, in_memory, old_status, new_status, want;
  };
  const Case cases[] = {
      {"neither status names a node: memory stays", "n", "", "", "n"},
      {"nothing anywhere", "", "", "", ""},
      {"the status arrives", "n", "", "n", "n"},
      {"the status names another node", "n", "", "m", "m"},
      {"the status changes", "n", "n", "m", "m"},
      {"the status is cleared", "n", "n", "", ""},
      {"the status says what memory had dropped", "", "n", "n", "n"},
  };
  for (const Case& c : cases) {
    Nominations nominations;
    const auto status = [](absl::string_view node) {
      PodBuilder pod = Pod("a");
      if (!node.empty()) pod.NominatedNodeName(node);
      return pod.Obj();
    };
    const auto old_pod = status(c.old_status);
    const auto new_pod = status(c.new_status);
    nominations.Nominate(old_pod, c.in_memory);
    nominations.Update(*old_pod, new_pod);
    EXPECT_EQ(nominations.NominatedNode(*new_pod), c.want) << c.name;
    if (c.want.empty()) {
      EXPECT_EQ(nominations.size(), 0) << c.name;
    } else {
      ASSERT_EQ(nominations.NominatedPods(Symbol::Intern(c.want)).size(), 1u) << c.name;
      EXPECT_EQ(nominations.NominatedPods(Symbol::Intern(c.want)).front(), new_pod)
          << c.name << ": the new version of the pod";
    }
  }
}

TEST(Nominations, TellWhichNodesChanged) {
  Nominations nominations;
  const auto pod = Pod("a").Obj();
  const Symbol n = Symbol::Intern("n"), m = Symbol::Intern("m");
  EXPECT_THAT(*nominations.ChangesSince(0), IsEmpty());
  nominations.Nominate(pod, "n");
  EXPECT_THAT(*nominations.ChangesSince(0), ElementsAre(n));
  const uint64_t version = nominations.version();
  nominations.Nominate(pod, "m");
  EXPECT_THAT(*nominations.ChangesSince(version), ElementsAre(n, m));
  nominations.Remove("nobody");
  EXPECT_EQ(nominations.version(), version + 2);
  EXPECT_THAT(*nominations.ChangesSince(nominations.version()), IsEmpty());
  EXPECT_EQ(nominations.ChangesSince(nominations.version() + 1), std::nullopt);
  for (int i = 0; i < 10'000; ++i) nominations.Nominate(pod, i % 2 == 0 ? "n" : "m");
  EXPECT_EQ(nominations.ChangesSince(version), std::nullopt) << "too long ago";
  EXPECT_THAT(*nominations.ChangesSince(nominations.version() - 2), ElementsAre(n, m));
}

}  // namespace
}  // namespace berth::testing
