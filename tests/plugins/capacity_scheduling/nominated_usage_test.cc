// SPDX-License-Identifier: Apache-2.0
// The sums over nominated pods, after any history of nominations, are those of adding them up.
#include "plugins/capacity_scheduling/nominated_usage.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/testing/objects.h"
#include "cache/cache.h"
#include "cache/nominations.h"
#include "plugins/capacity_scheduling/quota_ledger.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::Random;

void ExpectSumsOf(const Nominations& nominations, const NodeTable& nodes,
                  const NominatedUsage& usage) {
  std::map<std::string, ResourceVector> sums;
  std::map<std::string, std::map<int, ResourceVector>> from_priority;
  int pods = 0;
  nominations.ForEach([&](const PodInfo& pod, absl::string_view node) {
    if (nodes.FindRow(Symbol::Intern(node)) < 0) {
      EXPECT_EQ(usage.Find(pod.uid()), nullptr) << pod.uid();
      return;
    }
    ++pods;
    const std::string name(pod.namespace_name().view());
    sums[name].Add(QuotaRequest(pod));
    for (int priority = 0; priority <= pod.priority(); ++priority) {
      from_priority[name][priority].Add(QuotaRequest(pod));
    }
    ASSERT_NE(usage.Find(pod.uid()), nullptr) << pod.uid();
    EXPECT_EQ(usage.Find(pod.uid())->amount, QuotaRequest(pod));
    EXPECT_EQ(usage.Find(pod.uid())->priority, pod.priority());
  });
  std::map<std::string, ResourceVector> got;
  usage.ForEachNamespace([&](Symbol name, const ResourceVector& sum) {
    got[std::string(name.view())] = sum;
    for (int priority = 0; priority < 5; ++priority) {
      EXPECT_EQ(usage.SumFrom(name, priority), from_priority[std::string(name.view())][priority]);
    }
  });
  EXPECT_EQ(got, sums) << pods << " pods";
}

TEST(NominatedUsage, IsTheSumAfterAnyHistory) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    Cache cache;
    Nominations nominations;
    const QuotaLedger ledger;
    NominatedUsage usage(ledger);
    for (int step = 0; step < 200; ++step) {
      const int kind = random.Below(20);
      const std::string node = absl::StrCat("n", random.Below(5));
      if (kind == 0) {
        cache.SetNode(MakeNode().Name(node).Allocatable("cpu", "8").Obj());
      } else if (kind == 1) {
        cache.RemoveNode(Symbol::Intern(node));
      } else {
        auto pod = MakePod().Name(absl::StrCat("p", random.Below(10)));
        pod.Namespace(absl::StrCat("team-", random.Below(3)));
        pod.Priority(random.Below(4));
        pod.Request("cpu", absl::StrCat(random.Between(1, 4)));
        pod.Uid(absl::StrCat("uid-", random.Below(10)));
        nominations.Nominate(pod.Obj(), random.Percent(25) ? "" : node);
      }
      if (random.Percent(60)) continue;  // several changes at once
      cache.Refresh();
      usage.Refresh(nominations, cache.table());
      ExpectSumsOf(nominations, cache.table(), usage);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace berth
