// SPDX-License-Identifier: Apache-2.0
// Implementation of member_kinds.h.
#include "group/member_kinds.h"

#include <utility>

namespace berth {

void MemberKindKey::Read(const PodInfo& pod, const AppendDeclaration& declare, MemberKindKey& key) {
  key.declaration.clear();
  if (declare != nullptr) declare(pod, key.declaration);
  key.priority = pod.priority();
  key.preemption_policy = pod.preemption_policy();
  key.scheduler_name = pod.scheduler_name();
  key.creation_time = pod.creation_time();
}

std::vector<MemberKind> CountKinds(absl::Span<const GroupMember> members,
                                   const AppendDeclaration& declare) {
  std::vector<MemberKind> kinds;
  std::vector<MemberKindKey> keys;
  MemberKindKey key;
  for (const GroupMember& member : members) {
    MemberKindKey::Read(*member.pod, declare, key);
    size_t kind = 0;
    while (kind < keys.size() && !(keys[kind] == key)) ++kind;
    if (kind == keys.size()) {
      keys.push_back(key);
      kinds.push_back({member.pod, {}});
    }
    kinds[kind].counts.Add(member);
  }
  return kinds;
}

MemberKinds::Kind* MemberKinds::Add(const GroupMember& member, const MemberKindKey& key) {
  Kind* kind = nullptr;
  if (!of_position_.empty() && of_position_.back()->key == key) {
    kind = of_position_.back().get();  // mostly there is no other
  } else if (of_position_.size() > 1) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) kind = found->second;
  }
  if (kind == nullptr) {
    of_position_.push_back(
        std::make_unique<Kind>(Kind{key, static_cast<int>(of_position_.size())}));
    kind = of_position_.back().get();
    kinds_.push_back({member.pod, {}});
    if (of_position_.size() == 2) by_key_.emplace(of_position_[0]->key, of_position_[0].get());
    if (of_position_.size() >= 2) by_key_.emplace(key, kind);
    version_ = ++versions_;
  }
  kinds_[kind->position].counts.Add(member);
  counts_.Add(member);
  return kind;
}

void MemberKinds::Subtract(const GroupMember& member, Kind* kind) {
  const int position = kind->position;
  kinds_[position].counts.Add(member, -1);
  counts_.Add(member, -1);
  if (kinds_[position].counts.members > 0) return;
  if (of_position_.size() > 1) by_key_.erase(kind->key);
  kinds_.erase(kinds_.begin() + position);
  of_position_.erase(of_position_.begin() + position);
  for (size_t i = position; i < of_position_.size(); ++i) {
    of_position_[i]->position = static_cast<int>(i);
  }
  if (of_position_.size() < 2) by_key_.clear();
  version_ = ++versions_;
}

}  // namespace berth
