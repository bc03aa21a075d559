// SPDX-License-Identifier: Apache-2.0
// Holds the words that a batch form shares among rows against those of the per-node form.
#ifndef BERTH_TESTS_PLUGINS_SHARED_WORDS_H_
#define BERTH_TESTS_PLUGINS_SHARED_WORDS_H_

#include <cstdint>
#include <map>
#include <utility>

#include "berth/columns/node_verdicts.h"
#include "gtest/gtest.h"

namespace berth::testing {

// Of one call of FilterNodes().
class SharedWords {
 public:
  // `status` is what Filter() says of the row. Returns whether another row was told the same.
  bool Check(const NodeVerdicts& verdicts, NodeRow row, const Status& status) {
    EXPECT_EQ(verdicts.code(row), status.code()) << "row " << row;
    if (status.ok() || verdicts.reason_id(row) == NodeVerdicts::kNoReasonId) return false;
    const auto [first, is_new] =
        said_.try_emplace({verdicts.code(row), verdicts.reason_id(row)}, status);
    EXPECT_EQ(first->second, status) << "row " << row << " is told something else than others";
    return !is_new;
  }

 private:
  std::map<std::pair<Code, uint8_t>, Status> said_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_PLUGINS_SHARED_WORDS_H_
