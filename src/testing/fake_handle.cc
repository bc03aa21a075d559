// SPDX-License-Identifier: Apache-2.0
// Implementation of fake_handle.h.
#include "berth/testing/fake_handle.h"

#include <google/protobuf/message.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/meta_v1.pb.h"
#include "berth/cluster.h"
#include "berth/framework/bind.h"

namespace berth::testing {

// --- Objects -------------------------------------------------------------------------------------

FakeObjectStore::FakeObjectStore(std::vector<Object> objects) {
  for (Object& object : objects) Set(std::move(object));
}

void FakeObjectStore::Set(Object object) {
  changes_[object.kind()].push_back(object.identity());
  if (object.kind() == Kind::kNamespace) {
    namespace_labels_[Symbol::Intern(object.name())] =
        LabelSet::FromMap(object.As<api::Namespace>().metadata().labels());
  }
  for (std::unique_ptr<Object>& other : objects_) {
    if (other->kind() != object.kind() || other->key() != object.key()) continue;
    other = std::make_unique<Object>(std::move(object));
    return;
  }
  objects_.push_back(std::make_unique<Object>(std::move(object)));
}

void FakeObjectStore::Remove(Kind kind, absl::string_view key) {
  if (kind == Kind::kNamespace) namespace_labels_.erase(Symbol::Intern(key));
  std::erase_if(objects_, [&](const std::unique_ptr<Object>& object) {
    if (object->kind() != kind || object->key() != key) return false;
    changes_[kind].push_back(object->identity());
    return true;
  });
}

const Object* FakeObjectStore::Find(Kind kind, absl::string_view namespace_name,
                                    absl::string_view name) const {
  for (const std::unique_ptr<Object>& object : objects_) {
    if (object->kind() == kind && object->namespace_name() == namespace_name &&
        object->name() == name) {
      return object.get();
    }
  }
  return nullptr;
}

std::vector<const Object*> FakeObjectStore::List(Kind kind) const {
  std::vector<const Object*> list;
  for (const std::unique_ptr<Object>& object : objects_) {
    if (object->kind() == kind) list.push_back(object.get());
  }
  return list;
}

uint64_t FakeObjectStore::version(Kind kind) const {
  const auto it = changes_.find(kind);
  return it == changes_.end() ? 0 : it->second.size();
}

std::optional<absl::Span<const IdentityPtr>> FakeObjectStore::ChangesSince(Kind kind,
                                                                           uint64_t since) const {
  if (since > version(kind)) return std::nullopt;
  const auto it = changes_.find(kind);
  if (it == changes_.end()) return absl::Span<const IdentityPtr>();
  return absl::MakeConstSpan(it->second).subspan(since);
}

const LabelSet* FakeObjectStore::NamespaceLabels(Symbol namespace_name) const {
  const auto it = namespace_labels_.find(namespace_name);
  return it == namespace_labels_.end() ? nullptr : &it->second;
}

// --- Nominations and groups ----------------------------------------------------------------------

void FakeNominator::Nominate(std::shared_ptr<const PodInfo> pod, absl::string_view node_name) {
  const Symbol node = Symbol::Intern(node_name);
  std::vector<std::shared_ptr<const PodInfo>>& pods = pods_on_[node];
  pods.push_back(pod);
  std::stable_sort(pods.begin(), pods.end(),
                   [](const auto& a, const auto& b) { return a->priority() > b->priority(); });
  nominated_.emplace_back(std::move(pod), std::string(node_name));
  changes_.push_back(node);
}

absl::Span<const std::shared_ptr<const PodInfo>> FakeNominator::NominatedPods(
    Symbol node_name) const {
  const auto it = pods_on_.find(node_name);
  if (it == pods_on_.end()) return {};
  return it->second;
}

std::optional<absl::Span<const Symbol>> FakeNominator::ChangesSince(uint64_t version) const {
  return absl::MakeConstSpan(changes_).subspan(version);
}

std::string FakeNominator::NominatedNode(const PodInfo& pod) const {
  for (const auto& [nominated, node] : nominated_) {
    if (nominated->uid() == pod.uid()) return node;
  }
  return "";
}

void FakeNominator::ForEach(
    const std::function<void(const PodInfo& pod, absl::string_view node_name)>& visit) const {
  for (const auto& [pod, node] : nominated_) visit(*pod, node);
}

namespace {

// Each member is a kind of its own.
class FakeGroupMembers final : public GroupMembers {
 public:
  FakeGroupMembers(absl::string_view name, std::vector<GroupMember> members, uint64_t version)
      : name_(name), members_(std::move(members)), version_(version) {
    for (const GroupMember& member : members_) {
      counts_.Add(member);
      kinds_.push_back({member.pod, {}});
      kinds_.back().counts.Add(member);
    }
  }
  absl::string_view name() const override { return name_; }
  absl::Span<const GroupMember> members() const override { return members_; }
  const MemberCounts& counts() const override { return counts_; }
  absl::Span<const MemberKind> kinds() const override { return kinds_; }
  uint64_t kinds_version() const override { return version_; }

