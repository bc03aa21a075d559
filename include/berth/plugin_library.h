// SPDX-License-Identifier: Apache-2.0
// Plugins in a shared object, for `berth --plugin-library FILE`. In one source file of the library:
//
//   BERTH_PLUGIN_LIBRARY({berth::WithPlugin("Mine", &Mine::Create)})
//
// The library is built for one build of Berth: the version, the compiler, the standard library and
// every public header must be the same. It says what it was built for, and a program that is
// anything else refuses it, before any of its code runs. Link it to nothing of Berth: the program
// that loads it has all of that (CMake: berth::plugin).
#ifndef BERTH_PLUGIN_LIBRARY_H_
#define BERTH_PLUGIN_LIBRARY_H_

#include <vector>

#include "absl/base/config.h"
#include "berth/framework/registry.h"
#include "berth/headers_hash.h"

#define BERTH_INTERNAL_TEXT_OF(x) #x
#define BERTH_INTERNAL_TEXT(x) BERTH_INTERNAL_TEXT_OF(x)

#if defined(__clang__)
#define BERTH_INTERNAL_COMPILER "clang " BERTH_INTERNAL_TEXT(__clang_major__)
#else
#define BERTH_INTERNAL_COMPILER "g++ " BERTH_INTERNAL_TEXT(__GNUC__)
#endif
#if defined(_LIBCPP_VERSION)
#define BERTH_INTERNAL_LIBRARY "libc++ " BERTH_INTERNAL_TEXT(_LIBCPP_VERSION)
#else
#define BERTH_INTERNAL_LIBRARY \
  "libstdc++ " BERTH_INTERNAL_TEXT(__GLIBCXX__) " ABI " BERTH_INTERNAL_TEXT(_GLIBCXX_USE_CXX11_ABI)
#endif
#ifdef NDEBUG
#define BERTH_INTERNAL_ASSERTIONS "release"
#else
#define BERTH_INTERNAL_ASSERTIONS "debug"
#endif

// What a library and the program must have in common, as people read it.
#define BERTH_BUILD_IDENTITY                                                               \
  "berth " BERTH_VERSION_TEXT " (" BERTH_INTERNAL_COMPILER ", " BERTH_INTERNAL_LIBRARY     \
  ", Abseil " BERTH_INTERNAL_TEXT(ABSL_LTS_RELEASE_VERSION) ", " BERTH_INTERNAL_ASSERTIONS \
                                                            ", headers " BERTH_HEADERS_HASH ")"

// The sign by which a library is known; its own is followed by its identity and a zero byte.
#define BERTH_PLUGIN_LIBRARY_SIGN "berth-plugin-library/1:"

#define BERTH_PLUGIN_LIBRARY(...)                                                              \
  extern "C" __attribute__((visibility("default"), used))                                      \
  const char berth_plugin_library_identity[] = BERTH_PLUGIN_LIBRARY_SIGN BERTH_BUILD_IDENTITY; \
  extern "C" __attribute__((visibility("default"))) void berth_plugin_library_registrations(   \
      std::vector<berth::PluginRegistration>& registrations) {                                 \
    registrations = __VA_ARGS__;                                                               \
  }

#endif  // BERTH_PLUGIN_LIBRARY_H_
