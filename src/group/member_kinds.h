// SPDX-License-Identifier: Apache-2.0
// The kinds of a group's members, kept as members come, change and go.
#ifndef BERTH_SRC_GROUP_MEMBER_KINDS_H_
#define BERTH_SRC_GROUP_MEMBER_KINDS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "berth/extensions/group.h"

namespace berth {

// As GroupPlugin::AppendDeclaration().
using AppendDeclaration = std::function<void(const PodInfo& pod, std::string& text)>;

// What makes a member one of a kind.
struct MemberKindKey {
  std::string declaration;
  int32_t priority = 0;
  PreemptionPolicy preemption_policy = PreemptionPolicy::kPreemptLowerPriority;
  Symbol scheduler_name;
  absl::Time creation_time;

  // Reuses the memory of `key`.
  static void Read(const PodInfo& pod, const AppendDeclaration& declare, MemberKindKey& key);

  auto AsTuple() const {
    return std::tie(declaration, priority, preemption_policy, scheduler_name, creation_time);
  }
  friend bool operator==(const MemberKindKey& a, const MemberKindKey& b) {
    return a.AsTuple() == b.AsTuple();
  }
  template <class H>
  friend H AbslHashValue(H h, const MemberKindKey& key) {
    return H::combine(std::move(h), key.AsTuple());
  }
};

// The plain form: counts all of them. In the order of the first of each kind.
std::vector<MemberKind> CountKinds(absl::Span<const GroupMember> members,
                                   const AppendDeclaration& declare);

// The same, kept. A value of the scheduling thread.
class MemberKinds {
 public:
  // Where a member is counted; valid as long as it is.
  struct Kind {
    MemberKindKey key;
    int position;  // in kinds()
  };

  // Draws version numbers from `versions`, which outlives this.
  explicit MemberKinds(uint64_t& versions) : versions_(versions), version_(++versions) {}

  // A member that comes.
  Kind* Add(const GroupMember& member, const MemberKindKey& key);
  // A member as it was so far; it is to be added again, or has gone.
  void Subtract(const GroupMember& member, Kind* kind);
  // The same member in the same kind, with another node.
  template <class Change>
  void Recount(GroupMember& member, Kind* kind, Change change) {
    MemberCounts& counts = kinds_[kind->position].counts;
    counts.Add(member, -1);
    counts_.Add(member, -1);
    change(member);
    counts.Add(member);
    counts_.Add(member);
  }

  const MemberCounts& counts() const { return counts_; }
  absl::Span<const MemberKind> kinds() const { return kinds_; }
  uint64_t version() const { return version_; }

 private:
  uint64_t& versions_;
  uint64_t version_;
  MemberCounts counts_;
  std::vector<MemberKind> kinds_;
  std::vector<std::unique_ptr<Kind>> of_position_;
  // Only of groups with more than one kind.
  absl::flat_hash_map<MemberKindKey, Kind*> by_key_;
};

}  // namespace berth

#endif  // BERTH_SRC_GROUP_MEMBER_KINDS_H_
