// SPDX-License-Identifier: Apache-2.0
// Implementation of selectors_of_objects.h.
#include "devices/selectors_of_objects.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "berth/api/resource_v1.pb.h"
#include "cel/device_selector.h"

namespace berth {
namespace {

struct Fault {
  std::string message;  // empty: none
  Severity severity = Severity::kError;
};

class SelectorCheck {
 public:
  explicit SelectorCheck(const Manifests& manifests) : manifests_(manifests) {}

  void Check(const Object& object) {
    object_ = &object;
    if (object.kind() == Kind::kDeviceClass) {
      CheckAll("spec", object.As<api::DeviceClass>().spec().selectors());
    } else if (object.kind() == Kind::kResourceClaim) {
      CheckRequests("spec", object.As<api::ResourceClaim>().spec());
    } else if (object.kind() == Kind::kResourceClaimTemplate) {
      CheckRequests("spec.spec", object.As<api::ResourceClaimTemplate>().spec().spec());
    }
  }

  Problems Take() { return std::move(problems_); }

 private:
  void CheckRequests(absl::string_view path, const api::ResourceClaimSpec& spec) {
    for (int i = 0; i < spec.devices().requests_size(); ++i) {
      const api::DeviceRequest& request = spec.devices().requests(i);
      const std::string at = absl::StrCat(path, ".devices.requests[", i, "]");
      CheckAll(at + ".exactly", request.exactly().selectors());
      for (int j = 0; j < request.first_available_size(); ++j) {
        CheckAll(absl::StrCat(at, ".firstAvailable[", j, "]"),
                 request.first_available(j).selectors());
      }
    }
  }

  template <class Selectors>
  void CheckAll(const std::string& path, const Selectors& selectors) {
    for (int i = 0; i < selectors.size(); ++i) {
      if (!selectors[i].has_cel()) continue;
      const std::string& expression = selectors[i].cel().expression();
      const auto [known, is_new] = fault_of_.try_emplace(expression);
      if (is_new) known->second = FindFault(expression);
      if (known->second.message.empty()) continue;
      const std::string field = absl::StrCat(path, ".selectors[", i, "].cel.expression");
      problems_.Add({.where = PlaceOf(field),
                     .subject = object_->ToString(),
                     .message = absl::StrCat(field, ": ", known->second.message),
                     .severity = known->second.severity});
    }
  }

  static Fault FindFault(const std::string& expression) {
    const absl::Status status = cel::ValidateSelector(expression);
    if (status.ok()) return FaultOfCost(expression);
    if (expression.size() <= cel::kLongestSelector &&
        cel::DeviceSelector::Compile(expression).ok()) {
      return {
          "uses device.allowMultipleAllocations, which an API server knows with the feature "
          "gate DRAConsumableCapacity only",
          Severity::kWarning};
    }
    return {WithoutExcerpts(status.message()), Severity::kError};
  }

  static Fault FaultOfCost(const std::string& expression) {
    const absl::StatusOr<uint64_t> cost = cel::EstimateSelectorCost(expression);
    if (!cost.ok() || *cost <= cel::kSelectorCostLimit) return {};
    return {absl::StrCat("too complex, exceeds cost limit: an API server refuses it, since it "
                         "estimates a cost of up to ",
                         *cost, ", and allows ", cel::kSelectorCostLimit,
                         "; make what it goes through shorter"),
            Severity::kError};
  }

  // cel-go shows the line below each place: " | …", " | ..^".
  static std::string WithoutExcerpts(absl::string_view text) {
    std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
    std::erase_if(lines, [](absl::string_view line) { return absl::StartsWith(line, " | "); });
    return absl::StrJoin(lines, "; ");
  }

  SourceLocation PlaceOf(const std::string& field) const {
    const auto place = manifests_.places_of_device_fields.find(
        absl::StrCat(object_->where().ToString(), " ", field));
    return place == manifests_.places_of_device_fields.end() ? object_->where() : place->second;
  }

  const Manifests& manifests_;
  const Object* object_ = nullptr;
  absl::flat_hash_map<std::string, Fault> fault_of_;  // by expression
  Problems problems_;
};

}  // namespace

Problems CheckSelectorsOf(const Manifests& manifests) {
  SelectorCheck check(manifests);
  for (const Object& object : manifests.objects) check.Check(object);
  return check.Take();
}

}  // namespace berth
