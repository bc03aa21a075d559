// SPDX-License-Identifier: Apache-2.0
// Implementation of incomplete_pools.h.
#include "plugins/dynamic_resources/incomplete_pools.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/api/resource_v1.pb.h"

namespace berth {
namespace {

// The slices of a pool's newest generation.
struct NewestSlices {
  int64_t generation = 0, there = 0;
  bool is_complete = false;  // by what the last of them says
};

}  // namespace

bool IncompletePools::Any(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kResourceSlice);
  if (version_ == version) return any_;
  version_ = version;
  absl::flat_hash_map<std::pair<absl::string_view, absl::string_view>, NewestSlices> pools;
  for (const Object* const slice : objects.List(Kind::kResourceSlice)) {
    const api::ResourceSliceSpec& spec = slice->As<api::ResourceSlice>().spec();
    NewestSlices& newest = pools[{spec.driver(), spec.pool().name()}];
    if (spec.pool().generation() < newest.generation) continue;
    if (spec.pool().generation() > newest.generation) newest = {spec.pool().generation()};
    newest.is_complete = ++newest.there == spec.pool().resource_slice_count();
  }
  any_ = absl::c_any_of(pools, [](const auto& pool) { return !pool.second.is_complete; });
  return any_;
}

}  // namespace berth
