// SPDX-License-Identifier: Apache-2.0
// Has the identity of a plugin library, and not its plugins.
#include "berth/plugin_library.h"

extern "C" __attribute__((visibility("default"), used)) const char berth_plugin_library_identity[] =
    BERTH_PLUGIN_LIBRARY_SIGN BERTH_BUILD_IDENTITY;
