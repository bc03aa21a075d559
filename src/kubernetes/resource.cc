// SPDX-License-Identifier: Apache-2.0
// Implementation of resource.h.
#include "kubernetes/resource.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace berth {
namespace {

std::string Root(Kind kind) {
  return absl::StrCat(ApiGroup(kind).empty() ? "/api/" : "/apis/", ApiVersion(kind));
}

}  // namespace

bool IsCustomResource(Kind kind) {
  if (IsRegisteredKind(kind)) return true;
  // The groups of Kubernetes itself have no dot, or are below k8s.io without being a project's own.
  const absl::string_view group = ApiGroup(kind);
  return absl::StrContains(group, '.') &&
         (!absl::EndsWith(group, ".k8s.io") || absl::EndsWith(group, ".x-k8s.io"));
}

bool MayBeAbsent(Kind kind) {
  return IsCustomResource(kind) || ApiGroup(kind) == "resource.k8s.io" ||
         kind == Kind::kAlphaWorkload || kind == Kind::kKubernetesPodGroup ||
         kind == Kind::kCompositePodGroup;
}

std::string CollectionPath(Kind kind) { return absl::StrCat(Root(kind), "/", Plural(kind)); }

std::string CollectionPath(Kind kind, absl::string_view namespace_name) {
  if (namespace_name.empty()) return CollectionPath(kind);
  return absl::StrCat(Root(kind), "/namespaces/", QueryEscape(namespace_name), "/", Plural(kind));
}

std::string ObjectPath(const Identity& object) {
  return absl::StrCat(CollectionPath(object.kind(), object.namespace_name()), "/",
                      QueryEscape(object.name()));
}

std::string QueryEscape(absl::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || c == '-' || c == '_' || c == '.' || c == '~') {
      escaped += c;
    } else {
      escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return escaped;
}

}  // namespace berth
