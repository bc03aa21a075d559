// SPDX-License-Identifier: Apache-2.0
// Counts of pods by domain and row where few of many nodes have any, and where many do: what a look
// at all nodes finds.
#include "berth/columns/pod_counts.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/columns/pod_table.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::berth::testing::MakeNode;
using ::berth::testing::MakePod;
using ::berth::testing::NodeBuilder;

constexpr int kNodes = 3000;
constexpr int kRacks = 400;

bool HasRack(int node) { return node % 7 != 0; }

NodeInfo MakeInfo(int i, bool has_pod) {
  NodeBuilder node = MakeNode().Name(absl::StrCat("n", i)).Label("host", absl::StrCat("n", i));
  if (HasRack(i)) node.Label("rack", absl::StrCat("r", i % kRacks));
  NodeInfo info = node.Info();
  if (has_pod) info.AddPod(MakePod().Name(absl::StrCat("p", i)).Label("app", "a").Obj());
  return info;
}

// `only_without_rack`: pods are on nodes without that label only.
void Check(int with_pods, bool only_without_rack) {
  SCOPED_TRACE(absl::StrCat(with_pods, " nodes with pods"));
  std::vector<NodeInfo> infos;
  int placed = 0;
  for (int i = 0; i < kNodes; ++i) {
    const bool has_pod = placed < with_pods && (!only_without_rack || !HasRack(i));
    placed += has_pod;
    infos.push_back(MakeInfo(i, has_pod));
  }
  std::vector<const NodeInfo*> order;
  for (const NodeInfo& info : infos) order.push_back(&info);
  NodeTable nodes;
  nodes.SetOrder(order);
  const auto counts = nodes.pods().Count({.namespaces = {Symbol::Intern("default")},
                                          .labels = LabelSelector::FromLabels({{"app", "a"}})});
  EXPECT_EQ(counts->total(), placed);
  for (const char* key : {"host", "rack"}) {
    SCOPED_TRACE(key);
    const LabelColumn& column = nodes.label_column(Symbol::Intern(key));
    std::vector<int64_t> of_domains(column.values().size()), of_rows(kNodes);
    int64_t labelled = 0;
    for (NodeRow row = 0; row < kNodes; ++row) {
      of_rows[row] = 3 * static_cast<int64_t>(infos[row].pods().size());
      EXPECT_EQ(3 * counts->of_row(row), of_rows[row]);
      if (!column.at(row).present) continue;
      of_domains[column.index(row)] += of_rows[row];
      labelled += of_rows[row] / 3;
    }
    EXPECT_EQ(counts->any_labelled(column), labelled > 0);
    std::vector<int64_t> sums(of_domains.size()), row_sums(kNodes);
    EXPECT_EQ(counts->AddToDomains(column, 3, absl::MakeSpan(sums)), labelled);
    EXPECT_EQ(sums, of_domains);
    counts->AddToRows(3, absl::MakeSpan(row_sums));
    EXPECT_EQ(row_sums, of_rows);
    EXPECT_EQ(counts->total_labelled(column), labelled);  // makes what is kept of all domains
    EXPECT_EQ(counts->any_labelled(column), labelled > 0);
  }
}

TEST(PodCounts, AreTheSameHoweverManyNodesHavePods) {
  for (const int with_pods : {0, 1, 40, 64, 65, 200, 420}) {
    Check(with_pods, false);
    Check(with_pods, true);
  }
  Check(kNodes, false);
}

}  // namespace
}  // namespace berth
