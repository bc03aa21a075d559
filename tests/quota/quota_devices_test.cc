// SPDX-License-Identifier: Apache-2.0
// What lines of quotas see of slices and claims.
#include "berth/quota/quota_devices.h"

#include <malloc.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/quota/quota_tree.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth::testing {
namespace {

const QuotaLine kHopper = *QuotaLine::Parse("gpu{attribute:gpu.nvidia.com/architecture=Hopper}");
const QuotaLine kBig = *QuotaLine::Parse(
    "gpu.nvidia.com.deviceclass.resource.k8s.io/devices{attribute:gpu.nvidia.com/size=2}");
const QuotaLine kGpus = *QuotaLine::Parse("gpu");

std::string SliceOf(const std::string& node, int generation, const std::string& devices,
                    const std::string& driver = "gpu.nvidia.com") {
  return absl::StrCat(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: ", node, "-", driver,
      "-", generation, "}, spec: {driver: ", driver, ", nodeName: ", node, ", pool: {name: ", node,
      ", generation: ", generation, ", resourceSliceCount: 1}, devices: [", devices, "]}}");
}

class Slices {
 public:
  explicit Slices(const std::vector<std::string>& yaml) {
    for (const std::string& text : yaml) objects_.push_back(ObjectsFromYaml(text)[0]);
    std::vector<const Object*> slices;
    for (const Object& object : objects_) slices.push_back(&object);
    devices.Read(slices, {{kHopper, kBig, kGpus}});
  }
  int64_t OnNode(const std::string& node, const QuotaLine& line) const {
    PodAmounts all;
    devices.AddGpus(Symbol::Intern(node), all);
    return line.OfNode(LabelSet(), all, 110);
  }
  bool Covers(const std::string& node, const QuotaLine& line) const {
    return line.Covers(devices.LabelsOf(Symbol::Intern(node), {{"a", "b"}}));
  }

  QuotaDevices devices;

 private:
  std::vector<Object> objects_;
};

TEST(QuotaDevicesTest, LinesByAttributeAreOfDevicesOnly) {
  for (const char* text : {"gpu{attribute:gpu.nvidia.com/architecture=Hopper}",
                           "x.deviceclass.resource.k8s.io/devices{attribute:d/name=a b}"}) {
    const auto line = QuotaLine::Parse(text);
    ASSERT_TRUE(line.has_value()) << text;
    EXPECT_EQ(line->ToString(), text);
    EXPECT_TRUE(line->of_some_nodes());
  }
  EXPECT_EQ(kHopper.attribute(), "gpu.nvidia.com/architecture");
  EXPECT_EQ(kGpus.attribute(), "");
  for (const char* text : {"cpu{attribute:d/a=b}", "nvidia.com/gpu{attribute:d/a=b}",
                           "pods{attribute:d/a=b}", "gpu{attribute:=b}", "gpu{attribute:d/a=}"}) {
    EXPECT_FALSE(QuotaLine::Parse(text).has_value()) << text;
  }
}

TEST(QuotaDevicesTest, CountsWholeGpusAndThoseThatAreOfferedInParts) {
  const Slices slices(
      {SliceOf("n0", 1, "{name: a, attributes: {architecture: {string: Hopper}}}, {name: b}"),
       SliceOf("n1", 1,
               "{name: whole, consumesCounters: [{counterSet: g0, counters: {m: {value: '7'}}}], "
               "attributes: {gpu.nvidia.com/architecture: {string: Hopper}}}, {name: part, "
               "consumesCounters: [{counterSet: g0, counters: {m: {value: '1'}}}]}"),
       SliceOf("n2", 1, "{name: a}, {name: b}, {name: c}"), SliceOf("n2", 2, "{name: a}"),
       SliceOf("n3", 1, "{name: a}", "nic.example.com")});
  EXPECT_EQ(slices.OnNode("n0", kGpus), 2000);
  EXPECT_EQ(slices.OnNode("n0", kHopper), 1000);
  EXPECT_EQ(slices.OnNode("n1", kGpus), 1000);
  EXPECT_EQ(slices.OnNode("n1", kHopper), 1000);
  EXPECT_EQ(slices.OnNode("n2", kGpus), 1000);  // of the newest generation
  EXPECT_EQ(slices.OnNode("n2", kHopper), 0);
  EXPECT_EQ(slices.OnNode("n3", kGpus), 0);
  EXPECT_EQ(slices.OnNode("other", kGpus), 0);
  EXPECT_TRUE(slices.Covers("n0", kHopper));
  EXPECT_TRUE(slices.Covers("n1", kHopper));
  EXPECT_FALSE(slices.Covers("n2", kHopper));
  EXPECT_FALSE(slices.Covers("n0", kBig));
}

TEST(QuotaDevicesTest, SaysInWhatLinesSeeSlicesDiffer) {
  QuotaDevices devices;
  const auto read = [&](const std::vector<std::string>& yaml) {
    std::vector<Object> objects;
    for (const std::string& text : yaml) objects.push_back(ObjectsFromYaml(text)[0]);
    std::vector<const Object*> slices;
    for (const Object& object : objects) slices.push_back(&object);
    return devices.Read(slices, {{kHopper, kBig, kGpus}});
  };
  const std::string hopper = "{name: a, attributes: {architecture: {string: Hopper}}}";
  read({SliceOf("n0", 1, hopper)});
  EXPECT_FALSE(read({SliceOf("n0", 2, hopper)}).any);
  EXPECT_FALSE(
      read({SliceOf("n0", 3, hopper), SliceOf("n0", 1, "{name: x}", "nic.example.com")}).any);

  const QuotaDevices::Difference more = read({SliceOf("n0", 4, hopper + ", {name: b}")});
  EXPECT_TRUE(more.any);  // a GPU more
  EXPECT_TRUE(more.devices.empty());
  EXPECT_FALSE(more.in_selected);

  const QuotaDevices::Difference less = read({SliceOf("n0", 5, "{name: a}, {name: b}")});
  EXPECT_TRUE(less.devices.contains(DeviceId::Of("gpu.nvidia.com", "n0", "a")));
  EXPECT_TRUE(less.nodes.contains(Symbol::Intern("n0")));
  EXPECT_FALSE(less.in_selected);

  // A claim is asked about: from now on what its selector matches counts.
  const Object claim = ObjectsFromYaml(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: d}, "
      "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com, "
      "allocationMode: All, selectors: [{cel: {expression: 'device.driver == "
      "\"nic.example.com\"'}}]}}]}}}")[0];
  api::DeviceClass of_gpus;
  of_gpus.mutable_metadata()->set_name("gpu.nvidia.com");
  PodAmounts amounts;
  devices.AddClaim(
      claim.As<api::ResourceClaim>(), [&](absl::string_view) { return &of_gpus; }, amounts);
  EXPECT_EQ(amounts.gpu_milli, 0);
  const std::string gpus = SliceOf("n0", 6, "{name: a}, {name: b}");
  EXPECT_FALSE(read({gpus, SliceOf("n1", 1, "{name: other}", "other.example.com")}).any);
  EXPECT_TRUE(read({gpus, SliceOf("n1", 2, "{name: x}", "nic.example.com")}).in_selected);
}

