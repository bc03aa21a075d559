// SPDX-License-Identifier: Apache-2.0
// The full and the incremental evaluator find the same, pod after pod, while the cluster changes.
#include "evaluation/incremental/incremental_evaluator.h"

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "evaluation/full_evaluator.h"
#include "evaluation/node_evaluator.h"
#include "gtest/gtest.h"
#include "tests/evaluation/one_profile.h"
#include "tests/plugins/random_cluster.h"

namespace berth {
namespace {

using testing::NodeBuilder;
using testing::PodBuilder;
using testing::Random;

// All that a Diagnosis tells.
std::string Describe(const EvaluationRequest& request, Diagnosis& diagnosis) {
  std::string text;
  for (NodeRow row = 0; row < request.nodes.size(); ++row) {
    const Status status = diagnosis.statuses().status(row);
    absl::StrAppend(&text, request.nodes.node(row).name().view(), ": ",
                    static_cast<int>(diagnosis.statuses().code(row)), " ", status.plugin(), ": ",
                    status.message(), "\n");
  }
  for (const Code code : {Code::kUnschedulable, Code::kUnschedulableAndUnresolvable}) {
    absl::StrAppend(&text, diagnosis.statuses().CountWith(code), " with code ",
                    static_cast<int>(code), "\n");
  }
  for (const auto& [reason, count] : diagnosis.CountReasons()) {
    absl::StrAppend(&text, count.nodes, " ", reason, " (", count.plugin.view(),
                    count.resolvable ? ", resolvable)\n" : ")\n");
  }
  const RejectorCounts counts = diagnosis.CountRejectors();
  for (size_t i = 0; i < request.framework.plugins().filter.size(); ++i) {
    const auto filter = static_cast<uint8_t>(i);
    EXPECT_EQ(diagnosis.HasRejected(filter), counts[i] > 0);
    const FreeCapacity free = diagnosis.MeasureFree({"cpu", filter, 1000});
    absl::StrAppend(&text, counts[i], " by ", request.framework.plugins().filter[i].name.view(),
                    ", free ", free.all_free, " ", free.most_free, "\n");
  }
  return text;
}

class History {
 public:
  explicit History(uint64_t seed)
      : random_(seed),
        percentage_(seed % 4 == 0 ? 40 : 0),
        steps_(seed % 3 == 0 ? 1 : 0),
        generated_(MakeRandomCluster(random_, percentage_ > 0 || seed % 4 == 1 ? 160 : 30)),
        world_(seed) {
    for (const Object& object : generated_.objects) world_.Set(object);
    for (auto& pods : generated_.pods) pods.clear();
    for (NodeBuilder& node : generated_.nodes) world_.Set(node.Object());
    for (int i = 0; i < 4; ++i) templates_.push_back(MakeRandomPod(random_, "template"));
  }

