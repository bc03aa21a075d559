// SPDX-License-Identifier: Apache-2.0
// Signatures of pods: what goes into them, and who can refuse.
#include <algorithm>
#include <stdexcept>

#include "gmock/gmock.h"
#include "tests/framework/framework_fakes.h"

namespace berth::testing {
namespace {

using PodSignerTest = RunnerTest;

TEST_F(PodSignerTest, SignPod) {
  Add<FakeFilter, FakeScore, FakeSign>("A").sign = [](const PodInfo& pod, PodSignature& signature) {
    for (const auto& image : pod.images()) signature.Add(image.view());
    return Status::Success();
  };
  Add<FakeScore, FakeSign>("B").sign = [](const PodInfo& pod, PodSignature& signature) {
    for (const auto& gate : pod.scheduling_gates()) signature.Add(gate);
    return Status::Success();
  };
  Add<FakePreFilter, FakePermit>("OnlyPreFilter");
  Add<FakeFilter>("DoesNotSign");
  const auto framework = Build("multiPoint: A B OnlyPreFilter");
  const auto sign = [&](const std::shared_ptr<const PodInfo>& pod) {
    PodSignature signature;
    EXPECT_TRUE(framework->signer().Sign(*pod, signature).ok());
    return signature.bytes();
  };
  const auto x = MakePod().Container("x").Obj();
  EXPECT_EQ(sign(x), sign(MakePod().Container("x").Obj()));
  EXPECT_NE(sign(x), sign(MakePod().Container("y").Obj()));
  EXPECT_NE(sign(x), sign(MakePod().Container("x").SchedulingGate("g").Obj()));
  // The same values, but said by the other plugin.
  const std::string image(x->images()[0].view());
  EXPECT_NE(sign(x), sign(MakePod().SchedulingGate(image).Obj()));
  EXPECT_EQ(std::count(log_.begin(), log_.end(), "A.SignPod"), 8);

  PodSignature signature;
  EXPECT_EQ(Build("multiPoint: A DoesNotSign B")->signer().Sign(*x, signature).ToString(),
            "Unschedulable by DoesNotSign: plugin \"DoesNotSign\" does not sign pods");
  script("B").sign = [](auto&, auto&) { return Status::Unschedulable("spread"); };
  EXPECT_EQ(framework->signer().Sign(*x, signature).ToString(), "Unschedulable by B: spread");
  script("B").sign = [](auto&, auto&) -> Status { throw std::runtime_error("boom"); };
  EXPECT_EQ(framework->signer().Sign(*x, signature).ToString(),
            "Error by B: plugin \"B\" threw in SignPod: boom");
}

}  // namespace
}  // namespace berth::testing
