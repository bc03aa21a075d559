// SPDX-License-Identifier: Apache-2.0
// Implementation of pools_of_objects.h, after kube-scheduler v1.35 pools_experimental.go buildPool.
#include "devices/pools_of_objects.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

using PoolId = std::pair<absl::string_view, absl::string_view>;  // driver and name
using Slices = std::vector<const Object*>;

constexpr absl::string_view kIsInvalid = " is invalid, and no claim gets its devices";

const api::ResourceSliceSpec& SpecOf(const Object& slice) {
  return slice.As<api::ResourceSlice>().spec();
}

class PoolCheck {
 public:
  PoolCheck(const PoolId& pool, Problems& problems)
      : pool_(absl::StrCat(pool.first, "/", pool.second)), problems_(problems) {}

  void Check(const Slices& slices) {
    if (CheckNames(slices) && CheckSets(slices)) CheckUse(slices);
  }

 private:
  // Each says whether nothing was found.
  bool CheckNames(const Slices& slices) {
    std::map<absl::string_view, const Object*> devices;
    for (const Object* const slice : slices) {
      const api::ResourceSliceSpec& spec = SpecOf(*slice);
      for (int i = 0; i < spec.devices_size(); ++i) {
        const auto [known, is_new] = devices.try_emplace(spec.devices(i).name(), slice);
        if (is_new || known->second == slice) continue;  // the slice's own rules say the latter
        return Warn(*slice, absl::StrCat("spec.devices[", i, "].name: \"", spec.devices(i).name(),
                                         "\" is in ResourceSlice ", known->second->name(),
                                         ", too. On a node that has both pool ", pool_, kIsInvalid,
                                         "; for different nodes they count as one device"));
      }
    }
    return true;
  }

  bool CheckSets(const Slices& slices) {
    for (const Object* const slice : slices) {
      const api::ResourceSliceSpec& spec = SpecOf(*slice);
      for (int i = 0; i < spec.shared_counters_size(); ++i) {
        const api::CounterSet& set = spec.shared_counters(i);
        const auto [known, is_new] = sets_.try_emplace(set.name(), &set, slice);
        if (is_new || known->second.second == slice) continue;
        return Warn(*slice, absl::StrCat("spec.sharedCounters[", i, "].name: \"", set.name(),
                                         "\" is in ResourceSlice ", known->second.second->name(),
                                         ", too, so that pool ", pool_, kIsInvalid));
      }
    }
    return true;
  }

  bool CheckUse(const Slices& slices) {
    for (const Object* const slice : slices) {
      const api::ResourceSliceSpec& spec = SpecOf(*slice);
      for (int i = 0; i < spec.devices_size(); ++i) {
        const auto& uses = spec.devices(i).consumes_counters();
        for (int j = 0; j < uses.size(); ++j) {
          const std::string at = absl::StrCat("spec.devices[", i, "].consumesCounters[", j, "]");
          const auto set = sets_.find(uses[j].counter_set());
          if (set == sets_.end()) {
            return Warn(*slice, absl::StrCat(at, ".counterSet: no slice has sharedCounters \"",
                                             uses[j].counter_set(), "\", so that pool ", pool_,
                                             kIsInvalid));
          }
          for (const auto& [name, counter] : uses[j].counters()) {
            if (set->second.first->counters().contains(name)) continue;
            return Warn(*slice, absl::StrCat(at, ".counters: there is no counter \"", name,
                                             "\" in \"", uses[j].counter_set(), "\", so that pool ",
                                             pool_, kIsInvalid));
          }
        }
      }
    }
    return true;
  }

  // Returns false: the check of the pool ends.
  bool Warn(const Object& slice, std::string message) {
    problems_.Add({.where = slice.where(),
                   .subject = slice.ToString(),
                   .message = std::move(message),
                   .severity = Severity::kWarning});
    return false;
  }

  const std::string pool_;
  Problems& problems_;
  std::map<absl::string_view, std::pair<const api::CounterSet*, const Object*>> sets_;  // by name
};

}  // namespace

Problems CheckPoolsOf(const Manifests& manifests) {
  std::map<PoolId, Slices> pools;
  for (const Object& object : manifests.objects) {
    if (object.kind() != Kind::kResourceSlice) continue;
    const api::ResourceSliceSpec& spec = SpecOf(object);
    Slices& slices = pools[{spec.driver(), spec.pool().name()}];
    if (!slices.empty()) {
      const int64_t newest = SpecOf(*slices.front()).pool().generation();
      if (spec.pool().generation() < newest) continue;
      if (spec.pool().generation() > newest) slices.clear();
    }
    slices.push_back(&object);
  }
  Problems problems;
  for (const auto& [pool, slices] : pools) PoolCheck(pool, problems).Check(slices);
  problems.SortByLocation();
  return problems;
}

}  // namespace berth
