// SPDX-License-Identifier: Apache-2.0
// Compares the reasons that a batch form shares among rows with those of the per-node form.
#ifndef BERTH_TESTS_PLUGINS_SHARED_REASONS_H_
#define BERTH_TESTS_PLUGINS_SHARED_REASONS_H_

#include <cstdint>
#include <map>
#include <utility>

#include "berth/columns/node_verdicts.h"
#include "gtest/gtest.h"

namespace berth::testing {

// The reasons of one call of FilterNodes().
class SharedReasons {
 public:
  // `status` is what Filter() says of the row. Returns whether another row had this reason id.
  bool Check(const NodeVerdicts& verdicts, NodeRow row, const Status& status) {
    EXPECT_EQ(verdicts.code(row), status.code()) << "row " << row;
    if (status.ok() || verdicts.reason_id(row) == NodeVerdicts::kNoReasonId) return false;
    const auto [first, is_new] =
        status_of_.try_emplace({verdicts.code(row), verdicts.reason_id(row)}, status);
    EXPECT_EQ(first->second, status)
        << "row " << row << " has another status than the rows that share its reason id";
    return !is_new;
  }

 private:
  std::map<std::pair<Code, uint8_t>, Status> status_of_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_PLUGINS_SHARED_REASONS_H_
