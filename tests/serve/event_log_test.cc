// SPDX-License-Identifier: Apache-2.0
#include "serve/event_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace berth {
namespace {

v1::Events Events(int count, size_t size = 0) {
  v1::Events events;
  for (int i = 0; i < count; ++i) {
    events.add_events()->mutable_note()->set_text(std::string(size, 'x'));
  }
  return events;
}

std::vector<uint64_t> Revisions(const EventLog& log, uint64_t after) {
  std::vector<uint64_t> revisions;
  while (const EventLog::Block block = log.After(after)) {
    for (const auto& event : block->events().events()) revisions.push_back(event.revision());
    after = revisions.back();
  }
  return revisions;
}

TEST(EventLogTest, GivesWhatCameAfterARevision) {
  EventLog log({.events = 100});
  log.Append(Events(3));
  log.Append(Events(2));
  EXPECT_EQ(log.last(), 5u);
  EXPECT_EQ(Revisions(log, 0), (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(Revisions(log, 2), (std::vector<uint64_t>{3, 4, 5}));
  EXPECT_EQ(Revisions(log, 5), std::vector<uint64_t>());
  EXPECT_FALSE(log.Reaches(6));
}

TEST(EventLogTest, KeepsWhatIsNotReleasedWhateverTheLimit) {
  EventLog log({.events = 2});
  log.Append(Events(2));
  EXPECT_TRUE(log.is_full());
  log.Append(Events(2));  // as much as one step of a scheduler comes to
  EXPECT_TRUE(log.Reaches(0));
  log.Release(3);
  EXPECT_FALSE(log.is_full());
  EXPECT_FALSE(log.Reaches(0));
  EXPECT_TRUE(log.Reaches(2));
}

TEST(EventLogTest, BytesAreLimitedToo) {
  EventLog log({.events = 1000, .bytes = 1000});
  log.Append(Events(1, 900));
  EXPECT_FALSE(log.is_full());
  log.Append(Events(1, 900));
  EXPECT_TRUE(log.is_full());
  log.Release(1);
  EXPECT_FALSE(log.is_full());
  EXPECT_FALSE(log.Reaches(0));
}

TEST(EventLogTest, ARewoundLogIsFullAgain) {
  EventLog log({.events = 4});
  log.Append(Events(4));
  log.Release(4);
  EXPECT_FALSE(log.is_full());
  log.Rewind(0);
  EXPECT_TRUE(log.is_full());
  log.Append(Events(4));
  EXPECT_TRUE(log.Reaches(0));
}

// Against a list of all revisions.
TEST(EventLogTest, IsAListWithALimit) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](uint64_t n) { return n == 0 ? 0 : random() % n; };
  EventLog log({.events = 20, .bytes = 100'000});
  uint64_t last = 0, released = 0;
  for (int step = 0; step < 3000; ++step) {
    switch (below(5)) {
      case 0:
      case 1: {
        const int count = 1 + static_cast<int>(below(8));
        log.Append(Events(count, below(30)));
        last += static_cast<uint64_t>(count);
        break;
      }
      case 2:
      case 3:
        released = std::max(released, released + below(last - released + 2));
        log.Release(released);
        released = std::min(released, last);
        break;
      default: {
        const uint64_t to = below(last + 1);
        if (below(10) == 0) {
          log.Clear();
          released = last;
        } else if (log.Reaches(to)) {
          log.Rewind(to);
          released = to;
        }
      }
    }
    ASSERT_EQ(log.last(), last);
    ASSERT_EQ(log.released(), released);
    ASSERT_TRUE(log.Reaches(released));  // what is not released is there
    ASSERT_EQ(log.is_full(), last - released >= 20);
    ASSERT_LE(log.size(), 20 + 8 + last - released);
    const uint64_t from = released + below(last - released + 1);
    std::vector<uint64_t> want;
    for (uint64_t r = from + 1; r <= last; ++r) want.push_back(r);
    ASSERT_EQ(Revisions(log, from), want);
  }
}

}  // namespace
}  // namespace berth
