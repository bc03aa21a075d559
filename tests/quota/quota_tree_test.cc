// SPDX-License-Identifier: Apache-2.0
// The arithmetic of quota trees: published examples, and random histories against the plain rules.
#include "berth/quota/quota_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/quota/quota_shares.h"
#include "berth/quota/taking.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using ::testing::ElementsAre;

const QuotaLine kGpus = *QuotaLine::Parse("example.com/gpu");
const QuotaLine kCpus = *QuotaLine::Parse("cpu");

struct SpecBuilder {
  QuotaSpec spec;
  SpecBuilder(std::string name, std::string parent = "") {
    spec.name = std::move(name);
    spec.parent = std::move(parent);
  }
  SpecBuilder& Min(int64_t gpus) { return spec.min.Set(kGpus, gpus), *this; }
  SpecBuilder& Max(int64_t gpus) { return spec.max.Set(kGpus, gpus), *this; }
  SpecBuilder& Borrows(int64_t gpus) { return spec.borrowing_limit.Set(kGpus, gpus), *this; }
  SpecBuilder& Lends(int64_t gpus) { return spec.lending_limit.Set(kGpus, gpus), *this; }
  SpecBuilder& MinCpu(int64_t milli) { return spec.min.Set(kCpus, milli), *this; }
  operator QuotaSpec() const { return spec; }
};

int Line(const QuotaTree& tree, const QuotaLine& line) {
  const auto lines = tree.lines();
  return static_cast<int>(std::find(lines.begin(), lines.end(), line) - lines.begin());
}

// A tree in which line 0 is GPUs.
struct Gpus {
  QuotaTree tree;
  explicit Gpus(std::vector<QuotaSpec> specs, int64_t capacity = -1) : tree(std::move(specs)) {
    if (capacity >= 0) tree.SetCapacity(Line(tree, kGpus), capacity);
  }
  QuotaId Id(absl::string_view name) const { return *tree.Find(name); }
  LineAmounts Of(int64_t gpus) const { return {{Line(tree, kGpus), gpus}}; }
  void Use(absl::string_view name, int64_t gpus) { tree.Charge(Id(name), Of(gpus)); }
  int64_t Available(absl::string_view name) const {
    return static_cast<int64_t>(tree.Available(Id(name), Line(tree, kGpus)));
  }
  int64_t Share(absl::string_view name) const {
    return static_cast<int64_t>(tree.ShareOf(Id(name), Line(tree, kGpus)));
  }
};

TEST(QuotaLine, IsReadAndWritten) {
  for (const absl::string_view text :
       {"cpu", "pods", "gpu", "gpu{model=H100}", "nvidia.com/gpu{topology.kubernetes.io/zone=a}"}) {
    const auto line = QuotaLine::Parse(text);
    ASSERT_TRUE(line.has_value()) << text;
    EXPECT_EQ(line->ToString(), text);
  }
  for (const absl::string_view text :
       {"", "{a=b}", "gpu{", "gpu{a}", "gpu{a=}", "gpu{=b}", "gpu}"}) {
    EXPECT_FALSE(QuotaLine::Parse(text).has_value()) << text;
  }
  const LabelSet node({{"nvidia.com/gpu.product", "H100"}, {"zone", "a"}});
  EXPECT_TRUE(QuotaLine::Parse("gpu{model=H100}")->Covers(node));
  EXPECT_FALSE(QuotaLine::Parse("gpu{model=A100}")->Covers(node));
  EXPECT_TRUE(QuotaLine::Parse("pods{zone=a}")->Covers(node));
  EXPECT_FALSE(QuotaLine::Parse("pods{rack=a}")->Covers(node));
}

TEST(QuotaLine, NodesSayWhatTheyHaveOfIt) {
  PodAmounts node;
  node.resources.Set(ResourceIdOf("nvidia.com/gpu"), 4);
  node.gpu_milli = 4000;
  const LabelSet labels = {{"nvidia.com/gpu.product", "H100"}};
  const auto of_node = [&](absl::string_view line) {
    return QuotaLine::Parse(line)->OfNode(labels, node, 110);
  };
  EXPECT_EQ(of_node("nvidia.com/gpu"), 4);
  EXPECT_EQ(of_node("gpu{model=H100}"), 4000);
  EXPECT_EQ(of_node("gpu{model=A100}"), 0);
  EXPECT_EQ(of_node("pods"), 110);
  for (const absl::string_view line : {"cpu", "pods", "gpu", "example.com/devices"}) {
    EXPECT_TRUE(QuotaLine::Parse(line)->has_known_capacity()) << line;
  }
  EXPECT_FALSE(QuotaLine::Parse("gpu.deviceclass.resource.k8s.io/devices")->has_known_capacity());
}

TEST(QuotaTree, LendsAndBorrows) {
  Gpus quotas(
      {SpecBuilder("a").Min(10), SpecBuilder("b").Min(6).Lends(2), SpecBuilder("c").Borrows(3)},
      16);
  EXPECT_EQ(quotas.Available("a"), 12);  // its own and 2 of b
  EXPECT_EQ(quotas.Available("c"), 3);
  quotas.Use("a", 12);
  EXPECT_EQ(quotas.Available("a"), 0);
  EXPECT_EQ(quotas.Available("b"), 4);  // what it never lends
  EXPECT_EQ(quotas.Available("c"), 0);
  const auto shortage = quotas.tree.FindShortage(quotas.Id("b"), quotas.Of(5));
  ASSERT_TRUE(shortage.has_value());
  EXPECT_EQ(shortage->kind, QuotaTree::Shortage::Kind::kBorrowed);
}

// Who may do without some waits for the cluster only with what is left, and for bounds with all.
TEST(QuotaTree, WhatMayBeDoneWithoutHoldsNobodyBack) {
  Gpus quotas({SpecBuilder("a").Min(2).Lends(0), SpecBuilder("b").Max(6)}, 8);
  const auto shortage = [&](int amount, int possible) {
    const auto found =
        quotas.tree.FindShortage(quotas.Id("b"), quotas.Of(amount), quotas.Of(possible));
    return found.has_value() ? quotas.tree.ToString(*found) : "";
  };
  quotas.Use("b", 4);
  EXPECT_EQ(shortage(3, 3), "ClusterQuota b uses 4 of at most 6 example.com/gpu; needs 3");
  EXPECT_EQ(shortage(2, 1), "");
  quotas.tree.SetCapacity(0, 7);
  EXPECT_EQ(shortage(2, 2),  // what a never lends is left, and might be taken
            "all quotas use 4 of 5 example.com/gpu that may be lent; needs 2");
  quotas.Use("a", 2);
  EXPECT_EQ(shortage(2, 1), "");
  EXPECT_EQ(shortage(2, 0), "all quotas use 4 of 5 example.com/gpu that may be lent; needs 2");
  quotas.tree.SetCapacity(0, 6);
  EXPECT_EQ(shortage(2, 1), "all quotas use 4 of 4 example.com/gpu that may be lent; needs 1");
  EXPECT_EQ(shortage(2, 2), "");
}

