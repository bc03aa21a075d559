// SPDX-License-Identifier: Apache-2.0
// Random histories of gangs with priorities and racks, while nodes are lost and come back and pods
// are deleted; controllers make again whatever goes. No state comes twice unless something happens
// from outside, and at rest no gang runs in part, none is torn out of its rack or its slices, and
// none waits that has a place, unless that is reserved. In some, pods are moved for gangs, and
// gangs that have waited get reservations. BERTH_SEED=N repeats one.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

constexpr int kGpus = 8;  // of a node

struct HistoryGang {
  int members = 1;
  int min_member = 1;
  int gpus = 1;  // each
  int priority = 0;
  bool one_rack = false;
  int slice = 0;              // so many members are in one rack each; 0: no slices
  bool lost_members = false;  // from outside
};

KubeSchedulerConfiguration HistoryConfiguration(int most_moves, int reserve_after) {
  LoadedConfiguration loaded =
      ParseConfiguration(absl::StrCat(R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Coscheduling}, {name: TopologyPlacementGenerator}]
      disabled: [{name: PrioritySort}]
  pluginConfig:
  - name: Coscheduling
    args: {mostMoves: )",
                                      most_moves, ", reserveAfterSeconds: ", reserve_after, "}\n"),
                         "history", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  return loaded.configuration;
}

class GangHistory {
 public:
  // `reserves`: whether gangs may get reservations, and slices.
  GangHistory(int seed, bool reserves)
      : random_(seed), moves_(random_.Percent(50) ? 2 : 0), reserves_(reserves) {
    nodes_ = random_.Between(3, 6);
    simulation_ =
        Simulation::Create({.configuration = HistoryConfiguration(moves_, reserves_ ? 10 : 0),
                            .registry = &Builtins(),
                            .objects = {},
                            .seed = static_cast<uint64_t>(seed)})
            .value();
    for (int n = 0; n < nodes_; ++n) SetNode(n);
  }

  void Run() {
    for (int phase = 0; phase < 8 && !::testing::Test::HasFailure(); ++phase) {
      Change();
      ComeToRest();
      Check();
    }
  }

  const std::string& timeline() const { return timeline_; }
  int evictions() { return static_cast<int>(simulation_->cluster().Evictions().size()); }
  int moved() const { return moved_; }
  bool has_moved() const { return has_moved_; }
  bool may_move() const { return moves_ > 0; }
  int waiting() const { return waiting_; }
  int reserved() const { return reserved_; }

 private:
  // Who runs where, by slot: a slot is what a controller keeps one pod for.
  using State = std::map<std::string, std::string>;
  struct Slot {
    int gang = 0;
    int made = 0;  // how often
    std::string pod = {};
  };

  void Note(absl::string_view what) {
    absl::StrAppend(&timeline_, absl::FormatTime("%M:%S ", simulation_->now(), absl::UTCTimeZone()),
                    what, "\n");
  }

  void SetNode(int n) {
    lost_.erase(n);
    simulation_->cluster().Set(testing::MakeNode()
                                   .Name(absl::StrCat("n", n))
                                   .Label("rack", absl::StrCat("r", n / 2))
                                   .Allocatable("cpu", "64")
                                   .Allocatable("nvidia.com/gpu", absl::StrCat(kGpus))
                                   .Object());
  }

