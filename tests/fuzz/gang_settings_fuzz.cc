// SPDX-License-Identifier: Apache-2.0
// What annotations say of a gang: "key=value" lines. Whatever is taken is legal, and two members
// say the same together in either order.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "berth/check.h"
#include "plugins/coscheduling/gang_settings.h"
#include "plugins/coscheduling/topology_settings.h"

namespace {

void Check(const berth::GangSettings& settings) {
  BERTH_CHECK(settings.min_member.value_or(1) >= 1);
  BERTH_CHECK(settings.total_members.value_or(1) >= 1);
  BERTH_CHECK(settings.waiting_time.value_or(absl::Seconds(1)) > absl::ZeroDuration());
  BERTH_CHECK(settings.stale_after.value_or(absl::ZeroDuration()) >= absl::ZeroDuration());
}

bool SaysTheSame(const berth::GangSettings& a, const berth::GangSettings& b) {
  return a.min_member == b.min_member && a.total_members == b.total_members && a.mode == b.mode &&
         a.match_policy == b.match_policy && a.waiting_time == b.waiting_time &&
         a.stale_after == b.stale_after && a.bind_failure_policy == b.bind_failure_policy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::map<std::string, std::string>> members(1);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) {  // another member
      members.emplace_back();
      continue;
    }
    const std::pair<std::string, std::string> entry = absl::StrSplit(line, absl::MaxSplits('=', 1));
    const bool is_whole = entry.first.find('/') != std::string::npos;  // of another project
    members.back()[(is_whole ? "" : "gang.scheduling.koordinator.sh/") + entry.first] =
        entry.second;
  }
  berth::GangSettings forth, back;
  std::vector<berth::GangSettings> all;
  for (const auto& annotations : members) {
    const berth::FindText find = [&](absl::string_view key) -> std::optional<absl::string_view> {
      const auto found = annotations.find(std::string(key));
      if (found == annotations.end()) return std::nullopt;
      return found->second;
    };
    all.push_back(berth::ReadKoordinatorSettings(find));
    berth::ReadLifecycleSettings(find, all.back());
    Check(all.back());
    for (const berth::TopologyConstraint& wish : berth::ReadTopologySettings(find).topology) {
      BERTH_CHECK(!wish.key.empty() && wish.slice_size >= 0);
      BERTH_CHECK(wish.required || wish.slice_size == 0);
    }
    const std::vector<std::string> gangs = berth::ReadGangGroups(find);
    BERTH_CHECK(std::is_sorted(gangs.begin(), gangs.end()));
    for (const std::string& gang : gangs) {
      BERTH_CHECK(std::count(gang.begin(), gang.end(), '/') == 1);
      BERTH_CHECK(gang.find(',') == std::string::npos);
    }
  }
  for (const berth::GangSettings& settings : all) forth.Add(settings);
  for (auto settings = all.rbegin(); settings != all.rend(); ++settings) back.Add(*settings);
  Check(forth);
  BERTH_CHECK(SaysTheSame(forth, back));
  return 0;
}
