// SPDX-License-Identifier: Apache-2.0
// Taints of nodes, tolerations of pods, and when one tolerates the other.
#ifndef BERTH_API_TAINTS_H_
#define BERTH_API_TAINTS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/symbol.h"

namespace berth {

namespace api {
class Taint;
class Toleration;
}  // namespace api

enum class TaintEffect : uint8_t {
  kNone,  // empty: of a toleration, every effect
  kNoSchedule,
  kPreferNoSchedule,
  kNoExecute,
  kUnknown,  // a text that Kubernetes does not know; equals only itself
};

TaintEffect ParseTaintEffect(absl::string_view text);
absl::string_view TaintEffectName(TaintEffect effect);  // "NoSchedule"; "" for kNone

struct Taint {
  Symbol key;
  Symbol value;
  TaintEffect effect = TaintEffect::kNone;

  static Taint FromProto(const api::Taint& taint);
  std::string ToString() const;  // "key=value:NoSchedule"
  friend bool operator==(const Taint& a, const Taint& b) {
    return a.key == b.key && a.value == b.value && a.effect == b.effect;
  }
  friend bool operator!=(const Taint& a, const Taint& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Taint& t) {
    return H::combine(std::move(h), t.key, t.value, t.effect);
  }
};

enum class TolerationOperator : uint8_t {
  kEqual,    // also for an empty operator
  kExists,   // any value
  kUnknown,  // anything else (Gt and Lt included: their feature is off): tolerates nothing
};

struct Toleration {
  Symbol key;  // empty: every key
  Symbol value;
  TolerationOperator op = TolerationOperator::kEqual;
  TaintEffect effect = TaintEffect::kNone;  // kNone: every effect

  static Toleration FromProto(const api::Toleration& toleration);
  // kube-scheduler v1.35 core/v1 Toleration.ToleratesTaint, comparison operators off.
  bool Tolerates(const Taint& taint) const;
  friend bool operator==(const Toleration& a, const Toleration& b) {
    return a.key == b.key && a.value == b.value && a.op == b.op && a.effect == b.effect;
  }
  friend bool operator!=(const Toleration& a, const Toleration& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Toleration& t) {
    return H::combine(std::move(h), t.key, t.value, t.op, t.effect);
  }
};

// Whether any of them tolerates `taint`.
bool Tolerates(absl::Span<const Toleration> tolerations, const Taint& taint);

// Filters for FindUntoleratedTaint().
inline bool PreventsScheduling(const Taint& taint) {
  return taint.effect == TaintEffect::kNoSchedule || taint.effect == TaintEffect::kNoExecute;
}
inline bool DiscouragesScheduling(const Taint& taint) {
  return taint.effect == TaintEffect::kPreferNoSchedule;
}

// The first taint that `counts` says true of and no toleration tolerates; null if there is none.
template <typename Predicate>
const Taint* FindUntoleratedTaint(absl::Span<const Taint> taints,
                                  absl::Span<const Toleration> tolerations, Predicate counts) {
  for (const Taint& taint : taints) {
    if (counts(taint) && !Tolerates(tolerations, taint)) return &taint;
  }
  return nullptr;
}

// The taints of a node in their order, as a value of a dictionary column.
class TaintList {
 public:
  TaintList() = default;
  explicit TaintList(std::vector<Taint> taints) : taints_(std::move(taints)) {}
  // From a repeated field of api::Taint.
  template <typename Repeated>
  static TaintList FromProto(const Repeated& taints) {
    std::vector<Taint> result;
    result.reserve(taints.size());
    for (const auto& taint : taints) result.push_back(Taint::FromProto(taint));
    return TaintList(std::move(result));
  }

  operator absl::Span<const Taint>() const { return taints_; }
  absl::Span<const Taint> taints() const { return taints_; }
  auto begin() const { return taints_.begin(); }
  auto end() const { return taints_.end(); }
  bool empty() const { return taints_.empty(); }
  size_t size() const { return taints_.size(); }

  friend bool operator==(const TaintList& a, const TaintList& b) { return a.taints_ == b.taints_; }
  friend bool operator!=(const TaintList& a, const TaintList& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const TaintList& list) {
    return H::combine(std::move(h), list.taints_);
  }

 private:
  std::vector<Taint> taints_;
};

}  // namespace berth

#endif  // BERTH_API_TAINTS_H_
