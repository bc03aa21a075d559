// SPDX-License-Identifier: Apache-2.0
// NodeStatuses that are at hand as columns, so that a search over all nodes need not ask about
// each.
#ifndef BERTH_SRC_FRAMEWORK_STATUS_COLUMNS_H_
#define BERTH_SRC_FRAMEWORK_STATUS_COLUMNS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "berth/framework/node_info.h"
#include "berth/framework/postfilter.h"
#include "berth/framework/status.h"

namespace berth {

class StatusColumns : public NodeStatuses {
 public:
  // The codes of all rows by row, if they are at hand; else empty.
  virtual absl::Span<const Code> codes() const { return {}; }
  // A number for each row if these are at hand, else empty: rows that have it in common have the
  // same rejecting_plugin(). Valid as long as these statuses.
  virtual absl::Span<const uint8_t> rejectors() const { return {}; }
};

}  // namespace berth

#endif  // BERTH_SRC_FRAMEWORK_STATUS_COLUMNS_H_
