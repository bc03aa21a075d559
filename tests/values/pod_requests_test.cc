// SPDX-License-Identifier: Apache-2.0
// What a pod requests: containers, init containers, sidecars, overhead, pod-level resources,
// resizes, defaults and rounding. The cases are those that kube-scheduler's own tables distinguish.
#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <numeric>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/resources.h"
#include "berth/framework/pod_info.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth {
namespace {

using ::berth::testing::MakePod;
using ::berth::testing::PodBuilder;
using ::testing::HasSubstr;

struct Case {
  std::string name;
  PodBuilder pod;
  std::string requests;
  std::string nonzero_requests;          // empty: as requests
  std::string nonzero_scoring_requests;  // empty: as nonzero_requests
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

std::vector<Case> Cases() {
  return {
      {"a pod without containers", MakePod(), ""},
      {"a container that requests nothing gets defaults", MakePod().Container(), "",
       "cpu: 100m, memory: 209715200"},
      {"each container gets them", MakePod().Container().Container(), "",
       "cpu: 200m, memory: 419430400"},
      {"a default for what is missing only", MakePod().Request("cpu", "1"), "cpu: 1",
       "cpu: 1, memory: 209715200"},
      {"an explicit zero is a request", MakePod().Request("cpu", "0").Request("memory", "0"), ""},
      {"limits are no requests", MakePod().Limit("cpu", "2").Limit("memory", "1Gi"), "",
       "cpu: 100m, memory: 209715200"},
      {"containers add up",
       MakePod()
           .Container()
           .Request("cpu", "1")
           .Request("memory", "1Ki")
           .Container()
           .Request("cpu", "500m")
           .Request("memory", "1Ki"),
       "cpu: 1500m, memory: 2048"},
      {"sums are exact and rounded up at the end",
       MakePod()
           .Container()
           .Request("cpu", "500u")
           .Request("memory", "0.5")
           .Container()
           .Request("cpu", "500u")
           .Request("memory", "0.5"),
       "cpu: 1m, memory: 1"},
      {"an amount that is not whole is rounded up",
       MakePod().Request("cpu", "100u").Request("memory", "1500m"), "cpu: 1m, memory: 2"},
      {"extended resources, hugepages, volumes and prefixed native ones count",
       MakePod()
           .Request("cpu", "0")
           .Request("memory", "0")
           .Request("example.com/gpu", "3")
           .Request("hugepages-2Mi", "4Mi")
           .Request("attachable-volumes-csi-x", "1")
           .Request("x.kubernetes.io/y", "7")
           .Request("ephemeral-storage", "5"),
       "attachable-volumes-csi-x: 1, ephemeral-storage: 5, example.com/gpu: 3, "
       "hugepages-2Mi: 4194304, x.kubernetes.io/y: 7"},
      {"other names and pods do not",
       MakePod()
           .Request("cpu", "0")
           .Request("memory", "0")
           .Request("storage", "1")
           .Request("gpu", "1")
           .Request("pods", "2")
           .Request("requests.example.com/a", "1"),
       ""},

      {"the largest init container, if it is larger",
       MakePod()
           .InitContainer()
           .Request("cpu", "3")
           .Request("memory", "1")
           .InitContainer()
           .Request("cpu", "2")
           .Request("memory", "9")
           .Container()
           .Request("cpu", "1")
           .Request("memory", "4")
           .Container()
           .Request("cpu", "1")
           .Request("memory", "4"),
       "cpu: 3, memory: 9"},
      {"init containers do not add up",
       MakePod()
           .InitContainer()
           .Request("cpu", "1")
           .Request("memory", "1")
           .InitContainer()
           .Request("cpu", "1")
           .Request("memory", "1")
           .Container()
           .Request("cpu", "2")
           .Request("memory", "1"),
       "cpu: 2, memory: 1"},
      {"an init container gets defaults as well",
       MakePod().InitContainer().Container().Request("cpu", "10m").Request("memory", "1"),
       "cpu: 10m, memory: 1", "cpu: 100m, memory: 209715200"},
      {"a resource that only an init container requests",
       MakePod()
           .InitContainer()
           .Request("cpu", "0")
           .Request("memory", "0")
           .Request("example.com/a", "2")
           .Container()
           .Request("cpu", "1")
           .Request("memory", "1"),
       "cpu: 1, example.com/a: 2, memory: 1"},

      {"a sidecar counts beside the containers",
       MakePod()
           .Sidecar()
           .Request("cpu", "1")
           .Request("memory", "1")
           .Container()
           .Request("cpu", "2")
           .Request("memory", "1"),
       "cpu: 3, memory: 2"},
      {"a sidecar runs beside the init containers after it",
       MakePod()
           .Sidecar()
           .Request("cpu", "1")
           .Request("memory", "1")
           .InitContainer()
           .Request("cpu", "5")
           .Request("memory", "1")
           .Container()
           .Request("cpu", "2")
           .Request("memory", "1"),
       "cpu: 6, memory: 2"},
      {"but not beside those before it",
       MakePod()
           .InitContainer()
           .Request("cpu", "5")
           .Request("memory", "1")
           .Sidecar()
           .Request("cpu", "1")
           .Request("memory", "1")
           .Container()
           .Request("cpu", "2")
           .Request("memory", "1"),
       "cpu: 5, memory: 2"},
      {"sidecars add up as they start",
       MakePod()
           .Sidecar()
           .Request("cpu", "1")
           .Request("memory", "1")
           .InitContainer()
           .Request("cpu", "4")
           .Request("memory", "1")
           .Sidecar()
           .Request("cpu", "2")
           .Request("memory", "1")
           .InitContainer()
           .Request("cpu", "4")
           .Request("memory", "1")
           .Container()
           .Request("cpu", "1")
           .Request("memory", "1"),
       "cpu: 7, memory: 3"},

      {"overhead is added to the larger of the two",
       MakePod()
           .InitContainer()
           .Request("cpu", "3")
           .Request("memory", "1")
           .Container()
           .Request("cpu", "1")
           .Request("memory", "1")
           .Overhead("cpu", "250m")
           .Overhead("memory", "10"),
       "cpu: 3250m, memory: 11"},
      {"overhead is no request of a container", MakePod().Container().Overhead("cpu", "10m"),
       "cpu: 10m", "cpu: 110m, memory: 209715200"},
      {"overhead of a resource that nobody requests",
       MakePod().Request("cpu", "1").Request("memory", "1").Overhead("example.com/a", "1"),
       "cpu: 1, example.com/a: 1, memory: 1"},

      {"pod-level resources replace the sum, for scores they do not",
       MakePod()
           .PodLevelRequest("cpu", "5")
           .PodLevelRequest("memory", "500")
           .Container()
           .Request("cpu", "1")
           .Request("memory", "1"),
       "cpu: 5, memory: 500", "", "cpu: 1, memory: 1"},
      {"even by less",
       MakePod()
           .PodLevelRequest("cpu", "500m")
           .Container()
           .Request("cpu", "1")
           .Request("memory", "1"),
       "cpu: 500m, memory: 1", "", "cpu: 1, memory: 1"},
      {"pod-level hugepages count, other resources do not",
       MakePod()
           .PodLevelRequest("hugepages-2Mi", "2Mi")
           .PodLevelRequest("example.com/a", "7")
           .Container()
           .Request("cpu", "1")
           .Request("memory", "1"),
       "cpu: 1, hugepages-2Mi: 2097152, memory: 1", "", "cpu: 1, memory: 1"},
      {"with pod-level resources, defaults only for what nothing requests",
       MakePod().PodLevelRequest("cpu", "5").Container().Container(), "cpu: 5",
       "cpu: 5, memory: 419430400", "cpu: 200m, memory: 419430400"},
      {"one container's request is enough for that",
       MakePod().PodLevelRequest("cpu", "5").Container().Request("memory", "1").Container(),
       "cpu: 5, memory: 1", "", "cpu: 200m, memory: 209715201"},
      {"unsupported pod-level resources are not there at all",
       MakePod().PodLevelRequest("example.com/a", "7").Container(), "",
       "cpu: 100m, memory: 209715200"},
      {"overhead comes on top of pod-level resources",
       MakePod().PodLevelRequest("cpu", "2").PodLevelRequest("memory", "1").Overhead("cpu", "1"),
       "cpu: 3, memory: 1", "", "cpu: 1"},
  };
}

// Amounts in the units of ResourceVector, by name.
std::string Text(const ResourceVector& v) {
  std::map<std::string, int64_t> by_name;
  v.ForEach([&](ResourceId id, int64_t amount) {
    by_name.emplace(std::string(ResourceName(id)), amount);
  });
  std::string text;
  for (const auto& [name, amount] : by_name) {
    const std::string value = name == "cpu" && amount % 1000 == 0 ? absl::StrCat(amount / 1000)
                              : name == "cpu"                     ? absl::StrCat(amount, "m")
                                                                  : absl::StrCat(amount);
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, ": ", value);
  }
  return text;
}

class PodRequests : public ::testing::TestWithParam<Case> {};

TEST_P(PodRequests, AreTheSumOf) {
  const Case& c = GetParam();
  const auto pod = c.pod.Obj();
  const std::string& nonzero = c.nonzero_requests.empty() ? c.requests : c.nonzero_requests;
  EXPECT_EQ(Text(pod->requests()), c.requests);
  // Defaults are of cpu and memory only, and so the rest must be the same.
  EXPECT_EQ(Text(pod->nonzero_requests()), nonzero);
  EXPECT_EQ(Text(pod->nonzero_scoring_requests()),
            c.nonzero_scoring_requests.empty() ? nonzero : c.nonzero_scoring_requests);
}

INSTANTIATE_TEST_SUITE_P(All, PodRequests, ::testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name;
  for (const char c : info.param.name) name += std::isalnum(c) != 0 ? c : '_';
  return name;
});

