// SPDX-License-Identifier: Apache-2.0
// Random gangs whose members share devices and partitions, on small clusters, against all places
// and devices: a gang that has a place with some choice of devices is placed whole, of another one
// it is proven that it has none.
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/resource_v1.pb.h"
#include "gmock/gmock.h"
#include "tests/engine/gang_cluster.h"
#include "tests/engine/gang_of_claims.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::ObjectsFromYaml;
using testing::Random;

struct Device {
  std::string name;
  bool is_shared = false;
  int memory = 0;  // its capacity; 0: it has none
  int parts = 0;   // that it takes of its pool's counter
};

struct Pool {
  std::string name;
  std::set<int> nodes;  // that can use it
  int parts = 0;        // its counter
  std::vector<Device> devices;
};

struct Alternative {
  int count = 1;
  int memory = 0;  // requested of each; 0: none, so all that there is
};
using Request = std::vector<Alternative>;
using Claim = std::vector<Request>;

struct Case {
  int nodes = 1;
  std::vector<Pool> pools;
  std::vector<Claim> claims;                // of the members first, then one for several
  std::vector<std::vector<int>> claims_of;  // by member
  std::vector<int> pinned;                  // by member: a node, or -1
  std::string scoring;
};

Pool MakePool(Random& random, const std::string& name, std::set<int> nodes) {
  Pool pool{name, std::move(nodes)};
  const bool has_counters = random.Percent(40);
  if (has_counters) pool.parts = random.Between(1, 3);
  for (int d = random.Between(1, 3); d > 0; --d) {
    Device device{.name = absl::StrCat("x", d), .is_shared = random.Percent(70)};
    if (random.Percent(85)) device.memory = random.Between(1, 4);
    if (has_counters && random.Percent(70)) device.parts = random.Between(1, 2);
    pool.devices.push_back(device);
  }
  return pool;
}

Alternative MakeAlternative(Random& random) {
  return {.count = random.Percent(75) ? 1 : 2,
          .memory = random.Percent(80) ? random.Between(1, 3) : 0};
}

Claim MakeClaim(Random& random) {
  Claim claim;
  for (int r = random.Percent(80) ? 1 : 2; r > 0; --r) {
    Request& request = claim.emplace_back();
    for (int a = random.Percent(80) ? 1 : 2; a > 0; --a) request.push_back(MakeAlternative(random));
  }
  return claim;
}

Case MakeCase(Random& random) {
  Case made;
  made.nodes = random.Between(1, 2);
  for (int n = 0; n < made.nodes; ++n) {
    if (random.Percent(85)) made.pools.push_back(MakePool(random, absl::StrCat("n", n), {n}));
  }
  if (made.nodes == 2 && random.Percent(50)) made.pools.push_back(MakePool(random, "net", {0, 1}));
  const int members = random.Between(2, 3);
  for (int m = 0; m < members; ++m) {
    made.claims.push_back(MakeClaim(random));
    made.claims_of.push_back({m});
    made.pinned.push_back(random.Percent(30) ? random.Below(made.nodes) : -1);
  }
  if (random.Percent(30)) {
    made.claims.push_back(MakeClaim(random));
    for (int m = 0; m < members; ++m) {
      if (random.Percent(70)) made.claims_of[m].push_back(members);
    }
  }
  made.scoring = random.OneOf<std::string>({"FirstFit", "FirstFit", "ExpectedWaste", "BestFit"});
  return made;
}

// --- All possibilities ---------------------------------------------------------------------------

class Oracle {
 public:
  explicit Oracle(const Case& made) : made_(made), nodes_of_(made.claims.size()) {
    for (const Pool& pool : made.pools) {
      left_.push_back(pool.parts);
      for (const Device& device : pool.devices) {
        devices_.push_back({&pool, &device, static_cast<int>(left_.size()) - 1});
      }
    }
  }

  bool HasPlace() { return Place(0); }

 private:
  struct State {
    const Pool* pool;
    const Device* device;
    int counter;
    int takers = 0, memory = 0;  // taken
  };

  bool Place(size_t member) {
    if (member == made_.claims_of.size()) return Allocate(0, 0);
    for (int node = 0; node < made_.nodes; ++node) {
      if (made_.pinned[member] >= 0 && made_.pinned[member] != node) continue;
      const std::vector<std::set<int>> before = nodes_of_;
      for (const int claim : made_.claims_of[member]) nodes_of_[claim].insert(node);
      const bool can = Place(member + 1);
      nodes_of_ = before;
      if (can) return true;
    }
    return false;
  }

