// SPDX-License-Identifier: Apache-2.0
// Which pending pods are to run on which node once room is made there.
#ifndef BERTH_SRC_CACHE_NOMINATIONS_H_
#define BERTH_SRC_CACHE_NOMINATIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "berth/api/identity_map.h"
#include "berth/api/symbol.h"
#include "berth/framework/handle.h"

namespace berth {

// kube-scheduler v1.35 backend/queue/nominator.go: kept in memory, because what the scheduler
// decided may be ahead of what the pods' status says. Belongs to the scheduling thread.
class Nominations final : public Nominator {
 public:
  // The scheduler's decision (ModeOverride); an empty name ends the nomination.
  void Nominate(std::shared_ptr<const PodInfo> pod, absl::string_view node_name);
  // What the pod's status says (ModeNoop): nothing if it names no node.
  void Add(std::shared_ptr<const PodInfo> pod);
  // The pod changed. If neither its old nor its new status names a node, a nomination in memory
  // stays; else the new status counts.
  void Update(const PodInfo& old_pod, std::shared_ptr<const PodInfo> new_pod);
  // It has a node, or is gone.
  void Remove(UidRef pod);

  // A nomination as it stands among the others of its node; no node: none.
  struct Place {
    Symbol node;
    uint64_t order = 0;  // of nomination
  };
  Place PlaceOf(const PodInfo& pod) const;
  // The pod is nominated as PlaceOf() had it before, with what was nominated since behind it.
  void PutBack(std::shared_ptr<const PodInfo> pod, Place place);

  absl::Span<const std::shared_ptr<const PodInfo>> NominatedPods(Symbol node_name) const override;
  std::string NominatedNode(const PodInfo& pod) const override;
  uint64_t OrderOf(const PodInfo& pod) const override { return PlaceOf(pod).order; }
  void ForEach(const std::function<void(const PodInfo& pod, absl::string_view node_name)>& visit)
      const override;
  uint64_t version() const override { return version_; }
  std::optional<absl::Span<const Symbol>> ChangesSince(uint64_t version) const override;
  int size() const { return static_cast<int>(place_of_.size()); }

 private:
  void NoteChange(Symbol node_name);

  IdentityMap<Place, ByUid> place_of_;
  uint64_t last_order_ = 0;
  // By node: highest priority first, then in order of nomination. Never empty.
  absl::flat_hash_map<Symbol, std::vector<std::shared_ptr<const PodInfo>>> pods_on_;
  absl::btree_set<Symbol> node_names_;  // the keys of pods_on_
  uint64_t version_ = 0;
  std::vector<Symbol> changes_;  // the latest; the last one made version_
};

}  // namespace berth

#endif  // BERTH_SRC_CACHE_NOMINATIONS_H_
