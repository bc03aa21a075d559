// SPDX-License-Identifier: Apache-2.0
// From the profiles of a file to profiles that can be built: plugin lists checked against the
// registry and merged with the defaults, arguments decoded.
#ifndef BERTH_SRC_CONFIG_PROFILES_H_
#define BERTH_SRC_CONFIG_PROFILES_H_

#include <vector>

#include "berth/config/profile.h"
#include "berth/framework/args.h"
#include "berth/framework/registry.h"
#include "config/configuration_file.h"

namespace berth {

// `problems` is that of the file's root, in `all`. Entries with a problem are left out of the
// result, so that what comes after does not complain about them again.
std::vector<Profile> BuildProfiles(const std::vector<ProfileFile>& files, const Registry& registry,
                                   FieldProblems& problems, Problems& all);

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_PROFILES_H_
