// SPDX-License-Identifier: Apache-2.0
#include "cel/unification.h"

namespace berth::cel {
namespace {

// A type like `type` with `parameters`.
Type Rebuild(const Type& type, std::vector<Type> parameters) {
  switch (type.kind()) {
    case Kind::kList:
      return Type::List(std::move(parameters[0]));
    case Kind::kMap:
      return Type::Map(std::move(parameters[0]), std::move(parameters[1]));
    case Kind::kType:
      return Type::Of(std::move(parameters[0]));
    default:
      return Type::Opaque(type.name(), std::move(parameters));
  }
}

bool IsEqualOrLessSpecific(const Type& a, const Type& b) {
  if (a.IsDyn() || a.kind() == Kind::kParameter) return true;
  if (b.IsDyn() || b.kind() == Kind::kParameter || a.kind() != b.kind()) return false;
  if (a.kind() == Kind::kType) return true;
  if (a.parameters().empty() || a.parameters().size() != b.parameters().size()) return a == b;
  if (a.name() != b.name()) return false;
  for (size_t i = 0; i < a.parameters().size(); ++i) {
    if (!IsEqualOrLessSpecific(a.parameters()[i], b.parameters()[i])) return false;
  }
  return true;
}

bool MayBeNull(const Type& type) {
  switch (type.kind()) {
    case Kind::kNull:
    case Kind::kOpaque:
    case Kind::kStruct:
    case Kind::kDuration:
    case Kind::kTimestamp:
      return true;
    default:
      return false;
  }
}

}  // namespace

Type Unification::NewParameter() {
  bound_.emplace_back();
  return Type::Parameter(static_cast<int>(bound_.size()) - 1);
}

Type Unification::Instantiate(const Type& type, std::vector<Type>& fresh) {
  if (type.kind() == Kind::kParameter) {
    while (fresh.size() <= static_cast<size_t>(type.number())) fresh.push_back(NewParameter());
    return fresh[static_cast<size_t>(type.number())];
  }
  if (type.parameters().empty()) return type;
  std::vector<Type> parameters;
  for (const Type& parameter : type.parameters()) {
    parameters.push_back(Instantiate(parameter, fresh));
  }
  return Rebuild(type, std::move(parameters));
}

bool Unification::IsAssignable(const Type& to, const Type& from) {
  return AreAssignable({&to, 1}, {&from, 1});
}

bool Unification::AreAssignable(absl::Span<const Type> to, absl::Span<const Type> from) {
  const size_t before = trail_.size();
  const bool assignable = AssignAll(to, from);
  if (!assignable) Undo(before);
  return assignable;
}

bool Unification::AssignAll(absl::Span<const Type> to, absl::Span<const Type> from) {
  if (to.size() != from.size()) return false;
  for (size_t i = 0; i < to.size(); ++i) {
    if (!Assign(to[i], from[i])) return false;
  }
  return true;
}

// cel-go checker/types.go internalIsAssignable. What binds first matters for what is complained
// about.
bool Unification::Assign(const Type& to, const Type& from) {
  if (!Step()) return false;
  if (from.kind() == Kind::kParameter) {
    const Binding binding = Bind(to, from);
    if (binding == Binding::kYes) return true;
    if (binding == Binding::kNoBecauseBound) return false;
  }
  if (to.kind() == Kind::kParameter) return Bind(from, to) == Binding::kYes;
  const auto fits_all = [](const Type& t) { return t.IsDyn() || t.kind() == Kind::kError; };
  if (fits_all(to) || fits_all(from)) return true;
  if (to.kind() == Kind::kNull) return MayBeNull(from);
  if (from.kind() == Kind::kNull) return MayBeNull(to);
  if (to.kind() != from.kind()) return false;
  if (to.kind() == Kind::kType) return true;
  return to.name() == from.name() && AssignAll(to.parameters(), from.parameters());
}

Unification::Binding Unification::Bind(const Type& type, const Type& parameter) {
  if (type == parameter) return Binding::kYes;
  const std::optional<Type> bound = bound_[static_cast<size_t>(parameter.number())];
  if (bound) {
    if (type == *bound) return Binding::kYes;
    if (!Assign(type, *bound)) return Binding::kNoBecauseBound;
    const Type general = MostGeneral(type, *bound);
    if (!Mentions(general, parameter)) Set(parameter, general);
    return Binding::kYes;
  }
  if (Mentions(type, parameter)) return Binding::kNo;
  Set(parameter, type);
  return Binding::kYes;
}

// Also through what is bound: a type that contains itself has no end.
bool Unification::Mentions(const Type& type, const Type& parameter) const {
  if (!Step()) return true;
  if (type.kind() == Kind::kParameter) {
    if (type == parameter) return true;
    const auto& bound = bound_[static_cast<size_t>(type.number())];
    return bound && Mentions(*bound, parameter);
  }
  for (const Type& part : type.parameters()) {
    if (Mentions(part, parameter)) return true;
  }
  return false;
}

Type Unification::Substitute(const Type& type, bool to_dyn) const {
  if (!Step()) return Type::Error();
  if (type.kind() == Kind::kParameter) {
    const auto& bound = bound_[static_cast<size_t>(type.number())];
    if (bound) return Substitute(*bound, to_dyn);
    return to_dyn ? Type::Dyn() : type;
  }
  if (type.parameters().empty()) return type;
  std::vector<Type> parameters;
  bool changed = false;
  for (const Type& parameter : type.parameters()) {
    parameters.push_back(Substitute(parameter, to_dyn));
    changed = changed || parameters.back() != parameter;
  }
  return changed ? Rebuild(type, std::move(parameters)) : type;
}

Type Unification::MostGeneral(const Type& a, const Type& b) {
  return IsEqualOrLessSpecific(a, b) ? a : b;
}

void Unification::Set(const Type& parameter, const Type& type) {
  auto& bound = bound_[static_cast<size_t>(parameter.number())];
  trail_.emplace_back(parameter.number(), bound);
  bound = type;
}

void Unification::Undo(size_t to) {
  while (trail_.size() > to) {
    auto& [number, bound] = trail_.back();
    bound_[static_cast<size_t>(number)] = std::move(bound);
    trail_.pop_back();
  }
}

}  // namespace berth::cel
