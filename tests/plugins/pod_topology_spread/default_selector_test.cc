// SPDX-License-Identifier: Apache-2.0
// The Services of a pod are found by the labels that they require.
#include "plugins/pod_topology_spread/default_selector.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/object.h"
#include "berth/testing/fake_handle.h"
#include "berth/testing/objects.h"
#include "gtest/gtest.h"

namespace berth::testing {
namespace {

TEST(DefaultSelectors, AreThoseOfAllServicesOfThePod) {
  std::mt19937 random(27);
  const auto below = [&](int bound) { return static_cast<int>(random() % bound); };
  const auto draw_labels = [&](int most) {
    LabelSet labels;
    for (int i = below(most + 1); i > 0; --i) {
      labels.Set(Symbol::Intern(absl::StrCat("key-", below(4))),
                 Symbol::Intern(absl::StrCat("value-", below(3))));
    }
    return labels;
  };
  FakeObjectStore objects;
  DefaultSelectors selectors;
  struct Service {
    std::string namespace_name;
    LabelSet selector;
  };
  std::vector<Service> services;
  int selected = 0;
  for (int step = 0; step < 300; ++step) {
    if (step % 5 == 0) {
      services.push_back({below(3) > 0 ? "a" : "b", draw_labels(3)});
      auto service = std::make_shared<api::Service>();
      service->mutable_metadata()->set_name(absl::StrCat("service-", step));
      service->mutable_metadata()->set_namespace_(services.back().namespace_name);
      for (const auto& [key, value] : services.back().selector.entries()) {
        (*service->mutable_spec()->mutable_selector())[std::string(key.view())] =
            std::string(value.view());
      }
      objects.Set(Object::Of(std::move(service)));
    }
    const LabelSet of_pod = draw_labels(5);
    PodBuilder pod = MakePod().Name("p").Namespace("a");
    for (const auto& [key, value] : of_pod.entries()) pod.Label(key.view(), value.view());
    LabelSet want;
    for (const Service& service : services) {
      const auto entries = service.selector.entries();
      const bool selects = std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
        const Symbol* const value = of_pod.Find(entry.first);
        return value != nullptr && *value == entry.second;
      });
      if (!selects || service.namespace_name != "a") continue;
      for (const auto& [key, value] : entries) want.Set(key, value);
    }
    selected += !want.empty();
    ASSERT_EQ(selectors.For(*pod.Obj(), objects), LabelSelector::FromLabels(want)) << step;
  }
  EXPECT_GT(selected, 100);
}

}  // namespace
}  // namespace berth::testing
