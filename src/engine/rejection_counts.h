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
  // What is said of `row` from now on; Success counts for nothing. False, and nothing is changed,
  // if it is one thing too many.
  bool Set(NodeRow row, const Status& status);
  // Nodes came, not rejected yet, or went.
  void Move(const RowMove& move);
  // What CountReasons() would find, asking every row.
  ReasonCounts Count() const;
  // Success if nothing is said of it.
  Status status(NodeRow row) const {
    return status_of_[row] == kNone ? Status::Success() : statuses_[status_of_[row]];
  }
  int CountWith(Code code) const;
  int CountOf(Symbol plugin) const;
  // Whether so many things were said, of which perhaps none is any more, that Reset() is worth it.
  bool is_crowded() const { return statuses_.size() > 64 + status_of_.size() / 8; }

 private:
  static constexpr uint16_t kNone = 0xffff;
  struct Hash {
    size_t operator()(const Status& status) const;
  };

  uint16_t IndexOf(const Status& status);
  Symbol FirstPlugin(const std::string& reason) const;

  std::vector<Status> statuses_;
  std::vector<int> rows_with_;       // by index in statuses_
  std::vector<uint16_t> status_of_;  // by row: an index in statuses_, or kNone
  absl::flat_hash_map<Status, uint16_t, Hash> index_of_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_REJECTION_COUNTS_H_
