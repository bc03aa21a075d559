// SPDX-License-Identifier: Apache-2.0
// A quota that contradicts others says so in a condition as long as it does, and is not written
// over and over.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/scheduling_berth_dev.pb.h"
#include "tests/engine/gang_cluster.h"

namespace berth {
namespace {

class QuotaConditions : public ::testing::Test {
 protected:
  QuotaConditions()
      : simulation_(Simulation::Create({.configuration = GangAndQuotaConfiguration(),
                                        .registry = &Builtins(),
                                        .objects = {MakeGpuNode("n", 8)}})
                        .value()) {}

  // An edit leaves the status alone, as a server does.
  void Apply(const std::string& name, const std::string& spec) {
    const std::string yaml =
        absl::StrCat("apiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\n",
                     "metadata: {name: ", name, ", uid: ", name, "}\nspec: ", spec, "\n");
    for (const Object& object : testing::ObjectsFromYaml(yaml)) {
      auto quota = std::make_shared<api::ClusterQuota>(object.As<api::ClusterQuota>());
      if (simulation_->cluster().Find(Kind::kClusterQuota, name) != nullptr) {
        *quota->mutable_status() = Find(name).status();
      }
      quota->mutable_metadata()->set_generation(++generation_);
      simulation_->cluster().Set(Object::Of(std::move(quota)));
    }
  }
  const api::ClusterQuota& Find(const std::string& name) {
    found_ = simulation_->cluster().Find(Kind::kClusterQuota, name);
    return static_cast<const api::ClusterQuota&>(*found_);
  }
  // An attempt on a pod, and time for what follows.
  void Attempt() {
    simulation_->cluster().Set(testing::MakePod()
                                   .Name(absl::StrCat("p", ++pods_))
                                   .Namespace("a")
                                   .Request("nvidia.com/gpu", "100")
                                   .Object());
    simulation_->Advance(absl::Minutes(1));
  }

  std::unique_ptr<Simulation> simulation_;
  std::shared_ptr<const google::protobuf::Message> found_;
  int pods_ = 0;
  int64_t generation_ = 0;
};

TEST_F(QuotaConditions, LastAsLongAsTheContradiction) {
  Apply("dept", "{min: {nvidia.com/gpu: 4}, max: {nvidia.com/gpu: 4}}");
  Apply("a", "{parent: dept, namespaces: [a], min: {nvidia.com/gpu: 3}}");
  Attempt();
  EXPECT_EQ(Find("dept").status().conditions_size(), 0) << "nothing is wrong yet";
  EXPECT_GT(Find("dept").status().used_size(), 0);

  Apply("b", "{parent: dept, namespaces: [b], min: {nvidia.com/gpu: 3}}");
  Attempt();
  ASSERT_EQ(Find("dept").status().conditions_size(), 1);
  const api::Condition first = Find("dept").status().conditions(0);
  EXPECT_EQ(first.type(), "Consistent");
  EXPECT_EQ(first.status(), "False");
  EXPECT_EQ(first.reason(), "ContradictoryQuota");
  EXPECT_TRUE(absl::StrContains(first.message(), "guaranteed 6 nvidia.com/gpu")) << first.message();
  EXPECT_EQ(first.observed_generation(), Find("dept").metadata().generation());
  EXPECT_EQ(Find("a").status().conditions_size(), 0);

  // It stays what it is.
  const auto before = simulation_->cluster().Find(Kind::kClusterQuota, "dept");
  simulation_->Advance(absl::Hours(2));
  EXPECT_EQ(simulation_->cluster().Find(Kind::kClusterQuota, "dept"), before) << "written again";

  Apply("b", "{parent: dept, namespaces: [b], min: {nvidia.com/gpu: 1}}");
  Attempt();
  ASSERT_EQ(Find("dept").status().conditions_size(), 1);
  const api::Condition& last = Find("dept").status().conditions(0);
  EXPECT_EQ(last.status(), "True");
  EXPECT_EQ(last.reason(), "NoContradiction");
  EXPECT_EQ(last.message(), "");
  EXPECT_GT(last.last_transition_time().seconds(), first.last_transition_time().seconds());
}

}  // namespace
}  // namespace berth
