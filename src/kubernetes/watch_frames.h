// SPDX-License-Identifier: Apache-2.0
// The bytes of a watch, cut into its events.
#ifndef BERTH_SRC_KUBERNETES_WATCH_FRAMES_H_
#define BERTH_SRC_KUBERNETES_WATCH_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth {

enum class WireFormat : uint8_t { kProtobuf, kJson };

// Protobuf: frames of a 4-byte big-endian length and a body. JSON: lines.
class WatchFrames {
 public:
  // etcd takes objects of 1.5 MB; the API server's requests end at 3 MB, and JSON is longer than
  // protobuf.
  static constexpr size_t kMaxFrameBytes = size_t{16} << 20;

  explicit WatchFrames(WireFormat format) : format_(format) {}

  // Calls `take` for each event that is complete, in order, until it returns an error. Returns that
  // error; or DataLoss if the stream is none.
  absl::Status Feed(absl::string_view bytes,
                    absl::FunctionRef<absl::Status(absl::string_view frame)> take);

  // Whether the stream ended between events.
  bool AtBoundary() const { return rest_.empty(); }

 private:
  // The first event of `bytes`, which is taken off; false if it is not complete.
  bool Next(absl::string_view& bytes, absl::string_view& frame);

  const WireFormat format_;
  std::string rest_;     // of an event that is not complete
  size_t searched_ = 0;  // JSON: of `rest_`, in which there is no end of line
  bool too_long_ = false;
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_WATCH_FRAMES_H_
