// SPDX-License-Identifier: Apache-2.0
// A library of a version that never was: its code must not run.
#include <cstdlib>

#define BERTH_PLUGIN_LIBRARY_SIGN "berth-plugin-library/1:"

extern "C" __attribute__((visibility("default"), used)) const char berth_plugin_library_identity[] =
    BERTH_PLUGIN_LIBRARY_SIGN "berth 0.0.9 (g++ 11, libstdc++ 1)";

namespace {
[[maybe_unused]] const int kNever = (std::abort(), 0);
}
