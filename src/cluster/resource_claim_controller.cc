// SPDX-License-Identifier: Apache-2.0
// Implementation of resource_claim_controller.h.
#include "cluster/resource_claim_controller.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/pod_status.h"

namespace berth {
namespace {

using Claim = api::ResourceClaim;
using Template = api::ResourceClaimTemplate;

constexpr char kPodClaimName[] = "resource.kubernetes.io/pod-claim-name";
constexpr char kFinalizer[] = "resource.kubernetes.io/delete-protection";

std::string Key(absl::string_view namespace_name, absl::string_view name) {
  return absl::StrCat(namespace_name, "/", name);
}

// podutil IsPodPhaseTerminal, or going without ever having had a node.
bool IsDone(const api::Pod& own) {
  return HasEnded(own.status()) ||
         (own.metadata().has_deletion_timestamp() && own.spec().node_name().empty());
}

const api::OwnerReference* ControllerOf(const Claim& claim) {
  for (const api::OwnerReference& owner : claim.metadata().owner_references()) {
    if (owner.controller()) return &owner;
  }
  return nullptr;
}

bool IsOwnedBy(const Claim& claim, absl::string_view pod_uid, const std::string& reference) {
  const api::OwnerReference* const owner = ControllerOf(claim);
  if (owner == nullptr || owner->uid() != pod_uid) return false;
  const auto& annotations = claim.metadata().annotations();
  const auto found = annotations.find(kPodClaimName);
  return found != annotations.end() && found->second == reference;
}

std::shared_ptr<Claim> MakeClaim(const Object& pod, const std::string& reference,
                                 const std::string& name, const Template& from) {
  auto claim = std::make_shared<Claim>();
  api::ObjectMeta& metadata = *claim->mutable_metadata();
  metadata.set_namespace_(std::string(pod.namespace_name()));
  metadata.set_name(name);
  *metadata.mutable_labels() = from.spec().metadata().labels();
  *metadata.mutable_annotations() = from.spec().metadata().annotations();
  (*metadata.mutable_annotations())[kPodClaimName] = reference;
  api::OwnerReference& owner = *metadata.add_owner_references();
  owner.set_api_version("v1");
  owner.set_kind("Pod");
  owner.set_name(std::string(pod.name()));
  owner.set_uid(std::string(pod.uid()));
  owner.set_controller(true);
  owner.set_block_owner_deletion(true);
  *claim->mutable_spec() = from.spec().spec();
  return claim;
}

// What the controller looks up and makes for one pod.
struct Maker {
  absl::FunctionRef<std::shared_ptr<const Template>(const std::string& key)> find_template;
  absl::FunctionRef<std::shared_ptr<const Claim>(const std::string& key)> find_claim;
  absl::FunctionRef<void(Object claim)> add_claim;
  absl::FunctionRef<void(const std::string& template_key)> on_missing;

  // The name of the pod's claim, which is there already or is made.
  std::string ClaimFor(const Object& pod, const std::string& reference,
                       const Template& from) const {
    const std::string plain = absl::StrCat(pod.name(), "-", reference);
    std::string name = plain;
    for (int i = 1;; ++i) {
      const auto taken = find_claim(Key(pod.namespace_name(), name));
      if (taken == nullptr) break;
      if (IsOwnedBy(*taken, pod.uid(), reference)) return name;
      name = absl::StrCat(plain, "-", i);
    }
    add_claim(Object::Of(MakeClaim(pod, reference, name, from)));
    return name;
  }

