// SPDX-License-Identifier: Apache-2.0
// Every selector in recorded/ on every device there: the same verdict as kube-scheduler's.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <iostream>
#include <string>
#include <vector>

#include "cel/device_selector.h"

namespace berth::cel {
namespace {

constexpr char kFolder[] = "tests/cel/recorded/";

Attribute ToAttribute(const YAML::Node& node) {
  if (node["int"]) return node["int"].as<int64_t>();
  if (node["bool"]) return node["bool"].as<bool>();
  if (node["string"]) return node["string"].as<std::string>();
  return Version{node["version"].as<std::string>()};
}

std::vector<Device> ReadDevices() {
  const YAML::Node spec = YAML::LoadFile(std::string(kFolder) + "devices.yaml")["spec"];
  std::vector<Device> devices;
  for (const YAML::Node& node : spec["devices"]) {
    DeviceFields fields{.driver = spec["driver"].as<std::string>()};
    for (const auto& entry : node["attributes"]) {
      fields.attributes.emplace_back(entry.first.as<std::string>(), ToAttribute(entry.second));
    }
    for (const auto& entry : node["capacity"]) {
      fields.capacity.emplace_back(entry.first.as<std::string>(),
                                   *Quantity::Parse(entry.second["value"].as<std::string>()));
    }
    devices.emplace_back(fields);
  }
  return devices;
}

// Whether the file has a text there, not true, false or a number.
bool IsText(const YAML::Node& node) { return node.IsScalar() && node.Tag() == "!"; }

struct Counts {
  int expressions = 0, equal = 0;
  int error_texts = 0, equal_error_texts = 0;
  int compile_texts = 0, equal_compile_texts = 0;
  int costs = 0, equal_costs = 0;
};

class RecordedSelectors : public testing::Test {
 protected:
  // Whether it does not compile either.
  bool CheckCompileError(const std::string& expression, const std::string& text) {
    const auto selector = DeviceSelector::Compile(expression);
    EXPECT_FALSE(selector.ok()) << expression;
    ++counts_.compile_texts;
    if (selector.ok()) return false;
    counts_.equal_compile_texts += selector.status().message() == text;
    return true;
  }

  // Whether it gives the same on `device`.
  bool CheckResult(const DeviceSelector& selector, const std::string& expression,
                   const Device& device, const YAML::Node& want, const YAML::Node& want_cost) {
    uint64_t cost = 0;
    const absl::StatusOr<bool> got = selector.Matches(device, &cost);
    if (IsText(want)) {
      ++counts_.error_texts;
      if (got.ok()) {
        ADD_FAILURE() << expression << "\nwant: " << want.Scalar() << "\n got: " << *got;
        return false;
      }
      counts_.equal_error_texts += got.status().message() == want.Scalar();
      return true;
    }
    if (!got.ok() || *got != want.as<bool>()) {
      ADD_FAILURE() << expression << "\nwant: " << want.as<bool>() << "\n got: "
                    << (got.ok() ? (*got ? "true" : "false") : got.status().ToString());
      return false;
    }
    if (want_cost.IsNull()) return true;
    ++counts_.costs;
    counts_.equal_costs += cost == want_cost.as<uint64_t>();
    EXPECT_EQ(cost, want_cost.as<uint64_t>()) << expression;
    return true;
  }

  Counts counts_;
};

TEST_F(RecordedSelectors, GiveTheSameOnEveryDevice) {
  const std::vector<Device> devices = ReadDevices();
  // JSON is YAML.
  const YAML::Node entries = YAML::LoadFile(std::string(kFolder) + "expressions.json");
  for (const YAML::Node& entry : entries) {
    const std::string expression = entry["expression"].Scalar();
    ++counts_.expressions;
    if (entry["compileError"]) {
      counts_.equal += CheckCompileError(expression, entry["compileError"].Scalar());
      continue;
    }
    const auto selector = DeviceSelector::Compile(expression);
    if (!selector.ok()) {
      ADD_FAILURE() << expression << "\n" << selector.status();
      continue;
    }
    ASSERT_EQ(entry["results"].size(), devices.size());
    bool equal = true;
    for (size_t i = 0; i < devices.size(); ++i) {
      equal &=
          CheckResult(*selector, expression, devices[i], entry["results"][i], entry["costs"][i]);
    }
    counts_.equal += equal;
  }
  EXPECT_EQ(counts_.equal, counts_.expressions);
  EXPECT_EQ(counts_.expressions, 464);
  std::cout << counts_.equal << " of " << counts_.expressions << " selectors the same; texts of "
            << "errors: " << counts_.equal_error_texts << " of " << counts_.error_texts
            << " at run time, " << counts_.equal_compile_texts << " of " << counts_.compile_texts
            << " when compiled; costs: " << counts_.equal_costs << " of " << counts_.costs << "\n";
}

}  // namespace
}  // namespace berth::cel
