// SPDX-License-Identifier: Apache-2.0
// Implementation of group_shortage.h.
#include "engine/group_shortage.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/amounts.h"
#include "berth/api/resources.h"
#include "engine/filtered_nodes.h"
#include "evaluation/free_capacity.h"
#include "search/room.h"

namespace berth {
namespace {

// Members that request the same.
struct RequestKind {
  const std::shared_ptr<const PodInfo>* pod;
  int members = 0;
  int32_t highest_priority = 0;
  std::optional<PodNeed> need = std::nullopt;
};
using RequestKinds = absl::InlinedVector<RequestKind, 4>;

// If a group has more kinds of members, sums say too little to be worth the time.
constexpr size_t kMostKinds = 8;

RequestKinds FindAlike(const AttemptRequest& request) {
  RequestKinds kinds;
  for (const auto& pod : request.pods) {
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const RequestKind& kind) {
      return pod->SharesSpec(**kind.pod) || pod->requests() == (*kind.pod)->requests();
    });
    if (known != kinds.end()) {
      ++known->members;
      known->highest_priority = std::max(known->highest_priority, pod->priority());
    } else if (kinds.size() == kMostKinds) {
      return {};
    } else {
      kinds.push_back({&pod, 1, pod->priority()});
    }
  }
  return kinds;
}

PluginMask ResourceFilters(const Framework& framework) {
  PluginMask mask = 0;
  const ProfilePlugins& plugins = framework.plugins();
  for (size_t i = 0; i < plugins.filter.size(); ++i) {
    if (plugins.resource_filters[i] != nullptr) mask |= MaskOf(plugins.filter[i]);
  }
  return mask;
}

// "1500m", "8Gi", "8".
std::string Amount(absl::string_view resource, int64_t amount) {
  if (resource == kPodsResource) return absl::StrCat(amount);
  return QuantityOf(ResourceIdOf(resource), amount).ToString();
}

int64_t AmountOf(const NeededResources& needed, ResourceId resource) {
  for (const auto& [id, amount] : needed.requests) {
    if (id == resource) return amount;
  }
  return 0;
}

// The members with the smallest requests together, against all that is free.
std::optional<GroupShortage> CompareSums(const RequestKinds& kinds, int minimum,
                                         const NodeTable& nodes) {
  for (const RequestKind& kind : kinds) {
    for (const auto& [resource, ignored] : kind.need->needed.requests) {
      std::vector<std::pair<int64_t, int>> amounts;  // each, of so many members
      for (const RequestKind& other : kinds) {
        amounts.emplace_back(AmountOf(other.need->needed, resource), other.members);
      }
      std::sort(amounts.begin(), amounts.end());
      __int128 sum = 0;
      int left = minimum;
      for (const auto& [amount, members] : amounts) {
        sum += __int128{amount} * std::min(left, members);
        left -= std::min(left, members);
      }
      __int128 free = 0;
      const absl::Span<const int64_t> has = nodes.allocatable(resource);
      const absl::Span<const int64_t> used = nodes.requested(resource);
      for (NodeRow row = 0; row < nodes.size(); ++row) {
        free += std::max<int64_t>(0, SaturatingSubtract(has[row], used[row]));
        if (free >= sum) break;
      }
      if (free >= sum) continue;
      return GroupShortage{
          .pod = *kind.pod,
          .plugin = kind.need->plugin,
          .needed = kind.need->needed,
          .finding = absl::StrCat("No place exists: of ", ResourceName(resource), " ",
                                  Amount(ResourceName(resource), ClampToInt64(free)),
                                  " is free, and ", minimum, " members need at least ",
                                  Amount(ResourceName(resource), ClampToInt64(sum)), ".")};
    }
  }
  return std::nullopt;
}

// On the nodes that count.
int64_t RoomFor(const AttemptRequest& request, const NeededResources& needed,
                const NodeTable& nodes, int64_t enough) {
  return request.placement == nullptr ? Room(needed, nodes, enough)
                                      : Room(needed, nodes, request.placement->rows, enough);
}
int64_t RoomIfEmptyFor(const AttemptRequest& request, const NeededResources& needed,
                       const NodeTable& nodes, int64_t enough) {
  return request.placement == nullptr ? RoomIfEmpty(needed, nodes, enough)
                                      : RoomIfEmpty(needed, nodes, request.placement->rows, enough);
}

}  // namespace