  void AddGang() {
    const int number = static_cast<int>(gangs_.size());
    HistoryGang gang;
    gang.members = random_.Percent(50) ? 1 : random_.Between(2, 4);
    gang.min_member = random_.Percent(70) ? gang.members : random_.Between(1, gang.members);
    gang.gpus = random_.OneOf<int>({1, 2, 3, 4, 5, 8});
    gang.priority = random_.Percent(60) ? 0 : random_.Below(3);
    gang.one_rack = random_.Percent(40);
    if (moves_ > 0) {  // small ones in pieces, large ones among equals that find no room in one
      if (random_.Percent(60)) {
        gang.members = gang.min_member = 1;
        gang.gpus = random_.OneOf<int>({1, 2, 2, 3, 3, 5});
      }
      gang.priority = random_.Percent(90) ? 0 : 1;
      gang.one_rack = random_.Percent(20);
    }
    if (reserves_ && !gang.one_rack && random_.Percent(30)) {
      gang.slice = random_.Between(1, 3);
      gang.members = gang.min_member = gang.slice * random_.Between(1, 2);
    }
    gangs_.push_back(gang);
    std::string wishes;
    if (gang.one_rack) wishes = "kueue.x-k8s.io/podset-required-topology: rack";
    if (gang.slice > 0) {
      wishes = absl::StrCat("kueue.x-k8s.io/podset-slice-required-topology: rack, ",
                            "kueue.x-k8s.io/podset-slice-size: '", gang.slice, "'");
    }
    simulation_->cluster().Set(
        testing::ObjectsFromYaml(
            absl::StrCat("apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: "
                         "{name: g",
                         number, ", namespace: default", ", annotations: {", wishes,
                         "}}\nspec: {minMember: ", gang.min_member, "}\n"))
            .front());
    Note(absl::StrCat("g", number, ": ", gang.min_member, " of ", gang.members, " with ", gang.gpus,
                      " GPUs, priority ", gang.priority, gang.one_rack ? ", in one rack" : "",
                      gang.slice > 0 ? absl::StrCat(", in slices of ", gang.slice) : ""));
    for (int m = 0; m < gang.members; ++m) {
      slots_[absl::StrCat("g", number, "-", m)] = {.gang = number};
    }
  }

  // As controllers do. A pod that is leaving is not there any more.
  void MakeAnew() {
    for (auto& [name, slot] : slots_) {
      if (!slot.pod.empty() && Find(slot.pod) != nullptr) continue;
      slot.pod = absl::StrCat(name, "-", slot.made++);
      const HistoryGang& gang = gangs_[slot.gang];
      Object made = testing::MakePod()
                        .Name(slot.pod)
                        .Namespace("default")
                        .Label("scheduling.x-k8s.io/pod-group", absl::StrCat("g", slot.gang))
                        .Priority(gang.priority)
                        .Request("nvidia.com/gpu", absl::StrCat(gang.gpus))
                        .Object();
      auto pod = std::make_shared<api::Pod>(made.As<api::Pod>());
      if (reserves_ && random_.Percent(70)) {
        (*pod->mutable_metadata()->mutable_annotations())["scheduling.berth.dev/run-time"] =
            absl::StrCat(random_.OneOf<int>({20, 60, 300}), "s");
      }
      auto& owner = *pod->mutable_metadata()->add_owner_references();
      owner.set_uid(absl::StrCat("owner-of-", slot.gang));
      owner.set_controller(true);
      pod->mutable_spec()->set_termination_grace_period_seconds(2);
      simulation_->cluster().Set(Object::Of(std::move(pod)));
    }
  }

  std::shared_ptr<const api::Pod> Find(const std::string& name) {
    for (const Object& object : simulation_->cluster().List(Kind::kPod)) {
      if (object.name() == name) return object.Share<api::Pod>();
    }
    return nullptr;
  }

  State Now() {
    State state;
    for (const auto& [name, slot] : slots_) {
      const auto pod = Find(slot.pod);
      if (pod == nullptr) {
        state[name] = "gone";
      } else {
        state[name] = absl::StrCat(pod->spec().node_name(),
                                   pod->metadata().has_deletion_timestamp() ? " leaving" : "");
      }
    }
    return state;
  }