TEST(QuotaTree, TheBoundsOfAParentAreReal) {
  Gpus quotas({SpecBuilder("dept").Min(8).Max(12), SpecBuilder("a", "dept").Max(16),
               SpecBuilder("b", "dept")},
              100);
  quotas.Use("a", 7);
  quotas.Use("b", 5);
  EXPECT_EQ(quotas.Available("a"), 0);
  const auto shortage = quotas.tree.FindShortage(quotas.Id("a"), quotas.Of(1));
  ASSERT_TRUE(shortage.has_value());
  EXPECT_EQ(quotas.tree.ToString(*shortage),
            "ClusterQuota dept uses 12 of at most 12 example.com/gpu; needs 1");
}

TEST(QuotaTree, NothingStartsAfterACut) {
  Gpus quotas({SpecBuilder("a").Min(4), SpecBuilder("b").Min(4)}, 8);
  quotas.Use("a", 8);
  quotas.tree.SetCapacity(0, 5);
  EXPECT_EQ(quotas.Available("a"), -3);
  EXPECT_EQ(quotas.Available("b"), -3);
}

TEST(QuotaTree, WhatNobodyNamesIsNotLimited) {
  Gpus quotas({SpecBuilder("a").Min(1).Max(2), SpecBuilder("b").MinCpu(1000)}, 8);
  quotas.tree.SetCapacity(Line(quotas.tree, kCpus), 1000);
  quotas.tree.Charge(quotas.Id("b"), {{Line(quotas.tree, kCpus), 1000}});
  EXPECT_FALSE(quotas.tree.FindShortage(quotas.Id("a"), {{Line(quotas.tree, kCpus), 64000}}));
  EXPECT_TRUE(quotas.tree.FindShortage(quotas.Id("b"), {{Line(quotas.tree, kCpus), 1}}));
}

TEST(QuotaTree, CyclesAndMissingParentsAreBelowTheCluster) {
  const QuotaTree tree({SpecBuilder("a", "b").Min(1), SpecBuilder("b", "c").Min(1),
                        SpecBuilder("c", "a").Min(1), SpecBuilder("d", "nowhere").Min(1)});
  for (QuotaId quota = 1; quota < tree.size(); ++quota) {
    QuotaId above = quota;
    for (int steps = 0; above != QuotaTree::kCluster && steps < 10; ++steps) {
      EXPECT_EQ(tree.depth(above), tree.depth(tree.parent(above)) + 1);
      above = tree.parent(above);
    }
    EXPECT_EQ(above, QuotaTree::kCluster);
  }
}

TEST(DivideFairly, ByWeightWithTheLargestRemainder) {
  const auto divide = [](int64_t total, std::vector<ShareClaim> claims) {
    std::vector<int64_t> shares;
    for (const __int128 share : DivideFairly(total, claims)) {
      shares.push_back(static_cast<int64_t>(share));
    }
    return shares;
  };
  EXPECT_THAT(divide(16, {{.wanted = 99}, {.wanted = 99}}), ElementsAre(8, 8));
  EXPECT_THAT(divide(10, {{.wanted = 99, .weight = 2}, {.wanted = 99, .weight = 3}}),
              ElementsAre(4, 6));
  EXPECT_THAT(divide(10, {{.wanted = 99}, {.wanted = 99}, {.wanted = 99}}), ElementsAre(4, 3, 3));
  EXPECT_THAT(divide(10, {{.wanted = 1}, {.wanted = 99}, {.wanted = 99}}), ElementsAre(1, 5, 4));
  EXPECT_THAT(divide(10, {{.guarantee = 6, .wanted = 99}, {.wanted = 99}}), ElementsAre(8, 2));
  EXPECT_THAT(divide(10, {{.guarantee = 6, .wanted = 2}, {.wanted = 99}}), ElementsAre(2, 8));
  EXPECT_THAT(divide(10, {{.wanted = 99, .priority = 1}, {.wanted = 99}}), ElementsAre(10, 0));
  EXPECT_THAT(divide(10, {{.wanted = 4, .weight = 0}, {.wanted = 7}}), ElementsAre(3, 7));
  // More is promised than there is.
  EXPECT_THAT(divide(9, {{.guarantee = 12, .wanted = 99}, {.guarantee = 6, .wanted = 99}}),
              ElementsAre(6, 3));
  // Who used too much lately has nothing of what is to spare, but what the others leave.
  EXPECT_THAT(divide(10, {{.wanted = 99, .weight_lately = 0}, {.wanted = 99, .weight_lately = 1}}),
              ElementsAre(0, 10));
  EXPECT_THAT(divide(10, {{.wanted = 99, .weight_lately = 0}, {.wanted = 7, .weight_lately = 1}}),
              ElementsAre(3, 7));
}

TEST(DivideFairly, AddsUpWhateverIsClaimed) {
  for (const uint32_t seed : testing::Seeds(2000)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    const int64_t scale = seed % 3 == 0 ? int64_t{1} << 60 : 20;
    std::vector<ShareClaim> claims(1 + below(6));
    __int128 wanted = 0;
    for (ShareClaim& claim : claims) {
      claim = {.guarantee = below(scale),
               .wanted = below(scale),
               .weight = below(4),
               .priority = static_cast<int32_t>(below(2))};
      if (seed % 2 != 0) claim.weight_lately = below(1'000'001);
      wanted += claim.wanted;
    }
    const int64_t total = below(scale) * 2;
    const std::vector<__int128> shares = DivideFairly(total, claims);
    __int128 sum = 0;
    for (size_t i = 0; i < claims.size(); ++i) {
      EXPECT_GE(shares[i], 0);
      EXPECT_LE(shares[i], claims[i].wanted);
      sum += shares[i];
    }
    EXPECT_TRUE(sum == std::min<__int128>(total, wanted));
    // If there is the same claim twice, neither has more than the other but for a unit.
    for (size_t i = 0; i + 1 < claims.size(); ++i) {
      claims[i + 1] = claims[i];
    }
    const std::vector<__int128> alike = DivideFairly(total, claims);
    const auto [least, most] = std::minmax_element(alike.begin(), alike.end());
    EXPECT_TRUE(*most - *least <= 1);
    EXPECT_TRUE(std::is_sorted(alike.rbegin(), alike.rend()));  // the older ones first
  }
}

TEST(QuotaTree, SplitsHoldAtEveryLevel) {
  auto weighted = [](std::string name, std::string parent, int64_t weight) {
    QuotaSpec spec = SpecBuilder(std::move(name), std::move(parent));
    spec.weight = weight;
    spec.max.Set(kGpus, 1000);
    return spec;
  };
  Gpus quotas({weighted("x", "", 40), weighted("y", "", 60), weighted("x1", "x", 1),
               weighted("x2", "x", 3), weighted("y1", "y", 1)},
              100);
  for (const absl::string_view name : {"x1", "x2", "y1"}) {
    quotas.tree.Want(quotas.Id(name), quotas.Of(500));
  }
  EXPECT_EQ(quotas.Share("x"), 40);
  EXPECT_EQ(quotas.Share("y"), 60);
  EXPECT_EQ(quotas.Share("x1"), 10);
  EXPECT_EQ(quotas.Share("x2"), 30);
  EXPECT_EQ(quotas.Share("y1"), 60);
}