std::optional<PodNeed> FindNeed(const Framework& framework, const NodeTable& nodes,
                                const PodInfo& pod) {
  const PluginMask mask = ResourceFilters(framework);
  if (mask == 0) return std::nullopt;
  CycleState state;
  if (!framework.filters().RunPreFilter(state, pod, nodes, mask).status.ok()) return std::nullopt;
  std::optional<ResourceNeed> found = framework.dependencies().FindNeededResources(state, pod);
  if (!found.has_value()) return std::nullopt;
  // The sums are of what a pod takes, if that were less than what it has to find.
  for (auto& [resource, amount] : found->needed.requests) {
    amount = std::min(amount, pod.requests().Get(resource));
  }
  return PodNeed{std::move(found->needed), found->plugin};
}

std::optional<GroupShortage> FindShortage(const AttemptRequest& request, const NodeTable& nodes) {
  if (nodes.size() == 0) return std::nullopt;  // cycles have a word for that
  RequestKinds kinds = FindAlike(request);
  const int members = static_cast<int>(request.pods.size());
  bool all_known = !kinds.empty();
  for (RequestKind& kind : kinds) {
    kind.need = FindNeed(*request.framework, nodes, **kind.pod);
    all_known = all_known && kind.need.has_value();
    const int least = request.minimum - (members - kind.members);
    if (least <= 0 || !kind.need.has_value()) continue;
    const int64_t room = RoomFor(request, kind.need->needed, nodes, least);
    if (room >= least) continue;
    const ShortResource shortest =
        request.placement == nullptr
            ? FindShortResource(kind.need->needed, nodes)
            : FindShortResource(kind.need->needed, nodes, request.placement->rows);
    // If all are alike, the first one that would be left over.
    const size_t left_over = static_cast<size_t>(std::min<int64_t>(room, members - 1));
    const bool even_if_empty = RoomIfEmptyFor(request, kind.need->needed, nodes, least) < least;
    return GroupShortage{
        .pod = kinds.size() == 1 ? request.pods[left_over] : *kind.pod,
        .plugin = kind.need->plugin,
        .needed = kind.need->needed,
        .members = least,
        .room = room,
        .of_one_kind = kinds.size() == 1,
        .even_if_empty = even_if_empty,
        .finding =
            absl::StrCat("No place exists: nodes have room for ", room, " of the ", least,
                         least < members ? " members that are needed" : " members", " (",
                         shortest.name, ": ", Amount(shortest.name, shortest.per_pod), " each, ",
                         Amount(shortest.name, shortest.all_free), " free in all)",
                         even_if_empty ? ", and would have too little if they were empty." : ".")};
  }
  if (!all_known || kinds.size() < 2) return std::nullopt;
  return CompareSums(kinds, request.minimum, nodes);
}

RoomBesideNominated::RoomBesideNominated(const AttemptRequest& request, const ClusterState& cluster)
    : request_(request),
      nodes_(cluster.nodes()),
      nominated_(request.framework->nomination_filter().Nominated(nodes_)) {
  if (nominated_.rows().empty()) return;
  for (const auto& pod : request.pods) {
    const std::string node = cluster.nominations().NominatedNode(*pod);
    const NodeRow row = node.empty() ? -1 : nodes_.FindRow(Symbol::Intern(node));
    if (row >= 0) own_rows_.push_back(row);
  }
}

int64_t RoomBesideNominated::For(const NeededResources& needed, int32_t priority,
                                 int64_t enough) const {
  const int64_t room = RoomFor(request_, needed, nodes_, enough);
  // Sums of some nodes leave out what is held: those nodes mostly are few.
  if (room < enough || request_.placement != nullptr || nominated_.rows().empty()) return room;
  const int64_t held = HeldRoom(needed, nodes_, nominated_, priority, own_rows_);
  return held == 0 ? room : Room(needed, nodes_, SaturatingAdd(enough, held)) - held;
}

bool IsShortBesideNominated(const AttemptRequest& request, const ClusterState& cluster) {
  const NodeTable& nodes = cluster.nodes();
  const RoomBesideNominated room(request, cluster);
  const int members = static_cast<int>(request.pods.size());
  return absl::c_any_of(FindAlike(request), [&](const RequestKind& kind) {
    const int least = request.minimum - (members - kind.members);
    if (least <= 0) return false;
    const std::optional<PodNeed> need = FindNeed(*request.framework, nodes, **kind.pod);
    return need.has_value() && room.For(need->needed, kind.highest_priority, least) < least;
  });
}

namespace {

// What is left on the nodes once all members that have room are there.
class FilledNodes {
 public:
  FilledNodes(const GroupShortage& shortage, const NodeTable& nodes)
      : shortage_(shortage), nodes_(nodes) {}

