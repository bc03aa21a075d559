// SPDX-License-Identifier: Apache-2.0
// The allocator finds the very devices that the plain search finds first, whatever is asked for.
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/devices/plain_search.h"
#include "tests/devices/small_inventory.h"

namespace berth::testing {
namespace {

class RandomCase {
 public:
  explicit RandomCase(uint64_t seed) : random_(seed) {
    for (int i = 0, n = 1 + Below(6); i < n; ++i) {
      devices_.push_back({absl::StrCat("x", i), Below(5) == 0, Below(4) - 1});
    }
    for (int i = 0, n = 1 + Below(3); i < n; ++i) {
      PlainClaim& claim = claims_.emplace_back();
      for (int r = 0, requests = 1 + Below(3); r < requests; ++r) {
        auto& alternatives = claim.requests.emplace_back();
        for (int a = 0, m = Below(3) == 0 ? 1 + Below(3) : 1; a < m; ++a) {
          alternatives.push_back({1 + Below(3), Below(8) == 0});
        }
        if (Below(2) == 0) claim.constrained.insert(r);
      }
    }
  }

  std::string Want() const {
    PlainSearch search(devices_, claims_);
    const bool found = search.Run();
    if (search.failed()) return "error";
    if (!found) return "impossible";
    return absl::StrJoin(search.picked(), "; ", [&](std::string* out, const auto& picked) {
      absl::StrAppend(out, absl::StrJoin(picked, " ", [&](std::string* one, int i) {
                        absl::StrAppend(one, devices_[i].name);
                      }));
    });
  }

  std::string Got(DeviceScoring scoring = DeviceScoring::kFirstFit) const {
    SmallInventory inventory;
    inventory.set_scoring(scoring);
    std::string slice =
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
        "d, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [";
    for (const PlainDevice& device : devices_) {
      absl::StrAppend(&slice, "{name: ", device.name);
      if (device.value >= 0)
        absl::StrAppend(&slice, ", attributes: {k: {int: ", device.value, "}}");
      absl::StrAppend(&slice, "}, ");
      if (device.held) inventory.Hold("d/n0/" + device.name);
    }
    inventory.Add(slice + "]}}");
    for (const PlainClaim& claim : claims_) inventory.Claim(Yaml(claim));
    std::string got = inventory.On("n0");
    if (got.rfind("error", 0) == 0) return "error";
    for (const char* const noise : {"n0/"}) {
      for (size_t at; (at = got.find(noise)) != std::string::npos;) got.erase(at, 3);
    }
    // Leaves the names of devices.
    std::string names;
    for (const absl::string_view part : absl::StrSplit(got, ' ')) {
      const size_t equals = part.find('=');
      absl::StrAppend(&names, names.empty() ? "" : " ",
                      equals == absl::string_view::npos ? part : part.substr(equals + 1));
    }
    return names;
  }

 private:
  int Below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  static std::string Fields(const PlainRequirement& wanted) {
    return wanted.all ? "deviceClassName: any, allocationMode: All"
                      : absl::StrCat("deviceClassName: any, count: ", wanted.count);
  }
  static std::string Yaml(const PlainClaim& claim) {
    std::string yaml = "{requests: [";
    for (size_t r = 0; r < claim.requests.size(); ++r) {
      const auto& alternatives = claim.requests[r];
      absl::StrAppend(&yaml, "{name: r", r, ", ");
      if (alternatives.size() == 1) {
        absl::StrAppend(&yaml, "exactly: {", Fields(alternatives[0]), "}}, ");
        continue;
      }
      absl::StrAppend(&yaml, "firstAvailable: [");
      for (size_t a = 0; a < alternatives.size(); ++a) {
        absl::StrAppend(&yaml, "{name: a", a, ", ", Fields(alternatives[a]), "}, ");
      }
      absl::StrAppend(&yaml, "]}, ");
    }
    absl::StrAppend(&yaml, "]");
    if (!claim.constrained.empty()) {
      absl::StrAppend(&yaml, ", constraints: [{matchAttribute: d/k, requests: [",
                      absl::StrJoin(claim.constrained, ", ",
                                    [](std::string* out, int r) { absl::StrAppend(out, "r", r); }),
                      "]}]");
    }
    return absl::StrCat(yaml, "}");
  }

  std::mt19937_64 random_;
  std::vector<PlainDevice> devices_;
  std::vector<PlainClaim> claims_;
};

TEST(PlainSearchTest, FindsTheSame) {
  int solved = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    const RandomCase random(seed);
    const std::string want = random.Want();
    ASSERT_EQ(random.Got(), want) << "seed " << seed;
    solved += want != "error" && want != "impossible" ? 1 : 0;
  }
  EXPECT_GT(solved, 2'000);
}

// Whether a device that is not there for all of a request is an error follows what was taken
// before.
TEST(PlainSearchTest, AllocatesTheSameClaimsInWhateverOrder) {
  int solved = 0;
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    const RandomCase random(seed);
    const std::string want = random.Want();
    for (const DeviceScoring scoring :
         {DeviceScoring::kExpectedWaste, DeviceScoring::kBestFit, DeviceScoring::kSpread}) {
      const std::string got = random.Got(scoring);
      if (want == "error" || got == "error") continue;
      ASSERT_EQ(got == "impossible", want == "impossible") << "seed " << seed;
      solved += want != "impossible" ? 1 : 0;
    }
  }
  EXPECT_GT(solved, 500);
}

}  // namespace
}  // namespace berth::testing
