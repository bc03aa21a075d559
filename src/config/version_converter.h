// SPDX-License-Identifier: Apache-2.0
// A KubeSchedulerConfiguration of an older version, converted. Source: kube-scheduler v1.18 to
// v1.28 apis/config.
#ifndef BERTH_SRC_CONFIG_VERSION_CONVERTER_H_
#define BERTH_SRC_CONFIG_VERSION_CONVERTER_H_

#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"
#include "config/converted_file.h"

namespace berth {

// `version`: what `apiVersion` says. One that kube-scheduler never had is a problem.
void ConvertVersion(Value root, absl::string_view version, ConvertedFile& file, Problems& problems);

// Whether ConvertVersion() knows that `apiVersion`.
bool IsReadByConvert(absl::string_view version);

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_VERSION_CONVERTER_H_
