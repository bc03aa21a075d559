// SPDX-License-Identifier: Apache-2.0
// What is tried and taken back leaves no trace: all that can be read of the cluster state is as it
// was, also the order of pods, which decides between equals. Random changes, and plans of
// evictions.
#include "engine/transaction.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "berth/api/policy_v1.pb.h"
#include "engine/framework_set.h"
#include "engine/group_scheduler.h"
#include "engine/pod_scheduler.h"
#include "tests/engine/gang_cluster.h"
#include "tests/plugins/random_cluster.h"
#include "tests/random_seeds.h"

namespace berth {
namespace {

using testing::Random;
using PodPtr = std::shared_ptr<const PodInfo>;

Object MakeBudget(const std::string& name, const std::string& app, int allowed) {
  auto budget = std::make_shared<api::PodDisruptionBudget>();
  budget->mutable_metadata()->set_name(name);
  budget->mutable_metadata()->set_namespace_("default");
  (*budget->mutable_spec()->mutable_selector()->mutable_match_labels())["app"] = app;
  budget->mutable_status()->set_disruptions_allowed(allowed);
  return Object::Of(std::move(budget));
}

// That lends everything, and that may have everything back.
constexpr absl::string_view kQuotas = R"(
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: lends}
spec: {namespaces: [of-gang], min: {nvidia.com/gpu: 100}}
---
apiVersion: scheduling.berth.dev/v1alpha1
kind: ClusterQuota
metadata: {name: borrows}
spec: {namespaces: [default], min: {nvidia.com/gpu: 0}}
)";

// Nodes full of pods of all sorts, pods that wait for others to go, and a gang.
class TriedCluster {
 public:
  explicit TriedCluster(int seed, KubeSchedulerConfiguration configuration = GangConfiguration())
      : random_(seed), sequence_(0), clock_(absl::UnixEpoch()) {
    Problems problems;
    profiles_ = FrameworkSet::Create(std::move(configuration), Builtins(), cluster_, clock_,
                                     sequence_, nullptr, problems);
    EXPECT_NE(profiles_, nullptr) << problems.ToString();
    cluster_.SetProfiles(profiles_.get());
    for (Object& quota : testing::ObjectsFromYaml(kQuotas)) Apply(std::move(quota));
    for (int i = 0; i < 3; ++i) {
      Apply(MakeGroup(absl::StrCat("v", i), random_.Between(1, 4)));
      Apply(MakeBudget(absl::StrCat("b", i), absl::StrCat("a", i), random_.Below(3)));
    }
    nodes_ = random_.Between(1, 5);
    for (int n = 0; n < nodes_; ++n) Apply(MakeGpuNode(absl::StrCat("n", n), 8));
    for (int n = 0; n < nodes_; ++n) {
      for (int free = 8; free > 0 && random_.Percent(95);) free -= AddRunning(n, free);
    }
    for (int i = 0; i < 6; ++i) {
      const PodPtr pod = Apply(Pod(random_.Between(1, 4), random_.OneOf<int>({0, 10})).Object());
      if (random_.Percent(70)) cluster_.nominations().Nominate(pod, AnyNode());
      waiting_.push_back(pod);
    }
    AddGang();
    cluster_.Refresh();
  }

  Random& random() { return random_; }
  ClusterState& cluster() { return cluster_; }
  const AttemptRequest& gang() const { return gang_; }

  // Where the first member of the gang would go, and who for it.
  std::string Plan(PodScheduler& pods) {
    AttemptResult result;
    const auto outcome =
        pods.PlaceOrPlan(gang_, gang_.pods.front(), PodScheduler::AskPostFilter::kYes, result);
    if (outcome.placed) {
      const std::string node(result.placed.front().placement.node_name);
      pods.RollBack(result);
      return absl::StrCat("to ", node);
    }
    if (!outcome.found) return std::string(outcome.status.message());
    return absl::StrCat("to ", *outcome.plan.nominated_node, " without ",
                        Names(outcome.plan.victims));
  }

  // All that can be read.
  std::string Text() const {
    std::string text;
    const NodeTable& nodes = cluster_.nodes();
    for (NodeRow row = 0; row < nodes.size(); ++row) AppendNode(nodes, row, text);
    cluster_.nominations().ForEach([&](const PodInfo& pod, absl::string_view node) {
      absl::StrAppend(&text, pod.name(), " is nominated to ", node, "\n");
    });
    for (const GroupMembers* group : cluster_.groups().All()) {
      absl::StrAppend(&text, group->name(), ":");
      for (const GroupMember& member : group->members()) {
        absl::StrAppend(&text, " ", Name(member.pod), "@", member.node_name);
      }
      for (const MemberKind& kind : group->kinds()) {
        absl::StrAppend(&text, " kind of ", kind.pod->priority(), ": ", kind.counts.members, " ",
                        kind.counts.assigned, " ", kind.counts.running, " ", kind.counts.staying);
      }
      absl::StrAppend(&text, "\n");
    }
    for (int i = 0; i < 3; ++i) {
      const auto* budget = cluster_.budget_tracker()->all().Find("default", absl::StrCat("b", i));
      if (budget != nullptr) absl::StrAppend(&text, "budget ", budget->left(), "\n");
    }
    absl::StrAppend(&text, cluster_.gone_in_plan()->pods.size(), " gone, plan ",
                    cluster_.gone_in_plan()->number, "\n");
    const absl::Status sound = cluster_.cache().CheckInvariants();
    EXPECT_TRUE(sound.ok()) << sound;
    return text;
  }

