// SPDX-License-Identifier: Apache-2.0
// Who an object is: the names that all of its states have in common.
#ifndef BERTH_API_IDENTITY_H_
#define BERTH_API_IDENTITY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "berth/api/kinds.h"

namespace berth {

// Made once for an object and shared by every state of it, so that finding what is known of it
// takes no hashing, and mostly no comparing either (identity_map.h). Immutable. Threads: any.
class Identity {
 public:
  // `namespace_name` does not count for kinds that have none; `uid` is empty if it is not known.
  Identity(Kind kind, absl::string_view namespace_name, absl::string_view name,
           absl::string_view uid);

  Kind kind() const { return kind_; }
  const std::string& key() const { return key_; }  // "namespace/name", or "name"
  absl::string_view name() const { return absl::string_view(key_).substr(name_begin_); }
  absl::string_view namespace_name() const {  // empty for kinds that have none
    return name_begin_ == 0 ? absl::string_view()
                            : absl::string_view(key_).substr(0, name_begin_ - 1);
  }
  // metadata.uid; of an object that has none "Kind/namespace/name", with the resource for the kind
  // where several kinds have its name, so that any two objects of a cluster differ.
  const std::string& uid() const { return uid_; }
  bool has_uid() const { return has_uid_; }

  // HashOf() the key and the uid.
  size_t key_hash() const { return key_hash_; }
  size_t uid_hash() const { return uid_hash_; }
  static size_t HashOf(absl::string_view text);

  // Whether these are the names of the object.
  bool Is(absl::string_view namespace_name, absl::string_view name, absl::string_view uid) const;

 private:
  const Kind kind_;
  const bool has_uid_;
  const uint32_t name_begin_;  // in the key
  const std::string key_;
  const std::string uid_;
  const size_t key_hash_, uid_hash_;
};

using IdentityPtr = std::shared_ptr<const Identity>;

// What objects are distinguished by: their uid, or, among those of one kind, their key.
struct ByUid {
  static absl::string_view Name(const Identity& who) { return who.uid(); }
  static size_t Hash(const Identity& who) { return who.uid_hash(); }
};
struct ByKey {
  static absl::string_view Name(const Identity& who) { return who.key(); }
  static size_t Hash(const Identity& who) { return who.key_hash(); }
};

// An object that is asked for, as a parameter: by its Identity, which is fast, or by a name alone.
// Valid as long as what it was made of.
template <class By>
class ObjectRef {
 public:
  ObjectRef(const Identity& who) : who_(&who), name_(By::Name(who)), hash_(By::Hash(who)) {}
  ObjectRef(absl::string_view name) : name_(name), hash_(Identity::HashOf(name)) {}
  ObjectRef(const std::string& name) : ObjectRef(absl::string_view(name)) {}
  ObjectRef(const char* name) : ObjectRef(absl::string_view(name)) {}

  absl::string_view name() const { return name_; }
  size_t hash() const { return hash_; }
  bool Means(const Identity& who) const { return who_ == &who || name_ == By::Name(who); }

 private:
  const Identity* who_ = nullptr;
  absl::string_view name_;
  size_t hash_;
};
using UidRef = ObjectRef<ByUid>;

}  // namespace berth

#endif  // BERTH_API_IDENTITY_H_
