// SPDX-License-Identifier: Apache-2.0
// Another scheduler that is faster, at random: whenever something of ours is placed and not bound
// yet, its pods may appear on the nodes, or our binding may meet a conflict. No node is ever
// overcommitted, no group is bound in part, and what was in the way is placed again. BERTH_SEED=N
// repeats one history.
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/world.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;

// As in random_operations_test.cc: what a release promises, and a share of it.
#ifdef NDEBUG
constexpr int kInterleavings = 10'000;
#else
constexpr int kInterleavings = 1'000;
#endif
constexpr int kGpus = 8;  // of a node

int64_t GpusOf(const api::Pod& pod) {
  const auto parsed = PodInfo::Create(std::make_shared<api::Pod>(pod)).value();
  return parsed->requests().Get(ResourceIdOf("nvidia.com/gpu"));
}

class History {
 public:
  explicit History(uint64_t seed)
      : random_(seed),
        world_(GangConfiguration(), Builtins(), World::Calls::kAtOnce, absl::Milliseconds(100),
               // Groups of every other history take in events after each member.
               seed % 2 == 0 ? 1 : SchedulerOptions().work_budget_steps) {
    nodes_ = random_.Between(2, 4);
    for (int i = 0; i < nodes_; ++i) world_.Set(MakeGpuNode(absl::StrCat("n", i), kGpus));
    world_.scheduler->ObserveAttempts([this](const AttemptRecord& attempt) {
      if (attempt.placed > 0 && random_.Percent(60)) Interleave();
      if (attempt.yielded && random_.Percent(30)) Interleave();
      if (attempt.yielded && random_.Percent(20)) ChangeSomeMember();
    });
    world_.memory().SetBindFault([this](const Identity& pod, const std::string& node) {
      const auto ours = Pod(pod.key());
      // A single pod may meet a conflict at the very last moment, which the cluster sees.
      if (ours->metadata().labels().empty() && random_.Percent(20)) {
        Interleave();
        if (Free(node) < GpusOf(*ours)) return absl::AbortedError("somebody was faster");
      }
      EXPECT_LE(GpusOf(*ours), Free(node)) << pod.name() << " overcommits " << node;
      return absl::OkStatus();
    });
  }

  int Run() {
    const int steps = random_.Between(5, 20);
    for (int i = 0; i < steps; ++i) {
      Submit(i);
      world_.Run();
      if (random_.Percent(60)) FinishSomePod();
      if (random_.Percent(30)) world_.Advance(absl::Seconds(random_.Between(1, 12)));
    }
    world_.Advance(absl::Seconds(30));
    for (const PodGroupState& group : world_.scheduler->PodGroups()) {
      EXPECT_TRUE(group.pending == 0 || group.bound + group.waiting_pods == 0)
          << group.group << " is bound in part";
    }
    return interleavings_;
  }

 private:
  std::shared_ptr<const api::Pod> Pod(const std::string& key) {
    return std::static_pointer_cast<const api::Pod>(world_.memory().Find(Kind::kPod, key));
  }
  int64_t Free(const std::string& node) {
    int64_t free = kGpus;
    for (const Object& object : world_.memory().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (pod.spec().node_name() == node && pod.status().phase() != "Succeeded") {
        free -= GpusOf(pod);
      }
    }
    return free;
  }
  // The other scheduler respects what is bound, and knows nothing of what we have placed.
  void Interleave() {
    ++interleavings_;
    const std::string node = absl::StrCat("n", random_.Below(nodes_));
    const int64_t free = Free(node);
    if (free == 0) return;
    const int gpus = random_.Between(1, static_cast<int>(free));
    const Object pod = MakeGpuPod(absl::StrCat("other-", ++others_), gpus);
    auto theirs = std::make_shared<api::Pod>(pod.As<api::Pod>());
    theirs->mutable_spec()->set_node_name(node);
    theirs->mutable_spec()->set_scheduler_name("other");
    world_.Set(Object::Of(std::move(theirs)));
  }
  // Its labels, or it is gone; then its group waits for another one.
  void ChangeSomeMember() {
    std::vector<Object> waiting;
    for (const Object& object : world_.memory().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (!pod.metadata().labels().empty() && pod.spec().node_name().empty()) {
        waiting.push_back(object);
      }
    }
    if (waiting.empty()) return;
    const Object& object = waiting[random_.Below(static_cast<int>(waiting.size()))];
    if (random_.Percent(30)) {
      world_.memory().Delete(Kind::kPod, std::string(object.key()));
      return;
    }
    auto changed = std::make_shared<api::Pod>(object.As<api::Pod>());
    (*changed->mutable_metadata()->mutable_labels())["change"] = absl::StrCat(++others_);
    world_.Set(Object::Of(std::move(changed)));
  }
  void Submit(int i) {
    if (random_.Percent(50)) {
      const int gpus = random_.Between(1, kGpus);
      world_.Set(MakeGpuPod(absl::StrCat("p", i), gpus));
      return;
    }
    const std::string group = absl::StrCat("g", i);
    const int size = random_.Between(2, 3);
    const int gpus = random_.Between(1, kGpus);
    world_.Set(MakeGroup(group, size));
    for (int m = 0; m < size; ++m) {
      world_.Set(MakeGpuPod(absl::StrCat(group, "-", m), gpus, group));
    }
  }
  // A single one: of a group that runs in part nothing could be said.
  void FinishSomePod() {
    std::vector<std::string> singles;
    for (const Object& object : world_.memory().List(Kind::kPod)) {
      const auto& pod = object.As<api::Pod>();
      if (pod.metadata().labels().empty() && !pod.spec().node_name().empty()) {
        singles.push_back(std::string(object.key()));
      }
    }
    if (singles.empty()) return;
    world_.memory().Delete(Kind::kPod, singles[random_.Below(static_cast<int>(singles.size()))]);
  }

  Random random_;
  World world_;
  int nodes_ = 0;
  int interleavings_ = 0;
  int others_ = 0;
};

TEST(RandomInterleavings, OvercommitNothingAndBindNoGroupInPart) {
  uint64_t seed = 1;
  const char* only = std::getenv("BERTH_SEED");
  if (only != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(only, &seed));
  }
  for (int interleavings = 0; interleavings < kInterleavings; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    interleavings += History(seed).Run();
    if (HasFailure() || only != nullptr) return;
  }
}

}  // namespace
}  // namespace berth