  void Change() {
    switch (gangs_.size() < 3 ? 0 : random_.Below(6)) {
      case 0:
      case 1:
        for (int i = random_.Between(1, 3); i > 0; --i) AddGang();
        break;
      case 2: {
        if (!lost_.empty()) {
          const int n = *lost_.begin();
          Note(absl::StrCat("n", n, " is back"));
          SetNode(n);
          break;
        }
        const int n = random_.Below(nodes_);
        Note(absl::StrCat("n", n, " is lost"));
        lost_.insert(n);
        for (const auto& [name, slot] : slots_) {
          const auto pod = Find(slot.pod);
          if (pod == nullptr || pod->spec().node_name() != absl::StrCat("n", n)) continue;
          gangs_[slot.gang].lost_members = true;
          simulation_->cluster().Delete(Kind::kPod, absl::StrCat("default/", slot.pod));
        }
        simulation_->cluster().Delete(Kind::kNode, absl::StrCat("n", n));
        break;
      }
      case 4:
      case 5: {  // it is done
        if (slots_.empty()) break;
        auto done = slots_.begin();
        if (moves_ > 0) std::advance(done, random_.Below(static_cast<int>(slots_.size())));
        const int gang = done->second.gang;
        Note(absl::StrCat("g", gang, " is deleted"));
        for (auto slot = slots_.begin(); slot != slots_.end();) {
          if (slot->second.gang != gang) {
            ++slot;
            continue;
          }
          simulation_->cluster().Delete(Kind::kPod, absl::StrCat("default/", slot->second.pod));
          slot = slots_.erase(slot);
        }
        gangs_[gang].members = 0;
        break;
      }
      case 3: {
        if (slots_.empty()) break;
        auto slot = slots_.begin();
        std::advance(slot, random_.Below(static_cast<int>(slots_.size())));
        Note(absl::StrCat(slot->second.pod, " is deleted"));
        gangs_[slot->second.gang].lost_members = true;
        simulation_->cluster().Delete(Kind::kPod, absl::StrCat("default/", slot->second.pod));
        break;
      }
    }
  }

  // No state comes twice, and it does end.
  void ComeToRest() {
    constexpr int kQuietSeconds = 150, kMostSeconds = 2000;
    std::set<State> seen;
    State last;
    int quiet = 0;
    for (int second = 0; quiet < kQuietSeconds; ++second) {
      ASSERT_LT(second, kMostSeconds) << "it goes on for ever";
      MakeAnew();
      simulation_->Advance(absl::Seconds(1));
      const State state = Now();
      if (state == last) {
        ++quiet;
        continue;
      }
      quiet = 0;
      for (const auto& [name, where] : state) {
        if (last[name] != where) Note(absl::StrCat("  ", slots_[name].pod, " ", where));
      }
      ASSERT_TRUE(seen.insert(state).second) << "a state comes twice";
      last = state;
    }
    moved_ = 0;
    for (const RecordedEvent& event : simulation_->cluster().RecordedEvents()) {
      moved_ += static_cast<int>(event.reason == "Moved");
    }
    has_moved_ = moved_ > 0;
  }

