// SPDX-License-Identifier: Apache-2.0
// The table of kinds.
#include "berth/api/kinds.h"

#include <array>
#include <atomic>
#include <memory>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/mutex.h"

namespace berth {
namespace {

struct KindInfo {
  explicit KindInfo(const KindDescription& of)
      : description(of),
        api_version(of.group.empty() ? of.version : absl::StrCat(of.group, "/", of.version)),
        group_resource(
            absl::StrCat(of.plural, ".", of.version, of.group.empty() ? "" : ".", of.group)) {}
  const KindDescription description;
  const std::string api_version, group_resource;
};

// Grows, and what is in it stays: readers take no lock.
class KindTable {
 public:
  KindTable() {
#define BERTH_KIND(name, kind, group, version, plural, namespaced) \
  Add({group, version, kind, plural, namespaced});
    BERTH_KINDS(BERTH_KIND)
#undef BERTH_KIND
  }

  const KindInfo& operator[](Kind kind) const {
    const auto index = static_cast<size_t>(kind);
    BERTH_DCHECK(index < static_cast<size_t>(size_.load(std::memory_order_relaxed)));
    return *infos_[index];
  }
  absl::Span<const Kind> kinds() const {
    return absl::MakeConstSpan(kinds_.data(), static_cast<size_t>(size_.load()));
  }

  absl::StatusOr<Kind> Register(const KindDescription& wanted) {
    if (wanted.version.empty() || wanted.name.empty() || wanted.plural.empty()) {
      return absl::InvalidArgumentError("a kind has a version, a name and a plural");
    }
    const MutexLock lock(mutex_);
    for (const Kind kind : kinds()) {
      const KindDescription& known = (*this)[kind].description;
      if (std::tie(known.group, known.name) != std::tie(wanted.group, wanted.name)) continue;
      const bool is_same = std::tie(known.version, known.plural, known.is_namespaced) ==
                           std::tie(wanted.version, wanted.plural, wanted.is_namespaced);
      if (is_same && IsRegisteredKind(kind)) return kind;
      return absl::AlreadyExistsError(
          absl::StrCat(wanted.name, " is known already, as ", (*this)[kind].group_resource,
                       IsRegisteredKind(kind) ? "" : "; Berth reads it itself"));
    }
    if (size_ == kMostKinds) {
      return absl::ResourceExhaustedError(
          absl::StrCat("there are ", kMostKinds, " kinds already, and cannot be more"));
    }
    return Add(wanted);
  }

 private:
  Kind Add(const KindDescription& description) {
    const int index = size_.load();
    infos_[index] = std::make_unique<const KindInfo>(description);
    kinds_[index] = static_cast<Kind>(index);
    size_.store(index + 1);
    return kinds_[index];
  }

  Mutex mutex_;
  std::array<std::unique_ptr<const KindInfo>, kMostKinds> infos_;
  std::array<Kind, kMostKinds> kinds_;
  std::atomic<int> size_ = 0;
};

KindTable& Table() {
  static KindTable& table = *new KindTable;
  return table;
}

}  // namespace

absl::StatusOr<Kind> RegisterKind(const KindDescription& description) {
  return Table().Register(description);
}

absl::Span<const Kind> AllKinds() { return Table().kinds(); }

absl::string_view KindName(Kind kind) { return Table()[kind].description.name; }
absl::string_view ApiGroup(Kind kind) { return Table()[kind].description.group; }
absl::string_view Plural(Kind kind) { return Table()[kind].description.plural; }
bool IsNamespaced(Kind kind) { return Table()[kind].description.is_namespaced; }
absl::string_view ApiVersion(Kind kind) { return Table()[kind].api_version; }
absl::string_view GroupResource(Kind kind) { return Table()[kind].group_resource; }

std::optional<Kind> FindKind(absl::string_view api_version, absl::string_view kind) {
  for (const Kind known : AllKinds()) {
    if (kind != KindName(known)) continue;
    if (api_version == ApiVersion(known)) return known;
    const bool custom = known == Kind::kPodGroup || known == Kind::kElasticQuota;
    if (custom && api_version == "scheduling.sigs.k8s.io/v1alpha1") return known;
    const bool of_devices = ApiGroup(known) == "resource.k8s.io";
    if (of_devices &&
        (api_version == "resource.k8s.io/v1beta1" || api_version == "resource.k8s.io/v1beta2" ||
         api_version == "resource.k8s.io/v1")) {
      return known;
    }
    if (known == Kind::kKueueTopology &&
        (api_version == "kueue.x-k8s.io/v1alpha1" || api_version == "kueue.x-k8s.io/v1beta2")) {
      return known;
    }
    if (known == Kind::kKubernetesPodGroup && (api_version == "scheduling.k8s.io/v1alpha2" ||
                                               api_version == "scheduling.k8s.io/v1alpha3")) {
      return known;
    }
    if (known == Kind::kVolcanoPodGroup &&
        (api_version == "scheduling.incubator.k8s.io/v1alpha1" ||
         api_version == "scheduling.incubator.k8s.io/v1alpha2")) {
      return known;
    }
  }
  return std::nullopt;
}

std::ostream& operator<<(std::ostream& out, Kind kind) { return out << KindName(kind); }

}  // namespace berth