  // Returns the pod with its entries, which may be the same.
  Object MakeClaims(const Object& pod) const {
    std::vector<std::pair<std::string, std::string>> made;  // reference and claim
    const auto& spec = pod.packed()->shape()->spec();
    pod.packed()->ReadOwn([&](const api::Pod& own) {
      if (own.metadata().has_deletion_timestamp() || IsDone(own)) return;
      for (const api::PodResourceClaim& wanted : spec.resource_claims()) {
        if (!wanted.has_resource_claim_template_name()) continue;
        const bool has_entry =
            absl::c_any_of(own.status().resource_claim_statuses(),
                           [&](const auto& status) { return status.name() == wanted.name(); });
        if (has_entry) continue;
        const std::string key = Key(pod.namespace_name(), wanted.resource_claim_template_name());
        const auto from = find_template(key);
        if (from == nullptr) {
          on_missing(key);
          continue;
        }
        made.emplace_back(wanted.name(), ClaimFor(pod, wanted.name(), *from));
      }
    });
    if (made.empty()) return pod;
    auto changed = pod.packed()->With([&](api::Pod& own) {
      for (const auto& [reference, claim] : made) {
        api::PodResourceClaimStatus& status = *own.mutable_status()->add_resource_claim_statuses();
        status.set_name(reference);
        status.set_resource_claim_name(claim);
      }
    });
    return Object(std::move(changed), pod.where());
  }
};

bool HasClaims(const Object& pod) {
  return !pod.packed()->shape()->spec().resource_claims().empty();
}

}  // namespace

// --- Following -----------------------------------------------------------------------------------

void ResourceClaimController::Follow(const Object& object, bool is_gone) {
  // A pod without claims may have the special one for its extended resources.
  const bool has_claims = object.kind() == Kind::kPod && HasClaims(object);
  if (object.kind() == Kind::kPod && !has_claims && claims_of_.empty()) return;
  const std::string key(object.key());
  if (object.kind() == Kind::kPod) {
    if (!is_gone && has_claims) pods_.insert(key);
    const auto claims = claims_of_.find(key);
    if (claims != claims_of_.end()) claims_.insert(claims->second.begin(), claims->second.end());
  } else if (object.kind() == Kind::kResourceClaimTemplate) {
    const auto waiting = waiting_for_.find(key);
    if (is_gone || waiting == waiting_for_.end()) return;
    pods_.insert(waiting->second.begin(), waiting->second.end());
    waiting_for_.erase(waiting);
  } else if (object.kind() == Kind::kResourceClaim) {
    const auto& claim = object.As<Claim>();
    const std::string& space = claim.metadata().namespace_();
    const auto note = [&](const std::string& pod) {
      if (is_gone) return Forget(Key(space, pod), key);
      claims_of_[Key(space, pod)].insert(key);
    };
    for (const auto& user : claim.status().reserved_for()) note(user.name());
    if (const auto* const owner = ControllerOf(claim)) note(owner->name());
    is_gone ? void(claims_.erase(key)) : void(claims_.insert(key));
  }
}

void ResourceClaimController::Forget(const std::string& pod, const std::string& claim) {
  const auto claims = claims_of_.find(pod);
  if (claims == claims_of_.end()) return;
  claims->second.erase(claim);
  if (claims->second.empty()) claims_of_.erase(claims);
}

void ResourceClaimController::Reconcile() {
  while (true) {
    if (!pods_.empty()) {
      SyncPod(pods_.extract(pods_.begin()).value());
    } else if (!claims_.empty()) {
      SyncClaim(claims_.extract(claims_.begin()).value());
    } else {
      return;
    }
  }
}

// --- Pods ----------------------------------------------------------------------------------------

void ResourceClaimController::SyncPod(const std::string& key) {
  const Object* const found = objects_.Find(Kind::kPod, key);
  if (found == nullptr) return;
  const Object pod = *found;
  const auto add = [this](Object claim) { objects_.Put(std::move(claim)); };
  const auto wait = [&](const std::string& name) { waiting_for_[name].insert(key); };
  const auto find_template = [this](const std::string& name) {
    return objects_.Share<Template>(name);
  };
  const auto find_claim = [this](const std::string& name) { return objects_.Share<Claim>(name); };
  const Object changed = Maker{find_template, find_claim, add, wait}.MakeClaims(pod);
  if (changed.packed() != pod.packed()) objects_.Put(changed);
}

// --- Claims --------------------------------------------------------------------------------------

bool ResourceClaimController::IsUser(const std::string& namespace_name,
                                     const api::ResourceClaimConsumerReference& user) const {
  if (user.resource() != "pods" || !user.api_group().empty()) return true;  // unknown: it is kept
  const Object* const pod = objects_.Find(Kind::kPod, Key(namespace_name, user.name()));
  if (pod == nullptr || pod->uid() != user.uid()) return false;
  bool done = false;
  pod->packed()->ReadOwn([&](const api::Pod& own) { done = IsDone(own); });
  return !done;
}

bool ResourceClaimController::OwnerIsDone(const Claim& claim) const {
  const api::OwnerReference* const owner = ControllerOf(claim);
  if (owner == nullptr || owner->kind() != "Pod" || owner->api_version() != "v1") return false;
  const Object* const pod =
      objects_.Find(Kind::kPod, Key(claim.metadata().namespace_(), owner->name()));
  if (pod == nullptr || pod->uid() != owner->uid()) return true;
  bool ended = false;
  pod->packed()->ReadOwn([&](const api::Pod& own) { ended = HasEnded(own.status()); });
  return ended;
}

bool ResourceClaimController::IsNamedByNewOwner(const Claim& claim) const {
  const api::OwnerReference* const owner = ControllerOf(claim);
  const Object* const pod =
      objects_.Find(Kind::kPod, Key(claim.metadata().namespace_(), owner->name()));
  if (pod == nullptr) return false;
  bool is_named = false;
  pod->packed()->ReadOwn([&](const api::Pod& own) {
    is_named = !IsDone(own) &&
               absl::c_any_of(own.status().resource_claim_statuses(), [&](const auto& status) {
                 return status.resource_claim_name() == claim.metadata().name();
               });
  });
  return is_named;
}

void ResourceClaimController::SyncClaim(const std::string& key) {
  const auto claim = objects_.Share<Claim>(key);
  if (claim == nullptr) return;
  api::ResourceClaimStatus valid = claim->status();
  auto& users = *valid.mutable_reserved_for();
  users.erase(std::remove_if(
                  users.begin(), users.end(),
                  [&](const auto& user) { return !IsUser(claim->metadata().namespace_(), user); }),
              users.end());
  if (users.size() < claim->status().reserved_for_size()) {
    auto changed = std::make_shared<Claim>(*claim);
    if (users.empty()) {  // its last user was the last that needs its devices
      valid.clear_allocation();
      valid.clear_devices();
      auto& finalizers = *changed->mutable_metadata()->mutable_finalizers();
      finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), kFinalizer),
                       finalizers.end());
    }
    *changed->mutable_status() = std::move(valid);
    for (const auto& user : claim->status().reserved_for()) {
      Forget(Key(claim->metadata().namespace_(), user.name()), key);
    }
    return objects_.Put(Object::Of(std::move(changed)));  // and once more
  }
  if (users.empty() && OwnerIsDone(*claim) && !IsNamedByNewOwner(*claim))
    objects_.Remove(Kind::kResourceClaim, key);
}

