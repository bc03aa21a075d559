// SPDX-License-Identifier: Apache-2.0
// Label and node selectors, decoded strictly from YAML or JSON, compiled and matched.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/labels.h"
#include "berth/api/node_selector.h"
#include "berth/check.h"

namespace {

const berth::LabelSet& Labels() {
  static const berth::LabelSet& labels =
      *new berth::LabelSet{{"app", "web"}, {"cores", "16"}, {"example.com/zone", "a"}};
  return labels;
}

void TryLabelSelector(berth::Value root) {
  berth::Problems problems;
  berth::api::LabelSelector proto;
  berth::DecodeMessage(root, {.unknown_fields = berth::UnknownFields::kReport}, proto, problems);
  const absl::StatusOr<berth::LabelSelector> selector = berth::LabelSelector::FromProto(&proto);
  if (!selector.ok()) return;
  // All requirements, one by one.
  bool all = true;
  for (const berth::LabelRequirement& requirement : selector->requirements()) {
    all &= requirement.Matches(Labels());
    BERTH_CHECK(!requirement.ToString().empty());
  }
  BERTH_CHECK(selector->Matches(Labels()) == all) << selector->ToString();
}

void TryNodeSelector(berth::Value root) {
  berth::Problems problems;
  berth::api::NodeSelector proto;
  berth::DecodeMessage(root, {}, proto, problems);
  const berth::NodeSelector selector(proto);
  const berth::Symbol name = berth::Symbol::Intern("n1");
  const bool matches = selector.Matches(Labels(), name);
  const absl::StatusOr<bool> match = selector.Match(Labels(), name);
  BERTH_CHECK(match.ok() ? *match == matches : !matches && selector.has_errors());
  BERTH_CHECK(berth::NodeSelector::Create(proto).ok() == !selector.has_errors());
  if (matches && selector.pinned_node_names()) {
    bool pinned = false;
    for (const berth::Symbol symbol : *selector.pinned_node_names()) pinned |= symbol == name;
    BERTH_CHECK(pinned);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  berth::Problems problems;
  for (const berth::Document& document : berth::ReadDocuments(text, "f", problems)) {
    TryLabelSelector(document.root());
    TryNodeSelector(document.root());
  }
  return 0;
}
