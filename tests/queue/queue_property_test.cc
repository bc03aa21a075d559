// Random sequences of operations: no pod is lost, none is in two places, the order is kept.
// BERTH_TEST_SEED repeats one sequence.
#include <cstdlib>
#include <random>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
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
    RunSequence(seed, {.most_moves_at_once = 1 + seed % 3});
  }
}

// Asking about one pod for all that are like it comes to what asking about each does.
TEST(QueueProperty, AlikePodsGoWhereEachWouldGoAlone) {
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

}  // namespace
}  // namespace berth::testing