// -------------------------------------------------------------------------------------------------

namespace {

// Those of a list, which is changed in place. What is new stands at its end.
class ObjectsOfList final : public ClusterObjects {
 public:
  explicit ObjectsOfList(std::vector<Object>& objects) : objects_(objects) {
    for (size_t i = 0; i < objects.size(); ++i) {
      if (IsConcerned(objects[i].kind())) place_.emplace(KeyOf(objects[i]), i);
    }
  }
  // Told of what is written.
  void SetController(ResourceClaimController& controller) { controller_ = &controller; }

  const Object* Find(Kind kind, absl::string_view key) const override {
    const auto found = place_.find({kind, std::string(key)});
    return found == place_.end() ? nullptr : &objects_[found->second];
  }
  std::vector<Object> List(Kind kind) const override {
    std::vector<Object> list;
    absl::c_copy_if(objects_, std::back_inserter(list),
                    [&](const Object& object) { return object.kind() == kind; });
    return list;
  }
  void Put(Object object) override {
    const Object written = object;
    const auto [place, is_new] = place_.emplace(KeyOf(object), objects_.size());
    if (is_new) {
      objects_.push_back(std::move(object));
    } else {
      objects_[place->second] = std::move(object);
    }
    controller_->Follow(written, /*is_gone=*/false);
  }
  void Remove(Kind kind, absl::string_view key) override {
    const auto found = place_.find({kind, std::string(key)});
    if (found == place_.end()) return;
    const Object removed = objects_[found->second];
    removed_.insert(found->second);
    place_.erase(found);
    controller_->Follow(removed, /*is_gone=*/true);
  }
  // At the end, since it moves the places.
  void DropRemoved() {
    if (removed_.empty()) return;
    std::vector<Object> left;
    left.reserve(objects_.size());
    for (size_t i = 0; i < objects_.size(); ++i) {
      if (!removed_.contains(i)) left.push_back(std::move(objects_[i]));
    }
    objects_ = std::move(left);
  }

  static bool IsConcerned(Kind kind) {
    return kind == Kind::kPod || kind == Kind::kResourceClaim ||
           kind == Kind::kResourceClaimTemplate;
  }

 private:
  static std::pair<Kind, std::string> KeyOf(const Object& object) {
    return {object.kind(), std::string(object.key())};
  }

  std::vector<Object>& objects_;
  ResourceClaimController* controller_ = nullptr;
  absl::flat_hash_map<std::pair<Kind, std::string>, size_t> place_;
  absl::flat_hash_set<size_t> removed_;
};

}  // namespace

void RunResourceClaimController(std::vector<Object>& objects) {
  const bool has_claims = absl::c_any_of(objects, [](const Object& object) {
    return object.kind() == Kind::kResourceClaim || object.kind() == Kind::kResourceClaimTemplate;
  });
  if (!has_claims) return;
  ObjectsOfList list(objects);
  ResourceClaimController controller(list);
  list.SetController(controller);
  for (const Kind kind : {Kind::kResourceClaimTemplate, Kind::kResourceClaim, Kind::kPod}) {
    for (const Object& object : list.List(kind)) controller.Follow(object, /*is_gone=*/false);
  }
  controller.Reconcile();
  list.DropRemoved();
}

}  // namespace berth