// --- Resizes in place ---

struct Resize {
  std::string allocated, actual;  // cpu; empty: the status does not say
  bool has_resources = true;      // of the container status
  std::string condition_reason;   // of PodResizePending; empty: no such condition
};

api::ContainerStatus StatusOf(const std::string& container, const Resize& resize) {
  api::ContainerStatus status;
  status.set_name(container);
  if (!resize.allocated.empty()) {
    (*status.mutable_allocated_resources())["cpu"].set_string(resize.allocated);
  }
  if (resize.has_resources) status.mutable_resources();
  if (!resize.actual.empty()) {
    (*status.mutable_resources()->mutable_requests())["cpu"].set_string(resize.actual);
  }
  return status;
}

std::shared_ptr<const PodInfo> WithStatus(PodBuilder pod, const Resize& resize) {
  api::PodStatus* status = pod.Message().mutable_status();
  *status->add_container_statuses() = StatusOf("c1", resize);
  if (!resize.condition_reason.empty()) {
    api::PodCondition* condition = status->add_conditions();
    condition->set_type("PodResizePending");
    condition->set_reason(resize.condition_reason);
  }
  return pod.Obj();
}

TEST(ResizedPod, CountsTheLargestOfSpecAllocatedAndActual) {
  const PodBuilder pod = MakePod().NodeName("n").Container().Request("cpu", "2");
  const struct {
    Resize resize;
    int64_t milli_cpu;
  } cases[] = {
      {{"", ""}, 2000},
      {{"1", "1"}, 2000},
      {{"3", "1"}, 3000},
      {{"1", "4"}, 4000},
      {{"3", "4"}, 4000},
      {{"1", "1", true, "Deferred"}, 2000},
      // Without spec, if it is infeasible.
      {{"1", "1", true, "Infeasible"}, 1000},
      {{"1", "1500m", true, "Infeasible"}, 1500},
      {{"3", "", true, "Infeasible"}, 3000},
      {{"", "", true, "Infeasible"}, 0},
      // A status without resources says nothing.
      {{"3", "", false}, 2000},
      {{"1", "", false, "Infeasible"}, 2000},
  };
  for (const auto& c : cases) {
    const auto resized = WithStatus(pod, c.resize);
    EXPECT_EQ(resized->requests().Get(kCpu), c.milli_cpu)
        << c.resize.allocated << "/" << c.resize.actual << "/" << c.resize.condition_reason;
  }
}

