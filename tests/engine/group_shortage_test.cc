// SPDX-License-Identifier: Apache-2.0
// ShortageWatch, which keeps sums, against IsShortBesideNominated(), which makes them again each
// time: the same answer while pods go, come back and are nominated at random.

#include "engine/group_shortage.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/cluster_state.h"
#include "engine/framework_set.h"
#include "engine/transaction.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::Random;
using PodPtr = std::shared_ptr<const PodInfo>;

// A cluster, a group that waits, and another pod that may be nominated.
struct WatchedCluster {
  explicit WatchedCluster(Random& random) : sequence(0), clock(absl::UnixEpoch()) {
    Problems problems;
    profiles = FrameworkSet::Create(GangConfiguration(), Builtins(), cluster, clock, sequence,
                                    nullptr, problems);
    EXPECT_NE(profiles, nullptr) << problems.ToString();
    cluster.SetProfiles(profiles.get());
    const int nodes = random.Between(1, 6);
    for (int n = 0; n < nodes; ++n) {
      const int gpus = random.Between(1, 8);
      Apply(MakeGpuNode(absl::StrCat("n", n), gpus));
      for (int p = 0, free = gpus; free > 0 && random.Percent(80); ++p) {
        const int uses = random.Between(1, free);
        free -= uses;
        running.push_back(Apply(testing::MakePod()
                                    .Name(absl::StrCat("r", n, "-", p))
                                    .Namespace("default")
                                    .Request("nvidia.com/gpu", absl::StrCat(uses))
                                    .NodeName(absl::StrCat("n", n))
                                    .Object()));
      }
    }
    request.framework = profiles->all().front();
    request.group = "default/g";
    Apply(MakeGroup("g", 2));
    const int gpus = random.Between(1, 3);
    for (int m = random.Between(2, 4); m > 0; --m) {
      request.pods.push_back(Apply(MakeGpuPod(
          absl::StrCat("g-", m), random.Percent(70) ? gpus : random.Between(1, 4), "g")));
    }
    request.minimum = random.Between(1, static_cast<int>(request.pods.size()));
    for (int i = 0; i < 2; ++i) {
      others.push_back(Apply(testing::MakePod()
                                 .Name(absl::StrCat("other-", i))
                                 .Namespace("default")
                                 .Priority(i == 0 ? 100 : -100)
                                 .Request("nvidia.com/gpu", absl::StrCat(random.Between(1, 4)))
                                 .Object()));
    }
    cluster.Refresh();
  }

  PodPtr Apply(Object object) {
    return cluster.Apply({WatchEvent::Type::kSet, std::move(object)}).change.new_pod;
  }

  ClusterState cluster;
  RandomSequence sequence;
  SimulatedClock clock;
  std::unique_ptr<FrameworkSet> profiles;
  AttemptRequest request;
  std::vector<PodPtr> running, others;
};

TEST(ShortageWatch, SaysWhatSumsMadeAnewSay) {
  int shorts = 0, asked = 0;
  for (int seed = 0; seed < 500; ++seed) {
    Random random(seed);
    WatchedCluster made(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Binder::Members placed;
    Transaction transaction(made.cluster, placed);
    ShortageWatch watch(made.request, made.cluster);
    std::vector<PodPtr> gone;
    for (int step = 0; step < 20; ++step) {
      const int chance = random.Below(10);
      if (chance < 4 && !made.running.empty()) {
        const size_t which =
            static_cast<size_t>(random.Below(static_cast<int>(made.running.size())));
        gone.push_back(made.running[which]);
        made.running.erase(made.running.begin() + static_cast<std::ptrdiff_t>(which));
        transaction.Evict({gone.back()});
      } else if (chance < 7 && !gone.empty()) {
        transaction.Spare(*gone.back());
        made.running.push_back(gone.back());
        gone.pop_back();
      } else if (chance < 9) {
        transaction.Nominate(random.OneOf(made.others), random.Percent(20) ? "" : "n0");
      } else {
        transaction.Nominate(made.request.pods.front(), random.Percent(50) ? "" : "n0");
      }
      const bool is_short = IsShortBesideNominated(made.request, made.cluster);
      ASSERT_EQ(watch.IsShort(), is_short) << "step " << step;
      shorts += static_cast<int>(is_short);
      ++asked;
    }
  }
  std::printf("short %d times of %d\n", shorts, asked);
  EXPECT_GT(shorts, asked / 10);
  EXPECT_LT(shorts, asked * 9 / 10);
}

}  // namespace
}  // namespace berth
