// SPDX-License-Identifier: Apache-2.0
// Pods of many applications, and nodes of several pools for them, drawn as
// bench/workloads/workloads.py draws those of "mixed-400": each application has its own requests,
// and by chance selectors, tolerations, affinities and constraints. The same seed draws the same.
#ifndef BERTH_BENCH_MICRO_APPLICATIONS_H_
#define BERTH_BENCH_MICRO_APPLICATIONS_H_

#include <array>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/testing/objects.h"

namespace berth::testing {

inline constexpr absl::string_view kZoneLabel = "topology.kubernetes.io/zone";
inline constexpr absl::string_view kHostLabel = "kubernetes.io/hostname";
inline constexpr std::array<absl::string_view, 3> kZones = {"a", "b", "c"};

// A node without capacity, of a pool, with a disk, in a zone; one in 20 is tainted.
inline NodeBuilder MakeNodeOfPool(int i, std::mt19937& random) {
  constexpr std::array<absl::string_view, 5> kPools = {"general", "general", "compute", "memory",
                                                       "batch"};
  const std::string name = absl::StrCat("node-", i);
  NodeBuilder node = MakeNode()
                         .Name(name)
                         .Label(kHostLabel, name)
                         .Label(kZoneLabel, kZones[i % kZones.size()])
                         .Label("pool", kPools[random() % kPools.size()])
                         .Label("disk", random() % 2 == 0 ? "ssd" : "hdd")
                         .Pods(110);
  if (random() % 20 == 0) node.Taint("dedicated", "batch", TaintEffect::kNoSchedule);
  return node;
}

class Applications {
 public:
  Applications(int count, std::mt19937& random) {
    for (int i = 0; i < count; ++i) applications_.push_back(Draw(i, count, random));
  }

  // A pod of one of them, with `milli_cpu` and `mib` more than the application's requests.
  PodBuilder MakePodOfAny(std::mt19937& random, int milli_cpu = 0, int mib = 0) const {
    const Application& application = applications_[random() % applications_.size()];
    return PodBuilder(application.pod)
        .Request("cpu", absl::StrCat(application.milli_cpu + milli_cpu, "m"))
        .Request("memory", absl::StrCat(application.mib + mib, "Mi"));
  }

 private:
  struct Application {
    PodBuilder pod;
    int milli_cpu;
    int mib;
  };

  static Application Draw(int i, int count, std::mt19937& random) {
    const auto chance = [&](unsigned percent) { return random() % 100 < percent; };
    const auto any_of = [&](const auto& values) { return values[random() % values.size()]; };
    const std::string name = absl::StrCat("app-", i);
    const LabelSet like = {{"app", name}};
    PodBuilder pod = MakePod().Label("app", name);
    if (chance(25)) {
      pod.NodeAffinityIn(
          "pool",
          any_of(std::vector<Strings>{
              {"general"}, {"general", "compute"}, {"memory", "general"}, {"compute", "memory"}}));
    }
    if (chance(25)) {
      const int weight = any_of(std::array{1, 10, 50});
      switch (random() % 3) {
        case 0:
          pod.PreferredNodeAffinityIn(weight, "disk", {"ssd"});
          break;
        case 1:
          pod.PreferredNodeAffinityIn(weight, "pool", {"compute"});
          break;
        default:
          pod.PreferredNodeAffinityIn(weight, kZoneLabel, {any_of(kZones)});
      }
    }
    if (chance(25)) {
      const int max_skew = any_of(std::array{1, 2, 5});
      const absl::string_view key = chance(50) ? kZoneLabel : kHostLabel;
      pod.SpreadConstraint(
          max_skew, key,
          chance(50) ? UnsatisfiableAction::kDoNotSchedule : UnsatisfiableAction::kScheduleAnyway,
          like);
    }
    if (chance(15)) {
      if (chance(50)) {
        pod.PodAntiAffinity(kHostLabel, like);
      } else {
        pod.PreferredPodAntiAffinity(any_of(std::array{10, 100}), kHostLabel, like);
      }
    }
    if (chance(15)) {
      const int weight = any_of(std::array{1, 10, 50});
      pod.PreferredPodAffinity(weight, kZoneLabel,
                               {{"app", absl::StrCat("app-", random() % count)}});
    }
    if (chance(15)) pod.TolerationExists("dedicated", TaintEffect::kNoSchedule);
    pod.Priority(any_of(std::array{0, 0, 0, 10, 100}));
    return {std::move(pod), any_of(std::array{100, 250, 500, 1000, 2000}),
            any_of(std::array{256, 512, 1024, 2048, 4096})};
  }

  std::vector<Application> applications_;
};

}  // namespace berth::testing

#endif  // BERTH_BENCH_MICRO_APPLICATIONS_H_
