// SPDX-License-Identifier: Apache-2.0
// Which types may stand for which.
#ifndef BERTH_SRC_CEL_UNIFICATION_H_
#define BERTH_SRC_CEL_UNIFICATION_H_

#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "cel/type.h"

namespace berth::cel {

// What is known so far about the type parameters of one check. As cel-go checker/types.go.
class Unification {
 public:
  Type NewParameter();
  // `type`, the declared parameters 0 … n-1 replaced by new ones. `fresh` gets them, one set for
  // all types of a declaration.
  Type Instantiate(const Type& type, std::vector<Type>& fresh);

  // Whether a value of type `from` may be used as `to`. If so, parameters get bound; if not,
  // nothing changes.
  bool IsAssignable(const Type& to, const Type& from);
  bool AreAssignable(absl::Span<const Type> to, absl::Span<const Type> from);

  // With what is known put in. What is not known stays a parameter, or becomes dyn.
  Type Substitute(const Type& type) const { return Substitute(type, /*to_dyn=*/false); }
  Type SubstituteOrDyn(const Type& type) const { return Substitute(type, /*to_dyn=*/true); }

  // Whether it took so many steps that the answers are no longer to be relied on.
  bool exhausted() const { return steps_ > kMostSteps; }

  // The one of two assignable types that says less.
  static Type MostGeneral(const Type& a, const Type& b);

 private:
  // What parameters stand for can mention others twice, and those again: answers may take 2^n
  // steps.
  static constexpr int64_t kMostSteps = 2'000'000;

  bool Step() const { return ++steps_ <= kMostSteps; }
  bool Assign(const Type& to, const Type& from);
  bool AssignAll(absl::Span<const Type> to, absl::Span<const Type> from);
  enum class Binding { kNo, kNoBecauseBound, kYes };
  Binding Bind(const Type& type, const Type& parameter);
  bool Mentions(const Type& type, const Type& parameter) const;
  Type Substitute(const Type& type, bool to_dyn) const;
  void Set(const Type& parameter, const Type& type);
  void Undo(size_t to);

  std::vector<std::optional<Type>> bound_;
  // What was overwritten since, to take it back.
  std::vector<std::pair<int, std::optional<Type>>> trail_;
  mutable int64_t steps_ = 0;
};

// Types of more parts than this are not worked with.
inline constexpr int64_t kMaxTypeSize = 1'000;

}  // namespace berth::cel

#endif  // BERTH_SRC_CEL_UNIFICATION_H_
