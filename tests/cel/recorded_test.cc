// SPDX-License-Identifier: Apache-2.0
// Every selector in recorded/ on every device there: the same verdict as kube-scheduler's.
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <yaml-cpp/yaml.h>

#include <fstream>
#include <iostream>
#include <iterator>
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

rapidjson::Document ReadExpressions() {
  std::ifstream file(std::string(kFolder) + "expressions.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  rapidjson::Document document;
  document.Parse(text.c_str());
  return document;
}

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
                   const Device& device, const rapidjson::Value& want,
                   const rapidjson::Value& want_cost) {
    uint64_t cost = 0;
    const absl::StatusOr<bool> got = selector.Matches(device, &cost);
    if (want.IsString()) {
      ++counts_.error_texts;
      if (got.ok()) {
        ADD_FAILURE() << expression << "\nwant: " << want.GetString() << "\n got: " << *got;
        return false;
      }
      counts_.equal_error_texts += got.status().message() == want.GetString();
      return true;
    }
    if (!got.ok() || *got != want.GetBool()) {
      ADD_FAILURE() << expression << "\nwant: " << want.GetBool() << "\n got: "
                    << (got.ok() ? (*got ? "true" : "false") : got.status().ToString());
      return false;
    }
    if (want_cost.IsNull()) return true;
    ++counts_.costs;
    counts_.equal_costs += cost == want_cost.GetUint64();
    EXPECT_EQ(cost, want_cost.GetUint64()) << expression;
    return true;
  }

  Counts counts_;
};

TEST_F(RecordedSelectors, GiveTheSameOnEveryDevice) {
  const std::vector<Device> devices = ReadDevices();
  const rapidjson::Document document = ReadExpressions();
  ASSERT_TRUE(document.IsArray());
  for (const auto& entry : document.GetArray()) {
    const std::string expression = entry["expression"].GetString();
    ++counts_.expressions;
    if (entry.HasMember("compileError")) {
      counts_.equal += CheckCompileError(expression, entry["compileError"].GetString());
      continue;
    }
    const auto selector = DeviceSelector::Compile(expression);
    if (!selector.ok()) {
      ADD_FAILURE() << expression << "\n" << selector.status();
      continue;
    }
    ASSERT_EQ(entry["results"].Size(), devices.size());
    bool equal = true;
    for (rapidjson::SizeType i = 0; i < devices.size(); ++i) {
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