TEST(QuotaTree, DecayedUsageTurnsTheShares) {
  QuotaSpec lab = SpecBuilder("lab").Max(10);
  lab.half_life = absl::Hours(4);
  Gpus quotas({lab, SpecBuilder("old", "lab"), SpecBuilder("new", "lab")}, 10);
  const absl::Time start = absl::UnixEpoch();
  quotas.tree.Advance(start);
  quotas.Use("old", 8);
  quotas.tree.Advance(start + absl::Hours(40));
  quotas.tree.Release(quotas.Id("old"), quotas.Of(8));
  for (const absl::string_view name : {"old", "new"}) {
    quotas.tree.Want(quotas.Id(name), quotas.Of(10));
  }
  EXPECT_EQ(quotas.Share("new"), 10);
  const auto of = [&](absl::string_view name) {
    return quotas.tree.DominantShareOf(quotas.Id(name), quotas.Of(1));
  };
  EXPECT_TRUE(QuotaTree::LessShare(of("new"), of("old")));
  EXPECT_FALSE(QuotaTree::LessShare(of("old"), of("new")));
}

// Those that neither use nor want anything have no part in the weights. They had: of two that used
// half each lately, among ten, both had used more than twice their weight, and so counted alike.
TEST(QuotaTree, IdleQuotasDoNotHideWhatOthersUsedLately) {
  QuotaSpec lab = SpecBuilder("lab").Max(12);
  lab.half_life = absl::Hours(4);
  std::vector<QuotaSpec> specs = {lab, SpecBuilder("more", "lab"), SpecBuilder("less", "lab")};
  for (int i = 0; i < 8; ++i) specs.push_back(SpecBuilder(absl::StrCat("idle-", i), "lab"));
  Gpus quotas(specs, 12);
  quotas.tree.Advance(absl::UnixEpoch());
  quotas.Use("more", 8);
  quotas.Use("less", 4);
  quotas.tree.Advance(absl::UnixEpoch() + absl::Hours(400));
  for (const absl::string_view name : {"more", "less"}) {
    quotas.tree.Want(quotas.Id(name), quotas.Of(12));
  }
  // Of the weights, 1/2 and 1/2, what was used lately, 2/3 and 1/3, leaves 1/3 and 2/3.
  EXPECT_EQ(quotas.Share("more"), 4);
  EXPECT_EQ(quotas.Share("less"), 8);
}

// Random trees, charges, releases, cuts: what is used is the sum of the charges, and what is
// available is what the definition says.
class PlainTree {
 public:
  explicit PlainTree(const QuotaTree& tree) : tree_(tree) {}
  __int128 Guarantee(QuotaId quota) const {
    const auto min = quota == 0 ? tree_.capacity(0) : tree_.spec(quota).min.Find(kGpus);
    if (min.has_value()) return *min;
    return quota == 0 ? QuotaTree::kUnlimited : OfChildren(quota);
  }
  __int128 OfChildren(QuotaId quota) const {
    __int128 sum = 0;
    for (const QuotaId child : tree_.children(quota)) sum += Guarantee(child);
    return sum;
  }
  __int128 Pool(QuotaId quota) const {
    __int128 pool = Guarantee(quota) - OfChildren(quota);
    for (const QuotaId child : tree_.children(quota)) pool += Pool(child) - Local(child);
    return pool;
  }
  __int128 Local(QuotaId quota) const {
    const auto lends = tree_.spec(quota).lending_limit.Find(kGpus);
    return lends.has_value() ? std::max<__int128>(0, Pool(quota) - *lends) : 0;
  }
  __int128 Bubbled(QuotaId quota, const std::map<QuotaId, __int128>& own) const {
    const auto found = own.find(quota);
    __int128 sum = found == own.end() ? 0 : found->second;
    for (const QuotaId child : tree_.children(quota)) {
      sum += std::max<__int128>(0, Bubbled(child, own) - Local(child));
    }
    return sum;
  }
  __int128 Used(QuotaId quota, const std::map<QuotaId, __int128>& own) const {
    const auto found = own.find(quota);
    __int128 sum = found == own.end() ? 0 : found->second;
    for (const QuotaId child : tree_.children(quota)) sum += Used(child, own);
    return sum;
  }
  // What the quotas below it have and never lend.
  __int128 Reserved(QuotaId quota) const {
    __int128 sum = 0;
    for (const QuotaId child : tree_.children(quota)) sum += Local(child) + Reserved(child);
    return sum;
  }
  __int128 Most(QuotaId quota) const {
    __int128 most = QuotaTree::kUnlimited;
    if (const auto max = tree_.spec(quota).max.Find(kGpus)) most = *max;
    if (const auto limit = tree_.spec(quota).borrowing_limit.Find(kGpus)) {
      most = std::min(most, Guarantee(quota) + *limit);
    }
    return most;
  }
  __int128 Available(QuotaId quota, const std::map<QuotaId, __int128>& own) const {
    __int128 available = Borrowable(quota, own);
    for (QuotaId above = quota; above != 0; above = tree_.parent(above)) {
      available = std::min(available, Most(above) - Used(above, own));
    }
    return available;
  }
  // The plain sum of what is used and wanted, by no quota more than it may have, nor less than it
  // keeps.
  __int128 Takes(QuotaId quota, const std::map<QuotaId, __int128>& asked) const {
    const auto found = asked.find(quota);
    __int128 sum = found == asked.end() ? 0 : found->second;
    for (const QuotaId child : tree_.children(quota)) sum += Takes(child, asked);
    return std::min(Most(quota), std::max(sum, Local(quota) + Reserved(quota)));
  }

 private:
  __int128 Borrowable(QuotaId quota, const std::map<QuotaId, __int128>& own) const {
    if (quota == 0) return Pool(0) - Bubbled(0, own);
    const __int128 bubbled = Bubbled(quota, own), local = Local(quota);
    const __int128 kept = std::max<__int128>(0, local - bubbled);
    const __int128 more =
        std::min(Borrowable(tree_.parent(quota), own),
                 Most(quota) - Reserved(quota) - std::max<__int128>(local, bubbled));
    return kept > 0 ? kept + std::max<__int128>(0, more) : more;
  }

  const QuotaTree& tree_;
};

