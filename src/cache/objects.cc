// SPDX-License-Identifier: Apache-2.0
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
  objects.NoteChange(object.identity());
  const auto [at, is_new] = objects.by_key.try_emplace(
      KeyOf(object.namespace_name(), object.name()), objects.in_order.end());
  if (is_new) {
    at->second =
        objects.in_order.emplace_hint(objects.in_order.end(), next_number_++, std::move(object));
    return std::nullopt;
  }
  return std::exchange(at->second->second, std::move(object));
}

std::optional<Object> Objects::Remove(Kind kind, absl::string_view namespace_name,
                                      absl::string_view name) {
  OfKind& objects = of(kind);
  const auto at = objects.by_key.find(KeyOf(namespace_name, name));
  if (at == objects.by_key.end()) return std::nullopt;
  if (kind == Kind::kNamespace) namespace_labels_.erase(Symbol::Intern(name));
  std::optional<Object> removed = std::move(at->second->second);
  objects.NoteChange(removed->identity());
  objects.in_order.erase(at->second);
  objects.by_key.erase(at);
  return removed;
}

const Object* Objects::Find(Kind kind, absl::string_view namespace_name,
                            absl::string_view name) const {
  const OfKind& objects = of(kind);
  const auto at = objects.by_key.find(KeyOf(namespace_name, name));
  return at == objects.by_key.end() ? nullptr : &at->second->second;
}

std::vector<const Object*> Objects::List(Kind kind) const {
  std::vector<const Object*> list;
  list.reserve(of(kind).in_order.size());
  for (const auto& [number, object] : of(kind).in_order) list.push_back(&object);
  return list;
}

void Objects::OfKind::NoteChange(IdentityPtr changed) {
  if (changes.size() == 2 * kKeptChanges) {
    changes.erase(changes.begin(), changes.begin() + kKeptChanges);
  }
  changes.push_back(std::move(changed));
  ++version;
}

std::optional<absl::Span<const IdentityPtr>> Objects::ChangesSince(Kind kind,
                                                                   uint64_t version) const {
  const OfKind& objects = of(kind);
  const uint64_t missed = objects.version - version;
  if (version > objects.version || missed > objects.changes.size()) return std::nullopt;
  return absl::MakeConstSpan(objects.changes).last(missed);
}

const LabelSet* Objects::NamespaceLabels(Symbol namespace_name) const {
  const auto it = namespace_labels_.find(namespace_name);
  return it == namespace_labels_.end() ? nullptr : &it->second;
}

}  // namespace berth
