// Nodes in classes: those of one class are not told apart by plugins that go by topology domains,
// so that of each class only the best node comes into question.
#ifndef BERTH_SRC_ENGINE_ALIKE_NODES_H_
#define BERTH_SRC_ENGINE_ALIKE_NODES_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "berth/framework/domain_scorer.h"
#include "berth/framework/sign.h"
#include "engine/ranked_nodes.h"
#include "framework/change_journal.h"

namespace berth {

// The feasible rows of a RankedNodes, kept from one cycle to another: only rows are looked at whose
// total changed, or to whose node pods came that count. Scheduling thread.
//
// By a topology with few domains nodes are told apart by their domain, whatever is in it. Where
// each node is a domain of its own, as hosts are, by the pods that count there.
class AlikeNodes {
 public:
  // Adds what makes an object one for these sums. Addresses are among it: should something else
  // come to stand there, Refresh() finds that it does not know it.
  static void Identify(const std::vector<DomainSum>& sums, const NodeTable& nodes,
                       PodSignature& signature);

  // Brings everything in step with `ranked`, as of its last Refresh(), and what `sums` come to.
  // False if they make too many classes to be worth it, or a topology has neither few domains nor
  // one a node: the object is of no use then.
  bool Refresh(const RankedNodes& ranked, const NodeTable& nodes,
               const std::vector<DomainSum>& sums);

  // What follows is as of the last Refresh(). The best row of each class, the first one of equals,
  // and how many feasible rows the class has: at least one.
  AlikeRows classes() const { return {best_, counts_}; }
  // RankedNodes::extremes() that some row of class `i` has.
  uint8_t extremes(size_t i) const { return extremes_[i]; }

 private:
  enum class Way : uint8_t { kByDomain, kBySum };
  // One of the sums, as of the last Refresh().
  struct Kept {
    const LabelColumn* column;
    Way way;
    uint64_t version;                                     // of the column
    absl::InlinedVector<PodCounts::Version, 2> of_parts;  // unless it is by domain
  };
  // What the nodes of a class have in common: a domain or a sum, by sum.
  using Key = absl::InlinedVector<int64_t, 4>;
  struct Entry {
    int64_t total;
    NodeRow row;
    // For a heap with the best one on top, the first of equals.
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.total < b.total || (a.total == b.total && a.row > b.row);
    }
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  struct Class {
    Key key;
    int rows = 0;
    std::array<int, 6> at_extremes = {};  // rows, by bit
    std::vector<Entry> heap;              // some rows as they were earlier

    // A row comes (1) or goes (-1).
    void Count(uint8_t extremes, int difference);
    uint8_t extremes() const;
  };

  bool FindWays(const NodeTable& nodes, const std::vector<DomainSum>& sums);
  bool Follow(const RankedNodes& ranked, const std::vector<DomainSum>& sums);
  bool Rebuild(const RankedNodes& ranked, const NodeTable& nodes,
               const std::vector<DomainSum>& sums);
  int TellApart(const std::vector<int64_t>& values, int classes, int most);
  void ReadValues(const Kept& kept, const DomainSum& sum, int rows, std::vector<int64_t>& values);
  Key KeyOf(NodeRow row, const std::vector<DomainSum>& sums) const;
  bool Place(const RankedNodes& ranked, NodeRow row, const std::vector<DomainSum>& sums);
  void Leave(NodeRow row);
  int FindOrAddClass(Key key);
  void Tidy(const RankedNodes& ranked, int number);
  void ListClasses(const RankedNodes& ranked);
  bool IsNow(const RankedNodes& ranked, const Entry& entry, int number) const {
    return class_of_row_[entry.row] == number && ranked.total(entry.row) == entry.total;
  }

  int pauses_ = 0;  // so many times it is not tried again
  std::vector<Kept> kept_;
  RowJournal::Position ranked_;        // in RankedNodes::changes()
  std::vector<int32_t> class_of_row_;  // -1 if it is not feasible
  std::vector<uint8_t> extremes_of_row_;
  std::vector<Class> classes_;
  std::vector<int> unused_;  // of them
  absl::flat_hash_map<Key, int> class_of_key_;
  std::vector<NodeRow> best_;
  std::vector<int> counts_;
  std::vector<uint8_t> extremes_;
};

}  // namespace berth

#endif  // BERTH_SRC_ENGINE_ALIKE_NODES_H_
