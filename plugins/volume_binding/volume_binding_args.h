// SPDX-License-Identifier: Apache-2.0
// Arguments of VolumeBinding.
#ifndef BERTH_PLUGINS_VOLUME_BINDING_VOLUME_BINDING_ARGS_H_
#define BERTH_PLUGINS_VOLUME_BINDING_VOLUME_BINDING_ARGS_H_

#include <cstdint>

#include "berth/framework/args.h"

namespace berth {

struct VolumeBindingArgs {
  int64_t bind_timeout_seconds = 600;
  static const FieldTable& Fields();
};

}  // namespace berth

#endif  // BERTH_PLUGINS_VOLUME_BINDING_VOLUME_BINDING_ARGS_H_