// Claims with selectors of their own come and go: what is known of selectors stays within bounds,
// and slices that change concern those who asked with one that was forgotten.
TEST(QuotaDevicesTest, ForgetsWhatManySelectorsMatch) {
  QuotaDevices devices;
  constexpr int kSlices = 500;
  const auto read = [&](const std::string& of_first) {
    std::vector<Object> objects = ObjectsFromYaml(SliceOf("n0", 1, of_first));
    for (int i = 1; i < kSlices; ++i) {
      objects.push_back(ObjectsFromYaml(SliceOf(absl::StrCat("n", i), 1, "{name: a}"))[0]);
    }
    std::vector<const Object*> slices;
    for (const Object& object : objects) slices.push_back(&object);
    return devices.Read(slices, {{kGpus}});
  };
  api::DeviceClass of_gpus;
  of_gpus.mutable_metadata()->set_name("gpu.nvidia.com");
  const auto ask = [&](int number) {
    api::ResourceClaim claim;
    auto& request = *claim.mutable_spec()->mutable_devices()->add_requests()->mutable_exactly();
    request.set_device_class_name("gpu.nvidia.com");
    request.set_allocation_mode("All");
    request.add_selectors()->mutable_cel()->set_expression(
        absl::StrCat("device.driver == \"", number, ".example.com\""));
    PodAmounts amounts;
    devices.AddClaim(
        claim, [&](absl::string_view) { return &of_gpus; }, amounts);
  };
  read("{name: a}");
  int number = 0;
  while (number < 1000) ask(number++);
  const auto memory = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const size_t before = memory();
  while (number < 4000) ask(number++);
  EXPECT_LT(memory(), before + (size_t{48} << 20));
  EXPECT_TRUE(read("{name: b}").in_selected);
}

