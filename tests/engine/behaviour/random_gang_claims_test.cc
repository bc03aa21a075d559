// SPDX-License-Identifier: Apache-2.0
// Random gangs with claims on small clusters against all places and devices: a gang that has a
// place with some choice of devices is placed whole, another holds nothing.
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resource_v1.pb.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/gang_of_claims.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::ObjectsFromYaml;
using testing::Random;

struct Device {
  std::string name;
  int size = 1;
  std::string side;
  std::set<int> nodes;  // that can use it
};

enum class Ask { kAny, kLarge, kPair, kMatchingPair, kLargeOrTwo, kAnyAndLarge };
constexpr Ask kAsks[] = {Ask::kAny,          Ask::kLarge,      Ask::kPair,
                         Ask::kMatchingPair, Ask::kLargeOrTwo, Ask::kAnyAndLarge};

std::string NameOf(Ask ask) {
  switch (ask) {
    case Ask::kAny:
      return "any";
    case Ask::kLarge:
      return "large";
    case Ask::kPair:
      return "pair";
    case Ask::kMatchingPair:
      return "matching-pair";
    case Ask::kLargeOrTwo:
      return "large-or-two";
    case Ask::kAnyAndLarge:
      break;
  }
  return "any-and-large";
}

std::string SpecOf(Ask ask) {
  const std::string any = "exactly: {deviceClassName: any}";
  const std::string selector =
      "selectors: [{cel: {expression: 'device.attributes[\"d\"].size == 2'}}]";
  const std::string large = absl::StrCat("exactly: {deviceClassName: any, ", selector, "}");
  switch (ask) {
    case Ask::kAny:
      return absl::StrCat("{devices: {requests: [{name: r, ", any, "}]}}");
    case Ask::kLarge:
      return absl::StrCat("{devices: {requests: [{name: r, ", large, "}]}}");
    case Ask::kPair:
      return "{devices: {requests: [{name: r, exactly: {deviceClassName: any, count: 2}}]}}";
    case Ask::kMatchingPair:
      return "{devices: {requests: [{name: r, exactly: {deviceClassName: any, count: 2}}], "
             "constraints: [{matchAttribute: d/side}]}}";
    case Ask::kLargeOrTwo:
      return absl::StrCat(
          "{devices: {requests: [{name: r, firstAvailable: [{name: l, deviceClassName: any, ",
          selector, "}, {name: t, deviceClassName: any, count: 2}]}]}}");
    case Ask::kAnyAndLarge:
      break;
  }
  return absl::StrCat("{devices: {requests: [{name: a, ", any, "}, {name: l, ", large, "}]}}");
}

// Whether the devices are what the claim asks for.
bool IsWhat(Ask ask, const std::vector<const Device*>& devices) {
  const bool one = devices.size() == 1, two = devices.size() == 2;
  switch (ask) {
    case Ask::kAny:
      return one;
    case Ask::kLarge:
      return one && devices[0]->size == 2;
    case Ask::kPair:
      return two;
    case Ask::kMatchingPair:
      return two && devices[0]->side == devices[1]->side;
    case Ask::kLargeOrTwo:
      return two || (one && devices[0]->size == 2);
    case Ask::kAnyAndLarge:
      break;
  }
  return two && (devices[0]->size == 2 || devices[1]->size == 2);
}

struct Case {
  int nodes = 1;
  std::vector<Device> devices;
  std::vector<Ask> claims;                  // of the members first, then shared ones
  std::vector<std::vector<int>> claims_of;  // by member
  std::vector<int> pinned;                  // by member: a node, or -1

  std::string ToString() const {
    std::string text = absl::StrCat(nodes, " nodes;");
    for (const Device& device : devices) {
      absl::StrAppend(&text, " ", device.name, "(", device.size, device.side, " on ",
                      absl::StrJoin(device.nodes, ","), ")");
    }
    for (size_t m = 0; m < claims_of.size(); ++m) {
      absl::StrAppend(&text, "; m", m, pinned[m] < 0 ? "" : absl::StrCat(" on n", pinned[m]));
      for (const int claim : claims_of[m]) {
        absl::StrAppend(&text, " c", claim, "=", NameOf(claims[claim]));
      }
    }
    return text;
  }
};

