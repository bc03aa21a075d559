// SPDX-License-Identifier: Apache-2.0
// The names of the extension points.
#include "berth/config/profile.h"

#include "absl/strings/str_cat.h"
#include "berth/check.h"

namespace berth {
namespace {

struct PointNames {
  absl::string_view name, field;
};

constexpr PointNames kPointFields[] = {
    {"PreEnqueue", "preEnqueue"},
    {"QueueSort", "queueSort"},
    {"PreFilter", "preFilter"},
    {"Filter", "filter"},
    {"PostFilter", "postFilter"},
    {"PreScore", "preScore"},
    {"Score", "score"},
    {"Reserve", "reserve"},
    {"Permit", "permit"},
    {"PreBind", "preBind"},
    {"Bind", "bind"},
    {"PostBind", "postBind"},
    {"PlacementGenerate", "placementGenerate"},
    {"PlacementFeasible", "placementFeasible"},
    {"PlacementScore", "placementScore"},
};
static_assert(std::size(kPointFields) == kExtensionPointCount);

const PointNames& NamesOf(ExtensionPoint point) {
  const size_t index = static_cast<size_t>(point);
  BERTH_DCHECK(index < std::size(kPointFields));
  return kPointFields[index];
}

}  // namespace

absl::string_view ExtensionPointName(ExtensionPoint point) { return NamesOf(point).name; }
absl::string_view ExtensionPointField(ExtensionPoint point) { return NamesOf(point).field; }

std::string Profile::Title() const {
  if (!scheduler_name.empty()) return absl::StrCat("profile ", scheduler_name);
  return number > 0 ? absl::StrCat("profile ", number) : "a profile without a name";
}

}  // namespace berth
