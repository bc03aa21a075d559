// SPDX-License-Identifier: Apache-2.0
// CheapNodes: prefers the nodes that cost least, as a label says.
#ifndef BERTH_EXAMPLES_SCORE_PLUGIN_CHEAP_NODES_H_
#define BERTH_EXAMPLES_SCORE_PLUGIN_CHEAP_NODES_H_

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "berth/framework/args.h"
#include "berth/framework/handle.h"
#include "berth/framework/plugin.h"
#include "berth/framework/registry.h"
#include "berth/framework/score.h"

struct CheapNodesArgs {
  std::string price_label = "example.com/price";
  int64_t default_price = 100;

  static const berth::FieldTable& Fields() {
    static const berth::FieldTable& table = *new berth::FieldTable(
        berth::DescribeFields<CheapNodesArgs>("CheapNodesArgs", "Arguments of CheapNodes.")
            .Field("priceLabel", &CheapNodesArgs::price_label, "Label that holds a node's price.")
            .Field("defaultPrice", &CheapNodesArgs::default_price,
                   "Price of nodes without the label.", berth::AtLeast(0)));
    return table;
  }
};

class CheapNodes final : public berth::Plugin,
                         public berth::ScorePlugin,
                         public berth::ScoreExtensions {
 public:
  static absl::StatusOr<std::unique_ptr<berth::Plugin>> Create(const berth::PluginArgs& args,
                                                               berth::Handle&) {
    return std::make_unique<CheapNodes>(args.As<CheapNodesArgs>());
  }
  explicit CheapNodes(const CheapNodesArgs& args) : args_(args) {}

  absl::string_view Name() const override { return "CheapNodes"; }

  // The price; NormalizeScores turns it round.
  absl::StatusOr<int64_t> Score(const berth::CycleState&, const berth::PodInfo&,
                                const berth::NodeInfo& node) const override {
    const berth::Symbol* label = node.labels().Find(args_.price_label);
    int64_t price = args_.default_price;
    if (label != nullptr && (!absl::SimpleAtoi(label->view(), &price) || price < 0)) {
      return absl::InvalidArgumentError("the node's price is not a number");
    }
    return price;
  }

  absl::Status NormalizeScores(const berth::CycleState&, const berth::PodInfo&,
                               absl::Span<const berth::NodeRow>,
                               absl::Span<int64_t> scores) const override {
    berth::DefaultNormalizeScores(berth::ScoreDirection::kLowerIsBetter, scores);
    return absl::OkStatus();
  }

 private:
  const CheapNodesArgs args_;
};

#endif  // BERTH_EXAMPLES_SCORE_PLUGIN_CHEAP_NODES_H_
