// SPDX-License-Identifier: Apache-2.0
// What a remote plugin says of itself in the handshake, checked and in Berth's terms.
#ifndef BERTH_SRC_REMOTE_PLUGIN_DESCRIPTION_H_
#define BERTH_SRC_REMOTE_PLUGIN_DESCRIPTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/columns/aspects.h"
#include "berth/config/profile.h"
#include "berth/framework/enqueue.h"
#include "berth/framework/score.h"
#include "berth/v1/plugin.pb.h"

namespace berth {

// The point of that field name ("filter", "preBind"). Error: InvalidArgument that says why it
// cannot be served remotely, as queueSort.
absl::StatusOr<ExtensionPoint> RemotePointNamed(absl::string_view field);
// "PRE_FILTER" for kPreFilter; POINT_UNSPECIFIED if it cannot be served.
v1::Point ToWire(ExtensionPoint point);

// A set of ExtensionPoints, a bit each.
using PointMask = uint32_t;
constexpr PointMask BitOf(ExtensionPoint point) {
  return PointMask{1} << static_cast<uint32_t>(point);
}

struct RemoteDescription {
  v1::Description message;  // as it was said

  bool is_saved = false;  // read from a file, as the process could not be reached
  PointMask points = 0;
  // What verdicts depend on of the pod; absent: they are for one pod and cycle alone.
  std::optional<std::vector<std::string>> signature;
  Aspects depends_on = Aspect::kEverything;
  std::optional<ScoreDirection> normalization;
  std::vector<ClusterEventWithHint> events;

  bool Serves(ExtensionPoint point) const { return (points & BitOf(point)) != 0; }
  // Whether a verdict is good for other pods and cycles, and each node's depends on that node
  // alone.
  bool is_cacheable() const {
    return signature.has_value() && (depends_on & (Aspect::kOtherNodes | Aspect::kObjects)) == 0;
  }
  // What Updates carry.
  bool wants_node() const { return (depends_on & Aspect::kOfNodeObject) != 0; }
  bool wants_requested() const { return (depends_on & Aspect::kNodeRequested) != 0; }
  bool wants_pods() const {
    return reads_pods() || Serves(ExtensionPoint::kReserve) || Serves(ExtensionPoint::kPostFilter);
  }
  // Whether verdicts depend on pods; otherwise they are for points that no verdict is of.
  bool reads_pods() const { return (depends_on & Aspect::kNodePods) != 0; }
  // "example.com/licences 1.2".
  std::string Title() const;
};

// Error: FailedPrecondition for another protocol version; InvalidArgument, with every problem, for
// a description that makes no sense.
absl::StatusOr<RemoteDescription> ReadDescription(const v1::Description& message);

// For a process that was not asked: it serves every point.
RemoteDescription UnknownDescription();

// Whether a process that describes itself as `b` can stand in for one that described itself as `a`:
// all but the version is the same. Otherwise says what differs.
absl::Status CheckSamePlugin(const v1::Description& a, const v1::Description& b);

// As JSON text, for descriptionFile.
std::string DescriptionToJson(const v1::Description& message);
absl::StatusOr<RemoteDescription> ReadDescriptionFile(const std::string& path);

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_DESCRIPTION_H_
