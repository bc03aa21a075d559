// SPDX-License-Identifier: Apache-2.0
#include "cel/device_selector.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::cel {
namespace {

Device Gpu() {
  return Device({.driver = "gpu.example.com",
                 .attributes = {{"model", "A100"},
                                {"index", int64_t{3}},
                                {"ecc", true},
                                {"driverVersion", Version{"550.54.15"}},
                                {"nic.example.com/speed", int64_t{400}},
                                {"gpu.example.com/numa", int64_t{1}}},
                 .capacity = {{"memory", *Quantity::Parse("40Gi")}}});
}

std::string Ask(absl::string_view expression, const Device& device) {
  const absl::StatusOr<DeviceSelector> selector = DeviceSelector::Compile(expression);
  if (!selector.ok()) return std::string(selector.status().message());
  const absl::StatusOr<bool> matches = selector->Matches(device);
  if (!matches.ok()) return std::string(matches.status().message());
  return *matches ? "true" : "false";
}

TEST(DeviceSelector, SeesTheDevice) {
  const Device device = Gpu();
  for (const absl::string_view expression :
       {"device.driver == 'gpu.example.com'",
        "device.attributes['gpu.example.com'].model == 'A100'",
        "device.attributes['gpu.example.com'].numa == 1",
        "device.attributes['nic.example.com'].speed == 400",
        "device.attributes['gpu.example.com'].driverVersion.major() == 550",
        "device.capacity['gpu.example.com'].memory == quantity('40Gi')",
        "!device.allowMultipleAllocations", "device.attributes['gpu.example.com'].ecc",
        "!has(device.attributes['no.example.com'].x)", "!('no.example.com' in device.attributes)",
        ".device.driver == device.driver", "[1].exists(device, device == 1)"}) {
    EXPECT_EQ(Ask(expression, device), "true") << expression;
  }
}

// The API server stores quantities in their canonical form.
TEST(DeviceSelector, CapacityIsAnIntegerAsItIsStored) {
  const Device device({.driver = "d",
                       .capacity = {{"memory", *Quantity::Parse("1.5Gi")},
                                    {"cores", *Quantity::Parse("2000m")},
                                    {"part", *Quantity::Parse("0.5")},
                                    {"much", *Quantity::Parse("2Pi")}}});
  EXPECT_EQ(Ask("device.capacity['d'].memory.asInteger() == 1610612736", device), "true");
  EXPECT_EQ(Ask("device.capacity['d'].cores.asInteger() == 2", device), "true");
  EXPECT_EQ(Ask("device.capacity['d'].part.isInteger()", device), "false");
  EXPECT_EQ(Ask("device.capacity['d'].much.isInteger()", device), "false");
}

TEST(DeviceSelector, DomainsAreNoZeroValue) {
  const Device device({.driver = "d"});
  EXPECT_EQ(Ask("optional.ofNonZeroValue(device.attributes).hasValue()", device), "true");
  EXPECT_EQ(Ask("optional.ofNonZeroValue(device.attributes['d']).hasValue()", device), "false");
}

TEST(DeviceSelector, MustBeBool) {
  const Device device = Gpu();
  EXPECT_EQ(Ask("device.driver", device), "must evaluate to bool or the unknown type, not string");
  EXPECT_EQ(Ask("device.attributes['gpu.example.com'].index", device),
            "CEL result of type int could not be converted to bool: unsupported type conversion "
            "from 'int' to bool");
}

TEST(DeviceSelector, AttributesAreNoLists) {
  const Device device = Gpu();
  EXPECT_EQ(
      Ask("device.attributes['gpu.example.com'].model.all(x, true)", device),
      "compilation failed: ERROR: <input>:1:37: expression of type 'any' cannot be range of a "
      "comprehension (must be list, map, or dynamic)\n"
      " | device.attributes['gpu.example.com'].model.all(x, true)\n"
      " | ....................................^");
  EXPECT_EQ(Ask("device.attributes['gpu.example.com'].all(name, true)", device), "true");
}

TEST(DeviceSelector, FailsOnAVersionThatIsNone) {
  const Device device({.driver = "d", .attributes = {{"v", Version{"1.2"}}}});
  EXPECT_EQ(Ask("true", device),
            "attribute v: parse semantic version: No Major.Minor.Patch elements found");
}

TEST(DeviceSelector, MayBeUsedAgain) {
  const auto selector = DeviceSelector::Compile("device.attributes['gpu.example.com'].index == 3");
  ASSERT_TRUE(selector.ok());
  const Device device = Gpu(), other({.driver = "other.example.com"});
  for (int i = 0; i < 3; ++i) {
    uint64_t cost = 0;
    EXPECT_TRUE(*selector->Matches(device, &cost));
    EXPECT_EQ(cost, 5u);
    EXPECT_FALSE(selector->Matches(other).ok());
  }
}

TEST(DeviceSelector, CostsTheSizeOfAddressesThatAreToDiffer) {
  const Device device = Gpu();
  const auto cost_of = [&](absl::string_view expression) {
    uint64_t cost = 0;
    EXPECT_TRUE(DeviceSelector::Compile(expression)->Matches(device, &cost).ok()) << expression;
    return cost;
  };
  EXPECT_EQ(cost_of("ip('::1') == ip('::1')"), 3u);
  EXPECT_EQ(cost_of("ip('::1') != ip('::1')"), 4u);
  EXPECT_EQ(cost_of("ip('1.1.1.1') != ip('::1')"), 3u);
  EXPECT_EQ(cost_of("cidr('10.0.0.0/8') != cidr('::/0')"), 2u);
}

TEST(ValidateSelector, AsAnApiServer) {
  EXPECT_TRUE(ValidateSelector("device.driver == 'a'").ok());
  EXPECT_FALSE(ValidateSelector("device.driver").ok());
  EXPECT_EQ(ValidateSelector("device.allowMultipleAllocations").message(),
            "compilation failed: ERROR: <input>:1:7: undefined field 'allowMultipleAllocations'\n"
            " | device.allowMultipleAllocations\n | ......^");
  EXPECT_FALSE(ValidateSelector("true //" + std::string(10 * 1024, 'x')).ok());
}

}  // namespace
}  // namespace berth::cel
