// SPDX-License-Identifier: Apache-2.0
// Names in claims, slices and pods of which nothing is there.
#include "devices/references_of_objects.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Beside a node n0, class gpu, template a/t and claim a/k.
std::string MissingIn(absl::string_view objects) {
  const Manifests manifests = ParseManifest(
      absl::StrCat("apiVersion: v1\nkind: Node\nmetadata: {name: n0}\n---\n"
                   "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu}\n"
                   "---\napiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\n"
                   "metadata: {name: t, namespace: a}\n---\napiVersion: resource.k8s.io/v1\n"
                   "kind: ResourceClaim\nmetadata: {name: k, namespace: a}\n---\n",
                   objects),
      "f");
  EXPECT_TRUE(manifests.problems.ok()) << manifests.problems.ToString();
  return CheckDeviceReferencesOf(manifests).ToString();
}

std::string PodWith(absl::string_view name, absl::string_view reference,
                    absl::string_view more = "") {
  return absl::StrCat("apiVersion: v1\nkind: Pod\nmetadata: {name: ", name,
                      ", namespace: a}\nspec: {containers: [{name: c, image: x}], "
                      "resourceClaims: [{name: r, ",
                      reference, "}]", more, "}\n---\n");
}

std::string ClaimFor(absl::string_view request) {
  return absl::StrCat(
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
      "spec: {devices: {requests: [{name: r, ",
      request, "}]}}\n");
}

TEST(CheckDeviceReferencesOf, SaysWhatIsMissingAndWhatThereIs) {
  struct Case {
    std::string objects;
    absl::string_view expected;
  };
  for (const Case& c : std::vector<Case>{
           {PodWith("p", "resourceClaimTemplateName: tt"),
            "warning: Pod a/p: spec.resourceClaims[0].resourceClaimTemplateName: there is no "
            "ResourceClaimTemplate a/tt; did you mean \"a/t\"?"},
           {PodWith("p", "resourceClaimTemplateName: k"),
            "there is no ResourceClaimTemplate a/k; there is a ResourceClaim of that name: write "
            "resourceClaimName"},
           {PodWith("p", "resourceClaimName: t"),
            "there is no ResourceClaim a/t; there is a ResourceClaimTemplate of that name: write "
            "resourceClaimTemplateName"},
           {"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: "
            "x}], resourceClaims: [{name: r, resourceClaimTemplateName: t}]}\n",
            "there is no ResourceClaimTemplate default/t; there is one in namespace a"},
           {PodWith("p", "resourceClaimName: other") + PodWith("q", "resourceClaimName: other"),
            "there is no ResourceClaim a/other (and 1 more like this)"},
           {ClaimFor("exactly: {deviceClassName: gpus}"),
            "ResourceClaim default/c: spec.devices.requests[0].exactly.deviceClassName: there is "
            "no DeviceClass gpus; did you mean \"gpu\"?"},
           {ClaimFor("firstAvailable: [{name: s, deviceClassName: gpus}]"),
            "spec.devices.requests[0].firstAvailable[0].deviceClassName: there is no"},
           {"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec: "
            "{driver: d, nodeName: n00, pool: {name: p, resourceSliceCount: 1}}\n",
            "ResourceSlice s: spec.nodeName: there is no Node n00"}}) {
    EXPECT_THAT(MissingIn(c.objects), HasSubstr(std::string(c.expected))) << c.objects;
  }
}

TEST(CheckDeviceReferencesOf, SaysNothingOfWhatIsThereOrDoesNotMatter) {
  for (const std::string& objects :
       {PodWith("p", "resourceClaimTemplateName: t"), PodWith("p", "resourceClaimName: k"),
        PodWith("p", "resourceClaimName: gone", ", nodeName: n0"),
        ClaimFor("exactly: {deviceClassName: gpu}")}) {
    EXPECT_THAT(MissingIn(objects), IsEmpty());
  }
  // Files that have no classes or nodes are a part of a cluster.
  const Manifests part = ParseManifest(ClaimFor("exactly: {deviceClassName: gpus}"), "f");
  EXPECT_THAT(CheckDeviceReferencesOf(part).ToString(), IsEmpty());
}

}  // namespace
}  // namespace berth
