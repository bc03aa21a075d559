// SPDX-License-Identifier: Apache-2.0
// The table of kinds.
#include "berth/api/kinds.h"

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

struct KindInfo {
  absl::string_view name, group, version, plural;
  bool namespaced;
};

constexpr KindInfo kKinds[] = {
#define BERTH_KIND(name, group, version, plural, namespaced) \
  {#name, group, version, plural, namespaced},
    BERTH_KINDS(BERTH_KIND)
#undef BERTH_KIND
};

const KindInfo& InfoOf(Kind kind) { return kKinds[static_cast<int>(kind)]; }

// A text made of the entry of each kind, kept for the life of the process.
template <typename Maker>
std::array<std::string, kKindCount> MakeTexts(Maker make) {
  std::array<std::string, kKindCount> texts;
  for (int i = 0; i < kKindCount; ++i) texts[i] = make(kKinds[i]);
  return texts;
}

}  // namespace

const std::array<Kind, kKindCount>& AllKinds() {
  static constexpr std::array<Kind, kKindCount> kinds = {
#define BERTH_KIND(name, group, version, plural, namespaced) Kind::k##name,
      BERTH_KINDS(BERTH_KIND)
#undef BERTH_KIND
  };
  return kinds;
}

absl::string_view KindName(Kind kind) { return InfoOf(kind).name; }
absl::string_view ApiGroup(Kind kind) { return InfoOf(kind).group; }
absl::string_view Plural(Kind kind) { return InfoOf(kind).plural; }
bool IsNamespaced(Kind kind) { return InfoOf(kind).namespaced; }

absl::string_view ApiVersion(Kind kind) {
  static const auto& texts =
      *new std::array<std::string, kKindCount>(MakeTexts([](const KindInfo& k) {
        return k.group.empty() ? std::string(k.version) : absl::StrCat(k.group, "/", k.version);
      }));
  return texts[static_cast<int>(kind)];
}

absl::string_view GroupResource(Kind kind) {
  static const auto& texts =
      *new std::array<std::string, kKindCount>(MakeTexts([](const KindInfo& k) {
        return k.group.empty() ? absl::StrCat(k.plural, ".", k.version)
                               : absl::StrCat(k.plural, ".", k.version, ".", k.group);
      }));
  return texts[static_cast<int>(kind)];
}

std::optional<Kind> FindKind(absl::string_view api_version, absl::string_view kind) {
  for (const Kind known : AllKinds()) {
    if (kind != KindName(known)) continue;
    if (api_version == ApiVersion(known)) return known;
    const bool custom = known == Kind::kPodGroup || known == Kind::kElasticQuota;
    if (custom && api_version == "scheduling.sigs.k8s.io/v1alpha1") return known;
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, Kind kind) { return out << KindName(kind); }

}  // namespace berth