TEST(QuotaTree, IsTheSumOfItsCharges) {
  for (const uint32_t seed : testing::Seeds(300)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    std::vector<QuotaSpec> specs;
    const int count = 1 + static_cast<int>(below(9));
    for (int i = 0; i < count; ++i) {
      SpecBuilder spec(absl::StrCat("q", i),
                       i == 0 || below(3) == 0 ? "" : absl::StrCat("q", below(i)));
      if (below(3) > 0) spec.Min(below(20));
      if (below(3) == 0) spec.Max(below(40));
      if (below(3) == 0) spec.Borrows(below(10));
      if (below(3) == 0) spec.Lends(below(10));
      spec.MinCpu(1);
      specs.push_back(spec);
    }
    specs[0].max.Set(kGpus, 30);  // so that there is the line
    QuotaTree tree(specs);
    // Line 0 of PlainTree is GPUs.
    const int gpus = Line(tree, kGpus);
    std::map<QuotaId, __int128> own;
    std::map<QuotaId, __int128> wanted;
    std::vector<std::pair<QuotaId, LineAmounts>> charges;
    for (int step = 0; step < 60; ++step) {
      if (below(20) == 0) tree.SetCapacity(gpus, below(100));
      if (below(4) == 0) {
        const QuotaId quota = 1 + static_cast<QuotaId>(below(count));
        const int64_t amount = 1 + below(8);
        if (below(2) == 0) {
          tree.Want(quota, {{gpus, amount}});
          wanted[quota] += amount;
        } else if (wanted[quota] >= amount) {
          tree.Unwant(quota, {{gpus, amount}});
          wanted[quota] -= amount;
        }
      }
      if (charges.empty() || below(3) > 0) {
        const LineAmounts amounts = {{gpus, below(30) == 0 ? INT64_MAX : 1 + below(8)}};
        charges.emplace_back(1 + below(count), amounts);
        tree.Charge(charges.back().first, amounts);
        own[charges.back().first] += amounts[0].second;
      } else {
        const size_t which = below(static_cast<int64_t>(charges.size()));
        tree.Release(charges[which].first, charges[which].second);
        own[charges[which].first] -= charges[which].second[0].second;
        charges.erase(charges.begin() + static_cast<int64_t>(which));
      }
      ASSERT_TRUE(tree.IsConsistent());
      QuotaShares shares(tree);
      const std::vector<__int128> all = tree.SharesOf(gpus);
      for (QuotaId quota = tree.size() - 1; quota >= 0; --quota) {
        __int128 of_children = 0, guaranteed = 0;
        for (const QuotaId child : tree.children(quota)) {
          of_children += tree.ShareOf(child, gpus);
          guaranteed += tree.guarantee(child, gpus);
        }
        ASSERT_TRUE(shares.Of(quota, gpus) == tree.ShareOf(quota, gpus)) << quota;
        ASSERT_TRUE(shares.Of(quota, gpus) == all[quota]) << quota;
        ASSERT_TRUE(shares.OfChildren(quota, gpus) == of_children) << quota;
        ASSERT_TRUE(tree.guaranteed_below(quota, gpus) == guaranteed) << quota;
      }
      if (gpus != 0) continue;
      const PlainTree plain(tree);
      for (QuotaId quota = 0; quota < tree.size(); ++quota) {
        ASSERT_TRUE(tree.used(quota, gpus) == plain.Used(quota, own)) << quota;
        ASSERT_TRUE(tree.guarantee(quota, gpus) == plain.Guarantee(quota)) << quota;
        ASSERT_TRUE(tree.Available(quota, gpus) == plain.Available(quota, own)) << quota;
      }
      // A quota that stands beside no other has as its share what it takes of all there is.
      const auto top = tree.children(QuotaTree::kCluster);
      if (top.size() != 1 || !tree.capacity(gpus).has_value()) continue;
      std::map<QuotaId, __int128> asked = own;
      for (const auto& [quota, amount] : wanted) asked[quota] += amount;
      ASSERT_TRUE(tree.ShareOf(top[0], gpus) ==
                  std::max<__int128>(
                      0, std::min<__int128>(*tree.capacity(gpus), plain.Takes(top[0], asked))));
    }
  }
}

// A tree in which nothing contradicts itself: what is promised adds up at every level, and no max
// is less than a min.
std::vector<QuotaSpec> SoundTree(std::mt19937& random, int64_t capacity) {
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  std::vector<QuotaSpec> specs;
  std::map<std::string, int64_t> left = {{"", capacity}};  // to be promised, by name
  const int count = 2 + static_cast<int>(below(8));
  for (int i = 0; i < count; ++i) {
    const std::string name = absl::StrCat("q", i);
    SpecBuilder spec(name, i == 0 || below(3) == 0 ? "" : absl::StrCat("q", below(i)));
    int64_t& of_parent = left[spec.spec.parent];
    const int64_t min = below(of_parent + 1);
    of_parent -= min;
    left[name] = min;
    spec.Min(min);
    if (below(2) == 0) spec.Max(min + below(6));
    if (below(3) == 0) spec.Borrows(below(6));
    if (below(2) == 0) spec.Lends(below(min + 1));
    specs.push_back(spec);
  }
  return specs;
}

