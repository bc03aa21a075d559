// SPDX-License-Identifier: Apache-2.0
// All that a scheduler watches of an API server: a reflector for each kind, on the client's thread.
#ifndef BERTH_SRC_KUBERNETES_WATCH_SET_H_
#define BERTH_SRC_KUBERNETES_WATCH_SET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "berth/cluster.h"
#include "kubernetes/api_client.h"
#include "kubernetes/watch_frames.h"

namespace berth {

struct WatchSetOptions {
  // In which built-in kinds are asked for.
  WireFormat format = WireFormat::kProtobuf;
  uint64_t seed = 0;
  // For people: why a kind cannot be listed or watched, and that it can again; objects that cannot
  // be used. Called on the client's thread. What goes wrong for several kinds at once is said in
  // one line, and again every minute as long as a kind has not been listed at all.
  std::function<void(absl::string_view text)> warn = [](absl::string_view) {};
};

// Threads: Start() and Stop() from any but the client's, one at a time. The client must outlive it.
class WatchSet {
 public:
  WatchSet(ApiClient& client, WatchSetOptions options);
  ~WatchSet();  // stops

  // Has the meaning of Cluster::Watch(): delivers what exists of `kinds` to `sink`, kSynced when
  // each of them was listed once, and every change, until Stop(). Deliveries come one at a time, a
  // batch of what was read together. Pods are asked for first.
  void Start(WatchSink& sink, const std::vector<Kind>& kinds);
  // When it returns, no delivery is under way and none will come.
  void Stop();

 private:
  class Session;

  ApiClient& client_;
  const WatchSetOptions options_;
  std::shared_ptr<Session> session_;  // null: nothing is watched
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_WATCH_SET_H_
