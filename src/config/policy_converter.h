// SPDX-License-Identifier: Apache-2.0
// A Policy (Kubernetes 1.2 to 1.22), converted.
#ifndef BERTH_SRC_CONFIG_POLICY_CONVERTER_H_
#define BERTH_SRC_CONFIG_POLICY_CONVERTER_H_

#include "berth/api/value.h"
#include "config/converted_file.h"

namespace berth {

void ConvertPolicy(Value root, ConvertedFile& file);

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_POLICY_CONVERTER_H_
