// SPDX-License-Identifier: Apache-2.0
// What selectors say that they read of a device.
#include "cel/paths_read.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "cel/device_selector.h"

namespace berth::cel {
namespace {

// "driver attributes/d/model"; "*" is all of the device.
std::string ReadBy(absl::string_view expression) {
  const absl::StatusOr<DeviceSelector> selector = DeviceSelector::Compile(expression);
  if (!selector.ok()) return std::string(selector.status().message());
  std::vector<std::string> paths;
  for (const PathRead& path : selector->paths_read()) {
    paths.push_back(path.empty() ? "*" : absl::StrJoin(path, "/"));
  }
  return absl::StrJoin(paths, " ");
}

TEST(PathsRead, GoDownAsFarAsTheyAreConstant) {
  struct Case {
    absl::string_view expression, want;
  };
  for (const Case& c : std::vector<Case>{
           {"true", ""},
           {"device.driver == 'd'", "driver"},
           {".device.driver == 'd'", "driver"},
           {"device.attributes['d'].model == 'm'", "attributes/d/model"},
           {"device.attributes['d']['model'] == 'm'", "attributes/d/model"},
           {"has(device.attributes['d'].model)", "attributes/d/model"},
           {"device.capacity['d'].memory.compareTo(quantity('1Gi')) >= 0", "capacity/d/memory"},
           {"device.driver == 'd' && device.attributes['d'].a > device.attributes['e'].b",
            "driver attributes/d/a attributes/e/b"},
           {"device.attributes['d'].index in [1, 2]", "attributes/d/index"},
           {"[1, 2].exists(i, i == device.attributes['d'].index)", "attributes/d/index"},
           {"'d' in device.attributes", "attributes"},
           {"'model' in device.attributes['d']", "attributes/d"},
           {"device.attributes[device.driver].model == 'm'", "attributes driver"},
           {"device.attributes[?'d'].?model.orValue('m') == 'm'", "attributes"},
           {"cel.bind(a, device.attributes['d'], a.model == 'm')", "attributes/d"},
           {"cel.bind(a, device, a.driver == 'd')", "*"},
           {"device.attributes['d'].exists(name, name == 'model')", "attributes/d"},
       }) {
    EXPECT_EQ(ReadBy(c.expression), c.want) << c.expression;
  }
}

}  // namespace
}  // namespace berth::cel
