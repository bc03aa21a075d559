// SPDX-License-Identifier: Apache-2.0
// The version of the library. CMakeLists.txt reads it from here.
#ifndef BERTH_VERSION_H_
#define BERTH_VERSION_H_

namespace berth {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace berth

#endif  // BERTH_VERSION_H_
