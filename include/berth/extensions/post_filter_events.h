// SPDX-License-Identifier: Apache-2.0
// PostFilterEvents: which pods that PostFilter could not help wait for the plugin's events.
#ifndef BERTH_EXTENSIONS_POST_FILTER_EVENTS_H_
#define BERTH_EXTENSIONS_POST_FILTER_EVENTS_H_

#include "berth/framework/pod_info.h"

namespace berth {

// A PostFilter plugin whose answer depends on more than the pods on the nodes. A pod waits for the
// events of the plugins that rejected it; a pod that PostFilter could not help waits for what this
// plugin registered (EnqueueExtensions) too.
class PostFilterEvents {
 public:
  virtual ~PostFilterEvents() = default;

  // Whether that may change what PostFilter just answered for `pod`, which was a rejection.
  virtual bool WaitsForEvents(const PodInfo& pod) const = 0;
};

}  // namespace berth

#endif  // BERTH_EXTENSIONS_POST_FILTER_EVENTS_H_
