// SPDX-License-Identifier: Apache-2.0
// What an API server sends of single objects, as objects of Berth.
#ifndef BERTH_SRC_KUBERNETES_OBJECT_READER_H_
#define BERTH_SRC_KUBERNETES_OBJECT_READER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"
#include "berth/api/object.h"
#include "berth/api/value.h"

namespace berth {

// A resourceVersion as a number: from Kubernetes 1.35 on they may be compared as such. 0 if it is
// none.
uint64_t VersionNumber(absl::string_view resource_version);

// An object as it came.
struct ServedObject {
  std::string resource_version;
  // "namespace/name", or as much of it as could be read.
  std::string key;
  // InvalidArgument: why it cannot be used.
  absl::StatusOr<Object> object;
};

// An object is what Berth would have made of its manifest: fields that Berth does not know are
// left out, and pods are packed. Of a pod the name of the volume with its token is changed to
// "kube-api-access": the API server ends it with five random letters, so that no two pods would be
// alike.
ServedObject ReadProtobufObject(Kind kind, absl::string_view message);
ServedObject ReadJsonObject(Kind kind, Value value);

enum class WatchEventType : uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };

// An event of a watch.
struct ServedEvent {
  WatchEventType type;
  ServedObject object;  // of a bookmark only its resource_version
  // For a bookmark: what existed when the watch began has been sent.
  bool ends_initial_events = false;
  absl::Status error;  // of kError
};

// One frame of a watch (watch_frames.h) of objects of `kind`. DataLoss if it is no event.
absl::StatusOr<ServedEvent> ReadProtobufEvent(Kind kind, absl::string_view frame);
absl::StatusOr<ServedEvent> ReadJsonEvent(Kind kind, absl::string_view frame);

// JSON documents that must be one map; `visit` gets it. DataLoss if it is none.
absl::Status ReadJson(absl::string_view text, absl::FunctionRef<void(Value map)> visit);

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_OBJECT_READER_H_