Case MakeCase(Random& random) {
  Case made;
  made.nodes = random.Between(1, 3);
  const auto add = [&](const std::string& name, std::set<int> nodes) {
    made.devices.push_back(
        {name, random.Between(1, 2), random.OneOf<std::string>({"a", "b"}), std::move(nodes)});
  };
  for (int n = 0; n < made.nodes; ++n) {
    for (int d = random.Between(0, 3); d > 0; --d) add(absl::StrCat("n", n, "-", d), {n});
  }
  for (int d = random.Between(0, 2); d > 0; --d) {
    std::set<int> nodes;
    for (int n = 0; n < made.nodes; ++n) {
      if (random.Percent(70)) nodes.insert(n);
    }
    if (!nodes.empty()) add(absl::StrCat("net-", d), std::move(nodes));
  }
  const int members = random.Between(2, 3);
  for (int m = 0; m < members; ++m) {
    made.claims.push_back(random.OneOf(std::vector<Ask>(std::begin(kAsks), std::end(kAsks))));
    made.claims_of.push_back({m});
    made.pinned.push_back(random.Percent(30) ? random.Below(made.nodes) : -1);
  }
  if (random.Percent(40)) {
    made.claims.push_back(random.OneOf<Ask>({Ask::kAny, Ask::kLarge, Ask::kMatchingPair}));
    for (int m = 0; m < members; ++m) {
      if (!random.Percent(70)) continue;
      made.claims_of[m].push_back(members);
      if (random.Percent(50)) made.claims_of[m] = {members};  // and none of its own
    }
  }
  return made;
}

// Whether claims from `claim` on can have devices beside those that are taken.
bool CanAllocate(const Case& made, const std::vector<std::set<int>>& nodes_of, size_t claim,
                 std::set<const Device*>& taken) {
  if (claim == made.claims.size()) return true;
  if (nodes_of[claim].empty()) return CanAllocate(made, nodes_of, claim + 1, taken);
  std::vector<const Device*> usable;
  for (const Device& device : made.devices) {
    bool is_usable = !taken.contains(&device);
    for (const int node : nodes_of[claim]) is_usable &= device.nodes.contains(node);
    if (is_usable) usable.push_back(&device);
  }
  const auto with = [&](const std::vector<const Device*>& devices) {
    if (!IsWhat(made.claims[claim], devices)) return false;
    taken.insert(devices.begin(), devices.end());
    const bool can = CanAllocate(made, nodes_of, claim + 1, taken);
    for (const Device* device : devices) taken.erase(device);
    return can;
  };
  for (size_t i = 0; i < usable.size(); ++i) {
    if (with({usable[i]})) return true;
    for (size_t j = i + 1; j < usable.size(); ++j) {
      if (with({usable[i], usable[j]})) return true;
    }
  }
  return false;
}

bool HasPlace(const Case& made) {
  std::vector<std::set<int>> nodes_of(made.claims.size());
  const std::function<bool(size_t)> place = [&](size_t member) {
    if (member == made.claims_of.size()) {
      std::set<const Device*> taken;
      return CanAllocate(made, nodes_of, 0, taken);
    }
    for (int node = 0; node < made.nodes; ++node) {
      if (made.pinned[member] >= 0 && made.pinned[member] != node) continue;
      const std::vector<std::set<int>> before = nodes_of;
      for (const int claim : made.claims_of[member]) nodes_of[claim].insert(node);
      if (place(member + 1)) return true;
      nodes_of = before;
    }
    return false;
  };
  return place(0);
}