  // One change; what is taken off is in `off`.
  void ChangeSomething(Transaction& transaction, PodScheduler& pods, AttemptResult& result,
                       std::vector<PodPtr>& off) {
    const PodPtr running = cluster_.FindPod(*random_.OneOf(running_)->identity());
    const PodPtr& waiting = random_.OneOf(waiting_);
    const NodeRow row = random_.Below(nodes_);
    switch (random_.Below(7)) {
      case 0:
      case 1:
        if (cluster_.cache().FindPod(*running->identity()) == nullptr) return;
        off.push_back(running);
        return random_.Percent(50) ? transaction.Evict({running}) : transaction.TakeOff({running});
      case 2:
        if (off.empty()) return;
        std::swap(off.back(), off[random_.Below(static_cast<int>(off.size()))]);
        transaction.Spare(*off.back());
        return off.pop_back();
      case 3:
        return transaction.Nominate(waiting, random_.Percent(40) ? "" : AnyNode());
      case 4: {
        PostFilterResult plan;
        plan.nominated_node = AnyNode();
        if (cluster_.cache().FindPod(*running->identity()) != nullptr) plan.victims = {running};
        return transaction.Preempt(waiting, plan, clock_.Now());
      }
      case 5: {
        const PodPtr& member = gang_.pods[random_.Below(static_cast<int>(gang_.pods.size()))];
        if (cluster_.cache().FindPod(*member->identity()) != nullptr) return;
        if (pods.PlaceOn(gang_, member, row, result)) transaction.Nominate(member, "");
        return;
      }
      default:
        if (result.placed.size() <= kept_placed) return;
        transaction.TakeBack(static_cast<size_t>(random_.Between(
            static_cast<int>(kept_placed), static_cast<int>(result.placed.size()) - 1)));
    }
  }
  size_t kept_placed = 0;  // these are of before the savepoint

 private:
  static std::string Name(const PodPtr& pod) {
    return absl::StrCat(pod->name(), pod->deletion_time().has_value() ? "(leaving)" : "");
  }
  static std::string Names(absl::Span<const PodPtr> pods) {
    return absl::StrJoin(
        pods, " ", [](std::string* out, const PodPtr& pod) { absl::StrAppend(out, Name(pod)); });
  }
  void AppendNode(const NodeTable& nodes, NodeRow row, std::string& text) const {
    const NodeInfo& node = nodes.node(row);
    absl::StrAppend(&text, node.name().view(), ": ", Names(node.pods()), " | ",
                    Names(node.pods_with_affinity()), " | ",
                    Names(node.pods_with_required_anti_affinity()), " | ports");
    for (const HostPort& port : node.used_ports()) absl::StrAppend(&text, " ", port.port);
    absl::StrAppend(&text, " | lowest ", node.lowest_priority(), ", ", nodes.lowest_priority()[row],
                    " | claims ", node.claim_uses().size(), " | pods ", nodes.pod_count()[row]);
    for (const absl::string_view name : {"cpu", "memory", "nvidia.com/gpu"}) {
      const ResourceId resource = ResourceIdOf(name);
      absl::StrAppend(&text, " ", node.requested().Get(resource), " ",
                      node.nonzero_requested().Get(resource), " ", nodes.requested(resource)[row]);
    }
    absl::StrAppend(&text, "\n");
  }

  PodPtr Apply(Object object) {
    return cluster_.Apply({WatchEvent::Type::kSet, std::move(object)}).change.new_pod;
  }
  std::string AnyNode() { return absl::StrCat("n", random_.Below(nodes_)); }

  testing::PodBuilder Pod(int gpus, int priority) {
    auto pod = testing::MakePod().Name(absl::StrCat("p", next_++)).Namespace("default");
    return pod.Request("nvidia.com/gpu", absl::StrCat(gpus)).Priority(priority);
  }

  int AddRunning(int node, int free) {
    const int gpus = random_.Between(1, free < 3 ? free : 3);
    auto pod = Pod(gpus, random_.OneOf<int>({0, 0, 10, 1000}));
    pod.NodeName(absl::StrCat("n", node)).Phase("Running");
    pod.Label("app", absl::StrCat("a", random_.Below(4)));
    if (random_.Percent(30)) {
      pod.Label("scheduling.x-k8s.io/pod-group", absl::StrCat("v", random_.Below(3)));
    }
    // Ports of the same number, too: none of them says of which pod it is.
    if (random_.Percent(50)) pod.HostPort(random_.Between(1, 3)).HostPort(random_.Between(4, 6));
    if (random_.Percent(30)) pod.Claim(absl::StrCat("c", random_.Below(3)));
    const LabelSet none({{"app", "nobody"}});
    if (random_.Percent(30)) pod.PodAntiAffinity("kubernetes.io/hostname", none);
    if (random_.Percent(30)) pod.PreferredPodAffinity(1, "kubernetes.io/hostname", none);
    running_.push_back(Apply(pod.Object()));
    return gpus;
  }

