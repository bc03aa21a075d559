// SPDX-License-Identifier: Apache-2.0
// How sums over topology domains distinguish nodes, and for which nodes they changed.
#ifndef BERTH_SRC_EVALUATION_INCREMENTAL_DOMAIN_GROUPINGS_H_
#define BERTH_SRC_EVALUATION_INCREMENTAL_DOMAIN_GROUPINGS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "berth/columns/node_table.h"
#include "berth/incremental/domain_scorer.h"
#include "berth/incremental/sign.h"
#include "evaluation/incremental/scored_rows.h"

namespace berth {

// Follows a list of sums; the same list is given to each call. The cells of
// NodeEquivalenceClasses are known by number and key: its grouping's value for each sum, in order.
// Scheduling thread.
class DomainGroupings {
 public:
  enum class Grouping : uint8_t {
    kByDomain,      // by the domain; it has few
    kBySum,         // by the sum; each node is a domain
    kBySumOfCells,  // domains have several nodes: cells by the domain, classes by the sum
  };
  using Sums = std::vector<DomainSum>;

  // Adds what identifies the classes of these sums. Addresses are among it: if something else gets
  // such an address, IsKnown() is false.
  static void Identify(const Sums& sums, const NodeTable& nodes, PodSignature& signature);

  // Begins to follow these. False if there is a topology by which nodes cannot be distinguished.
  bool Restart(const Sums& sums, const NodeTable& nodes);
  void Clear() { tracked_.clear(); }
  // Whether it follows these, and no node has another domain than before.
  bool IsKnown(const Sums& sums) const;
  // Whether a grouping is kBySumOfCells: there are classes beside the cells.
  bool has_classes() const { return has_classes_; }

  // Calls visit(row) for each row whose own sum changed (kBySum) since the last call, as long as it
  // returns true. False if it did not, or if what changed is not known any more.
  bool VisitChangedRows(const Sums& sums, absl::FunctionRef<bool(NodeRow)> visit);
  // Calls visit(cell) for each cell in a domain whose sum changed (kBySumOfCells). False if what
  // changed is not known any more.
  bool VisitChangedCells(const Sums& sums, absl::FunctionRef<void(int cell)> visit);

  // The key of the cell that the row is in, and that of the class which a cell is in.
  NodeClassKey CellKeyOf(NodeRow row, const Sums& sums) const;
  NodeClassKey NodeClassKeyOf(const NodeClassKey& cell, const Sums& sums) const;

  // With has_classes(): which cells are in each domain.
  using Cells = absl::InlinedVector<int, 4>;
  void AddCell(const NodeClassKey& key, int cell);
  void RemoveCell(const NodeClassKey& key, int cell);
  // The cells among which the one of that key is, if there is one.
  const Cells& FindCells(const NodeClassKey& key) const;
  // A domain has so many cells that to move them costs too much.
  bool is_crowded() const { return is_crowded_; }
  // Null if the domains of this topology are in no cells.
  struct DomainCells {
    std::vector<Cells> of_domain;
    int domains = 0;  // so many have cells
  };
  const DomainCells* FindDomains(const LabelColumn& column) const;

 private:
  // One of the sums, as of the last calls.
  struct TrackedSum {
    const LabelColumn* column;
    Grouping grouping;
    uint64_t version;                                     // of the column
    absl::InlinedVector<PodCounts::Version, 2> of_parts;  // unless it is by domain
    DomainCells cells;                                    // for kBySumOfCells
  };

  static std::optional<Grouping> GroupingOf(const DomainSum& sum, const NodeTable& nodes);

  std::vector<TrackedSum> tracked_;
  bool has_classes_ = false, is_crowded_ = false;
};

// So many classes, of so many rows, are few enough to be worth it.
int MostClasses(int rows);

}  // namespace berth

#endif  // BERTH_SRC_EVALUATION_INCREMENTAL_DOMAIN_GROUPINGS_H_