std::vector<Object> ObjectsOf(const Case& made) {
  std::vector<Object> objects;
  const auto add = [&](const std::string& yaml) { objects.push_back(ObjectsFromYaml(yaml)[0]); };
  AddNodesTo(objects, made.nodes);
  add("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}");
  for (const Device& device : made.devices) {
    std::vector<std::string> names;
    for (const int node : device.nodes) names.push_back(absl::StrCat("n", node));
    const std::string whom =
        names.size() == 1 ? absl::StrCat("nodeName: ", names[0])
                          : absl::StrCat(
                                "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: "
                                "kubernetes.io/hostname, operator: In, values: [",
                                absl::StrJoin(names, ", "), "]}]}]}");
    add(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", device.name,
        "}, spec: {driver: d, pool: {name: ", device.name,
        ", generation: 1, resourceSliceCount: 1}, ", whom, ", devices: [{name: x, ",
        "attributes: {size: {int: ", device.size, "}, side: {string: ", device.side, "}}}]}}"));
  }
  for (size_t c = 0; c < made.claims.size(); ++c) {
    add(absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c", c,
                     ", namespace: default}, spec: ", SpecOf(made.claims[c]), "}"));
  }
  AddGangTo(objects, made.claims_of, made.pinned);
  return objects;
}

// No device twice, each on a node that can use it, as the claims ask.
void CheckClaims(const Case& made, const InMemoryCluster& cluster,
                 const std::map<std::string, int>& places) {
  std::set<std::string> taken;
  for (size_t c = 0; c < made.claims.size(); ++c) {
    std::set<int> nodes;
    for (size_t m = 0; m < made.claims_of.size(); ++m) {
      for (const int claim : made.claims_of[m]) {
        if (claim == static_cast<int>(c)) nodes.insert(places.at(absl::StrCat("default/m", m)));
      }
    }
    if (nodes.empty()) continue;
    const auto found = std::static_pointer_cast<const api::ResourceClaim>(
        cluster.Find(Kind::kResourceClaim, absl::StrCat("default/c", c)));
    std::vector<const Device*> devices;
    for (const auto& result : found->status().allocation().devices().results()) {
      EXPECT_TRUE(taken.insert(result.pool()).second) << result.pool() << " has two claims";
      for (const Device& device : made.devices) {
        if (device.name != result.pool()) continue;
        devices.push_back(&device);
        for (const int node : nodes) {
          EXPECT_TRUE(device.nodes.contains(node)) << "c" << c << ": " << device.name;
        }
      }
    }
    EXPECT_TRUE(IsWhat(made.claims[c], devices)) << "c" << c << " has " << devices.size();
  }
}

TEST(RandomGangClaimsTest, AGangThatHasAPlaceWithSomeDevicesIsPlaced) {
#ifdef NDEBUG
  constexpr uint64_t kCases = 1500;
#else
  constexpr uint64_t kCases = 150;
#endif
  uint64_t first = 0;
  const char* const given = std::getenv("BERTH_SEED");
  if (given != nullptr && !absl::SimpleAtoi(given, &first)) first = 0;
  int placed = 0, refused = 0;
  for (uint64_t seed = first; seed < first + kCases && !HasFailure(); ++seed) {
    Random random(seed);
    const Case made = MakeCase(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": BERTH_SEED=", seed, "; ", made.ToString()));
    auto simulation = Simulation::Create({.configuration = GangConfiguration(),
                                          .registry = &Builtins(),
                                          .objects = ObjectsOf(made)})
                          .value();
    simulation->RunUntilQuiet();
    std::map<std::string, int> places;
    for (const auto& [pod, node] : simulation->cluster().Bindings()) {
      places[pod] = std::atoi(node.substr(1).c_str());
    }
    if (HasPlace(made)) {
      ASSERT_EQ(places.size(), made.claims_of.size()) << "it has a place";
      CheckClaims(made, simulation->cluster(), places);
      ++placed;
    } else {
      ASSERT_TRUE(places.empty()) << "it has no place";
      ++refused;
    }
  }
  EXPECT_GT(placed, static_cast<int>(kCases / 10));
  EXPECT_GT(refused, static_cast<int>(kCases / 10));
}

}  // namespace
}  // namespace berth
