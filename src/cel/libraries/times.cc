// SPDX-License-Identifier: Apache-2.0
// Parts of timestamps and durations.
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "cel/libraries/libraries.h"

namespace berth::cel {
namespace {

// A zone by its name, or as ±hh:mm; nullopt if it is neither.
std::optional<absl::TimeZone> FindZone(absl::string_view name) {
  const size_t colon = name.find(':');
  if (colon != absl::string_view::npos) {
    int hours, minutes;
    if (!absl::SimpleAtoi(name.substr(0, colon), &hours)) return std::nullopt;
    if (!absl::SimpleAtoi(name.substr(colon + 1), &minutes)) return std::nullopt;
    if (hours < -23 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
    return absl::FixedTimeZone((hours * 60 + (name[0] == '-' ? -minutes : minutes)) * 60);
  }
  if (name.empty()) return absl::UTCTimeZone();
  // The name is that of a file; none but those of the time zone database.
  const bool may_be_path =
      absl::StrContains(name, "..") || absl::StrContains(name, "\\") || absl::StartsWith(name, "/");
  absl::TimeZone zone;
  if (may_be_path || !absl::LoadTimeZone(name, &zone)) return std::nullopt;
  return zone;
}

using Part = int64_t (*)(const absl::TimeZone::CivilInfo&);

Value OfTimestamp(Part part, Budget& budget, Arguments a) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (a.size() == 2) {
    constexpr uint64_t kLoading = 10'000;  // steps: a zone may have to be read
    if (!budget.Work(kLoading)) return Budget::Exceeded();
    const std::optional<absl::TimeZone> found = FindZone(a[1].text());
    if (!found) return Value::Error(absl::StrCat("unknown time zone ", a[1].text()));
    zone = *found;
  }
  return Value::Int(part(zone.At(a[0].Get<TimestampValue>().time)));
}

void AddPart(Environment& environment, absl::string_view name, Part part) {
  const Implementation implementation = [part](Budget& budget, Arguments a) {
    return OfTimestamp(part, budget, a);
  };
  environment.AddMember(name, absl::StrCat("timestamp_", name), {Type::Timestamp()}, Type::Int(),
                        implementation);
  environment.AddMember(name, absl::StrCat("timestamp_", name, "_with_tz"),
                        {Type::Timestamp(), Type::String()}, Type::Int(), implementation);
}

void AddDurationPart(Environment& environment, absl::string_view name, int64_t unit) {
  environment.AddMember(name, absl::StrCat("duration_", name), {Type::Duration()}, Type::Int(),
                        [unit](Budget&, Arguments a) {
                          return Value::Int(a[0].Get<DurationValue>().nanoseconds / unit);
                        });
}

using Info = absl::TimeZone::CivilInfo;

int64_t DayOfWeek(const Info& info) {  // Sunday is 0
  return (static_cast<int64_t>(absl::GetWeekday(info.cs)) + 1) % 7;
}

}  // namespace

void AddTimes(Environment& environment) {
  const auto add = [&](absl::string_view name, Part part) { AddPart(environment, name, part); };
  add("getFullYear", [](const Info& i) -> int64_t { return i.cs.year(); });
  add("getMonth", [](const Info& i) -> int64_t { return i.cs.month() - 1; });
  add("getDayOfYear", [](const Info& i) -> int64_t { return absl::GetYearDay(i.cs) - 1; });
  add("getDayOfMonth", [](const Info& i) -> int64_t { return i.cs.day() - 1; });
  add("getDate", [](const Info& i) -> int64_t { return i.cs.day(); });
  add("getDayOfWeek", DayOfWeek);
  add("getHours", [](const Info& i) -> int64_t { return i.cs.hour(); });
  add("getMinutes", [](const Info& i) -> int64_t { return i.cs.minute(); });
  add("getSeconds", [](const Info& i) -> int64_t { return i.cs.second(); });
  add("getMilliseconds",
      [](const Info& i) -> int64_t { return absl::ToInt64Milliseconds(i.subsecond); });

  constexpr int64_t kSecond = 1'000'000'000;
  AddDurationPart(environment, "getHours", 3600 * kSecond);
  AddDurationPart(environment, "getMinutes", 60 * kSecond);
  AddDurationPart(environment, "getSeconds", kSecond);
  AddDurationPart(environment, "getMilliseconds", kSecond / 1000);
}

}  // namespace berth::cel
