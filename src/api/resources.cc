// SPDX-License-Identifier: Apache-2.0
// The pool of resource names, vectors of amounts, and what kind of resource a name is.
#include "berth/api/resources.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/string_pool.h"
#include "berth/api/amounts.h"
#include "berth/api/labels.h"

namespace berth {
namespace {

StringPool& Names() {
  static StringPool* const pool = [] {
    auto* p = new StringPool();
    for (const absl::string_view name : {"cpu", "memory", "ephemeral-storage"}) p->Intern(name);
    return p;
  }();
  return *pool;
}

}  // namespace

ResourceId ResourceIdOf(absl::string_view name) { return static_cast<int>(Names().Intern(name)); }
absl::string_view ResourceName(ResourceId id) { return Names().view(static_cast<uint32_t>(id)); }
int ResourceCount() { return static_cast<int>(Names().size()); }

int64_t AmountOf(ResourceId id, const Quantity& quantity) {
  return id == kCpu ? quantity.MilliValue() : quantity.Value();
}

Quantity QuantityOf(ResourceId id, int64_t amount) {
  if (id == kCpu) return Quantity::FromMilliValue(amount);
  const bool bytes =
      id == kMemory || id == kEphemeralStorage || IsHugePageResourceName(ResourceName(id));
  return Quantity::FromValue(amount,
                             bytes ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI);
}

void ResourceVector::Set(ResourceId id, int64_t amount) {
  if (static_cast<size_t>(id) >= amounts_.size()) {
    if (amount == 0) return;
    amounts_.resize(id + 1, 0);
  }
  amounts_[id] = amount;
  if (amount == 0) DropTrailingZeros();
}

void ResourceVector::Add(ResourceId id, int64_t amount) { Set(id, SaturatingAdd(Get(id), amount)); }

void ResourceVector::Add(const ResourceVector& other) {
  if (other.amounts_.size() > amounts_.size()) amounts_.resize(other.amounts_.size(), 0);
  for (int id = 0; id < other.size(); ++id) {
    amounts_[id] = SaturatingAdd(amounts_[id], other.amounts_[id]);
  }
  DropTrailingZeros();
}

void ResourceVector::Subtract(const ResourceVector& other) {
  if (other.amounts_.size() > amounts_.size()) amounts_.resize(other.amounts_.size(), 0);
  for (int id = 0; id < other.size(); ++id) {
    amounts_[id] = SaturatingSubtract(amounts_[id], other.amounts_[id]);
  }
  DropTrailingZeros();
}

void ResourceVector::Max(const ResourceVector& other) {
  if (other.amounts_.size() > amounts_.size()) amounts_.resize(other.amounts_.size(), 0);
  for (int id = 0; id < size(); ++id) amounts_[id] = std::max(amounts_[id], other.Get(id));
  DropTrailingZeros();
}

void ResourceVector::DropTrailingZeros() {
  while (!amounts_.empty() && amounts_.back() == 0) amounts_.pop_back();
}

std::string ResourceVector::ToString() const {
  std::vector<std::pair<absl::string_view, std::string>> entries;
  ForEach([&](ResourceId id, int64_t amount) {
    entries.emplace_back(ResourceName(id), QuantityOf(id, amount).ToString());
  });
  std::sort(entries.begin(), entries.end());
  return absl::StrJoin(entries, ", ", absl::PairFormatter(": "));
}

std::ostream& operator<<(std::ostream& out, const ResourceVector& v) { return out << v.ToString(); }

bool IsPrefixedNativeResource(absl::string_view name) {
  return absl::StrContains(name, "kubernetes.io/");
}

bool IsNativeResource(absl::string_view name) {
  return !absl::StrContains(name, "/") || IsPrefixedNativeResource(name);
}

bool IsExtendedResourceName(absl::string_view name) {
  if (IsNativeResource(name) || absl::StartsWith(name, "requests.")) return false;
  return CheckLabelKey(absl::StrCat("requests.", name)).empty();  // a qualified name in quotas too
}

bool IsHugePageResourceName(absl::string_view name) { return absl::StartsWith(name, "hugepages-"); }

bool IsAttachableVolumeResourceName(absl::string_view name) {
  return absl::StartsWith(name, "attachable-volumes-");
}

bool IsScalarResourceName(absl::string_view name) {
  return IsExtendedResourceName(name) || IsHugePageResourceName(name) ||
         IsPrefixedNativeResource(name) || IsAttachableVolumeResourceName(name);
}

}  // namespace berth
