// SPDX-License-Identifier: Apache-2.0
// The backoff formula and its one-second windows.
#include "queue/backoff.h"

#include "gtest/gtest.h"

namespace berth {
namespace {

constexpr absl::Duration kNone = absl::ZeroDuration();

TEST(Backoff, DoublesWithEveryAttemptUpToTheMaximum) {
  struct Case {
    absl::Duration initial, max;
    int count;
    absl::Duration want;
  };
  const Case cases[] = {
      {absl::Seconds(1), absl::Seconds(10), 0, kNone},
      {absl::Seconds(1), absl::Seconds(10), 1, absl::Seconds(1)},
      {absl::Seconds(1), absl::Seconds(10), 2, absl::Seconds(2)},
      {absl::Seconds(1), absl::Seconds(10), 4, absl::Seconds(8)},
      {absl::Seconds(1), absl::Seconds(10), 5, absl::Seconds(10)},
      {absl::Seconds(1), absl::Seconds(10), 16, absl::Seconds(10)},
      {absl::Seconds(1), absl::Seconds(10), 64, absl::Seconds(10)},
      {absl::Seconds(1), absl::Seconds(10), 2'000'000'000, absl::Seconds(10)},
      {absl::Seconds(1), absl::Hours(24 * 365 * 200), 60, absl::Hours(24 * 365 * 200)},
      {absl::Seconds(20), absl::Seconds(10), 1, absl::Seconds(10)},
      {absl::Seconds(4), absl::Seconds(16), 3, absl::Seconds(16)},
      {kNone, absl::Seconds(10), 2'000'000'000, kNone},
      {absl::Seconds(1), kNone, 3, kNone},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Backoff(c.initial, c.max).DurationFor(c.count), c.want)
        << c.initial << " " << c.max << " " << c.count;
  }
}

TEST(Backoff, EndsWithTheSecondItFallsInto) {
  const Backoff backoff(absl::Seconds(1), absl::Seconds(10));
  const absl::Time second = absl::FromUnixSeconds(1000);
  struct Case {
    absl::string_view name;
    AttemptHistory history;
    absl::Time timestamp, want;
  };
  const Case cases[] = {
      {"never rejected", {}, second, absl::InfinitePast()},
      {"on the second", {.unschedulable_count = 1}, second, second + absl::Seconds(1)},
      {"cut to the second",
       {.unschedulable_count = 1},
       second + absl::Milliseconds(999),
       second + absl::Seconds(1)},
      {"second rejection", {.unschedulable_count = 2}, second, second + absl::Seconds(2)},
      {"errors count apart",
       {.unschedulable_count = 4, .consecutive_errors = 1},
       second,
       second + absl::Seconds(1)},
      {"before 1970",
       {.unschedulable_count = 1},
       absl::FromUnixMillis(-1500),
       absl::FromUnixSeconds(-1)},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(backoff.Expiration(c.history, c.timestamp), c.want) << c.name;
  }
  EXPECT_EQ(Backoff(absl::Seconds(1), kNone).Expiration({.unschedulable_count = 3}, second),
            absl::InfinitePast())
      << "a maximum of zero disables backoff";
}

TEST(Backoff, LastsThroughTheSecondInWhichItEnds) {
  const absl::Time end = absl::FromUnixSeconds(1000);
  EXPECT_TRUE(Backoff::IsBackingOff(end, end - absl::Nanoseconds(1)));
  EXPECT_TRUE(Backoff::IsBackingOff(end, end));
  EXPECT_TRUE(Backoff::IsBackingOff(end, end + absl::Milliseconds(999)));
  EXPECT_FALSE(Backoff::IsBackingOff(end, end + absl::Seconds(1)));
  EXPECT_FALSE(Backoff::IsBackingOff(absl::InfinitePast(), end));
  EXPECT_FALSE(Backoff::IsBackingOff(end, Backoff::End(end)));
  EXPECT_TRUE(Backoff::IsBackingOff(end, Backoff::End(end) - absl::Nanoseconds(1)));
}

}  // namespace
}  // namespace berth
