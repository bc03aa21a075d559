// What speaks against each node, kept so that a cycle in which little changed need not ask again.
#ifndef BERTH_SRC_ENGINE_REJECTION_COUNTS_H_
#define BERTH_SRC_ENGINE_REJECTION_COUNTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "berth/framework/node_table.h"
#include "berth/framework/status.h"
#include "engine/diagnosis.h"

namespace berth {

// Many nodes are rejected for few reasons: each distinct status once, and which of them a row has.
class RejectionCounts {
 public:
  // Forgets everything; `rows` rows, none rejected.
  void Reset(int rows);
  // What is said of `row` from now on; Success counts for nothing.
  void Set(NodeRow row, const Status& status);
  // A node came, not rejected yet, or went.
  void Move(const RowMove& move);
  // What CountReasons() would find, asking every row.
  ReasonCounts Count() const;

 private:
  static constexpr int32_t kNone = -1;
  struct Hash {
    size_t operator()(const Status& status) const;
  };

  int32_t IndexOf(const Status& status);
  Symbol FirstPlugin(const std::string& reason) const;

  std::vector<Status> statuses_;
  std::vector<int> rows_with_;      // by index in statuses_
  std::vector<int32_t> status_of_;  // by row: an index in statuses_, or kNone
  absl::flat_hash_map<Status, int32_t, Hash> index_of_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_REJECTION_COUNTS_H_
