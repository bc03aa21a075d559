// Random sequences of operations: no pod is lost, none is in two places, the order is kept.
// BERTH_TEST_SEED repeats one sequence.
#include <cstdlib>
#include <random>

#include "gtest/gtest.h"
#include "tests/queue/queue_machine.h"

namespace berth::testing {
namespace {

constexpr int kSequences = 40;
constexpr int kOperations = 600;

void RunSequence(uint64_t seed) {
  std::mt19937_64 random(seed);
  QueueMachine machine([&](uint32_t bound) { return static_cast<uint32_t>(random() % bound); });
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

}  // namespace
}  // namespace berth::testing
