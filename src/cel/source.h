// SPDX-License-Identifier: Apache-2.0
// The text of an expression, and what is wrong with it where.
#ifndef BERTH_SRC_CEL_SOURCE_H_
#define BERTH_SRC_CEL_SOURCE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth::cel {

// Complaints about one expression. The text outlives it.
class Problems {
 public:
  explicit Problems(absl::string_view text) : text_(text) {}

  // `offset` counts bytes from the start of the text.
  void Add(size_t offset, absl::string_view message);

  bool empty() const { return count_ == 0; }
  // No more are of use.
  bool full() const { return count_ >= kMost; }
  // OK, or InvalidArgument with all of them as cel-go prints them: "ERROR: <input>:1:5: …", the
  // line, and a mark below the place.
  absl::Status status() const;

 private:
  static constexpr int kMost = 20;

  absl::string_view text_;
  std::vector<std::string> lines_;
  int count_ = 0;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_SOURCE_H_