// Whoever gets what: nobody has more than his max and borrowing limit, at any level; and what a
// quota never lends is there, whatever the others have.
TEST(QuotaTree, BoundsAndWhatIsNeverLentHoldTogether) {
  int refused_for_others = 0;
  for (const uint32_t seed : testing::Seeds(600)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    constexpr int64_t kCapacity = 24;
    Gpus quotas(SoundTree(random, kCapacity), kCapacity);
    QuotaTree& tree = quotas.tree;
    std::vector<std::pair<QuotaId, int64_t>> charges;
    for (int step = 0; step < 60; ++step) {
      if (charges.empty() || below(4) > 0) {
        const QuotaId quota = 1 + static_cast<QuotaId>(below(tree.size() - 1));
        const int64_t gpus = 1 + below(6);
        if (const auto shortage = tree.FindShortage(quota, quotas.Of(gpus))) {
          EXPECT_TRUE(tree.Available(quota, 0) < gpus);
          refused_for_others += static_cast<int>(shortage->kept > 0);
          continue;
        }
        tree.Charge(quota, quotas.Of(gpus));
        charges.emplace_back(quota, gpus);
      } else {
        const size_t which = below(static_cast<int64_t>(charges.size()));
        tree.Release(charges[which].first, quotas.Of(charges[which].second));
        charges.erase(charges.begin() + static_cast<std::ptrdiff_t>(which));
      }
      const PlainTree plain(tree);
      std::map<QuotaId, __int128> own;
      for (const auto& [quota, gpus] : charges) own[quota] += gpus;
      EXPECT_TRUE(tree.used(0, 0) <= kCapacity);
      for (QuotaId quota = 1; quota < tree.size(); ++quota) {
        EXPECT_TRUE(tree.used(quota, 0) <= plain.Most(quota)) << tree.spec(quota).name;
        EXPECT_TRUE(tree.Available(quota, 0) >= plain.Local(quota) - plain.Bubbled(quota, own))
            << tree.spec(quota).name;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(refused_for_others, 100);
}

// Also where promises contradict each other, nobody has more than his max.
TEST(QuotaTree, BoundsHoldThoughPromisesContradictEachOther) {
  int admitted = 0;
  for (const uint32_t seed : testing::Seeds(300)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    std::vector<QuotaSpec> specs;
    for (int i = 0; i < 7; ++i) {
      SpecBuilder spec(absl::StrCat("q", i), i < 2 ? "" : absl::StrCat("q", below(i)));
      if (below(3) > 0) spec.Min(below(8));
      if (below(2) == 0) spec.Max(below(12));
      if (below(3) == 0) spec.Borrows(below(4));
      if (below(2) == 0) spec.Lends(below(4));
      specs.push_back(spec);
    }
    specs[0].max.Set(kGpus, 9);
    Gpus quotas(specs, 30);
    const PlainTree plain(quotas.tree);
    for (int step = 0; step < 60; ++step) {
      const QuotaId quota = 1 + static_cast<QuotaId>(below(7));
      const LineAmounts gpus = quotas.Of(1 + below(4));
      if (quotas.tree.FindShortage(quota, gpus).has_value()) continue;
      quotas.tree.Charge(quota, gpus);
      ++admitted;
      for (QuotaId above = quota; above != 0; above = quotas.tree.parent(above)) {
        if (!quotas.tree.Concerns(above, 0)) continue;
        EXPECT_TRUE(quotas.tree.used(above, 0) <= plain.Most(above)) << specs[above - 1].name;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(admitted, 500);
}

// What a child could not have anyway is nothing that its parent gets for it; and what is never lent
// is nobody else's.
TEST(QuotaTree, SharesGoByWhatMayBeHad) {
  Gpus capped({SpecBuilder("x"), SpecBuilder("x1", "x").Max(2), SpecBuilder("y"), SpecBuilder("z")},
              62);
  for (const absl::string_view name : {"x1", "y", "z"}) {
    capped.tree.Want(capped.Id(name), capped.Of(100));
  }
  EXPECT_EQ(capped.Share("x"), 2);
  EXPECT_EQ(capped.Share("y"), 30);
  EXPECT_EQ(capped.Share("z"), 30);

  Gpus kept({SpecBuilder("a").Min(4).Lends(0), SpecBuilder("b"), SpecBuilder("c")}, 12);
  for (const absl::string_view name : {"b", "c"}) {
    kept.tree.Want(kept.Id(name), kept.Of(12));
  }
  EXPECT_EQ(kept.Share("a"), 4);
  EXPECT_EQ(kept.Share("b"), 4);
  EXPECT_EQ(kept.Share("c"), 4);
}

// Koordinator, multi-hierarchy-elastic-quota-management.md, "Calculate RuntimeQuota": of 100, A
// lends 5 and 40 are nobody's; by weights 60, 50 and 80 B would have 14 of these 45 and wants 5, so
// C has 12 + 3 and D 19 + 6 beyond their min. The min of A, C and D is in a picture; here they add
// up so.
TEST(QuotaTree, SharesAreKoordinatorsRuntime) {
  const auto group = [](std::string name, int64_t min, int64_t weight) {
    QuotaSpec spec = SpecBuilder(std::move(name)).Min(min).Max(100);
    spec.weight = weight;
    return spec;
  };
  Gpus quotas({group("a", 20, 40), group("b", 15, 60), group("c", 10, 50), group("d", 15, 80)},
              100);
  quotas.tree.Want(quotas.Id("a"), quotas.Of(15));
  quotas.tree.Want(quotas.Id("b"), quotas.Of(20));
  for (const absl::string_view name : {"c", "d"}) {
    quotas.tree.Want(quotas.Id(name), quotas.Of(100));
  }
  EXPECT_EQ(quotas.Share("a"), 15);
  EXPECT_EQ(quotas.Share("b"), 20);
  EXPECT_EQ(quotas.Share("c"), 10 + 15);
  EXPECT_EQ(quotas.Share("d"), 15 + 25);
}

TEST(QuotaTree, WhatIsKeptForOthersIsSaid) {
  Gpus quotas({SpecBuilder("dept").Min(4).Max(4), SpecBuilder("a", "dept").Min(2).Lends(0),
               SpecBuilder("b", "dept").Min(2)},
              8);
  quotas.Use("b", 2);
  EXPECT_EQ(quotas.Available("b"), 0);
  EXPECT_EQ(quotas.Available("a"), 2);
  const auto shortage = quotas.tree.FindShortage(quotas.Id("b"), quotas.Of(1));
  ASSERT_TRUE(shortage.has_value());
  EXPECT_EQ(
      quotas.tree.ToString(*shortage),
      "ClusterQuota dept uses 2 of at most 4 example.com/gpu, and keeps 2 for quotas below it "
      "that do not lend; needs 1");
  // An edit: b had more before a kept its own.
  quotas.Use("b", 2);
  EXPECT_EQ(quotas.Available("a"), 0);
  EXPECT_EQ(quotas.Available("b"), -2);
}

// --- Who may take from whom ---

struct TakingCase {
  absl::string_view name;
  std::vector<QuotaSpec> specs;
  std::vector<std::pair<absl::string_view, int>> used;
  absl::string_view taker;
  int asks;
  absl::string_view holder;
  int holds;
  Taking want;
  int taker_priority = 0, holder_priority = 0;
  int ran_for = 1000;  // seconds
  bool preemptible = true;
  std::vector<std::pair<absl::string_view, int>> wanted = {};
  int holder_is_newer_by = 0;  // seconds
};

template <class F>
QuotaSpec With(SpecBuilder spec, F set) {
  set(spec.spec);
  return spec;
}

std::vector<TakingCase> TakingCases() {
  const auto ab = [](int min_a, int min_b) {
    return std::vector<QuotaSpec>{SpecBuilder("a").Min(min_a), SpecBuilder("b").Min(min_b)};
  };
  const auto with_b = [&](auto set) {
    return std::vector<QuotaSpec>{SpecBuilder("a").Min(4), With(SpecBuilder("b").Min(4), set)};
  };
  const auto with_a = [&](auto set) {
    return std::vector<QuotaSpec>{With(SpecBuilder("a").Min(4), set), SpecBuilder("b").Min(4)};
  };
  // a has 4 and asks by its share; b has 8.
  const auto by_share = [&](absl::string_view name, int asks, int holds, Taking want) {
    TakingCase made{.name = name,
                    .specs = with_a([](QuotaSpec& s) { s.reclaim = ReclaimStrategy::kFairShare; }),
                    .used = {{"a", 4}, {"b", 8}},
                    .taker = "a",
                    .asks = asks,
                    .holder = "b",
                    .holds = holds,
                    .want = want};
    made.wanted = {{"a", 4}};
    return made;
  };
  const auto nested = [](int of_d1) {
    return std::vector<QuotaSpec>{SpecBuilder("d1").Min(of_d1), SpecBuilder("d2").Min(4),
                                  SpecBuilder("t1", "d1").Min(2), SpecBuilder("t2", "d1").Min(2),
                                  SpecBuilder("u1", "d2").Min(4)};
  };
  // KAI's example of minimum run times: they differ by how near the taker is.
  const auto timed = [] {
    return std::vector<QuotaSpec>{
        With(SpecBuilder("d1"), [](QuotaSpec& s) { s.reclaim_min_runtime = absl::Seconds(60); }),
        SpecBuilder("d2").Min(9), SpecBuilder("t1", "d1").Min(4),
        With(SpecBuilder("t2", "d1").Min(0),
             [](QuotaSpec& s) { s.reclaim_min_runtime = absl::Seconds(180); }),
        SpecBuilder("u1", "d2").Min(9)};
  };
  const auto fenced_department = [&] {
    std::vector<QuotaSpec> specs = nested(4);
    specs[0].fence = QuotaFence::kBoth;
    return specs;
  };
  const auto fair_departments = [] {
    std::vector<QuotaSpec> specs = {SpecBuilder("d1").Min(0), SpecBuilder("d2").Min(0),
                                    SpecBuilder("t1", "d1").Min(0), SpecBuilder("u1", "d2").Min(0),
                                    SpecBuilder("u2", "d2").Min(0)};
    for (QuotaSpec& spec : specs) spec.reclaim = ReclaimStrategy::kFairShare;
    return specs;
  };
  using S = QuotaSpec;
  return {
      {"what was borrowed comes back", ab(4, 4), {{"b", 8}}, "a", 1, "b", 1, Taking::kYes},
      {"whatever the priority", ab(4, 4), {{"b", 8}}, "a", 1, "b", 1, Taking::kYes, 0, 100},
      {"not what is guaranteed", ab(4, 4), {{"b", 4}}, "a", 1, "b", 1, Taking::kHolderWithin},
      {"not beyond its own min",
       ab(4, 4),
       {{"a", 4}, {"b", 5}},
       "a",
       1,
       "b",
       1,
       Taking::kTakerAbove},
      {"a large unit goes whole", ab(4, 4), {{"b", 5}}, "a", 1, "b", 5, Taking::kYes},
      {"lower priority inside", ab(4, 4), {{"a", 4}}, "a", 1, "a", 1, Taking::kYes, 1, 0},
      {"not equal priority inside", ab(4, 4), {{"a", 4}}, "a", 1, "a", 1, Taking::kNotLower},
      {"siblings within a department", nested(4), {{"t2", 4}}, "t1", 1, "t2", 1, Taking::kYes},
      {"a department from another", nested(8), {{"u1", 8}}, "t1", 6, "u1", 1, Taking::kYes},
      {"the department counts, not the team",
       nested(4),
       {{"t2", 4}, {"u1", 8}},
       "t1",
       1,
       "u1",
       1,
       Taking::kTakerAbove},
      {"a team within its min is spared",
       nested(3),
       {{"t1", 2}, {"t2", 3}},
       "u1",
       1,
       "t1",
       1,
       Taking::kYes},  // d1 promised 4 and has 3: its word to the teams is not the others' loss
      {"another team gave",
       nested(4),
       {{"t1", 2}, {"t2", 3}},
       "u1",
       1,
       "t1",
       1,
       Taking::kHolderWithin},
      {"and that one may", nested(4), {{"t1", 2}, {"t2", 3}}, "u1", 1, "t2", 1, Taking::kYes},
      {"not preemptible",
       ab(4, 4),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kNotPreemptible,
       0,
       0,
       1000,
       false},
      {"fenced in",
       with_b([](S& s) { s.fence = QuotaFence::kIn; }),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kFenced},
      {"fenced out",
       with_a([](S& s) { s.fence = QuotaFence::kOut; }),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kFenced},
      {"the fence of the taker opens inwards",
       with_a([](S& s) { s.fence = QuotaFence::kIn; }),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kYes},
      {"never",
       with_a([](S& s) { s.reclaim = ReclaimStrategy::kNever; }),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kNever},
      {"only lower ones",
       with_a([](S& s) { s.victims = ReclaimVictims::kLowerPriority; }),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kNotLower},
      {"not inside",
       with_a([](S& s) { s.preemption = QuotaPreemption::kNever; }),
       {{"a", 4}},
       "a",
       1,
       "a",
       1,
       Taking::kNever,
       5},
      by_share("the share, if it asks for that", 1, 1, Taking::kYes),
      by_share("beyond its share, where the other has even more beyond its own", 3, 2,
               Taking::kYes),
      by_share("not where the other has no more beyond it", 4, 2, Taking::kTakerAbove),
      by_share("nor where the other would have less than its share", 3, 3, Taking::kTakerAbove),
      {"not beyond its share",
       with_a([](S& s) { s.reclaim = ReclaimStrategy::kFairShare; }),
       {{"a", 6}, {"b", 6}},
       "a",
       1,
       "b",
       1,
       Taking::kTakerAbove,
       0,
       0,
       1000,
       true,
       {{"a", 4}}},
      {"too soon for a sibling",
       timed(),
       {{"t2", 4}},
       "t1",
       1,
       "t2",
       1,
       Taking::kMinRuntime,
       0,
       0,
       100},
      {"long enough for a sibling",
       timed(),
       {{"t2", 4}},
       "t1",
       1,
       "t2",
       1,
       Taking::kYes,
       0,
       0,
       180},
      {"long enough for one further away",
       timed(),
       {{"t2", 9}},
       "u1",
       1,
       "t2",
       1,
       Taking::kYes,
       0,
       0,
       60},
      {"too soon for that one, too",
       timed(),
       {{"t2", 9}},
       "u1",
       1,
       "t2",
       1,
       Taking::kMinRuntime,
       0,
       0,
       59},
      // Fences.
      {"fenced from both sides, as the holder",
       with_b([](S& s) { s.fence = QuotaFence::kBoth; }),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kFenced},
      {"fenced from both sides, as the taker",
       with_a([](S& s) { s.fence = QuotaFence::kBoth; }),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kFenced},
      {"a fence around both does not stand between them",
       fenced_department(),
       {{"t2", 4}},
       "t1",
       1,
       "t2",
       1,
       Taking::kYes},
      {"a fence further up keeps those outside out",
       fenced_department(),
       {{"t2", 8}},
       "u1",
       1,
       "t2",
       1,
       Taking::kFenced},
      {"and those inside in", fenced_department(), {{"u1", 8}}, "t1", 1, "u1", 1, Taking::kFenced},
      // Pods of a parent stand beside its children, with what it is guaranteed beyond theirs.
      {"the parent's own pods take", nested(8), {{"t2", 6}}, "d1", 4, "t2", 1, Taking::kYes},
      {"no more than the parent has for itself",
       nested(8),
       {{"t2", 6}},
       "d1",
       5,
       "t2",
       1,
       Taking::kTakerAbove},
      {"the parent's own pods give", nested(8), {{"d1", 5}}, "t1", 1, "d1", 1, Taking::kYes},
      {"not what the parent has for itself",
       nested(8),
       {{"d1", 4}},
       "t1",
       1,
       "d1",
       1,
       Taking::kHolderWithin},
      // Inside a quota.
      {"a newer one of equal priority, where that is said",
       with_a([](S& s) { s.preemption = QuotaPreemption::kLowerOrNewerEqualPriority; }),
       {{"a", 4}},
       "a",
       1,
       "a",
       1,
       Taking::kYes,
       0,
       0,
       1000,
       true,
       {},
       1},
      {"not an older one of equal priority",
       with_a([](S& s) { s.preemption = QuotaPreemption::kLowerOrNewerEqualPriority; }),
       {{"a", 4}},
       "a",
       1,
       "a",
       1,
       Taking::kNotLower,
       0,
       0,
       1000,
       true,
       {},
       -1},
      {"nor a newer one of higher priority",
       with_a([](S& s) { s.preemption = QuotaPreemption::kLowerOrNewerEqualPriority; }),
       {{"a", 4}},
       "a",
       1,
       "a",
       1,
       Taking::kNotLower,
       0,
       1,
       1000,
       true,
       {},
       1},
      {"too soon inside",
       with_a([](S& s) { s.preempt_min_runtime = absl::Seconds(60); }),
       {{"a", 4}},
       "a",
       1,
       "a",
       1,
       Taking::kMinRuntime,
       1,
       0,
       59},
      {"the time inside is not that of others",
       with_b([](S& s) { s.preempt_min_runtime = absl::Seconds(60); }),
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kYes,
       0,
       0,
       1},
      // Fair shares.
      {"a guarantee, also where fair shares are asked for",
       with_a([](S& s) { s.reclaim = ReclaimStrategy::kFairShare; }),
       {{"a", 3}, {"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kYes},
      {"no share, if it does not ask for that",
       ab(4, 4),
       {{"a", 4}, {"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kTakerAbove,
       0,
       0,
       1000,
       true,
       {{"a", 4}}},
      {"not what is the holder's share",
       fair_departments(),
       {{"t1", 2}, {"u1", 6}},
       "t1",
       1,
       "u1",
       1,
       Taking::kHolderWithin,
       0,
       0,
       1000,
       true,
       {{"t1", 4}}},
      {"what is beyond it",
       fair_departments(),
       {{"t1", 2}, {"u1", 8}},
       "t1",
       1,
       "u1",
       1,
       Taking::kYes,
       0,
       0,
       1000,
       true,
       {{"t1", 4}}},
      // Of 12, d2 has 8 as d1 wants 4: u2 its 1, u1 the 7 that are left.
      {"each on the way down has to be beyond its share",
       fair_departments(),
       {{"u1", 8}, {"u2", 1}},
       "t1",
       1,
       "u2",
       1,
       Taking::kHolderWithin,
       0,
       0,
       1000,
       true,
       {{"t1", 4}}},
      {"and that one is",
       fair_departments(),
       {{"u1", 8}, {"u2", 1}},
       "t1",
       1,
       "u1",
       1,
       Taking::kYes,
       0,
       0,
       1000,
       true,
       {{"t1", 4}}},
      // t1 keeps 4 of the 5 that d1 is guaranteed: t2 has the fifth, and what is beyond from
      // others.
      {"not what a sibling keeps",
       {SpecBuilder("d1").Min(5), SpecBuilder("d2").Min(7), SpecBuilder("t1", "d1").Min(5).Lends(1),
        SpecBuilder("t2", "d1").Min(0), SpecBuilder("u1", "d2").Min(7)},
       {{"u1", 8}},
       "t2",
       2,
       "u1",
       1,
       Taking::kTakerAbove},
      {"what is used beside what a sibling keeps",
       {SpecBuilder("d1").Min(5), SpecBuilder("d2").Min(7), SpecBuilder("t1", "d1").Min(5).Lends(1),
        SpecBuilder("t2", "d1").Min(0), SpecBuilder("u1", "d2").Min(7)},
       {{"u1", 6}, {"t2", 2}},
       "u1",
       1,
       "t2",
       1,
       Taking::kYes},
      {"nothing of what its quota does not name",
       {SpecBuilder("a"), SpecBuilder("b").Min(4)},
       {{"b", 8}},
       "a",
       1,
       "b",
       1,
       Taking::kTakerAbove},
  };
}

TEST(TakingRule, ByTheTable) {
  for (const TakingCase& c : TakingCases()) {
    SCOPED_TRACE(c.name);
    Gpus quotas(c.specs, 12);
    for (const auto& [name, gpus] : c.used) quotas.Use(name, gpus);
    for (const auto& [name, gpus] : c.wanted) quotas.tree.Want(quotas.Id(name), quotas.Of(gpus));
    const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
    const TakingVerdict verdict =
        TakingRule(quotas.tree, now)
            .MayTake({quotas.Id(c.taker), quotas.Of(c.asks), c.taker_priority, now},
                     {quotas.Id(c.holder), quotas.Of(c.holds), c.holder_priority,
                      now + absl::Seconds(c.holder_is_newer_by), now - absl::Seconds(c.ran_for),
                      c.preemptible});
    EXPECT_EQ(verdict.taking, c.want) << TakingName(verdict.taking);
    if (!verdict.ok()) continue;
    const TakingRule rule(quotas.tree, now);
    const QuotaTaker taker{quotas.Id(c.taker), quotas.Of(c.asks), c.taker_priority, now};
    EXPECT_TRUE(c.taker == c.holder || rule.MayReclaim(taker));
    EXPECT_TRUE(rule.MayGive(taker, quotas.Id(c.holder)));
  }
}

TEST(TakingRule, GuaranteedGpusDoNotGoForBorrowedCpu) {
  Gpus quotas({SpecBuilder("a").MinCpu(4000), SpecBuilder("b").Min(4).MinCpu(0)}, 8);
  const int cpu = Line(quotas.tree, kCpus), gpu = Line(quotas.tree, kGpus);
  LineAmounts holds;
  AddAmounts({{cpu, 2000}}, holds);
  AddAmounts({{gpu, 1}}, holds);
  quotas.tree.Charge(quotas.Id("b"), holds);
  const absl::Time now = absl::UnixEpoch();
  const QuotaTaker taker{quotas.Id("a"), {{cpu, 1000}}, 0, now};
  const QuotaHolder holder{quotas.Id("b"), holds, 0, now, now, true};
  EXPECT_EQ(TakingRule(quotas.tree, now).MayTake(taker, holder).taking, Taking::kHolderWithin);
}

TEST(TakingRule, SaysWhatDecides) {
  SpecBuilder fenced("fenced"), patient("patient"), meek("meek");
  fenced.Min(0).spec.fence = QuotaFence::kIn;
  patient.Min(0).spec.reclaim_min_runtime = absl::Minutes(10);
  meek.Min(2).spec.reclaim = ReclaimStrategy::kNever;
  SpecBuilder fair("fair");
  fair.Min(0).spec.reclaim = ReclaimStrategy::kFairShare;
  Gpus quotas({SpecBuilder("a").Min(4), SpecBuilder("b").Min(3), fenced, patient, meek, fair}, 12);
  for (const auto& [name, gpus] : std::vector<std::pair<std::string, int>>{
           {"a", 3}, {"b", 2}, {"fenced", 2}, {"patient", 2}, {"fair", 3}}) {
    quotas.Use(name, gpus);
  }
  const absl::Time now = absl::UnixEpoch();
  const auto why = [&](const std::string& taker, int asks, const std::string& holder) {
    return TakingRule(quotas.tree, now)
        .MayTake({quotas.Id(taker), quotas.Of(asks), 0, now},
                 {quotas.Id(holder), quotas.Of(1), 0, now, now})
        .ToString(quotas.tree);
  };
  EXPECT_EQ(why("a", 2, "patient"),
            "ClusterQuota a would use 5 example.com/gpu, more than its min, 4");
  EXPECT_EQ(why("a", 1, "b"), "ClusterQuota b uses 2 example.com/gpu, no more than its min, 3");
  EXPECT_EQ(why("a", 1, "fenced"), "the fence of ClusterQuota fenced stands between the quotas");
  EXPECT_EQ(why("a", 1, "patient"), "it has not run long enough for ClusterQuota patient");
  EXPECT_EQ(why("meek", 1, "patient"), "ClusterQuota meek lets its pods evict nobody for that");
  const auto why_nobody = [&](const std::string& taker, int asks) {
    const TakingVerdict verdict =
        TakingRule(quotas.tree, now).WhyNotReclaim({quotas.Id(taker), quotas.Of(asks), 0, now});
    return verdict.ok() ? "" : verdict.ToString(quotas.tree);
  };
  EXPECT_EQ(why_nobody("a", 1), "");
  EXPECT_EQ(why_nobody("a", 2), "ClusterQuota a would use 5 example.com/gpu, more than its min, 4");
  EXPECT_EQ(why_nobody("meek", 1), "ClusterQuota meek lets its pods evict nobody for that");
  EXPECT_EQ(why("fair", 9, "patient"),
            "ClusterQuota fair would use 12 example.com/gpu, more than its fair share, 3");
}

// An evicted pod cannot take it back: no two quotas can evict each other for good.
TEST(TakingRule, NobodyTakesBackWhatWasTaken) {
  int taken = 0;
  for (const uint32_t seed : testing::Seeds(3000)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    std::vector<QuotaSpec> specs;
    for (int i = 0; i < 5; ++i) {
      SpecBuilder spec(absl::StrCat("q", i), i < 2 ? "" : absl::StrCat("q", below(2)));
      spec.Min(below(6));
      spec.spec.weight = 1 + below(3);
      if (below(2) == 0) spec.spec.reclaim = ReclaimStrategy::kFairShare;
      specs.push_back(spec);
    }
    Gpus quotas(specs, 12);
    const absl::Time now = absl::UnixEpoch();
    for (QuotaId quota = 3; quota <= 5; ++quota) quotas.tree.Charge(quota, quotas.Of(below(6)));
    const QuotaId a = 3, b = 4 + static_cast<QuotaId>(below(2));
    const LineAmounts asks = quotas.Of(1 + below(3)), holds = quotas.Of(1 + below(3));
    if (quotas.tree.used(b, 0) < holds[0].second) continue;
    quotas.tree.Want(a, asks);
    if (!TakingRule(quotas.tree, now).MayTake({a, asks, 0, now}, {b, holds, 0, now, now}).ok()) {
      continue;
    }
    ++taken;
    quotas.tree.Release(b, holds);
    quotas.tree.Want(b, holds);
    quotas.tree.Unwant(a, asks);
    quotas.tree.Charge(a, asks);
    EXPECT_FALSE(
        TakingRule(quotas.tree, now).MayTake({b, holds, 0, now}, {a, asks, 0, now, now}).ok());
  }
  EXPECT_GT(taken, 100);
}

// A parent that does not name a line has its children's mins as its own. Whether somebody writes
// that down changes nothing: who may take what, and whose turn it is.
TEST(TakingRule, TheSumOfTheChildrenNeedNotBeWritten) {
  int taken = 0, compared = 0;
  for (const uint32_t seed : testing::Seeds(2000)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
    std::vector<QuotaSpec> left_out, written;
    std::vector<std::string> above = {""};  // those that have children
    for (int i = 0; i < 7; ++i) {
      const std::string name = absl::StrCat("q", i);
      SpecBuilder spec(name, above[below(static_cast<int64_t>(above.size()))]);
      spec.spec.weight = below(4);
      if (below(2) == 0) spec.spec.reclaim = ReclaimStrategy::kFairShare;
      if (i < 3) {
        above.push_back(name);
      } else if (below(4) > 0) {
        spec.Min(below(6));
      }
      left_out.push_back(spec);
    }
    const QuotaTree sums(left_out);
    if (sums.lines().empty()) continue;
    written = left_out;
    for (int i = 2; i >= 0; --i) {
      const bool is_said = absl::c_any_of(written, [&](const QuotaSpec& child) {
        return child.parent == written[i].name && child.min.Find(kGpus).has_value();
      });
      if (is_said) {
        written[i].min.Set(kGpus, static_cast<int64_t>(sums.guarantee(i + 1, Line(sums, kGpus))));
      }
    }
    Gpus one(left_out, 20), other(written, 20);
    for (int i = 0; i < 5; ++i) {
      const QuotaId quota = 1 + static_cast<QuotaId>(below(7));
      const LineAmounts amounts = one.Of(below(6));
      one.tree.Charge(quota, amounts);
      other.tree.Charge(quota, amounts);
    }
    const absl::Time now = absl::UnixEpoch();
    const LineAmounts asks = one.Of(1 + below(4)), holds = one.Of(1 + below(4));
    for (QuotaId a = 1; a <= 7; ++a) {
      EXPECT_EQ(one.tree.FindShortage(a, asks).has_value(),
                other.tree.FindShortage(a, asks).has_value());
      EXPECT_EQ(one.tree.DominantShareOf(a, asks).millionths,
                other.tree.DominantShareOf(a, asks).millionths);
      for (QuotaId b = 1; b <= 7; ++b) {
        const QuotaTaker taker{a, asks, 0, now};
        const QuotaHolder holder{b, holds, 0, now, now};
        const bool may = TakingRule(one.tree, now).MayTake(taker, holder).ok();
        EXPECT_EQ(may, TakingRule(other.tree, now).MayTake(taker, holder).ok()) << a << " " << b;
        taken += static_cast<int>(may && a != b);
        ++compared;
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(taken, compared / 50);
}

}  // namespace
}  // namespace berth
