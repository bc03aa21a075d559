// SPDX-License-Identifier: Apache-2.0
// Times and durations.
#include "berth/api/time.h"

#include <gmock/gmock.h>

#include <string>

#include "berth/api/meta_v1.pb.h"

namespace berth {
namespace {

TEST(TimeTest, Parses) {
  const struct {
    absl::string_view text, utc;
  } cases[] = {
      {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000000Z"},
      {"2026-01-02T03:04:05.123456Z", "2026-01-02T03:04:05.123456Z"},
      {"2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05.000000Z"},
      {"2026-01-02T03:04:05.5-01:30", "2026-01-02T04:34:05.500000Z"},
      {"1969-12-31T23:59:59Z", "1969-12-31T23:59:59.000000Z"},
      {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"},
      {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<absl::Time> time = ParseTime(c.text);
    ASSERT_TRUE(time.ok()) << time.status();
    EXPECT_EQ(MicroTimeToString(*time), c.utc);
  }
}

TEST(TimeTest, Refuses) {
  for (const absl::string_view text :
       {"", "now", "2026-01-02", "2026-01-02 03:04:05Z", "2026-01-02T03:04:05", "infinite-future",
        "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z", " 2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05Z ", "2026-01-02t03:04:05z", "2026-01-02T03:04:05+0200",
        "9999-12-31T23:59:59-01:00"}) {
    EXPECT_FALSE(ParseTime(text).ok()) << text;
  }
}

TEST(TimeTest, Messages) {
  const absl::Time time = *ParseTime("1969-12-31T23:59:58.25Z");
  api::Time message;
  EXPECT_EQ(ToTime(message), absl::InfinitePast());
  SetTime(time, &message);
  EXPECT_EQ(message.seconds(), -2);
  EXPECT_EQ(message.nanos(), 250'000'000);
  EXPECT_EQ(ToTime(message), time);
  EXPECT_EQ(TimeToString(time), "1969-12-31T23:59:58Z");
}

TEST(DurationTest, ParsesAndPrintsAsGo) {
  const struct {
    absl::string_view text;
    int64_t nanos;
    absl::string_view printed;
  } cases[] = {
      {"0", 0, "0s"},
      {"5s", 5'000'000'000, "5s"},
      {"1h30m", 5400'000'000'000, "1h30m0s"},
      {"500ms", 500'000'000, "500ms"},
      {"1.5s", 1'500'000'000, "1.5s"},
      {"-1.5s", -1'500'000'000, "-1.5s"},
      {"+5m", 300'000'000'000, "5m0s"},
      {"100ns", 100, "100ns"},
      {"1.1us", 1'100, "1.1µs"},
      {"3µs", 3'000, "3µs"},
      {"2.0000005ms", 2'000'000, "2ms"},
      {".5h", 1800'000'000'000, "30m0s"},
      {"1h1s", 3601'000'000'000, "1h0m1s"},
      {"39h9m14.425s", 140954'425'000'000, "39h9m14.425s"},
      {"1m1m", 120'000'000'000, "2m0s"},
      {"9223372036854775807ns", 9'223'372'036'854'775'807, "2562047h47m16.854775807s"},
  };
  for (const auto& c : cases) {
    const absl::StatusOr<absl::Duration> duration = ParseDuration(c.text);
    ASSERT_TRUE(duration.ok()) << duration.status();
    EXPECT_EQ(absl::ToInt64Nanoseconds(*duration), c.nanos) << c.text;
    EXPECT_EQ(DurationToString(*duration), c.printed);
  }
}

TEST(DurationTest, Refuses) {
  for (const absl::string_view text :
       {"", "-", "5", "s", "5x", "5 s", "1h ", ".s", "+.s", "1e3s", "9223372036854775808ns",
        "99999999999999999999s", "300000000h", "1:30"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

}  // namespace
}  // namespace berth