TEST(QuotaDevicesTest, WhatAClassCountsAs) {
  const auto milli = [](const std::string& metadata, const std::string& spec = "{}") {
    const Object made = ObjectsFromYaml(
        absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: ", metadata,
                     ", spec: ", spec, "}"))[0];
    return GpuMilliOf(made.As<api::DeviceClass>());
  };
  EXPECT_EQ(milli("{name: gpu.nvidia.com}"), 1000);
  EXPECT_EQ(milli("{name: mig.nvidia.com}"), 0);
  EXPECT_EQ(milli("{name: own}", "{extendedResourceName: nvidia.com/gpu}"), 1000);
  EXPECT_EQ(milli("{name: own}", "{extendedResourceName: vendor.com/nic}"), 0);
  EXPECT_EQ(milli("{name: s, annotations: {scheduling.berth.dev/gpu-milli: '143'}}"), 143);
  api::DeviceClass unreadable;
  unreadable.mutable_metadata()->set_name("gpu.nvidia.com");
  (*unreadable.mutable_metadata()->mutable_annotations())["scheduling.berth.dev/gpu-milli"] =
      "nonsense";
  EXPECT_EQ(GpuMilliOf(unreadable), 1000);
}

TEST(QuotaDevicesTest, AClaimIsChargedByTheNodeUntilItHasDevices) {
  const Slices slices(
      {SliceOf("n0", 1,
               "{name: a, attributes: {architecture: {string: Hopper}, size: {int: 2}}}, {name: b, "
               "attributes: {architecture: {string: Ampere}, size: {int: 2}}}, {name: c, "
               "attributes: {architecture: {string: Hopper}, size: {int: 1}}}")});
  const Object gpus = ObjectsFromYaml(
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu.nvidia.com}, spec: "
      "{}}")[0];
  const auto find_class = [&](absl::string_view name) -> const api::DeviceClass* {
    return name == "gpu.nvidia.com" ? &gpus.As<api::DeviceClass>() : nullptr;
  };
  QuotaTree tree([] {
    QuotaSpec spec;
    spec.name = "q";
    for (const QuotaLine& line : {kHopper, kBig, kGpus}) spec.max.Set(line, 0);
    return std::vector<QuotaSpec>{spec};
  }());
  const auto charge = [&](const std::string& status, bool on_node) {
    const Object claim = ObjectsFromYaml(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: d}, "
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com, count: "
        "2}}, {name: list, firstAvailable: [{name: one, deviceClassName: nic}, {name: two, "
        "deviceClassName: gpu.nvidia.com}]}]}}",
        status, "}"))[0];
    PodAmounts amounts;
    slices.devices.AddClaim(claim.As<api::ResourceClaim>(), find_class, amounts);
    const LabelSet labels = slices.devices.LabelsOf(Symbol::Intern("n0"), LabelSet());
    const LineAmounts charged = tree.ChargeOf(amounts, on_node ? &labels : nullptr);
    const auto of = [&](const QuotaLine& line) {
      for (size_t i = 0; i < tree.lines().size(); ++i) {
        if (tree.lines()[i] == line) return AmountOfLine(charged, static_cast<int>(i));
      }
      return int64_t{-1};
    };
    return absl::StrCat(of(kGpus), " gpu, ", of(kHopper), " Hopper, ", of(kBig), " big");
  };
  EXPECT_EQ(charge("", false), "3000 gpu, 0 Hopper, 0 big");
  EXPECT_EQ(charge("", true), "3000 gpu, 3000 Hopper, 3 big");
  const std::string status =
      ", status: {allocation: {devices: {results: [{request: r, driver: gpu.nvidia.com, pool: n0, "
      "device: a}, {request: r, driver: gpu.nvidia.com, pool: n0, device: b}, {request: list/one, "
      "driver: nic, pool: n0, device: a}]}}}";
  EXPECT_EQ(charge(status, false), "2000 gpu, 1000 Hopper, 2 big");
  EXPECT_EQ(charge(status, true), "2000 gpu, 1000 Hopper, 2 big");
}

