// SPDX-License-Identifier: Apache-2.0
// Semantic versions as values of expressions.
#ifndef BERTH_SRC_CEL_LIBRARIES_SEMVER_VALUES_H_
#define BERTH_SRC_CEL_LIBRARIES_SEMVER_VALUES_H_

#include <optional>

#include "cel/semver.h"
#include "cel/value.h"

namespace berth::cel {

class SemverValue final : public Opaque {
 public:
  static constexpr absl::string_view kTypeName = "kubernetes.Semver";

  explicit SemverValue(Semver semver) : semver_(std::move(semver)) {}
  static Value Make(Semver semver);

  const Semver& semver() const { return semver_; }
  absl::string_view type_name() const override { return kTypeName; }
  std::optional<bool> Equals(const Opaque& other) const override;

 private:
  Semver semver_;
};

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_LIBRARIES_SEMVER_VALUES_H_