TEST(ResizedPod, IsOneThatHasANode) {
  const auto pending =
      WithStatus(MakePod().Container().Request("cpu", "2"), {.allocated = "3", .actual = "4"});
  EXPECT_EQ(pending->requests().Get(kCpu), 2000);
}

// It would count as soon as the pod is assumed, when it is too late to refuse it.
TEST(ResizedPod, IsRefusedBeforeItHasANodeIfItsStatusCannotBeRead) {
  for (const char* const node : {"", "n"}) {
    PodBuilder pod = MakePod().NodeName(node).Container().Request("cpu", "2");
    *pod.Message().mutable_status()->add_container_statuses() = StatusOf("c1", {.actual = "x"});
    const auto parsed = PodInfo::Create(std::make_shared<const api::Pod>(pod.Proto()));
    EXPECT_TRUE(absl::IsInvalidArgument(parsed.status())) << node << parsed.status();
  }
}

TEST(ResizedPod, DoesNotCountSoInScores) {
  const auto pod = WithStatus(MakePod().NodeName("n").Container().Request("cpu", "2"),
                              {.allocated = "3", .actual = "4"});
  EXPECT_EQ(pod->nonzero_requests().Get(kCpu), 4000);
  EXPECT_EQ(pod->nonzero_scoring_requests().Get(kCpu), 2000);
}

