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

bool HasLowerId(const std::pair<ResourceId, int64_t>& amount, ResourceId id) {
  return amount.first < id;
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

int64_t ResourceVector::GetRare(ResourceId id) const {
  const auto it = std::lower_bound(rare_.begin(), rare_.end(), id, HasLowerId);
  return it != rare_.end() && it->first == id ? it->second : 0;
}

void ResourceVector::SetRare(ResourceId id, int64_t amount) {
  const bool is_last = rare_.empty() || rare_.back().first < id;
  const auto it =
      is_last ? rare_.end() : std::lower_bound(rare_.begin(), rare_.end(), id, HasLowerId);
  const bool is_there = it != rare_.end() && it->first == id;
  if (is_there && amount == 0) {
    rare_.erase(it);
  } else if (is_there) {
    it->second = amount;
  } else if (amount != 0) {
    rare_.insert(it, {id, amount});
  }
}

void ResourceVector::Set(ResourceId id, int64_t amount) {
  if (id >= kCommonResources) {
    SetRare(id, amount);
    return;
  }
  if (static_cast<size_t>(id) >= common_.size()) {
    if (amount == 0) return;
    common_.resize(id + 1, 0);
  }
  common_[id] = amount;
  if (amount == 0) DropTrailingZeros();
}

void ResourceVector::Add(ResourceId id, int64_t amount) { Set(id, SaturatingAdd(Get(id), amount)); }

template <class Combine>
void ResourceVector::CombineWith(const ResourceVector& other, Combine combine) {
  if (other.common_.size() > common_.size()) common_.resize(other.common_.size(), 0);
  for (int id = 0; id < other.common_size(); ++id) {
    common_[id] = combine(common_[id], other.common_[id]);
  }
  DropTrailingZeros();
  if (other.rare_.empty()) return;
  if (other.rare_.size() <= 1 + rare_.size() / 8) {
    for (size_t i = 0; i < other.rare_.size(); ++i) {  // which may be this one
      const auto [id, amount] = other.rare_[i];
      SetRare(id, combine(GetRare(id), amount));
    }
    return;
  }
  Rare merged;
  merged.reserve(rare_.size() + other.rare_.size());
  auto mine = rare_.begin();
  for (const auto& [id, amount] : other.rare_) {
    for (; mine != rare_.end() && mine->first < id; ++mine) merged.push_back(*mine);
    const bool is_there = mine != rare_.end() && mine->first == id;
    const int64_t result = combine(is_there ? (mine++)->second : 0, amount);
    if (result != 0) merged.emplace_back(id, result);
  }
  merged.insert(merged.end(), mine, rare_.end());
  rare_ = std::move(merged);
}

void ResourceVector::Add(const ResourceVector& other) {
  CombineWith(other, [](int64_t a, int64_t b) { return SaturatingAdd(a, b); });
}

void ResourceVector::Subtract(const ResourceVector& other) {
  CombineWith(other, [](int64_t a, int64_t b) { return SaturatingSubtract(a, b); });
}

void ResourceVector::Max(const ResourceVector& other) {
  const auto larger = [](int64_t a, int64_t b) { return std::max(a, b); };
  // What only this one has is compared with 0.
  for (int id = other.common_size(); id < common_size(); ++id) common_[id] = larger(common_[id], 0);
  const auto is_less = [&](const auto& r) { return r.second < 0 && other.Get(r.first) == 0; };
  if (!rare_.empty()) {
    rare_.erase(std::remove_if(rare_.begin(), rare_.end(), is_less), rare_.end());
  }
  CombineWith(other, larger);
}

void ResourceVector::DropTrailingZeros() {
  while (!common_.empty() && common_.back() == 0) common_.pop_back();
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