  void Step() {
    const int kind = random_.Below(12);
    if (kind == 0) {
      const testing::NodeChange change = ChangeNode(random_, generated_);
      for (auto& pods : generated_.pods) pods.clear();
      world_.Set(generated_.nodes[change.node].Object());
    } else if (kind == 1) {
      LoseOrRegainANode();
    } else if (kind == 2 && !bound_.empty()) {
      const size_t which = random_.Below(static_cast<int>(bound_.size()));
      world_.Delete(bound_[which].Object());
      bound_.erase(bound_.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (kind == 3 && !rejected_.empty()) {
      const int node = random_.Below(static_cast<int>(generated_.nodes.size()));
      world_.cluster().nominations().Nominate(world_.Set(random_.OneOf(rejected_).Object()),
                                              generated_.nodes[node].Info().name().view());
    } else if (kind <= 6 && !rejected_.empty()) {  // another try
      const size_t which = random_.Below(static_cast<int>(rejected_.size()));
      PodBuilder pod = rejected_[which];
      rejected_.erase(rejected_.begin() + static_cast<std::ptrdiff_t>(which));
      Try(std::move(pod));
    } else {
      PodBuilder pod =
          random_.Percent(70) ? random_.OneOf(templates_) : MakeRandomPod(random_, "of its own");
      pod.NodeName("").NominatedNodeName("");
      if (random_.Percent(30)) pod.Priority(random_.Below(3));
      for (int copies = 1 + random_.Below(3); copies > 0; --copies) {
        const std::string name = absl::StrCat("p", next_++);
        Try(pod.Name(name).Uid(name));
      }
    }
  }

  int64_t evaluations() const { return evaluations_; }
  int64_t rejections() const { return rejections_; }
  const NodeEvaluator& incremental() const { return incremental_; }

 private:
  void LoseOrRegainANode() {
    NodeBuilder& node = generated_.nodes[random_.Below(static_cast<int>(generated_.nodes.size()))];
    const Object object = node.Object();
    if (world_.nodes().FindRow(node.Info().name()) >= 0) {
      world_.Delete(object);
    } else {
      world_.Set(object);
    }
  }

  // The pod goes where both evaluators send it.
  void Try(PodBuilder pod) {
    const std::shared_ptr<const PodInfo> pending = world_.Set(pod.Object());
    if (world_.nodes().size() == 0) return rejected_.push_back(std::move(pod));
    NodeRow best = -1, same = -1;
    const std::string full = Evaluate(full_, pending, best);
    const std::string incremental = Evaluate(incremental_, pending, same);
    EXPECT_EQ(full, incremental) << "pod " << pending->key();
    EXPECT_EQ(best, same);
    ++evaluations_;
    if (best < 0) {
      ++rejections_;
      return rejected_.push_back(std::move(pod));
    }
    world_.cluster().nominations().Remove(*pending->identity());
    pod.NodeName(world_.nodes().node(best).name().view());
    world_.Set(pod.Object());
    bound_.push_back(std::move(pod));
  }

  std::string Evaluate(NodeEvaluator& evaluator, const std::shared_ptr<const PodInfo>& pod,
                       NodeRow& best) {
    std::string found;
    do {
      CycleState state;
      state.SetWorkBudget(WorkBudget(steps_));
      found = EvaluateOnce(evaluator, pod, state, best);
      if (!state.work_budget().yielded()) return found;
    } while (true);
  }

  std::string EvaluateOnce(NodeEvaluator& evaluator, const std::shared_ptr<const PodInfo>& pod,
                           CycleState& state, NodeRow& best) {
    const EvaluationRequest request = {
        .framework = world_.framework(),
        .state = state,
        .pod = pod,
        .nodes = world_.nodes(),
        .nominator = world_.cluster().nominations(),
        .nominated_node = world_.cluster().nominations().NominatedNode(*pod),
        .percentage = percentage_};
    std::optional<Evaluation> evaluation;
    if (request.nominated_node.empty()) evaluation = evaluator.Recall(request);
    if (!evaluation.has_value()) {
      const PreFilterOutcome pre_filter =
          request.framework.filters().RunPreFilter(state, *pod, request.nodes);
      if (!pre_filter.status.ok()) return absl::StrCat("PreFilter: ", pre_filter.status.message());
      evaluation = evaluator.Evaluate(request, pre_filter);
    }
    if (state.work_budget().yielded()) return "";
    if (!evaluation->status.ok()) return absl::StrCat("Error: ", evaluation->status.message());
    best = evaluation->best;
    if (best >= 0) return std::string(request.nodes.node(best).name().view());
    return Describe(request, *evaluation->diagnosis);
  }

  Random random_;
  const int percentage_;
  const int64_t steps_;  // of the budget; 0: no limit
  testing::RandomCluster generated_;
  OneProfile world_;
  FullEvaluator full_;
  IncrementalEvaluator incremental_;
  std::vector<PodBuilder> templates_, bound_, rejected_;
  int next_ = 0;
  int64_t evaluations_ = 0, rejections_ = 0;
};

// BERTH_SEED=N repeats one history, BERTH_SEQUENCES=N runs so many.
TEST(Evaluators, FindTheSame) {
  uint64_t first = 1, count = 150;
  if (const char* text = std::getenv("BERTH_SEED"); text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(text, &first));
    count = 1;
  }
  if (const char* text = std::getenv("BERTH_SEQUENCES"); text != nullptr) {
    ASSERT_TRUE(absl::SimpleAtoi(text, &count));
  }
  int64_t evaluations = 0, rejections = 0, recalled = 0, scored_first = 0, of_few_rows = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(absl::StrCat("BERTH_SEED=", seed));
    History history(seed);
    for (int step = 0; step < 80 && !::testing::Test::HasFailure(); ++step) history.Step();
    if (::testing::Test::HasFailure()) return;
    evaluations += history.evaluations();
    rejections += history.rejections();
    recalled += history.incremental().counters().recalled;
    scored_first += history.incremental().counters().scored_first;
    of_few_rows += history.incremental().counters().of_few_rows;
    EXPECT_EQ(history.incremental().counters().unconfirmed, 0);
  }
  if (count == 1) return;
  EXPECT_GT(recalled * 4, evaluations) << "hardly anything was recalled";
  EXPECT_GT(scored_first * 100, evaluations) << "hardly any pod was scored first";
  EXPECT_GT(of_few_rows * 200, evaluations) << "hardly any pod had few nodes";
  EXPECT_GT(rejections * 20, evaluations) << "hardly anything was rejected";
}

}  // namespace
}  // namespace berth