  // Adds why the node rejects the next one. False if it does not.
  bool AddReasons(const Framework& framework, const CycleState& state, NodeRow row,
                  ReasonCounts& reasons) {
    const int64_t room = RoomOnRow(shortage_.needed, nodes_, row);
    uint64_t lacks = nodes_.pod_count()[row] + room >= nodes_.allowed_pods()[row] ? 1 : 0;
    for (size_t i = 0; i < shortage_.needed.requests.size() && i < 62; ++i) {
      const auto [resource, amount] = shortage_.needed.requests[i];
      const int64_t left =
          nodes_.allocatable(resource)[row] - nodes_.requested(resource)[row] - room * amount;
      if (left < amount) lacks |= uint64_t{2} << i;
      int64_t& most = most_left_[resource];
      if (left < amount) most = std::max(most, left);
    }
    const auto [known, is_new] = status_of_.try_emplace(lacks);
    if (is_new) known->second = Ask(framework, state, row, room);
    const Status& status = known->second;
    if (status.ok()) return false;
    for (const std::string& reason : status.reasons()) {
      ReasonCount& count = reasons[reason];
      if (count.nodes++ == 0) count.plugin = status.plugin_symbol();
      count.resolvable |= status.code() == Code::kUnschedulable;
    }
    return true;
  }
  // On one of the nodes so far.
  int64_t most_left(ResourceId resource) { return most_left_[resource]; }

 private:
  static constexpr int64_t kMostCopies = 4096;

  Status Ask(const Framework& framework, const CycleState& state, NodeRow row, int64_t room) const {
    if (room > kMostCopies) return Status::Success();
    NodeInfo filled = nodes_.node(row);
    for (int64_t i = 0; i < room; ++i) filled.AddPod(shortage_.pod);
    return framework.filters().RunFilter(state, *shortage_.pod, filled);
  }

  const GroupShortage& shortage_;
  const NodeTable& nodes_;
  absl::flat_hash_map<uint64_t, Status> status_of_;  // by what is lacking
  absl::flat_hash_map<ResourceId, int64_t> most_left_;
};

}  // namespace

std::optional<PodFailure> ExplainShortage(const AttemptRequest& request,
                                          const GroupShortage& shortage,
                                          const ClusterState& cluster) {
  const Framework& framework = *request.framework;
  const PodInfo& pod = *shortage.pod;
  const NodeTable& nodes = cluster.nodes();
  FilteredNodes filtered(framework, pod, nodes, request.placement);
  if (!filtered.status.ok()) return std::nullopt;
  const CycleState& state = filtered.state;
  PreFilterOutcome& pre_filter = filtered.pre_filter;
  NodeVerdicts& verdicts = filtered.verdicts;
  ReasonCounts reasons = CountReasons(
      VerdictStatuses(framework, state, pod, nodes, verdicts, pre_filter.excluded), nodes.size());
  FilledNodes filled(shortage, nodes);
  int64_t fitting = 0;
  const uint8_t rejector = framework.plugins().FilterIndex(shortage.plugin);
  for (const NodeRow row : filtered.feasible()) {
    fitting += RoomOnRow(shortage.needed, nodes, row);
    if (!filled.AddReasons(framework, state, row, reasons)) return std::nullopt;
    verdicts.Reject(row, Code::kUnschedulable, rejector);
  }
  // Where other filters reject nodes that have room, or siblings would be in each other's way, it
  // is less: only cycles tell.
  if (fitting != shortage.room) return std::nullopt;

  PodFailure failure{shortage.pod, Status::Unschedulable("")};
  failure.rejecting_plugins = std::move(pre_filter.narrowing_plugins);
  for (size_t i = 0; i < framework.plugins().filter.size(); ++i) {
    const Symbol name = framework.plugins().filter[i].name;
    if (!HasRejector(verdicts, static_cast<uint8_t>(i))) continue;
    if (std::find(failure.rejecting_plugins.begin(), failure.rejecting_plugins.end(), name) ==
        failure.rejecting_plugins.end()) {
      failure.rejecting_plugins.push_back(name);
    }
  }
  if (!failure.rejecting_plugins.empty()) {
    failure.status.SetPlugin(failure.rejecting_plugins.front());
  }
  failure.message = FilterFailureMessage(nodes.size(), reasons, "");
  VerdictDiagnosis diagnosis(framework, state, pod, nodes, verdicts, pre_filter.excluded);
  const WaitingPtr waiting = WhyNoNodeFits(
      framework, pod, nodes, {diagnosis, reasons, failure.status.plugin_symbol(), {}});
  auto told = std::make_shared<WaitingFor>(*waiting);
  if (told->reason == WaitingReason::kInsufficientResources && !told->resource.empty() &&
      told->resource != kPodsResource) {
    told->most_free = std::max(told->most_free, filled.most_left(ResourceIdOf(told->resource)));
  }
  failure.waiting = std::move(told);
  return failure;
}

}  // namespace berth
