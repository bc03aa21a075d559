// SPDX-License-Identifier: Apache-2.0
// Devices by class and by attribute.
#include "berth/devices/device_counts.h"

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
      "deviceClassName: gpu}, {name: z, deviceClassName: fpga}]}]}"))[0];
  EXPECT_THAT(CountRequestedDevices(claim.As<api::ResourceClaim>().spec()),
              ElementsAre(Pair("fpga", 1), Pair("gpu", 7), Pair("nic", 32)));
}

TEST(CountAllocatedDevicesTest, CountsByTheValueOfAnAttribute) {
  SmallInventory devices;
  devices.Add(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: "
      "d, "
      "nodeName: n0, pool: {name: n0, generation: 1, resourceSliceCount: 1}, devices: [{name: a, "
      "attributes: {model: {string: h200}}}, {name: b, attributes: {model: {string: h200}}}, "
      "{name: "
      "c, attributes: {other: {int: 1}}}]}}");
  devices.Claim("{requests: [{name: r, exactly: {deviceClassName: any, count: 3}}]}");
  ASSERT_EQ(devices.On("n0"), "r=n0/a r=n0/b r=n0/c");
  EXPECT_THAT(CountAllocatedDevices(devices.last_result(), "d/model", devices.inventory()),
              ElementsAre(Pair("", 1), Pair("h200", 2)));
  EXPECT_THAT(CountAllocatedDevices(devices.last_result(), "d/other", devices.inventory()),
              ElementsAre(Pair("", 2), Pair("1", 1)));
}

}  // namespace
}  // namespace berth::testing
