// SPDX-License-Identifier: Apache-2.0
// Taints and tolerations.
#include "berth/api/taints.h"

#include <gmock/gmock.h>

#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

Taint MakeTaint(const char* key, const char* value, const char* effect) {
  api::Taint taint;
  taint.set_key(key);
  taint.set_value(value);
  taint.set_effect(effect);
  return Taint::FromProto(taint);
}

Toleration MakeToleration(const char* key, const char* op, const char* value, const char* effect) {
  api::Toleration toleration;
  toleration.set_key(key);
  toleration.set_operator_(op);
  toleration.set_value(value);
  toleration.set_effect(effect);
  return Toleration::FromProto(toleration);
}

TEST(TolerationTest, Tolerates) {
  const Taint taint = MakeTaint("k", "v", "NoSchedule");
  const struct {
    const char *key, *op, *value, *effect;
    bool want;
  } cases[] = {
      {"k", "Equal", "v", "NoSchedule", true},
      {"k", "", "v", "NoSchedule", true},
      {"k", "Equal", "v", "", true},
      {"k", "Equal", "w", "NoSchedule", false},
      {"k", "Equal", "v", "NoExecute", false},
      {"j", "Equal", "v", "NoSchedule", false},
      {"k", "Exists", "", "NoSchedule", true},
      {"k", "Exists", "other", "", true},
      {"", "Exists", "", "", true},
      {"", "Exists", "", "NoExecute", false},
      {"", "Equal", "v", "", true},
      {"", "Equal", "", "", false},
      {"k", "Gt", "0", "NoSchedule", false},
      {"k", "Lt", "9", "NoSchedule", false},
      {"k", "exists", "v", "", false},
      {"k", "Equal", "v", "Whatever", false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(MakeToleration(c.key, c.op, c.value, c.effect).Tolerates(taint), c.want)
        << c.key << " " << c.op << " " << c.value << " " << c.effect;
  }
}

TEST(FindUntoleratedTaintTest, GivesTheFirstThatCounts) {
  const TaintList taints({MakeTaint("a", "", "PreferNoSchedule"), MakeTaint("b", "", "NoSchedule"),
                          MakeTaint("c", "", "NoExecute")});
  const std::vector<Toleration> tolerations = {MakeToleration("b", "Exists", "", "")};
  const Taint* hard = FindUntoleratedTaint(taints, tolerations, PreventsScheduling);
  ASSERT_NE(hard, nullptr);
  EXPECT_EQ(hard->key.view(), "c");
  const Taint* soft = FindUntoleratedTaint(taints, tolerations, DiscouragesScheduling);
  ASSERT_NE(soft, nullptr);
  EXPECT_EQ(soft->key.view(), "a");
  const std::vector<Toleration> all = {MakeToleration("", "Exists", "", "")};
  EXPECT_EQ(FindUntoleratedTaint(taints, all, PreventsScheduling), nullptr);
  EXPECT_EQ(FindUntoleratedTaint({}, tolerations, PreventsScheduling), nullptr);
}

TEST(TaintTest, Prints) {
  EXPECT_EQ(MakeTaint("k", "v", "NoSchedule").ToString(), "k=v:NoSchedule");
  EXPECT_EQ(MakeTaint("k", "", "NoExecute").ToString(), "k:NoExecute");
  EXPECT_EQ(MakeTaint("k", "v", "").ToString(), "k=v:");
  EXPECT_EQ(MakeTaint("k", "", "").ToString(), "k");
}

TEST(TaintListTest, EqualInOrder) {
  const Taint a = MakeTaint("a", "", "NoSchedule"), b = MakeTaint("b", "", "NoSchedule");
  EXPECT_EQ(TaintList({a, b}), TaintList({a, b}));
  EXPECT_NE(TaintList({a, b}), TaintList({b, a}));
}

}  // namespace
}  // namespace berth