  bool Allocate(size_t claim, size_t request) {
    if (claim == made_.claims.size()) return true;
    if (nodes_of_[claim].empty() || request == made_.claims[claim].size()) {
      return Allocate(claim + 1, 0);
    }
    for (const Alternative& alternative : made_.claims[claim][request]) {
      if (Take(claim, alternative, alternative.count, 0,
               [&] { return Allocate(claim, request + 1); })) {
        return true;
      }
    }
    return false;
  }

  bool Take(size_t claim, const Alternative& wanted, int count, size_t from,
            const std::function<bool()>& then) {
    if (count == 0) return then();
    for (size_t i = from; i < devices_.size(); ++i) {
      State& state = devices_[i];
      const Device& device = *state.device;
      bool is_usable = device.is_shared || state.takers == 0;
      for (const int node : nodes_of_[claim]) is_usable &= state.pool->nodes.contains(node);
      if (wanted.memory > 0 && device.memory == 0) is_usable = false;
      const int memory = wanted.memory > 0 ? wanted.memory : device.memory;
      if (!is_usable || state.memory + memory > device.memory) continue;
      const int parts = state.takers == 0 ? device.parts : 0;
      if (left_[state.counter] < parts) continue;
      left_[state.counter] -= parts;
      ++state.takers;
      state.memory += memory;
      const bool can = Take(claim, wanted, count - 1, device.is_shared ? i : i + 1, then);
      state.memory -= memory;
      --state.takers;
      left_[state.counter] += parts;
      if (can) return true;
    }
    return false;
  }

  const Case& made_;
  std::vector<std::set<int>> nodes_of_;
  std::vector<State> devices_;
  std::vector<int> left_;  // counters
};

// --- The same for Berth --------------------------------------------------------------------------

std::string SpecOf(const Claim& claim) {
  std::vector<std::string> requests;
  for (size_t r = 0; r < claim.size(); ++r) {
    const auto body = [](const Alternative& alternative) {
      return absl::StrCat(
          "deviceClassName: any, count: ", alternative.count,
          alternative.memory == 0
              ? ""
              : absl::StrCat(", capacity: {requests: {memory: '", alternative.memory, "'}}"));
    };
    if (claim[r].size() == 1) {
      requests.push_back(absl::StrCat("{name: r", r, ", exactly: {", body(claim[r][0]), "}}"));
      continue;
    }
    std::vector<std::string> alternatives;
    for (const Alternative& alternative : claim[r]) {
      alternatives.push_back(
          absl::StrCat("{name: a", alternatives.size(), ", ", body(alternative), "}"));
    }
    requests.push_back(absl::StrCat("{name: r", r, ", firstAvailable: [",
                                    absl::StrJoin(alternatives, ", "), "]}"));
  }
  return absl::StrCat("{devices: {requests: [", absl::StrJoin(requests, ", "), "]}}");
}

std::vector<std::string> SlicesOf(const Pool& pool) {
  const std::string whom =
      pool.nodes.size() > 1 ? "allNodes: true" : absl::StrCat("nodeName: n", *pool.nodes.begin());
  std::vector<std::string> devices;
  for (const Device& device : pool.devices) {
    std::string yaml = absl::StrCat("{name: ", device.name);
    if (device.is_shared) absl::StrAppend(&yaml, ", allowMultipleAllocations: true");
    if (device.memory > 0) {
      absl::StrAppend(&yaml, ", capacity: {memory: {value: '", device.memory, "'}}");
    }
    if (device.parts > 0) {
      absl::StrAppend(&yaml, ", consumesCounters: [{counterSet: c, counters: {parts: {value: '",
                      device.parts, "'}}}]");
    }
    devices.push_back(yaml + "}");
  }
  const auto slice = [&](absl::string_view suffix, const std::string& rest) {
    return absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", pool.name,
        suffix, "}, spec: {driver: d, ", whom, ", pool: {name: ", pool.name,
        ", generation: 1, resourceSliceCount: ", pool.parts > 0 ? 2 : 1, "}, ", rest, "}}");
  };
  std::vector<std::string> slices = {
      slice("", absl::StrCat("devices: [", absl::StrJoin(devices, ", "), "]"))};
  if (pool.parts > 0) {
    slices.push_back(
        slice("-counters", absl::StrCat("sharedCounters: [{name: c, counters: {parts: {value: '",
                                        pool.parts, "'}}}]")));
  }
  return slices;
}

