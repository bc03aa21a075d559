// SPDX-License-Identifier: Apache-2.0
// Taints and tolerations: see taints.h.
#include "berth/api/taints.h"

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"

namespace berth {

TaintEffect ParseTaintEffect(absl::string_view text) {
  if (text.empty()) return TaintEffect::kNone;
  for (const TaintEffect effect :
       {TaintEffect::kNoSchedule, TaintEffect::kPreferNoSchedule, TaintEffect::kNoExecute}) {
    if (text == TaintEffectName(effect)) return effect;
  }
  return TaintEffect::kUnknown;
}

absl::string_view TaintEffectName(TaintEffect effect) {
  switch (effect) {
    case TaintEffect::kNone:
      return "";
    case TaintEffect::kNoSchedule:
      return "NoSchedule";
    case TaintEffect::kPreferNoSchedule:
      return "PreferNoSchedule";
    case TaintEffect::kNoExecute:
      return "NoExecute";
    case TaintEffect::kUnknown:
      return "unknown";
  }
  return "";
}

Taint Taint::FromProto(const api::Taint& taint) {
  return {Symbol::Intern(taint.key()), Symbol::Intern(taint.value()),
          ParseTaintEffect(taint.effect())};
}

// core/v1 taint.go Taint.ToString.
std::string Taint::ToString() const {
  const std::string key_value =
      value.empty() ? std::string(key.view()) : absl::StrCat(key.view(), "=", value.view());
  if (effect == TaintEffect::kNone) return value.empty() ? key_value : key_value + ":";
  return absl::StrCat(key_value, ":", TaintEffectName(effect));
}

Toleration Toleration::FromProto(const api::Toleration& toleration) {
  const absl::string_view op = toleration.operator_();
  return {Symbol::Intern(toleration.key()), Symbol::Intern(toleration.value()),
          op.empty() || op == "Equal" ? TolerationOperator::kEqual
          : op == "Exists"            ? TolerationOperator::kExists
                                      : TolerationOperator::kUnknown,
          ParseTaintEffect(toleration.effect())};
}

bool Toleration::Tolerates(const Taint& taint) const {
  if (effect != TaintEffect::kNone && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  switch (op) {
    case TolerationOperator::kEqual:
      return value == taint.value;
    case TolerationOperator::kExists:
      return true;
    case TolerationOperator::kUnknown:
      return false;
  }
  return false;
}

bool Tolerates(absl::Span<const Toleration> tolerations, const Taint& taint) {
  for (const Toleration& toleration : tolerations) {
    if (toleration.Tolerates(taint)) return true;
  }
  return false;
}

}  // namespace berth
