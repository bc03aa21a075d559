// SPDX-License-Identifier: Apache-2.0
// Reading what the commands work on, and saying what is wrong with it.
#ifndef BERTH_SRC_APP_INPUT_H_
#define BERTH_SRC_APP_INPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "berth/api/manifest.h"
#include "berth/configuration.h"
#include "berth/extensions/extender.h"

namespace berth {

// Prints every problem on standard error, then how many errors there were.
void PrintProblems(const Problems& problems);

// The last configuration of `options`, or kube-scheduler's defaults without any, checked down to
// its plugins; absent, its problems printed, if it is at fault. Warnings are printed either way.
std::optional<KubeSchedulerConfiguration> ReadConfiguration(const CommandOptions& options,
                                                            const Registry& registry);
// The same of one of them.
std::optional<KubeSchedulerConfiguration> ReadConfiguration(const std::string& path,
                                                            const CommandOptions& options,
                                                            const Registry& registry);

// Those that the configuration names; absent, the problem printed, if they cannot be made.
std::optional<ExtenderList> MakeExtenders(const KubeSchedulerConfiguration& configuration);

// The objects of `paths`; absent, the problems printed, if any of them could not be read.
std::optional<Manifests> ReadCluster(const std::vector<std::string>& paths);

// What is wrong with objects that can be read: quotas that contradict each other, selectors of
// devices that do not compile, adminAccess where it is not allowed, names of which nothing is
// there.
Problems CheckObjects(const Manifests& manifests);

}  // namespace berth

#endif  // BERTH_SRC_APP_INPUT_H_
