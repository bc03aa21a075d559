// Objects by kind: found by name, listed in the order in which they came.
#include "cache/objects.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"

namespace berth {
namespace {

std::string KeyOf(absl::string_view namespace_name, absl::string_view name) {
  return namespace_name.empty() ? std::string(name) : absl::StrCat(namespace_name, "/", name);
}

}  // namespace

std::optional<Object> Objects::Set(Object object) {
  const Kind kind = object.kind();
  if (kind == Kind::kNamespace) {
    const api::Namespace& message = object.As<api::Namespace>();
    namespace_labels_[Symbol::Intern(object.name())] =
        LabelSet::FromMap(message.metadata().labels());
  }
  OfKind& objects = of(kind);
  ++objects.version;
  const auto [number, is_new] =
      objects.by_key.try_emplace(KeyOf(object.namespace_name(), object.name()), next_number_);
  if (is_new) {
    objects.in_order.emplace(next_number_++, std::move(object));
    return std::nullopt;
  }
  return std::exchange(objects.in_order.find(number->second)->second, std::move(object));
}

std::optional<Object> Objects::Remove(Kind kind, absl::string_view namespace_name,
                                      absl::string_view name) {
  OfKind& objects = of(kind);
  const auto number = objects.by_key.find(KeyOf(namespace_name, name));
  if (number == objects.by_key.end()) return std::nullopt;
  ++objects.version;
  if (kind == Kind::kNamespace) namespace_labels_.erase(Symbol::Intern(name));
  const auto object = objects.in_order.find(number->second);
  std::optional<Object> removed = std::move(object->second);
  objects.in_order.erase(object);
  objects.by_key.erase(number);
  return removed;
}

const Object* Objects::Find(Kind kind, absl::string_view namespace_name,
                            absl::string_view name) const {
  const OfKind& objects = of(kind);
  const auto number = objects.by_key.find(KeyOf(namespace_name, name));
  return number == objects.by_key.end() ? nullptr : &objects.in_order.find(number->second)->second;
}

std::vector<const Object*> Objects::List(Kind kind) const {
  std::vector<const Object*> list;
  list.reserve(of(kind).in_order.size());
  for (const auto& [number, object] : of(kind).in_order) list.push_back(&object);
  return list;
}

const LabelSet* Objects::NamespaceLabels(Symbol namespace_name) const {
  const auto it = namespace_labels_.find(namespace_name);
  return it == namespace_labels_.end() ? nullptr : &it->second;
}

}  // namespace berth