// What selectors match of no other sort is taken; of several sorts it may be, and no more than one
// node has.
TEST(QuotaDevicesTest, AClaimMayTakeWhatItsSelectorsMatch) {
  const Slices slices(
      {SliceOf("n0", 1,
               "{name: a, attributes: {architecture: {string: Hopper}, size: {int: 2}}}, {name: b, "
               "attributes: {architecture: {string: Hopper}, size: {int: 1}}}"),
       SliceOf("n1", 1,
               "{name: a, attributes: {architecture: {string: Hopper}, size: {int: 1}}}, {name: b, "
               "attributes: {architecture: {string: Ampere}, size: {int: 4}}}")});
  const std::vector<Object> classes =
      ObjectsFromYaml(R"({apiVersion: resource.k8s.io/v1, kind: DeviceClass,
 metadata: {name: gpu.nvidia.com}, spec: {}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass,
 metadata: {name: small, annotations: {scheduling.berth.dev/gpu-milli: '500'}},
 spec: {selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].size == 1'}}]}}
)");
  const auto find_class = [&](absl::string_view name) -> const api::DeviceClass* {
    for (const Object& one : classes) {
      if (one.name() == name) return &one.As<api::DeviceClass>();
    }
    return nullptr;
  };
  const auto possible = [&](const std::string& request) {
    const Object claim = ObjectsFromYaml(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: d}, "
        "spec: {devices: {requests: [{name: r, ",
        request, "}]}}}"))[0];
    PodAmounts amounts;
    slices.devices.AddClaim(claim.As<api::ResourceClaim>(), find_class, amounts);
    return absl::StrCat(amounts.DecidedOf(kHopper), " of ",
                        amounts.DecidedOf(kHopper) + amounts.PossibleOf(kHopper), " Hopper, ",
                        amounts.DecidedOf(kBig), " of ",
                        amounts.DecidedOf(kBig) + amounts.PossibleOf(kBig), " big");
  };
  const std::string gpus = "exactly: {deviceClassName: gpu.nvidia.com, count: ";
  EXPECT_EQ(possible(gpus + "1}"), "0 of 1000 Hopper, 0 of 1 big");
  EXPECT_EQ(possible(gpus + "4}"), "0 of 2000 Hopper, 0 of 1 big");
  const auto selecting = [](const std::string& expression) {
    return absl::StrCat("selectors: [{cel: {expression: '", expression, "'}}]");
  };
  const std::string ampere =
      selecting("device.attributes[\"gpu.nvidia.com\"].architecture == \"Ampere\"");
  EXPECT_EQ(possible(gpus + "1, " + ampere + "}"), "0 of 0 Hopper, 0 of 0 big");
  const std::string small = selecting("device.attributes[\"gpu.nvidia.com\"].size == 1");
  EXPECT_EQ(possible(gpus + "2, " + small + "}"), "2000 of 2000 Hopper, 0 of 0 big");
  EXPECT_EQ(possible("exactly: {deviceClassName: small, count: 2}"),
            "1000 of 1000 Hopper, 0 of 0 big");
  EXPECT_EQ(possible("exactly: {deviceClassName: nosuch}"), "0 of 0 Hopper, 0 of 0 big");
  EXPECT_EQ(possible("exactly: {deviceClassName: small, allocationMode: All}"),
            "0 of 500 Hopper, 0 of 0 big");
  // What does not compile, or fails, gets nothing.
  EXPECT_EQ(possible(gpus + "1, " + selecting("nonsense") + "}"), "0 of 0 Hopper, 0 of 0 big");
  EXPECT_EQ(possible("firstAvailable: [{name: one, deviceClassName: gpu.nvidia.com, " + ampere +
                     "}, {name: two, deviceClassName: small}]"),
            "0 of 500 Hopper, 0 of 0 big");
}

// Of a list what some node could give; All is what a node has.
TEST(QuotaDevicesTest, AClaimTakesNoMoreGpusThanANodeHas) {
  const auto gpus = [](const Slices& slices, const std::string& request) {
    const Object device_class = ObjectsFromYaml(
        "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu.nvidia.com}, "
        "spec: {}}")[0];
    const Object claim = ObjectsFromYaml(absl::StrCat(
        "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: d}, "
        "spec: {devices: {requests: [{name: r, ",
        request, "}]}}}"))[0];
    PodAmounts amounts;
    slices.devices.AddClaim(
        claim.As<api::ResourceClaim>(),
        [&](absl::string_view name) {
          return name == "gpu.nvidia.com" ? &device_class.As<api::DeviceClass>() : nullptr;
        },
        amounts);
    return absl::StrCat(amounts.gpu_milli - amounts.possible_gpu_milli, " to ", amounts.gpu_milli);
  };
  const auto list = [](int first, int second) {
    const std::string of_class = "deviceClassName: gpu.nvidia.com, count: ";
    return absl::StrCat("firstAvailable: [{name: a, ", of_class, first, "}, {name: b, ", of_class,
                        second, "}]");
  };
  const std::string all = "exactly: {deviceClassName: gpu.nvidia.com, allocationMode: All}";
  const std::string two = "{name: a}, {name: b}";
  const Slices slices({SliceOf("n0", 1, two), SliceOf("n1", 1, "{name: a}, {name: b}, {name: c}")});
  EXPECT_EQ(gpus(slices, list(4, 1)), "1000 to 1000");
  EXPECT_EQ(gpus(slices, list(3, 1)), "1000 to 3000");
  EXPECT_EQ(gpus(slices, list(8, 4)), "4000 to 8000");  // neither
  EXPECT_EQ(gpus(slices, all), "2000 to 3000");
  EXPECT_EQ(gpus(slices, "exactly: {deviceClassName: gpu.nvidia.com, count: 4}"), "4000 to 4000");
  EXPECT_EQ(gpus(Slices({}), all), "0 to 0");
  const Slices shared({SliceOf("n0", 1, "{name: a, allowMultipleAllocations: true}")});
  EXPECT_EQ(gpus(shared, list(4, 1)), "1000 to 4000");
}

}  // namespace
}  // namespace berth::testing
