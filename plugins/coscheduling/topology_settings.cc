// SPDX-License-Identifier: Apache-2.0
// Implementation of topology_settings.h. As Kueue v0.14 apis/kueue/v1beta1 topology_types.go, KAI
// v0.9 docs/topology and Koordinator v1.7 apis/extension/network_topology.go.
#include "plugins/coscheduling/topology_settings.h"

#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "berth/api/value.h"

namespace berth {
namespace {

constexpr absl::string_view kSliceLevel = "kueue.x-k8s.io/podset-slice-required-topology";
constexpr absl::string_view kSliceSize = "kueue.x-k8s.io/podset-slice-size";
constexpr absl::string_view kNetworkTopology =
    "gang.scheduling.koordinator.sh/network-topology-spec";

struct LevelKey {
  absl::string_view key;
  bool required;
};
constexpr LevelKey kLevelKeys[] = {
    {"kueue.x-k8s.io/podset-required-topology", true},
    {"kueue.x-k8s.io/podset-preferred-topology", false},
    {"kai.scheduler/topology-required-placement", true},
    {"kai.scheduler/topology-preferred-placement", false},
};

void ReadSlices(const FindText& annotation, TopologySettings& settings) {
  const std::optional<absl::string_view> level = annotation(kSliceLevel);
  const std::optional<absl::string_view> size = annotation(kSliceSize);
  if (!level.has_value() || level->empty()) {
    if (size.has_value()) {
      settings.illegal.push_back(absl::StrCat(kSliceSize, ": says nothing without ", kSliceLevel));
    }
    return;
  }
  int count = 0;
  if (!size.has_value() || !absl::SimpleAtoi(*size, &count) || count < 1) {
    settings.illegal.push_back(
        absl::StrCat(kSliceSize, ": \"", size.value_or(""),
                     "\" is no number of pods, so that there are no slices"));
    return;
  }
  settings.topology.push_back({.key = std::string(*level), .slice_size = count});
}

// {"gatherStrategy": [{"layer": "BlockLayer", "strategy": "PreferGather"}]}
void ReadNetworkTopology(absl::string_view text, TopologySettings& settings) {
  const auto illegal = [&](absl::string_view what) {
    settings.illegal.push_back(absl::StrCat(kNetworkTopology, ": ", what));
  };
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(text, "", problems);
  if (!problems.empty() || documents.size() != 1) return illegal("is no JSON object");
  const Value strategies = documents.front().root().Find("gatherStrategy");
  for (const Value one : strategies.elements()) {
    const std::optional<absl::string_view> layer = one.Find("layer").AsString();
    const std::optional<absl::string_view> strategy = one.Find("strategy").AsString();
    if (!layer.has_value() || layer->empty()) {
      illegal("a gatherStrategy has no layer");
    } else if (strategy == "MustGather" || strategy == "PreferGather") {
      settings.topology.push_back(
          {.key = std::string(*layer), .required = strategy == "MustGather"});
    } else {
      illegal(absl::StrCat("\"", strategy.value_or(""), "\" is not MustGather or PreferGather"));
    }
  }
}

}  // namespace

void AppendTopologyWords(const FindText& annotation, std::string& text) {
  const auto append = [&](absl::string_view key) {
    if (const auto value = annotation(key)) absl::StrAppend(&text, "\n", key, ": ", *value);
  };
  for (const LevelKey& level : kLevelKeys) append(level.key);
  for (const absl::string_view key : {kSliceLevel, kSliceSize, kNetworkTopology}) append(key);
}

TopologySettings ReadTopologySettings(const FindText& annotation) {
  TopologySettings settings;
  for (const auto& [key, required] : kLevelKeys) {
    const std::optional<absl::string_view> level = annotation(key);
    if (level.has_value() && !level->empty()) {
      settings.topology.push_back({.key = std::string(*level), .required = required});
    }
  }
  ReadSlices(annotation, settings);
  if (const std::optional<absl::string_view> text = annotation(kNetworkTopology)) {
    ReadNetworkTopology(*text, settings);
  }
  return settings;
}

}  // namespace berth
