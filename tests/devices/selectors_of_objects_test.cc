// SPDX-License-Identifier: Apache-2.0
// Selectors that do not compile are said with their place.
#include "devices/selectors_of_objects.h"

#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Check(absl::string_view text) {
  const Manifests manifests = ParseManifest(text, "f");
  EXPECT_TRUE(manifests.problems.empty()) << manifests.problems.ToString();
  return CheckSelectorsOf(manifests).ToString();
}

std::string CheckClass(absl::string_view expression) {
  return Check(
      absl::StrCat("apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: "
                   "c}\nspec:\n  selectors:\n  - cel: {expression: '",
                   expression, "'}\n"));
}

TEST(CheckSelectorsOf, SaysWhatDoesNotCompileAndWhere) {
  EXPECT_EQ(CheckClass("device.driver == \"a\""), "");
  EXPECT_THAT(
      CheckClass("device.driver =="),
      StartsWith("f:6:23: error: DeviceClass c: spec.selectors[0].cel.expression: "
                 "compilation failed: ERROR: <input>:1:17: Syntax error: mismatched input "));
  EXPECT_THAT(CheckClass("device.nosuch == 1"),
              EndsWith("cel.expression: compilation failed: ERROR: <input>:1:7: undefined field "
                       "'nosuch'\n"));
  EXPECT_THAT(CheckClass("device.driver"), HasSubstr("must evaluate to bool or the unknown type"));
  EXPECT_THAT(CheckClass("math.greatest(1, 2) == 2"), HasSubstr("undeclared reference to 'math'"));
  EXPECT_THAT(CheckClass(std::string(11'000, ' ') + "true"), HasSubstr("may not be longer than"));
  EXPECT_THAT(CheckClass("device.allowMultipleAllocations"),
              StartsWith("f:6:23: warning: DeviceClass c: spec.selectors[0].cel.expression: uses"));
}

TEST(CheckSelectorsOf, SaysWhatAnApiServerRefusesForItsCost) {
  EXPECT_THAT(CheckClass("device.attributes.all(d, device.attributes.all(e, d.matches(\"a.*b\") && "
                         "e.matches(\"a.*b.*c.*d.*e.*f.*g.*h\")))"),
              "");
  EXPECT_THAT(
      CheckClass("device.attributes.all(d, device.attributes.all(e, device.attributes.all(f, "
                 "(d + e + f).matches(\"a.*b.*c.*d.*e.*f.*g.*h\"))))"),
      AllOf(StartsWith("f:6:23: error: DeviceClass c: spec.selectors[0].cel.expression: too "
                       "complex, exceeds cost limit: an API server refuses it"),
            HasSubstr("allows 1000000")));
}

TEST(CheckSelectorsOf, LooksAtRequestsOfAllVersions) {
  const std::string text = Check(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: k}
spec:
  devices:
    requests:
    - name: a
      exactly:
        deviceClassName: c
        selectors:
        - cel: {expression: 'true'}
        - cel: {expression: one}
    - name: b
      firstAvailable:
      - {name: s, deviceClassName: c}
      - name: t
        deviceClassName: c
        selectors: [{cel: {expression: two}}]
---
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaimTemplate
metadata: {name: t}
spec:
  spec:
    devices:
      requests:
      - name: a
        deviceClassName: c
        selectors:
        - cel:
            expression: |-
              device.driver == "a" &&
                three
)");
  for (const absl::string_view expected :
       {"f:13:29: error: ResourceClaim default/k: "
        "spec.devices.requests[0].exactly.selectors[1].cel.expression: compilation failed: ERROR: "
        "<input>:1:1: undeclared reference to 'one'",
        "f:19:40: error: ResourceClaim default/k: "
        "spec.devices.requests[1].firstAvailable[1].selectors[0].cel.expression: ",
        "f:32:25: error: ResourceClaimTemplate default/t: "
        "spec.spec.devices.requests[0].exactly.selectors[0].cel.expression: compilation failed: "
        "ERROR: <input>:2:3: undeclared reference to 'three'"}) {
    EXPECT_THAT(text, HasSubstr(std::string(expected)));
  }
}

}  // namespace
}  // namespace berth
