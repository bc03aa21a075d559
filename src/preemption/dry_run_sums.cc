// SPDX-License-Identifier: Apache-2.0
// Implementation of dry_run_sums.h.
#include "preemption/dry_run_sums.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "berth/handle/nominator.h"
#include "berth/preemption/preemption.h"

namespace berth {

std::unique_ptr<DryRunSums> DryRunSums::Make(Handle& handle, const ResourceNeed& need,
                                             const CycleState& state, const PodInfo& pod,
                                             const NodeInfo& node) {
  ResourceNeedSource* const source = handle.resource_needs();
  if (source == nullptr) return nullptr;
  std::vector<std::shared_ptr<const PodInfo>> nominated;
  for (const auto& candidate : handle.nominator().NominatedPods(node.name())) {
    if (source->NominationCountsFor(*candidate, pod)) nominated.push_back(candidate);
  }
  std::optional<Status> others = source->FilterWhateverPodsRun(need, state, pod, node, nominated);
  if (!others.has_value()) return nullptr;
  auto sums = std::unique_ptr<DryRunSums>(new DryRunSums(node, *std::move(others)));
  return sums->AddNeed(need) && sums->AddNominated(nominated) ? std::move(sums) : nullptr;
}

DryRunSums::DryRunSums(const NodeInfo& node, Status others)
    : original_(node),
      others_(std::move(others)),
      pods_(static_cast<int64_t>(node.pods().size())),
      gone_(node.pods().size(), false) {}

bool DryRunSums::AddNeed(const ResourceNeed& need) {
  for (const auto& [id, amount] : need.needed.requests) {
    const int64_t available = original_.allocatable().Get(id);
    const int64_t requested = original_.requested().Get(id);
    if (!CannotOverflow(amount | available | requested)) return false;
    resources_.push_back({id, amount + requested, available});
  }
  return true;
}

bool DryRunSums::AddNominated(absl::Span<const std::shared_ptr<const PodInfo>> nominated) {
  pods_ += static_cast<int64_t>(nominated.size());
  for (const auto& pod : nominated) {
    for (Resource& resource : resources_) {
      const int64_t amount = pod->requests().Get(resource.id);
      if (!CannotOverflow(amount | resource.wanted)) return false;
      resource.wanted += amount;
    }
  }
  return true;
}

bool DryRunSums::Move(const PodInfo& pod, bool away) {
  const auto pods = original_.pods();
  if (pods.empty()) return false;
  size_t i = last_;  // mostly pods are moved in order
  for (size_t tried = 0; pods[i].get() != &pod || gone_[i] == away; ++tried) {
    if (tried == pods.size()) return false;
    i = i + 1 == pods.size() ? 0 : i + 1;
  }
  for (Resource& resource : resources_) {
    const int64_t amount = pod.requests().Get(resource.id);
    resource.wanted += away ? -amount : amount;
  }
  gone_[i] = away;
  gone_count_ += away ? 1 : -1;
  pods_ += away ? -1 : 1;
  last_ = i;
  node_.reset();
  return true;
}

bool DryRunSums::HasRoom() const {
  return pods_ < original_.allowed_pods() &&
         absl::c_all_of(resources_, [](const Resource& resource) {
           return resource.wanted <= resource.available;
         });
}

const NodeInfo& DryRunSums::node() {
  if (gone_count_ == 0) return original_;
  if (!node_.has_value()) {
    node_ = original_;
    for (size_t i = 0; i < gone_.size(); ++i) {
      if (gone_[i]) node_->RemovePod(*original_.pods()[i]);
    }
  }
  return *node_;
}

void UseSums(DryRun& run, std::unique_ptr<DryRunSums> sums) { run.sums_ = std::move(sums); }

}  // namespace berth