 private:
  const std::string name_;
  const std::vector<GroupMember> members_;
  std::vector<MemberKind> kinds_;
  MemberCounts counts_;
  const uint64_t version_;
};

}  // namespace

void FakeGroups::Set(absl::string_view name, std::vector<GroupMember> members) {
  groups_[std::string(name)] =
      std::make_unique<FakeGroupMembers>(name, std::move(members), ++versions_);
}

const GroupMembers* FakeGroups::GroupWith(const PodInfo& pod) const {
  for (const auto& [name, group] : groups_) {
    for (const GroupMember& member : group->members()) {
      if (member.pod->uid() == pod.uid()) return group.get();
    }
  }
  return nullptr;
}

const GroupMembers* FakeGroups::Find(absl::string_view name) const {
  const auto it = groups_.find(name);
  return it == groups_.end() ? nullptr : it->second.get();
}

// --- Waiting pods --------------------------------------------------------------------------------

FakeWaitingPod::FakeWaitingPod(std::shared_ptr<const PodInfo> pod, absl::string_view node_name,
                               std::vector<std::string> plugins)
    : pod_(std::move(pod)), node_name_(node_name), plugins_(std::move(plugins)) {}

std::vector<absl::string_view> FakeWaitingPod::pending_plugins() const {
  return {plugins_.begin(), plugins_.end()};
}

void FakeWaitingPod::Allow(absl::string_view plugin) {
  std::erase_if(plugins_, [&](const std::string& other) { return other == plugin; });
}

void FakeWaitingPod::Reject(absl::string_view plugin, absl::string_view message) {
  rejected_ = true;
  rejected_by_ = std::string(plugin);
  message_ = std::string(message);
}

// --- The handle ----------------------------------------------------------------------------------

FakeHandle::FakeHandle(std::vector<NodeInfo> nodes, std::vector<Object> objects)
    : nodes_(std::move(nodes)), objects_(std::move(objects)), clock_(absl::UnixEpoch()) {}

void FakeHandle::AddFilter(FilterPlugin* filter, PreFilterExtensions* extensions) {
  filters_.push_back(filter);
  if (extensions != nullptr) extensions_.push_back(extensions);
}

FakeWaitingPod& FakeHandle::AddWaitingPod(std::shared_ptr<const PodInfo> pod,
                                          absl::string_view node_name,
                                          std::vector<std::string> plugins) {
  waiting_.push_back(
      std::make_unique<FakeWaitingPod>(std::move(pod), node_name, std::move(plugins)));
  return *waiting_.back();
}

Status FakeHandle::RunFilterPlugins(const CycleState& state, const PodInfo& pod,
                                    const NodeInfo& node) {
  for (const FilterPlugin* filter : filters_) {
    Status status = filter->Filter(state, pod, node);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

Status FakeHandle::RunFilterPluginsWithNominatedPods(const CycleState& state, const PodInfo& pod,
                                                     const NodeInfo& node) {
  CycleState with_nominated = state.Clone();
  NodeInfo full_node = node;
  for (const auto& nominated : nominator_.NominatedPods(node.name())) {
    if (nominated->priority() < pod.priority() || nominated->uid() == pod.uid()) continue;
    full_node.AddPod(nominated);
    Status added = RunPreFilterExtensionAddPod(with_nominated, pod, *nominated, full_node);
    if (!added.ok()) return added;
  }
  Status status = RunFilterPlugins(with_nominated, pod, full_node);
  return status.ok() ? RunFilterPlugins(state, pod, node) : status;
}

Status FakeHandle::RunPreFilterExtensionAddPod(CycleState& state, const PodInfo& pod,
                                               const PodInfo& added, const NodeInfo& node) {
  for (PreFilterExtensions* extensions : extensions_) {
    Status status = extensions->AddPod(state, pod, added, node);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

Status FakeHandle::RunPreFilterExtensionRemovePod(CycleState& state, const PodInfo& pod,
                                                  const PodInfo& removed, const NodeInfo& node) {
  for (PreFilterExtensions* extensions : extensions_) {
    Status status = extensions->RemovePod(state, pod, removed, node);
    if (!status.ok()) return status;
  }
  return Status::Success();
}

void FakeHandle::Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  for (const auto& pod : pods) activated_.push_back(pod->key());
}

void FakeHandle::ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) {
  for (const std::unique_ptr<FakeWaitingPod>& waiting : waiting_) {
    if (!waiting->rejected() && !waiting->allowed()) visit(*waiting);
  }
}

WaitingPod* FakeHandle::FindWaitingPod(absl::string_view uid) {
  for (const std::unique_ptr<FakeWaitingPod>& waiting : waiting_) {
    if (waiting->pod().uid() == uid && !waiting->rejected() && !waiting->allowed()) {
      return waiting.get();
    }
  }
  return nullptr;
}

bool FakeHandle::RejectWaitingPod(absl::string_view uid) {
  WaitingPod* const waiting = FindWaitingPod(uid);
  if (waiting != nullptr) waiting->Reject("", "removed");
  return waiting != nullptr;
}

void FakeHandle::SetPreempting(absl::string_view uid, bool preempting) {
  if (preempting) {
    preempting_.emplace(uid);
  } else if (const auto it = preempting_.find(uid); it != preempting_.end()) {
    preempting_.erase(it);
  }
}

void FakeHandle::SetWaiting(absl::string_view uid, WaitingFor waiting) {
  waiting_for_[std::string(uid)] = std::move(waiting);
}

std::optional<WaitingFor> FakeHandle::ExplainWaiting(absl::string_view uid) const {
  const auto it = waiting_for_.find(uid);
  if (it == waiting_for_.end()) return std::nullopt;
  return it->second;
}

absl::Status FakeHandle::Update(const ObjectUpdate& update) {
  if (update_status_.ok()) updates_.push_back(update);
  return update_status_;
}

absl::Status FakeHandle::Edit(const ObjectEdit& edit) {
  if (!update_status_.ok()) return update_status_;
  const Identity& who = *edit.object;
  const Object* const object = objects_.Find(who.kind(), who.namespace_name(), who.name());
  if (object == nullptr || object->uid() != who.uid()) {
    return absl::NotFoundError(absl::StrCat(who.key(), " is gone"));
  }
  std::shared_ptr<google::protobuf::Message> latest(object->message().New());
  latest->CopyFrom(object->message());
  absl::Status edited = edit.edit(*latest);
  if (!edited.ok()) return edited;
  updates_.push_back({.object = Object(who.kind(), std::move(latest)), .part = edit.part});
  objects_.Set(updates_.back().object);
  return absl::OkStatus();
}

absl::StatusOr<Object> FakeHandle::Create(const Object& object) {
  if (!update_status_.ok()) return update_status_;
  std::shared_ptr<google::protobuf::Message> created(object.message().New());
  created->CopyFrom(object.message());
  const auto* const field = created->GetDescriptor()->FindFieldByName("metadata");
  auto& metadata = static_cast<api::ObjectMeta&>(
      *created->GetReflection()->MutableMessage(created.get(), field));
  if (metadata.name().empty())
    metadata.set_name(absl::StrCat(metadata.generate_name(), created_++));
  metadata.set_uid(absl::StrCat(metadata.namespace_(), "/", metadata.name()));
  Object made(object.kind(), std::move(created));
  objects_.Set(made);
  return made;
}

void FakeHandle::DeleteSoon(ObjectEdit last) {
  if (last.edit != nullptr && !Edit(last).ok()) return;
  objects_.Remove(last.object->kind(), last.object->key());
}

absl::Status FakeHandle::PatchPodStatus(const PodStatusPatch& patch) {
  if (update_status_.ok()) patches_.push_back(patch);
  return update_status_;
}

absl::Status FakeHandle::Bind(const PodInfo& pod, absl::string_view node_name,
                              const BindMetadata& metadata) {
  bind_metadata_ = metadata;
  bindings_.emplace_back(pod.key(), std::string(node_name));
  return bind_status_;
}

TimerId FakeHandle::RunAt(absl::string_view, absl::Time time, std::function<void()> work) {
  const TimerId timer{++last_timer_};
  timers_[{time, timer}] = std::move(work);
  return timer;
}

bool FakeHandle::CancelTimer(TimerId timer) {
  return std::erase_if(timers_, [&](const auto& set) { return set.first.second == timer; }) > 0;
}

void FakeHandle::Post(absl::string_view, std::function<void()> work) {
  MutexLock lock(mutex_);
  posted_.push_back(std::move(work));
}

void FakeHandle::AdvanceTo(absl::Time time) {
  std::vector<std::function<void()>> posted;
  {
    MutexLock lock(mutex_);
    posted.swap(posted_);
  }
  for (const std::function<void()>& work : posted) work();
  while (!timers_.empty() && timers_.begin()->first.first <= time) {
    clock_.AdvanceTo(timers_.begin()->first.first);
    const auto timer = timers_.extract(timers_.begin());
    timer.mapped()();
  }
  clock_.AdvanceTo(time);
}

void FakeHandle::Warn(const PodInfo& pod, absl::string_view reason, absl::string_view text) {
  warnings_.push_back(absl::StrCat(pod.key(), ": ", reason, ": ", text));
}

void FakeHandle::WarnAbout(const Object& object, absl::string_view reason, absl::string_view text) {
  warnings_.push_back(absl::StrCat(object.ToString(), ": ", reason, ": ", text));
}

}  // namespace berth::testing
