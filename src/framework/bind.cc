// SPDX-License-Identifier: Apache-2.0
// What PreBind and Bind plugins share.
#include "berth/framework/bind.h"

#include <memory>
#include <vector>

namespace berth {
namespace {

struct MetadataState final : StateData {
  BindMetadata metadata;
  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<MetadataState>(*this);
  }
};
constexpr StateKey<MetadataState> kMetadata{"BindMetadata"};

struct PolledObjects final : StateData {
  std::vector<std::pair<Kind, std::string>> objects;
  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<PolledObjects>(*this);
  }
};
constexpr StateKey<PolledObjects> kPolledObjects{"ObjectsToPollFor"};

// What is stored under `key`; made if there is none.
template <class T>
T& FindOrMake(CycleState& state, const StateKey<T>& key) {
  if (T* const found = state.FindMutable(key)) return *found;
  state.Write(key, std::make_unique<T>());
  return *state.FindMutable(key);
}

}  // namespace

void AnnotateWithBind(CycleState& state, absl::string_view key, absl::string_view value) {
  FindOrMake(state, kMetadata).metadata.annotations[std::string(key)] = std::string(value);
}

void LabelWithBind(CycleState& state, absl::string_view key, absl::string_view value) {
  FindOrMake(state, kMetadata).metadata.labels[std::string(key)] = std::string(value);
}

const BindMetadata& BindMetadataOf(const CycleState& state) {
  static const BindMetadata& none = *new BindMetadata();
  const MetadataState* const found = state.Find(kMetadata);
  return found == nullptr ? none : found->metadata;
}

void PollWhenChanged(CycleState& state, Kind kind, absl::string_view key) {
  FindOrMake(state, kPolledObjects).objects.emplace_back(kind, key);
}

absl::Span<const std::pair<Kind, std::string>> ObjectsToPollFor(const CycleState& state) {
  const PolledObjects* const found = state.Find(kPolledObjects);
  if (found == nullptr) return {};
  return found->objects;
}

Status PreBindPlugin::PreBindPreFlight(CycleState&, const PodInfo&, absl::string_view) {
  return Status::Success();
}

Status PreBindPlugin::PollPreBind(CycleState&, const PodInfo&, absl::string_view) {
  return Status::Error("PreBind waits, but the plugin has no PollPreBind");
}

}  // namespace berth
