// SPDX-License-Identifier: Apache-2.0
// Every object of the cluster that is not a pod or a node.
#ifndef BERTH_SRC_CACHE_OBJECTS_H_
#define BERTH_SRC_CACHE_OBJECTS_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/handle/object_store.h"

namespace berth {

class Objects final : public ObjectStore {
 public:
  Objects() = default;
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;

  // Adds or replaces the object of that kind and name; a replaced one keeps its place in List().
  // Returns what was there before.
  std::optional<Object> Set(Object object);
  // Returns what was there.
  std::optional<Object> Remove(Kind kind, absl::string_view namespace_name, absl::string_view name);

  using ObjectStore::Find;
  const Object* Find(Kind kind, absl::string_view namespace_name,
                     absl::string_view name) const override;
  std::vector<const Object*> List(Kind kind) const override;
  uint64_t version(Kind kind) const override { return of(kind).version; }
  std::optional<absl::Span<const IdentityPtr>> ChangesSince(Kind kind,
                                                            uint64_t version) const override;
  const LabelSet* NamespaceLabels(Symbol namespace_name) const override;

  int size(Kind kind) const { return static_cast<int>(of(kind).by_key.size()); }

  // So many of the latest changes of each kind are kept at least.
  static constexpr size_t kKeptChanges = 8192;

 private:
  using InOrder = std::map<uint64_t, Object>;  // by number, which grows with each that comes
  struct OfKind {
    absl::flat_hash_map<std::string, InOrder::iterator> by_key;  // "namespace/name"
    InOrder in_order;
    uint64_t version = 0;
    std::vector<IdentityPtr> changes;  // the latest; the last one made `version`

    void NoteChange(IdentityPtr changed);
  };
  const OfKind& of(Kind kind) const { return kinds_[static_cast<int>(kind)]; }
  OfKind& of(Kind kind) { return kinds_[static_cast<int>(kind)]; }

  std::array<OfKind, kMostKinds> kinds_;
  uint64_t next_number_ = 0;
  absl::flat_hash_map<Symbol, LabelSet> namespace_labels_;
};

}  // namespace berth

#endif  // BERTH_SRC_CACHE_OBJECTS_H_
