// SPDX-License-Identifier: Apache-2.0
// Which DeviceClass backs which extended resource.
#include "berth/devices/extended_resource_classes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/resource_v1.pb.h"
#include "berth/testing/objects.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace berth::testing {
namespace {

std::string ClassYaml(const std::string& name, const std::string& resource,
                      const std::string& created) {
  return absl::StrCat("{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: ", name,
                      ", creationTimestamp: '", created, "'}, spec: {",
                      resource.empty() ? "" : "extendedResourceName: " + resource, "}}\n---\n");
}

struct Classes {
  void Set(const std::string& yaml) {
    objects = ObjectsFromYaml(yaml);
    classes.Update(++version, [this] {
      std::vector<const Object*> list;
      for (const Object& object : objects) list.push_back(&object);
      return list;
    });
  }
  std::string Of(const std::string& resource) const {
    const auto found = classes.ClassOf(ResourceIdOf(resource));
    return found == nullptr ? "" : found->metadata().name();
  }
  std::vector<Object> objects;
  uint64_t version = 0;
  ExtendedResourceClasses classes;
};

TEST(ExtendedResourceClassesTest, TheNewestClassBacksAResource) {
  Classes classes;
  const std::string old_class = ClassYaml("old", "vendor.com/gpu", "2026-01-01T00:00:00Z");
  const std::string new_class = ClassYaml("new", "vendor.com/gpu", "2026-02-01T00:00:00Z");
  for (const std::string& yaml : {old_class + new_class, new_class + old_class}) {
    classes.Set(yaml);
    EXPECT_EQ(classes.Of("vendor.com/gpu"), "new");
    EXPECT_EQ(classes.Of("deviceclass.resource.kubernetes.io/old"), "old");
    EXPECT_EQ(classes.Of("deviceclass.resource.kubernetes.io/new"), "new");
    EXPECT_EQ(classes.Of("vendor.com/nic"), "");
  }
  classes.Set(old_class);
  EXPECT_EQ(classes.Of("vendor.com/gpu"), "old");
  EXPECT_EQ(classes.Of("deviceclass.resource.kubernetes.io/new"), "");
  // Of classes that are as new the first by name.
  classes.Set(ClassYaml("b", "vendor.com/gpu", "2026-01-01T00:00:00Z") +
              ClassYaml("a", "vendor.com/gpu", "2026-01-01T00:00:00Z"));
  EXPECT_EQ(classes.Of("vendor.com/gpu"), "a");
  // The same version is not read again.
  classes.classes.Update(classes.version, []() -> std::vector<const Object*> {
    ADD_FAILURE();
    return {};
  });
}

TEST(ExtendedResourceClassesTest, Names) {
  EXPECT_TRUE(IsDeviceResourceName("vendor.com/gpu"));
  EXPECT_TRUE(IsDeviceResourceName("deviceclass.resource.kubernetes.io/gpu"));
  EXPECT_FALSE(IsDeviceResourceName("cpu"));
  EXPECT_FALSE(IsDeviceResourceName("kubernetes.io/gpu"));
  EXPECT_FALSE(IsDeviceResourceName("hugepages-2Mi"));
}

TEST(ExtendedResourceClassesTest, IsForProfiles) {
  ExtendedResourceClasses classes;
  EXPECT_FALSE(classes.IsEnabledFor("a"));
  classes.Enable("a");
  EXPECT_TRUE(classes.IsEnabledFor("a"));
  EXPECT_FALSE(classes.IsEnabledFor("b"));
}

}  // namespace
}  // namespace berth::testing
