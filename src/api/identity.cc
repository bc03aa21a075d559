// SPDX-License-Identifier: Apache-2.0
// Implementation of identity.h.
#include "berth/api/identity.h"

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// The name alone would not do for kinds that share it with another one.
absl::string_view UniqueName(Kind kind) {
  const bool shares_name = kind == Kind::kKubernetesPodGroup || kind == Kind::kVolcanoPodGroup;
  return shares_name ? GroupResource(kind) : KindName(kind);
}

}  // namespace

Identity::Identity(Kind kind, absl::string_view namespace_name, absl::string_view name,
                   absl::string_view uid)
    : kind_(kind),
      has_uid_(!uid.empty()),
      name_begin_(IsNamespaced(kind) ? static_cast<uint32_t>(namespace_name.size() + 1) : 0),
      key_(name_begin_ == 0 ? std::string(name) : absl::StrCat(namespace_name, "/", name)),
      uid_(has_uid_ ? std::string(uid) : absl::StrCat(UniqueName(kind), "/", key_)),
      key_hash_(HashOf(key_)),
      uid_hash_(HashOf(uid_)) {}

size_t Identity::HashOf(absl::string_view text) { return absl::HashOf(text); }

bool Identity::Is(absl::string_view namespace_name, absl::string_view name,
                  absl::string_view uid) const {
  const absl::string_view space = name_begin_ == 0 ? absl::string_view() : namespace_name;
  return this->name() == name && this->namespace_name() == space &&
         (uid.empty() ? !has_uid_ : has_uid_ && uid_ == uid);
}

}  // namespace berth