std::vector<std::string> ObjectsAsYaml(const Case& made) {
  std::vector<std::string> yaml;
  for (const Pool& pool : made.pools) {
    for (std::string& slice : SlicesOf(pool)) yaml.push_back(std::move(slice));
  }
  for (size_t c = 0; c < made.claims.size(); ++c) {
    yaml.push_back(
        absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c", c,
                     ", namespace: default}, spec: ", SpecOf(made.claims[c]), "}"));
  }
  return yaml;
}

std::string ToString(const Case& made) {
  std::string text = absl::StrCat(made.nodes, " nodes; ", made.scoring, "\n",
                                  absl::StrJoin(ObjectsAsYaml(made), "\n"));
  for (size_t m = 0; m < made.claims_of.size(); ++m) {
    absl::StrAppend(&text, "\nm", m,
                    made.pinned[m] < 0 ? "" : absl::StrCat(" on n", made.pinned[m]), " c",
                    absl::StrJoin(made.claims_of[m], " c"));
  }
  return text;
}

std::vector<Object> ObjectsOf(const Case& made) {
  std::vector<Object> objects;
  AddNodesTo(objects, made.nodes);
  objects.push_back(ObjectsFromYaml(
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: any}, spec: {}}")[0]);
  for (const std::string& yaml : ObjectsAsYaml(made)) objects.push_back(ObjectsFromYaml(yaml)[0]);
  AddGangTo(objects, made.claims_of, made.pinned);
  return objects;
}

KubeSchedulerConfiguration ConfigurationWith(const std::string& scoring) {
  std::stringstream text;
  text << std::ifstream("tests/engine/gang_shares.yaml").rdbuf();
  LoadedConfiguration loaded = ParseConfiguration(
      absl::StrReplaceAll(text.str(), {{"FirstFit", scoring}}), "gang_shares.yaml", Builtins());
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.ToString();
  return loaded.configuration;
}

// No device has more than its capacity, or two claims that do not share it; no counter is
// overdrawn.
void CheckClaims(const Case& made, const InMemoryCluster& cluster) {
  std::map<std::string, int> takers, memory;
  std::set<std::string> share_ids;
  for (const Object& object : cluster.List(Kind::kResourceClaim)) {
    const auto& claim = object.As<api::ResourceClaim>();
    for (const auto& result : claim.status().allocation().devices().results()) {
      const std::string device = absl::StrCat(result.pool(), "/", result.device());
      ++takers[device];
      if (result.share_id().empty()) continue;
      EXPECT_TRUE(share_ids.insert(result.share_id()).second) << device;
      const auto amount = result.consumed_capacity().find("memory");
      if (amount == result.consumed_capacity().end()) continue;
      memory[device] += static_cast<int>(Quantity::Parse(amount->second.string())->Value());
    }
  }
  for (const Pool& pool : made.pools) {
    int parts = 0;
    for (const Device& device : pool.devices) {
      const std::string name = absl::StrCat(pool.name, "/", device.name);
      EXPECT_LE(memory[name], device.memory) << name;
      EXPECT_LE(takers[name], device.is_shared ? 100 : 1) << name;
      if (takers[name] > 0) parts += device.parts;
    }
    EXPECT_LE(parts, pool.parts) << pool.name;
  }
}

TEST(RandomGangSharesTest, AGangThatHasAPlaceWithSomeSharesIsPlaced) {
#ifdef NDEBUG
  constexpr int kCases = 2000;
#else
  constexpr int kCases = 200;
#endif
  int placed = 0, refused = 0;
  for (const int seed : testing::Seeds(kCases)) {
    Random random(static_cast<uint64_t>(seed));
    const Case made = MakeCase(random);
    SCOPED_TRACE(absl::StrCat("seed ", seed, ": BERTH_SEED=", seed, "; ", ToString(made)));
    auto simulation = Simulation::Create({.configuration = ConfigurationWith(made.scoring),
                                          .registry = &Builtins(),
                                          .objects = ObjectsOf(made)})
                          .value();
    simulation->RunUntilQuiet();
    CheckClaims(made, simulation->cluster());
    const size_t bound = simulation->cluster().Bindings().size();
    if (Oracle(made).HasPlace()) {
      ASSERT_EQ(bound, made.claims_of.size()) << "it has a place";
      ++placed;
    } else {
      ASSERT_EQ(bound, 0u) << "it has no place";
      for (const UnboundPod& pod : simulation->scheduler().Unbound()) {
        EXPECT_THAT(pod.message, ::testing::Not(::testing::HasSubstr("ndecided")));
      }
      ++refused;
    }
    if (::testing::Test::HasFailure()) return;
  }
  if (testing::IsOneSeed()) return;
  EXPECT_GT(placed, kCases / 10);
  EXPECT_GT(refused, kCases / 10);
}

}  // namespace
}  // namespace berth
