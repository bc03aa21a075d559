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
#include "berth/extensions/member_choices.h"
#include "engine/shared_by_members.h"
#include "framework/failure_messages.h"
#include "framework/nominated_rows.h"
#include "search/room.h"
#include "search/room_sums.h"

namespace berth {
namespace {

// Members that request the same.
struct RequestKind {
  const std::shared_ptr<const PodInfo>* pod;
  size_t first = 0;  // the position of that one
  int members = 0;
  int32_t highest_priority = 0;
  std::optional<PodNeed> need = std::nullopt;
};
using RequestKinds = absl::InlinedVector<RequestKind, 4>;

// If a group has more kinds of members, sums say too little to be worth the time.
constexpr size_t kMostKinds = 8;

// `counted`: what else members of a kind need the same of, or null.
RequestKinds FindAlike(const AttemptRequest& request, const CountedNeeds* counted = nullptr) {
  RequestKinds kinds;
  for (size_t i = 0; i < request.pods.size(); ++i) {
    const auto& pod = request.pods[i];
    const auto known = std::find_if(kinds.begin(), kinds.end(), [&](const RequestKind& kind) {
      return (pod->SharesSpec(**kind.pod) || pod->requests() == (*kind.pod)->requests()) &&
             (counted == nullptr || counted->Of(i) == counted->Of(kind.first));
    });
    if (known != kinds.end()) {
      ++known->members;
      known->highest_priority = std::max(known->highest_priority, pod->priority());
    } else if (kinds.size() == kMostKinds) {
      return {};
    } else {
      kinds.push_back({&pod, i, 1, pod->priority()});
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
                                  AmountText(ResourceName(resource), ClampToInt64(free)),
                                  " is free, and ", minimum, " members need at least ",
                                  AmountText(ResourceName(resource), ClampToInt64(sum)), ".")};
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
                         shortest.name, ": ", AmountText(shortest.name, shortest.per_pod),
                         " each, ", AmountText(shortest.name, shortest.all_free), " free in all)",
                         even_if_empty ? ", and would have too little if they were empty." : ".")};
  }
  if (!all_known || kinds.size() < 2) return std::nullopt;
  return CompareSums(kinds, request.minimum, nodes);
}

std::optional<PackingBound> PackingOf(const AttemptRequest& request, const NodeTable& nodes) {
  std::shared_ptr<const CountedNeeds> counted =
      CountNeeds(*request.framework, absl::MakeSpan(request.pods.data(), request.pods.size()));
  std::vector<PodsOfKind> kinds;
  auto others = static_cast<int64_t>(request.pods.size());
  for (const RequestKind& kind : FindAlike(request, counted.get())) {
    std::optional<PodNeed> need = FindNeed(*request.framework, nodes, **kind.pod);
    if (!need.has_value()) continue;
    PodsOfKind& added = kinds.emplace_back(PodsOfKind{std::move(need->needed), kind.members});
    if (counted != nullptr) {
      const absl::Span<const int64_t> needs = counted->Of(kind.first);
      added.counted.assign(needs.begin(), needs.end());
    }
    others -= kind.members;
  }
  if (kinds.size() < (counted == nullptr ? 2 : 1)) return std::nullopt;
  return PackingBound(kinds, others, std::move(counted));
}

std::optional<GroupShortage> FindShortageTogether(const AttemptRequest& request,
                                                  const NodeTable& nodes) {
  const std::optional<PackingBound> bound = PackingOf(request, nodes);
  if (!bound.has_value()) return std::nullopt;
  const PackingBound::Verdict verdict = bound->Check(
      nodes, request.placement == nullptr ? nullptr : &request.placement->rows, request.minimum);
  if (!verdict.is_proof) return std::nullopt;
  return GroupShortage{
      .pod = request.pods.front(),
      .finding = absl::StrCat(
          bound->has_counted() ? "No place exists: with the devices that they need there is room"
                               : "No place exists: there is room for members of each kind, but",
          " for at most ", verdict.most, " of the ", request.minimum,
          request.minimum < static_cast<int>(request.pods.size()) ? " members that are needed"
                                                                  : " members",
          bound->has_counted() ? "." : " together.")};
}

namespace {

// Where members are nominated to.
std::vector<NodeRow> OwnRows(const AttemptRequest& request, const ClusterState& cluster) {
  std::vector<NodeRow> rows;
  for (const auto& pod : request.pods) {
    const NodeRow row = NominatedRow(cluster.nominations(), cluster.nodes(), *pod);
    if (row >= 0) rows.push_back(row);
  }
  return rows;
}

}  // namespace

RoomBesideNominated::RoomBesideNominated(const AttemptRequest& request, const ClusterState& cluster)
    : request_(request),
      nodes_(cluster.nodes()),
      nominated_(request.framework->nomination_filter().Nominated(nodes_)) {
  if (!nominated_.rows().empty()) own_rows_ = OwnRows(request, cluster);
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

ShortageWatch::ShortageWatch(const AttemptRequest& request, const ClusterState& cluster)
    : request_(request), cluster_(cluster) {
  const int members = static_cast<int>(request.pods.size());
  for (const RequestKind& kind : FindAlike(request)) {
    const int least = request.minimum - (members - kind.members);
    if (least <= 0) continue;
    std::optional<PodNeed> need = FindNeed(*request.framework, cluster.nodes(), **kind.pod);
    if (!need.has_value()) continue;
    kinds_.push_back({std::move(need->needed), kind.highest_priority, least, {}, 0});
  }
}

bool ShortageWatch::IsShort() {
  const NodeTable& nodes = cluster_.nodes();
  std::optional<absl::Span<const RowChange>> changes;
  if (table_ == nodes.id() && nominations_ == cluster_.nominations().version()) {
    changes = nodes.ChangesSince(version_);
  }
  if (!changes.has_value()) {
    CountAll();
  } else {
    const NominatedRows& nominated = request_.framework->nomination_filter().Nominated(nodes);
    for (const RowChange& change : *changes) {
      for (Kind& kind : kinds_) Count(kind, nominated, change.row);
    }
  }
  table_ = nodes.id();
  version_ = nodes.version();
  nominations_ = cluster_.nominations().version();
  return absl::c_any_of(kinds_, [](const Kind& kind) { return kind.sum < kind.least; });
}

void ShortageWatch::CountAll() {
  const NodeTable& nodes = cluster_.nodes();
  const NominatedRows& nominated = request_.framework->nomination_filter().Nominated(nodes);
  own_rows_ = OwnRows(request_, cluster_);
  std::vector<double> room;
  for (Kind& kind : kinds_) {
    RoomByRow(kind.needed, nodes, room);
    kind.by_row.clear();
    kind.sum = 0;
    for (const double on_row : room) {
      kind.by_row.push_back(static_cast<int64_t>(std::min(on_row, RoomSums::kMostPerRow)));
      kind.sum += kind.by_row.back();
    }
    for (const NodeRow row : nominated.rows()) Count(kind, nominated, row);
  }
}

void ShortageWatch::Count(Kind& kind, const NominatedRows& nominated, NodeRow row) const {
  const NodeTable& nodes = cluster_.nodes();
  int64_t room = RoomOnRow(kind.needed, nodes, row);
  if (nominated.contains(row)) {
    room -= HeldRoomOnRow(kind.needed, nodes, nominated, kind.priority, own_rows_, row);
  }
  room = std::min(room, static_cast<int64_t>(RoomSums::kMostPerRow));
  kind.sum += room - std::exchange(kind.by_row[row], room);
}

}  // namespace berth
