// One byte a node: what the Filter plugins made of it, and which of them rejected it first.
#ifndef BERTH_FRAMEWORK_NODE_VERDICTS_H_
#define BERTH_FRAMEWORK_NODE_VERDICTS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "berth/framework/node_table.h"
#include "berth/framework/status.h"

namespace berth {

// The engine runs the Filter plugins in order over blocks of rows; each plugin sees the rows that
// no plugin before it rejected. Rows that were never judged have code kUnschedulableAndUnresolvable
// and rejector kNotJudged. Threads: owned by one cycle.
class NodeVerdicts {
 public:
  static constexpr uint8_t kNotJudged = 255;  // left out by PreFilter, or the search ended before
  static constexpr uint8_t kNobody = 254;     // feasible
  // Of the words of a rejection: those of that row, whatever others are told.
  static constexpr uint8_t kOwnWords = 255;

  // --- For plugins, inside FilterNodes ---

  // The rows to judge, in the order of the search. Valid until the call returns.
  absl::Span<const NodeRow> candidates() const { return candidates_; }

  // Gives `row`, a candidate, its code: Success, Unschedulable or UnschedulableAndUnresolvable.
  // A candidate that is not given a code stays feasible. `words` is any number below kOwnWords if
  // Filter() says the same, word for word, of all rows to which the plugin gives that code and that
  // number in this cycle: one of them is asked for all.
  void Set(NodeRow row, Code code, uint8_t words = kOwnWords) {
    codes_[row] = code;
    words_[row] = words;
    codes_set_ |= uint32_t{1} << std::min<uint8_t>(static_cast<uint8_t>(code), 31);
  }
  // For plugins that make a status of each row: `status` is what Filter() says of `row`. Takes the
  // eight highest numbers of words.
  void Set(NodeRow row, const Status& status);

  // --- For the engine ---

  // Forgets everything; `rows` nodes, none judged.
  void Reset(int rows);
  // Makes `rows` the candidates, each feasible so far.
  void BeginBlock(absl::Span<const NodeRow> rows);
  // After a plugin's FilterNodes: notes `plugin` (its index in the profile's Filter order) as the
  // rejector of the candidates it rejected, and keeps the others as candidates.
  void EndPlugin(uint8_t plugin);
  // Bit c: whether Set() gave code c to any candidate since BeginBlock(); 31 is for all from 31 on.
  uint32_t codes_set() const { return codes_set_ | ended_codes_set_; }
  // Appends those of `rows` that are feasible to `feasible`.
  void AppendFeasible(absl::Span<const NodeRow> rows, std::vector<NodeRow>& feasible) const;

  // Numbers of words may mean something else from now on: nobody asks about rows judged so far.
  void ForgetWords() { said_ = {}; }

  // Nodes came, not judged yet, or went.
  void Move(const RowMove& move) {
    move.Apply(codes_, Code::kUnschedulableAndUnresolvable);
    move.Apply(rejectors_, kNotJudged);
    move.Apply(words_, kOwnWords);
  }

  int rows() const { return static_cast<int>(codes_.size()); }
  Code code(NodeRow row) const { return codes_[row]; }
  absl::Span<const Code> codes() const { return codes_; }
  // Index of the Filter plugin that rejected `row` first, kNobody or kNotJudged.
  uint8_t rejector(NodeRow row) const { return rejectors_[row]; }
  absl::Span<const uint8_t> rejectors() const { return rejectors_; }
  // What Set() was given for the rejection, or kOwnWords.
  uint8_t words(NodeRow row) const { return words_[row]; }
  // Marks `row` as feasible after all.
  void Accept(NodeRow row) { Reject(row, Code::kSuccess, kNobody); }
  // Marks `row` as rejected by `rejector` outside the batch form.
  void Reject(NodeRow row, Code code, uint8_t rejector) {
    codes_[row] = code;
    rejectors_[row] = rejector;
    words_[row] = kOwnWords;
  }

 private:
  std::vector<Code> codes_;
  std::vector<uint8_t> rejectors_;
  std::vector<uint8_t> words_;  // of rows that are rejected
  std::vector<NodeRow> candidates_;
  std::vector<Status> said_;      // by number of words, from the highest down
  uint32_t codes_set_ = 0;        // since the last EndPlugin()
  uint32_t ended_codes_set_ = 0;  // before it
};

}  // namespace berth

#endif  // BERTH_FRAMEWORK_NODE_VERDICTS_H_