  void Check() {
    std::map<std::string, int> free;
    for (int n = 0; n < nodes_; ++n) {
      if (!lost_.contains(n)) free[absl::StrCat("n", n)] = kGpus;
    }
    const auto rack_of = [](const std::string& node) { return (node[1] - '0') / 2; };
    std::vector<std::vector<std::string>> runs_on(gangs_.size());
    for (const auto& [name, slot] : slots_) {
      const auto pod = Find(slot.pod);
      if (pod == nullptr || pod->spec().node_name().empty()) continue;
      runs_on[slot.gang].push_back(pod->spec().node_name());
      free[pod->spec().node_name()] -= gangs_[slot.gang].gpus;
    }
    for (const auto& [node, gpus] : free) ASSERT_GE(gpus, 0) << node << " is overcommitted";
    for (size_t g = 0; g < gangs_.size(); ++g) {
      const HistoryGang& gang = gangs_[g];
      const int running = static_cast<int>(runs_on[g].size());
      std::set<int> racks;
      for (const std::string& node : runs_on[g]) racks.insert(rack_of(node));
      if (gang.one_rack) {
        ASSERT_LE(racks.size(), 1) << "g" << g << " is torn apart";
      }
      if (gang.slice > 0 && running == gang.members && !gang.lost_members) {
        std::map<int, int> in_rack;
        for (const std::string& node : runs_on[g]) ++in_rack[rack_of(node)];
        for (const auto& [rack, members] : in_rack) {
          ASSERT_EQ(members % gang.slice, 0) << "a slice of g" << g << " is torn apart";
        }
      }
      if (running < gang.min_member && running > 0) {
        ASSERT_TRUE(gang.lost_members) << "g" << g << " runs in part";
      }
      if (running == gang.members) continue;
      ++waiting_;
      for (const PodGroupState& group : simulation_->scheduler().PodGroups()) {
        reserved_ +=
            static_cast<int>(group.waiting.has_value() && !group.waiting->reserved_nodes.empty());
      }
      if (reserves_) continue;  // what is free may be reserved
      // All members are alike: as many fit on a node as there is room for.
      std::map<int, int> room;
      for (const auto& [node, gpus] : free) {
        room[gang.one_rack ? rack_of(node) : 0] += gpus / gang.gpus;
      }
      const int missing = std::max(1, gang.min_member - running);
      for (const auto& [rack, members] : room) {
        if (gang.one_rack && !racks.empty() && !racks.contains(rack)) continue;
        ASSERT_LT(members, missing) << "g" << g << " has a place, and waits";
      }
    }
  }

  Random random_;
  const int moves_;
  const bool reserves_;
  int nodes_ = 0;
  std::unique_ptr<Simulation> simulation_;
  std::vector<HistoryGang> gangs_;
  std::map<std::string, Slot> slots_;
  std::set<int> lost_;
  int moved_ = 0;
  bool has_moved_ = false;
  int waiting_ = 0;
  int reserved_ = 0;
  std::string timeline_;
};

struct HistoryCounts {
  int evictions = 0, moved = 0, waiting = 0, reserved = 0, with_moves = 0, may_move = 0;
};

void RunHistories(int histories, bool reserves, HistoryCounts& counts) {
  const char* const one = std::getenv("BERTH_SEED");
  int first = 0;
  if (one != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(one, &first));
  }
  const int last = one != nullptr ? first : histories - 1;
  for (int seed = first; seed <= last; ++seed) {
    GangHistory history(seed, reserves);
    history.Run();
    counts.evictions += history.evictions();
    counts.moved += history.moved();
    counts.waiting += history.waiting();
    counts.reserved += history.reserved();
    counts.with_moves += static_cast<int>(history.has_moved());
    counts.may_move += static_cast<int>(history.may_move());
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed << "\n" << history.timeline();
  }
  std::printf(
      "%d evictions; %d moves, in %d histories of %d that may move; %d gangs waited, "
      "%d with a reservation\n",
      counts.evictions, counts.moved, counts.with_moves, counts.may_move, counts.waiting,
      counts.reserved);
}

TEST(RandomGangHistory, NoStateComesTwice) {
  HistoryCounts counts;
  RunHistories(150, /*reserves=*/false, counts);
  if (HasFailure() || std::getenv("BERTH_SEED") != nullptr) return;
  EXPECT_GT(counts.evictions, 60);
  EXPECT_GT(counts.moved, 10);
  EXPECT_GT(counts.with_moves, 8);
  EXPECT_GT(counts.waiting, 100);
}

TEST(RandomGangHistory, NorWithReservationsAndSlices) {
  HistoryCounts counts;
  RunHistories(150, /*reserves=*/true, counts);
  if (HasFailure() || std::getenv("BERTH_SEED") != nullptr) return;
  EXPECT_GT(counts.moved, 5);
  EXPECT_GT(counts.waiting, 100);
  EXPECT_GT(counts.reserved, 20);
}

}  // namespace
}  // namespace berth
