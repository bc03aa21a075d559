// SPDX-License-Identifier: Apache-2.0
// What Bind plugins share: the metadata that goes with a binding.
#include "berth/framework/bind.h"

#include <memory>

namespace berth {
namespace {

struct MetadataState final : StateData {
  BindMetadata metadata;
  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<MetadataState>(*this);
  }
};
constexpr StateKey<MetadataState> kMetadata{"BindMetadata"};

BindMetadata& MutableMetadata(CycleState& state) {
  if (MetadataState* const found = state.FindMutable(kMetadata)) return found->metadata;
  auto fresh = std::make_unique<MetadataState>();
  BindMetadata& metadata = fresh->metadata;
  state.Write(kMetadata, std::move(fresh));
  return metadata;
}

}  // namespace

void AnnotateWithBind(CycleState& state, absl::string_view key, absl::string_view value) {
  MutableMetadata(state).annotations[std::string(key)] = std::string(value);
}

void LabelWithBind(CycleState& state, absl::string_view key, absl::string_view value) {
  MutableMetadata(state).labels[std::string(key)] = std::string(value);
}

const BindMetadata& BindMetadataOf(const CycleState& state) {
  static const BindMetadata& none = *new BindMetadata();
  const MetadataState* const found = state.Find(kMetadata);
  return found == nullptr ? none : found->metadata;
}

Status PreBindPlugin::PreBindPreFlight(CycleState&, const PodInfo&, absl::string_view) {
  return Status::Success();
}

}  // namespace berth
