// SPDX-License-Identifier: Apache-2.0
// Random sequences of operations: no pod is lost, none is in two places, the order is kept.
// BERTH_TEST_SEED repeats one sequence.
#include <cstdlib>
#include <random>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/queue/queue_fixture.h"
#include "tests/queue/queue_machine.h"

namespace berth::testing {
namespace {

constexpr int kSequences = 40;
constexpr int kOperations = 600;

void RunSequence(uint64_t seed, const QueueOptions& options = {}) {
  std::mt19937_64 random(seed);
  QueueMachine machine([&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); },
                       /*asks_for_all=*/true, options);
  for (int i = 0; i < kOperations; ++i) {
    const absl::Status status = machine.Step();
    ASSERT_TRUE(status.ok()) << "BERTH_TEST_SEED=" << seed << ", operation " << i << ": " << status;
  }
  const absl::Status status = machine.Drain();
  ASSERT_TRUE(status.ok()) << "BERTH_TEST_SEED=" << seed << ", at the end: " << status;
}

TEST(QueueProperty, NothingIsLostAndTheOrderIsKept) {
  if (const char* seed = std::getenv("BERTH_TEST_SEED")) {
    return RunSequence(std::strtoull(seed, nullptr, 10));
  }
  for (uint64_t seed = 1; seed <= kSequences && !HasFatalFailure(); ++seed) RunSequence(seed);
}

// The same where a few moves are too many at once, and much else happens before the next.
TEST(QueueProperty, NothingIsLostBetweenMoves) {
  for (uint64_t seed = 1; seed <= kSequences && !HasFatalFailure(); ++seed) {
    RunSequence(seed, {.max_moves_per_tick = 1 + seed % 3, .max_hints_per_tick = 1 + seed % 5});
  }
}

// Asking about one pod for all that are like it comes to what asking about each does.
TEST(QueueProperty, EquivalentPodsGoWhereEachWouldGoAlone) {
  int woken = 0;
  for (uint64_t seed = 1; seed <= kSequences; ++seed) {
    std::mt19937_64 random[2] = {std::mt19937_64(seed), std::mt19937_64(seed)};
    const auto below = [&random](int machine) {
      return [&random, machine](uint32_t bound) {
        return static_cast<uint32_t>(random[machine]() % bound);
      };
    };
    QueueMachine together(below(0), /*asks_for_all=*/true);
    QueueMachine each(below(1), /*asks_for_all=*/false);
    for (int i = 0; i < kOperations; ++i) {
      ASSERT_TRUE(together.Step().ok()) << seed;
      ASSERT_TRUE(each.Step().ok()) << seed;
      ASSERT_EQ(together.Digest(), each.Digest()) << "seed " << seed << ", operation " << i;
      woken += absl::StrContains(together.Digest(), "Relabelled");
    }
  }
  EXPECT_GT(woken, 0);
}

// However few are asked and moved at once: when all is done, the same ones wait, whatever else
// happened meanwhile, and which pods came meanwhile.
TEST(QueueProperty, AskingInStepsRequeuesTheSamePods) {
  constexpr int kHistories = 400;
  int were_asked_later = 0;
  for (uint64_t seed = 1; seed <= kHistories; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random[2] = {std::mt19937_64(seed), std::mt19937_64(seed)};
    const auto below = [&random](int machine) {
      return [&random, machine](uint32_t bound) {
        return static_cast<uint32_t>(random[machine]() % bound);
      };
    };
    QueueMachine at_once(below(0));
    QueueMachine by_bits(below(1), /*asks_for_all=*/true,
                         {.max_moves_per_tick = 1 + seed % 4, .max_hints_per_tick = 1 + seed % 5});
    QueueMachine* const both[] = {&at_once, &by_bits};
    for (QueueMachine* const machine : both) {
      machine->OrderByName();
      for (int i = 0; i < 150; ++i) {
        const absl::Status status = machine->Step();
        ASSERT_TRUE(status.ok()) << status;
        machine->Tick();
      }
      const absl::Status status = machine->Burst();
      ASSERT_TRUE(status.ok()) << status;
    }
    were_asked_later += by_bits.has_pending_events();
    ASSERT_EQ(at_once.WhoWaits(), by_bits.WhoWaits());
    for (QueueMachine* const machine : both) {
      const absl::Status status = machine->Drain();
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  EXPECT_GT(were_asked_later, kHistories / 8);
}

// A pod that an event requeued is not waiting any more when all moves are made, whatever else
// happens meanwhile that does not make him wait again.
class RequeuingTest : public QueueTest {};

TEST_F(RequeuingTest, EveryRequeuedPodIsMoved) {
  options_.max_moves_per_tick = 3;
  options_.max_hints_per_tick = 2;
  RegisterForAlike("Fit", EventResource::Node(), action::kAdd, Says(QueueingHint::kQueue));
  SetMinMember("default/g", 1);
  std::mt19937 random(5);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  constexpr int kPods = 24;
  const auto pod = [&](int i) {
    PodBuilder builder = Pod(absl::StrCat("p", i), below(2));
    if (i < 3) builder.Label("group", "g");  // three are one entry
    return builder.Label("colour", absl::StrCat(below(2)));
  };
  int stayed_behind_at_first = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < kPods; ++i) {
      if (!StateOf(absl::StrCat("p", i)).has_value()) Add(pod(i));
    }
    while (!Pop().empty()) Reject({"Fit"});
    clock_.Advance(absl::Seconds(30));
    queue().MoveAllOnEvent(kNodeAdd, {});
    for (int step = below(12); step > 0; --step) {
      const int i = below(kPods);
      switch (below(4)) {
        case 0:
          Update(pod(i));
          break;
        case 1:
          Delete(absl::StrCat("p", i));
          break;
        case 2:
          queue().MoveAllOnEvent(kPodDelete, {});
          break;
        case 3:  // another member that may not be tried
          Add(Pod(absl::StrCat("gated", round, "-", step)).Label("group", "g").SchedulingGate("x"));
          break;
      }
      ASSERT_TRUE(queue().CheckInvariants().ok()) << queue().CheckInvariants();
    }
    stayed_behind_at_first += queue().unschedulable_size();
    while (queue().Tick(clock_.Now())) {
    }
    ASSERT_EQ(queue().unschedulable_size(), 0) << "round " << round;
    for (int step = 0; step < 12; ++step) Delete(absl::StrCat("gated", round, "-", step));
  }
  EXPECT_GT(stayed_behind_at_first, 1000);
}

}  // namespace
}  // namespace berth::testing
