// SPDX-License-Identifier: Apache-2.0
// A registry of plugins that cannot be made: names and arguments are all that reading a
// configuration needs.
#ifndef BERTH_TESTS_CONFIG_FAKE_REGISTRY_H_
#define BERTH_TESTS_CONFIG_FAKE_REGISTRY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "berth/framework/args.h"
#include "berth/framework/registry.h"

namespace berth {
namespace api {
class NodeAffinity;
}

struct GangArgs {
  int64_t wait_seconds = 60;
  int32_t reject_percentage = 10;
  static const FieldTable& Fields();
};

// Without a url it cannot work.
struct NeedyArgs {
  std::string url;
  static const FieldTable& Fields();
};

struct PackResource {
  std::string name;
  int64_t weight = 1;
  static const FieldTable& Fields();
};

// A field of every type.
struct PackArgs {
  bool strict = false;
  int32_t nodes = 100;
  int64_t bytes = 0;
  double ratio = 0.5;
  std::string mode = "Most";
  absl::Duration timeout = absl::Seconds(10);
  PackResource main = {"cpu", 2};
  std::optional<int32_t> limit;
  std::optional<PackResource> spare;
  std::vector<std::string> ignored;
  std::vector<PackResource> resources = {{"cpu", 1}, {"memory", 1}};
  std::map<std::string, PackResource> by_name;
  std::map<std::string, double> ratios;
  std::shared_ptr<const api::NodeAffinity> affinity;
  static const FieldTable& Fields();
};

// kube-scheduler's default plugins, none of which takes arguments here; Gang (GangArgs), Pack
// (PackArgs), Needy (NeedyArgs), and Sort and Plain, which take none.
const Registry& FakeRegistry();

}  // namespace berth

#endif  // BERTH_TESTS_CONFIG_FAKE_REGISTRY_H_
