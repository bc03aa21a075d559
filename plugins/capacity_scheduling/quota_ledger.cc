// SPDX-License-Identifier: Apache-2.0
// Reading quotas and charging pods.
#include "plugins/capacity_scheduling/quota_ledger.h"

#include <limits>

#include "berth/api/core_v1.pb.h"
#include "berth/api/quantity.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "plugins/capacity_scheduling/claimed_devices.h"

namespace berth {
namespace {

// Quantities were checked when the object was read.
template <class QuantityMap>
ResourceVector Amounts(const QuantityMap& map) {
  return ParseResources(map).value_or(ResourceVector());
}

template <class QuantityMap>
ResourceBounds BoundsOf(const QuantityMap& map) {
  ResourceBounds bounds;
  for (const auto& [name, message] : map) {
    const absl::StatusOr<Quantity> quantity = Quantity::Parse(message.string());
    if (!quantity.ok() || name == kPodsResource) continue;  // pods are not charged by number
    const ResourceId id = ResourceIdOf(name);
    bounds.Set(id, AmountOf(id, *quantity));
  }
  return bounds;
}

constexpr size_t kMostRequests = 4096;  // that are kept

}  // namespace

// --- ResourceBounds ---

const int64_t* ResourceBounds::Find(ResourceId id) const {
  for (const auto& [named, amount] : amounts_) {
    if (named == id) return &amount;
  }
  return nullptr;
}

void ResourceBounds::Add(const ResourceBounds& other) {
  for (const auto& [id, amount] : other.amounts_) {
    if (int64_t* sum = const_cast<int64_t*>(Find(id)); sum == nullptr) {
      Set(id, amount);
    } else if (__builtin_add_overflow(*sum, amount, sum)) {
      *sum = std::numeric_limits<int64_t>::max();
    }
  }
}

// --- Free functions ---

ResourceVector QuotaRequest(const PodInfo& pod) {
  const api::PodSpec& spec = pod.spec();
  ResourceVector request;
  for (const api::Container& container : spec.containers()) {
    request.Add(Amounts(container.resources().requests()));
  }
  for (const api::Container& container : spec.init_containers()) {
    request.Max(Amounts(container.resources().requests()));
  }
  request.Add(Amounts(spec.overhead()));
  return request;
}

ResourceVector Restrict(const ResourceVector& amounts, const Quota& quota) {
  ResourceVector restricted;
  amounts.ForEach([&](ResourceId id, int64_t amount) {
    if (quota.Names(id)) restricted.Set(id, amount);
  });
  return restricted;
}

// --- QuotaLedger ---

void QuotaLedger::Refresh(const ObjectStore& objects) {
  const uint64_t version = objects.version(Kind::kElasticQuota);
  if (version_ == version) return;
  version_ = version;
  quotas_.clear();
  namespaces_.clear();
  total_min_ = ResourceBounds();
  total_usage_ = Usage();
  for (const Object* object : objects.List(Kind::kElasticQuota)) {
    const api::ElasticQuotaSpec& spec = object->As<api::ElasticQuota>().spec();
    const Symbol name = Symbol::Intern(object->namespace_name());
    const auto [it, is_new] = quotas_.try_emplace(
        name, Quota{name, static_cast<int>(namespaces_.size()), BoundsOf(spec.min()),
                    BoundsOf(spec.max()), std::string(object->name())});
    if (!is_new) continue;
    namespaces_.push_back(name);
    total_min_.Add(it->second.min);
    AddToTotal(it->second, UsageOf(name));
  }
}

void QuotaLedger::AddToTotal(const Quota& quota, const Usage& usage) {
  total_usage_.used.Add(Restrict(usage.used, quota));
  total_usage_.leaving.Add(Restrict(usage.leaving, quota));
}

void QuotaLedger::Move(Account& account, Symbol namespace_name, const ResourceVector& amount,
                       bool leaving, int sign) {
  const auto move = [&](ResourceVector& sum, const ResourceVector& of) {
    if (sign > 0) {
      sum.Add(of);
    } else {
      sum.Subtract(of);
    }
  };
  const auto move_usage = [&](Usage& usage, const ResourceVector& of) {
    move(usage.used, of);
    if (leaving) move(usage.leaving, of);
  };
  move_usage(account.usage, amount);
  const Quota* const quota = Find(namespace_name);
  if (quota != nullptr) move_usage(total_usage_, Restrict(amount, *quota));
}

void QuotaLedger::MoveClaim(Account& account, Symbol namespace_name, const ChargedClaim& claim,
                            int sign) {
  if (claim.users == 0) return;
  Move(account, namespace_name, claim.amount, claim.users == claim.leaving, sign);
}

void QuotaLedger::Charge(const PodInfo& pod, Symbol node) {
  const bool leaving = pod.deletion_time().has_value();
  const auto [entry, is_new] = charges_.FindOrAdd(pod.identity());
  if (!is_new) return;
  const Symbol name = pod.namespace_name();
  const auto no_claim = [](const std::string&) { return false; };
  *entry = {RequestOf(pod, no_claim), ClaimsOf(pod), node, leaving};
  Account& account = accounts_[name];
  PodsOnNode& on_node = account.by_node[node];
  ++on_node.pods;
  on_node.leaving += leaving ? 1 : 0;
  Move(account, name, entry->amount, leaving, 1);
  for (const std::string& claim : entry->claims) {
    ChargedClaim& charged = charged_claims_[claim];
    MoveClaim(account, name, charged, -1);
    if (charged.users++ == 0) charged.amount = AmountOf(pod, claim);
    charged.leaving += leaving ? 1 : 0;
    MoveClaim(account, name, charged, 1);
  }
}

void QuotaLedger::Release(const PodInfo& pod) {
  Entry* const found = charges_.Find(*pod.identity());
  if (found == nullptr) return;
  const Entry entry = std::move(*found);
  charges_.Erase(*pod.identity());
  const Symbol name = pod.namespace_name();
  const auto account = accounts_.find(name);
  Move(account->second, name, entry.amount, entry.leaving, -1);
  for (const std::string& claim : entry.claims) {
    const auto charged = charged_claims_.find(claim);
    MoveClaim(account->second, name, charged->second, -1);
    --charged->second.users;
    charged->second.leaving -= entry.leaving ? 1 : 0;
    MoveClaim(account->second, name, charged->second, 1);
    if (charged->second.users == 0) charged_claims_.erase(charged);
  }
  const auto on_node = account->second.by_node.find(entry.node);
  on_node->second.leaving -= entry.leaving ? 1 : 0;
  if (--on_node->second.pods == 0) account->second.by_node.erase(on_node);
  if (account->second.by_node.empty()) accounts_.erase(account);
}

std::vector<std::string> QuotaLedger::ClaimsOf(const PodInfo& pod) const {
  std::vector<std::string> claims;
  if (claims_ == nullptr || pod.spec().resource_claims().empty()) return claims;
  ForEachClaim(pod, *claims_, [&](const std::string& claim, const api::ResourceClaim* object) {
    if (object != nullptr) claims.push_back(claim);
  });
  return claims;
}

ResourceVector QuotaLedger::AmountOf(const PodInfo& pod, absl::string_view claim) const {
  return DevicesClaimedBy(pod, *claims_, QuotaDevices(),
                          [&](const std::string& one) { return one == claim; })
      .amounts.resources;
}

const Quota* QuotaLedger::Find(Symbol namespace_name) const {
  const auto it = quotas_.find(namespace_name);
  return it == quotas_.end() ? nullptr : &it->second;
}

const Usage& QuotaLedger::UsageOf(Symbol namespace_name) const {
  static const Usage& kNone = *new Usage();
  const auto it = accounts_.find(namespace_name);
  return it == accounts_.end() ? kNone : it->second.usage;
}

const QuotaLedger::ByNode& QuotaLedger::NodesOf(Symbol namespace_name) const {
  static const ByNode& kNone = *new ByNode();
  const auto it = accounts_.find(namespace_name);
  return it == accounts_.end() ? kNone : it->second.by_node;
}

ResourceVector QuotaLedger::WithoutClaims(const PodInfo& pod) const {
  if (!behind_resources_.has_value() || behind_resources_->version() == 0) return QuotaRequest(pod);
  PodAmounts amounts;
  amounts.resources = QuotaRequest(pod);
  behind_resources_->Add(QuotaDevices(), amounts);
  return amounts.resources;
}

const ResourceVector& QuotaLedger::RequestOf(const PodInfo& pod, CountsClaim counts) const {
  if (claims_ != nullptr && !pod.spec().resource_claims().empty()) {
    with_claims_ = WithoutClaims(pod);
    with_claims_.Add(DevicesClaimedBy(pod, *claims_, QuotaDevices(), counts).amounts.resources);
    return with_claims_;
  }
  const uint64_t counted_by = behind_resources_.has_value() ? behind_resources_->version() : 0;
  if (std::exchange(requests_by_, counted_by) != counted_by) requests_.clear();
  const std::shared_ptr<const PodShape>& shape = pod.packed()->shape();
  const auto known = requests_.find(shape.get());
  if (known != requests_.end()) return known->second.amount;
  if (requests_.size() >= kMostRequests) requests_.clear();
  ShapeRequest& request = requests_[shape.get()];
  request = {shape, WithoutClaims(pod)};
  return request.amount;
}

}  // namespace berth