TEST(ResizedPod, MayHaveResizedSidecarsButNotInitContainers) {
  PodBuilder pod = MakePod()
                       .NodeName("n")
                       .Sidecar()
                       .Request("cpu", "1")
                       .InitContainer()
                       .Request("cpu", "3")
                       .Container()
                       .Request("cpu", "1");
  api::PodStatus* status = pod.Message().mutable_status();
  *status->add_init_container_statuses() = StatusOf("init1", {.allocated = "2", .actual = "2"});
  *status->add_init_container_statuses() = StatusOf("init2", {.allocated = "9", .actual = "9"});
  EXPECT_EQ(pod.Obj()->requests().Get(kCpu), 5000);  // 2 + 3 while starting
}

// As kube-scheduler says it, of whole amounts by name, for requests in which lists of resources
// interleave.
using Amounts = std::map<std::string, int64_t>;

struct PlainContainer {
  Amounts requests;
  bool is_init = false, is_sidecar = false;
};

Amounts PlainRequests(const std::vector<PlainContainer>& containers, const Amounts& overhead) {
  const auto add = [](Amounts& sum, const Amounts& more) {
    for (const auto& [name, amount] : more) sum[name] += amount;
  };
  const auto max = [](Amounts& most, const Amounts& other) {
    for (const auto& [name, amount] : other) most[name] = std::max(most[name], amount);
  };
  Amounts sum, sidecars, starting;
  for (const PlainContainer& container : containers) {
    Amounts requests = container.requests;
    if (!container.is_init || container.is_sidecar) add(sum, requests);
    if (container.is_sidecar) {
      add(sidecars, requests);
      max(starting, sidecars);
    } else if (container.is_init) {
      add(requests, sidecars);
      max(starting, requests);
    }
  }
  max(sum, starting);
  add(sum, overhead);
  return sum;
}