  void AddGang() {
    const int members = random_.Between(2, 4 * nodes_);
    gang_.minimum = random_.Between(members / 2, members);
    gang_.quorum = Quorum(gang_.minimum);
    gang_.framework = profiles_->all().front();
    gang_.group = "of-gang/g";
    gang_.now = clock_.Now();
    gang_.group_search_steps = 1000;
    Apply(MakeGroup("g", gang_.minimum, "of-gang"));
    const int gpus = random_.Between(1, 4);
    const bool unlike = random_.Percent(40);
    for (int m = 0; m < members; ++m) {
      auto pod = Pod(unlike ? random_.Between(1, 3) : gpus, 100).Namespace("of-gang");
      gang_.pods.push_back(Apply(pod.Label("scheduling.x-k8s.io/pod-group", "g").Object()));
      if (random_.Percent(5)) cluster_.nominations().Nominate(gang_.pods.back(), AnyNode());
    }
  }

  Random random_;
  int nodes_ = 0, next_ = 0;
  ClusterState cluster_;
  RandomSequence sequence_;
  SimulatedClock clock_;
  std::unique_ptr<FrameworkSet> profiles_;
  AttemptRequest gang_;
  std::vector<PodPtr> running_, waiting_;
};

TEST(Transaction, LeavesNoTraceOfWhatIsTakenBack) {
  for (const int seed : testing::Seeds(500)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    TriedCluster made(seed);
    if (made.cluster().cache().pod_count() == 0) continue;
    PodScheduler pods(made.cluster(), true, 0);
    AttemptResult result;
    made.cluster().budgets();
    const std::string before = made.Text();
    {
      Transaction transaction(made.cluster(), result.placed);
      std::vector<PodPtr> off;
      for (int step = made.random().Below(12); step > 0; --step) {
        made.ChangeSomething(transaction, pods, result, off);
      }
      const std::string then = made.Text();
      const Transaction::Savepoint savepoint = transaction.Save();
      made.kept_placed = savepoint.placed;
      std::vector<PodPtr> off_since;
      for (int step = made.random().Below(12); step > 0; --step) {
        made.ChangeSomething(transaction, pods, result, off_since);
      }
      transaction.RollBackTo(savepoint);
      ASSERT_EQ(made.Text(), then);
      transaction.RollBack();
    }
    ASSERT_EQ(made.Text(), before);
  }
}

TEST(Transaction, LeavesNoTraceOfPlansOfEvictions) {
  int plans = 0, in_vain = 0;
  for (const int seed : testing::Seeds(500)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    TriedCluster made(seed);
    PodScheduler pods(made.cluster(), true, 0);
    GroupScheduler groups(made.cluster(), pods);
    made.cluster().budgets();
    const std::string before = made.Text();
    AttemptResult result;
    groups.Place(made.gang(), result);
    pods.RollBack(result);
    ASSERT_EQ(made.Text(), before);
    plans += static_cast<int>(result.answer == GroupAnswer::kPlan);
    in_vain += static_cast<int>(!result.minimum_reached && result.answer != GroupAnswer::kPlan &&
                                result.post_filters > 0);
  }
  std::printf("%d plans, %d in vain\n", plans, in_vain);
  EXPECT_GT(plans, 50);
  EXPECT_GT(in_vain, 20);
}

// Plugins keep sums and orders of their own: what they plan is the same after others were taken
// off and put back.
TEST(Transaction, LeavesPluginsNoTrace) {
  for (const bool quotas : {false, true}) {
    int plans = 0;
    for (const int seed : testing::Seeds(500)) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, quotas ? ", quotas" : ""));
      TriedCluster made(seed, quotas ? GangAndQuotaConfiguration() : GangConfiguration());
      if (made.cluster().cache().pod_count() == 0) continue;
      PodScheduler pods(made.cluster(), true, 0);
      const std::string before = made.Plan(pods);
      {
        AttemptResult result;
        Transaction transaction(made.cluster(), result.placed);
        std::vector<PodPtr> off;
        for (int step = made.random().Between(2, 20); step > 0; --step) {
          made.ChangeSomething(transaction, pods, result, off);
        }
        transaction.RollBack();
      }
      ASSERT_EQ(made.Plan(pods), before);
      plans += static_cast<int>(absl::StrContains(before, " without "));
    }
    std::printf("%d plans\n", plans);
    EXPECT_GT(plans, 50);
  }
}

}  // namespace
}  // namespace berth
