// What Bind plugins share: the annotations that go with a binding.
#include "berth/framework/bind.h"

#include <memory>

namespace berth {
namespace {

struct AnnotationState final : StateData {
  std::map<std::string, std::string> annotations;
  std::unique_ptr<StateData> Clone() const override {
    return std::make_unique<AnnotationState>(*this);
  }
};
constexpr StateKey<AnnotationState> kAnnotations{"BindAnnotations"};

}  // namespace

void AnnotateWithBind(CycleState& state, absl::string_view key, absl::string_view value) {
  AnnotationState* found = state.FindMutable(kAnnotations);
  if (found == nullptr) {
    auto fresh = std::make_unique<AnnotationState>();
    found = fresh.get();
    state.Write(kAnnotations, std::move(fresh));
  }
  found->annotations[std::string(key)] = std::string(value);
}

const std::map<std::string, std::string>& BindAnnotations(const CycleState& state) {
  static const auto& none = *new std::map<std::string, std::string>();
  const AnnotationState* const found = state.Find(kAnnotations);
  return found == nullptr ? none : found->annotations;
}

Status PreBindPlugin::PreBindPreFlight(CycleState&, const PodInfo&, absl::string_view) {
  return Status::Success();
}

}  // namespace berth
