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
#include "plugins/coscheduling/gang_words.h"
#include "plugins/coscheduling/topology_words.h"

namespace {

void Check(const berth::GangWords& words) {
  BERTH_CHECK(words.min_member.value_or(1) >= 1);
  BERTH_CHECK(words.total_members.value_or(1) >= 1);
  BERTH_CHECK(words.waiting_time.value_or(absl::Seconds(1)) > absl::ZeroDuration());
  BERTH_CHECK(words.stale_after.value_or(absl::ZeroDuration()) >= absl::ZeroDuration());
}

bool SaysTheSame(const berth::GangWords& a, const berth::GangWords& b) {
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
  berth::GangWords forth, back;
  std::vector<berth::GangWords> all;
  for (const auto& annotations : members) {
    const berth::FindText find = [&](absl::string_view key) -> std::optional<absl::string_view> {
      const auto found = annotations.find(std::string(key));
      if (found == annotations.end()) return std::nullopt;
      return found->second;
    };
    all.push_back(berth::ReadKoordinatorWords(find));
    berth::ReadLifecycleWords(find, all.back());
    Check(all.back());
    for (const berth::TopologyConstraint& wish : berth::ReadTopologyWords(find).topology) {
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
  for (const berth::GangWords& words : all) forth.Add(words);
  for (auto words = all.rbegin(); words != all.rend(); ++words) back.Add(*words);
  Check(forth);
  BERTH_CHECK(SaysTheSame(forth, back));
  return 0;
}
