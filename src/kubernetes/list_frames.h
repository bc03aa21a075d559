// SPDX-License-Identifier: Apache-2.0
// The bytes of a list, cut into its items as they come.
#ifndef BERTH_SRC_KUBERNETES_LIST_FRAMES_H_
#define BERTH_SRC_KUBERNETES_LIST_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth {

// For the protobuf form: an envelope with a PodList or the like in it. A list of 150,000 pods that
// comes in one piece is read while it comes, and never in memory as a whole.
class ListFrames {
 public:
  // Calls `take` with the message of each item that is complete, in order. Returns DataLoss if the
  // bytes are no list.
  absl::Status Feed(absl::string_view bytes, absl::FunctionRef<void(absl::string_view item)> take);

  // Whether the whole list was there.
  bool AtEnd() const { return place_ == Place::kBehindList && rest_.empty(); }

  // Counts what has come so far.
  const std::string& resource_version() const { return resource_version_; }
  const std::string& continue_token() const { return continue_; }

 private:
  enum class Place : uint8_t { kStart, kBeforeList, kInList, kBehindList };

  // Takes the next part off the front of `bytes`; false if it is not complete.
  absl::StatusOr<bool> Step(absl::string_view& bytes,
                            absl::FunctionRef<void(absl::string_view item)> take);
  absl::StatusOr<bool> TakeMagic(absl::string_view& bytes);  // as Step()
  absl::Status ReadMetadata(absl::string_view bytes);        // of the list

  Place place_ = Place::kStart;
  size_t left_ = 0;   // of the list, behind `rest_`
  std::string rest_;  // of a part that is not complete
  std::string resource_version_, continue_;
};

}  // namespace berth

#endif  // BERTH_SRC_KUBERNETES_LIST_FRAMES_H_
