// SPDX-License-Identifier: Apache-2.0
// Devices by class and by attribute.
#include "berth/devices/device_counts.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/devices/small_inventory.h"

namespace berth::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(CountRequestedDevicesTest, AddsUpByClass) {
  const Object claim = ObjectsFromYaml(ClaimYaml(
      "c",
      "{requests: [{name: a, exactly: {deviceClassName: gpu, count: 2}}, {name: b, exactly: "
      "{deviceClassName: gpu}}, {name: c, exactly: {deviceClassName: nic, allocationMode: All}}, "
      "{name: d, firstAvailable: [{name: x1, deviceClassName: gpu, count: 4}, {name: x2, "
      "deviceClassName: gpu}, {name: z, deviceClassName: fpga}]}, {name: admin, exactly: "
      "{deviceClassName: gpu, allocationMode: All, adminAccess: true}}]}"))[0];
  EXPECT_THAT(CountRequestedDevices(claim.As<api::ResourceClaim>().spec()),
              ElementsAre(Pair("fpga", 1), Pair("gpu", 7), Pair("nic", 32)));
}

TEST(CountAllocatedDevicesTest, CountsByClassWhatCounts) {
  const Object claim = ObjectsFromYaml(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
spec:
  devices:
    requests:
    - {name: r, exactly: {deviceClassName: gpu, count: 2}}
    - {name: l, firstAvailable: [{name: one, deviceClassName: nic}, {name: two, deviceClassName: fpga}]}
    - {name: admin, exactly: {deviceClassName: gpu, adminAccess: true}}
status:
  allocation:
    devices:
      results:
      - {request: r, driver: d, pool: p, device: a}
      - {request: r, driver: d, pool: p, device: b}
      - {request: l/two, driver: d, pool: p, device: c}
      - {request: admin, driver: d, pool: p, device: d, adminAccess: true}
)")[0];
  const auto& message = claim.As<api::ResourceClaim>();
  EXPECT_THAT(CountAllocatedDevices(message, [](const DeviceId&) { return true; }),
              ElementsAre(Pair("fpga", 1), Pair("gpu", 2)));
  EXPECT_THAT(
      CountAllocatedDevices(
          message, [](const DeviceId& device) { return device == DeviceId::Of("d", "p", "b"); }),
      ElementsAre(Pair("gpu", 1)));
}

TEST(CountDevicesOfClassTest, CountsThoseOfTheNodeAndWhatIsTaken) {
  SmallInventory devices;
  devices.Add(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
      "d, nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: "
      "a, attributes: {size: {int: 2}}}, {name: b, attributes: {size: {int: 2}}}, {name: c, "
      "attributes: {size: {int: 1}}}]}}");
  devices.Add(Slice("n1", {"a"}));
  const auto count = [&](const std::string& spec, const std::string& node) {
    const Object made = ObjectsFromYaml(
        absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: x}, "
                     "spec: ",
                     spec, "}"))[0];
    const DevicesOfClass counts = CountDevicesOfClass(
        made.As<api::DeviceClass>(), devices.inventory(), Symbol::Intern(node), LabelSet(),
        [&](const DeviceId& device) { return devices.IsHeld(device); });
    return absl::StrCat(counts.taken, " of ", counts.all);
  };
  const auto with = [](const std::string& expression) {
    return absl::StrCat("{selectors: [{cel: {expression: '", expression, "'}}]}");
  };
  devices.Hold("d/n0/b");
  EXPECT_EQ(count("{}", "n0"), "1 of 3");
  EXPECT_EQ(count("{}", "n1"), "0 of 1");
  EXPECT_EQ(count("{}", "n2"), "0 of 0");
  EXPECT_EQ(count(with("device.attributes[\"d\"].size == 2"), "n0"), "1 of 2");
  EXPECT_EQ(count(with("device.attributes[\"d\"].size == 1"), "n0"), "0 of 1");
  // Of a class whose selector fails there are none.
  EXPECT_EQ(count(with("device.attributes[\"d\"].size == 2"), "n1"), "0 of 0");
  EXPECT_EQ(count(with("nonsense"), "n0"), "0 of 0");
}

}  // namespace
}  // namespace berth::testing
