// SPDX-License-Identifier: Apache-2.0
// Claims with adminAccess where the namespace does not allow it.
#include "devices/admin_access_of_objects.h"

#include <gmock/gmock.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

std::string CheckIn(absl::string_view labels, absl::string_view object) {
  const Manifests manifests =
      ParseManifest(absl::StrCat("apiVersion: v1\nkind: Namespace\nmetadata: {name: adm, labels: {",
                                 labels, "}}\n---\n", object),
                    "f");
  EXPECT_TRUE(manifests.problems.ok()) << manifests.problems.ToString();
  return CheckAdminAccessOf(manifests).ToString();
}

std::string ClaimIn(absl::string_view metadata, absl::string_view version,
                    absl::string_view request) {
  return absl::StrCat("apiVersion: resource.k8s.io/", version,
                      "\nkind: ResourceClaim\nmetadata: {name: k, ", metadata,
                      "}\nspec:\n  devices: {requests: [{name: r, ", request, "}]}\n");
}

TEST(CheckAdminAccessOf, AsksForTheLabelOfTheNamespace) {
  constexpr absl::string_view kAdmin = "exactly: {deviceClassName: c, adminAccess: true}";
  const std::string in_adm = ClaimIn("namespace: adm", "v1", kAdmin);
  const auto said = HasSubstr(
      "f:9:77: error: ResourceClaim adm/k: spec.devices.requests[0].exactly.adminAccess: is "
      "refused in namespace adm, which has no label resource.kubernetes.io/admin-access: \"true\"");
  EXPECT_THAT(CheckIn("", in_adm), said);
  EXPECT_THAT(CheckIn("resource.kubernetes.io/admin-access: \"false\"", in_adm), said);
  EXPECT_EQ(CheckIn("resource.kubernetes.io/admin-access: \"true\"", in_adm), "");
  EXPECT_EQ(CheckIn("", ClaimIn("namespace: other", "v1", kAdmin)), "");
  EXPECT_EQ(CheckIn("", ClaimIn("namespace: adm", "v1",
                                "exactly: {deviceClassName: c, adminAccess: false}")),
            "");
  EXPECT_THAT(CheckIn("", ClaimIn("namespace: adm, uid: u", "v1", kAdmin)),
              HasSubstr(": warning: ResourceClaim adm/k: "));
  EXPECT_THAT(
      CheckIn("", ClaimIn("namespace: adm", "v1beta1", "deviceClassName: c, adminAccess: true")),
      HasSubstr("f:9:67: error: ResourceClaim adm/k: spec.devices.requests[0].exactly."));
}

TEST(CheckAdminAccessOf, LooksAtTemplates) {
  EXPECT_THAT(CheckIn("",
                      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: "
                      "{name: k, namespace: adm}\nspec:\n  spec:\n    devices: {requests: [{name: "
                      "r, exactly: {deviceClassName: c, adminAccess: true}}]}\n"),
              HasSubstr("error: ResourceClaimTemplate adm/k: "
                        "spec.spec.devices.requests[0].exactly.adminAccess: is refused"));
}

}  // namespace
}  // namespace berth