TEST(PodRequests, OfManyResourcesThatInterleave) {
  constexpr int kNames = 60;
  const auto name_of = [](int i) {
    return i == 0   ? std::string("cpu")
           : i == 1 ? std::string("memory")
                    : absl::StrCat("example.com/interleaved-", i);
  };
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % n); };
  std::vector<int> order(kNames);  // in which they become known
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  for (const int i : order) ResourceIdOf(name_of(i));
  for (int round = 0; round < 500; ++round) {
    const int out_of = 1 + below(8);  // many resources or few
    std::vector<PlainContainer> containers;
    PodBuilder pod = MakePod();
    const auto draw = [&](auto request) {
      Amounts amounts;
      for (int i = 0; i < kNames; ++i) {
        if (below(out_of) > 0) continue;
        const int amount = below(5);
        amounts[name_of(i)] = amount * (i == 0 ? 1000 : 1);
        request(name_of(i), absl::StrCat(amount));
      }
      return amounts;
    };
    const auto request = [&](const std::string& name, const std::string& amount) {
      pod.Request(name, amount);
    };
    for (int i = below(4); i > 0; --i) {
      const bool is_sidecar = below(2) == 0;
      is_sidecar ? pod.Sidecar() : pod.InitContainer();
      containers.push_back({draw(request), true, is_sidecar});
    }
    for (int i = below(4); i > 0; --i) {
      pod.Container();
      containers.push_back({draw(request)});
    }
    const Amounts overhead = draw(
        [&](const std::string& name, const std::string& amount) { pod.Overhead(name, amount); });
    Amounts wanted = PlainRequests(containers, overhead);
    std::erase_if(wanted, [](const auto& entry) { return entry.second == 0; });
    Amounts found;
    pod.Obj()->requests().ForEach(
        [&](ResourceId id, int64_t amount) { found[std::string(ResourceName(id))] = amount; });
    ASSERT_EQ(found, wanted) << "round " << round;
  }
}

TEST(PodRequests, NameTheFieldThatDoesNotParse) {
  const struct {
    PodBuilder pod;
    std::string want;
  } cases[] = {
      {MakePod().Container().Container().Request("cpu", "1x"),
       "spec.containers[1].resources.requests[cpu]: "},
      {MakePod().Sidecar().Request("memory", ""),
       "spec.initContainers[0].resources.requests[memory]: "},
      {MakePod().Overhead("memory", "a"), "spec.overhead[memory]: "},
      {MakePod().PodLevelRequest("cpu", "--1"), "spec.resources.requests[cpu]: "},
      {MakePod().Container().Limit("cpu", "b"), "limits[cpu]: "},
  };
  for (const auto& c : cases) {
    const auto pod = PodInfo::Create(std::make_shared<const api::Pod>(c.pod.Proto()));
    EXPECT_EQ(pod.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(pod.status().message()), HasSubstr(c.want));
  }
}

// --- QoS class ---

TEST(QosClass, FollowsRequestsAndLimits) {
  const auto guaranteed = [](absl::string_view cpu) {
    return MakePod()
        .Request("cpu", cpu)
        .Limit("cpu", cpu)
        .Request("memory", "1")
        .Limit("memory", "1");
  };
  const struct {
    std::string name;
    PodBuilder pod;
    berth::QosClass want;
  } cases[] = {
      {"nothing", MakePod().Container(), QosClass::kBestEffort},
      {"zeros", MakePod().Request("cpu", "0").Limit("memory", "0"), QosClass::kBestEffort},
      {"extended resources only", MakePod().Request("example.com/a", "1"), QosClass::kBestEffort},
      {"requests only", MakePod().Request("cpu", "1"), QosClass::kBurstable},
      {"all equal", guaranteed("1"), QosClass::kGuaranteed},
      {"equal in another notation", guaranteed("1").Limit("cpu", "1000m"), QosClass::kGuaranteed},
      {"limit above request", guaranteed("1").Limit("cpu", "2"), QosClass::kBurstable},
      {"cpu alone", MakePod().Request("cpu", "1").Limit("cpu", "1"), QosClass::kBurstable},
      {"one container without", guaranteed("1").Container(), QosClass::kBurstable},
      {"init container without", guaranteed("1").InitContainer(), QosClass::kBurstable},
      {"pod-level requests decide", guaranteed("1").PodLevelRequest("cpu", "1"),
       QosClass::kBurstable},
  };
  for (const auto& c : cases) EXPECT_EQ(c.pod.Obj()->qos_class(), c.want) << c.name;
}

TEST(QosClass, OfTheStatusWins) {
  PodBuilder pod = MakePod().Container();
  pod.Message().mutable_status()->set_qos_class("Guaranteed");
  EXPECT_EQ(pod.Obj()->qos_class(), QosClass::kGuaranteed);
}

}  // namespace
}  // namespace berth
