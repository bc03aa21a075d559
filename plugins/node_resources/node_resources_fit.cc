// SPDX-License-Identifier: Apache-2.0
// The rule of NodeResourcesFit, once for both forms.
#include "plugins/node_resources/node_resources_fit.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/numeric/bits.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/api/amounts.h"
#include "berth/columns/node_verdicts.h"
#include "plugins/node_resources/fit_hints.h"
#include "plugins/node_resources/requests.h"
#include "plugins/node_resources/row_block.h"
#include "src/simd/vector_clones.h"

namespace berth {
namespace {

constexpr absl::string_view kTooManyPods = "Too many pods";
constexpr absl::string_view kInsufficient = "Insufficient ";

// What the filter compares for this pod.
struct FitState final : StateData {
  FitState(Requests r, const ExtendedResourceClasses* classes)
      : requests(std::move(r)), backed(BackedByDevices(requests, classes)) {}
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<FitState>(*this); }

  Requests requests;
  std::vector<bool> backed;  // by request, if devices may stand for any
};
constexpr StateKey<FitState> kFitState{"NodeResourcesFit"};

// What a node lacks of one resource. If it has too little even when empty, no eviction helps.
enum class Shortage : uint8_t { kNone, kOccupied, kTooSmall };

Shortage ShortageOf(int64_t request, int64_t allocatable, int64_t requested) {
  if (request <= SaturatingSubtract(allocatable, requested)) return Shortage::kNone;
  return request > allocatable ? Shortage::kTooSmall : Shortage::kOccupied;
}

Code CodeOf(Shortage worst) {
  if (worst == Shortage::kNone) return Code::kSuccess;
  return worst == Shortage::kTooSmall ? Code::kUnschedulableAndUnresolvable : Code::kUnschedulable;
}

// A node full of pods has room again when some are evicted.
Shortage PodShortage(int64_t pods, int64_t allowed) {
  return pods >= allowed ? Shortage::kOccupied : Shortage::kNone;
}

// The rule: calls found(reason, shortage) for each thing that the node lacks. Reason 0 is a place
// for another pod, i + 1 the i-th request.
template <class Found>
void ForEachShortage(const FitState& fit, const NodeInfo& node, Found found) {
  const Requests& requests = fit.requests;
  const Shortage of_pods =
      PodShortage(static_cast<int64_t>(node.pods().size()), node.allowed_pods());
  if (of_pods != Shortage::kNone) found(0, of_pods);
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto& [resource, amount] = requests[i];
    const int64_t allocatable = node.allocatable().Get(resource);
    if (IsLeftToDevices(fit.backed, i, allocatable)) continue;
    const Shortage shortage = ShortageOf(amount, allocatable, node.requested().Get(resource));
    if (shortage != Shortage::kNone) found(i + 1, shortage);
  }
}

struct Columns {
  int64_t request;
  const int64_t* allocatable;
  const int64_t* requested;
};

constexpr size_t kMostColumns = 62;

enum class Found : uint8_t { kNothing, kShortages, kDoubtful };

// What the nodes of a block's values lack: a bit for each reason, a place for another pod and each
// column. Of amounts from 2^62 on or below 0 differences might overflow: if there are any, that is
// kDoubtful.
BERTH_VECTOR_CLONES Found FindShortages(absl::Span<const Columns> columns, const int64_t* pod_count,
                                        const int64_t* allowed_pods, const RowBlock& block,
                                        uint64_t (&lacks)[kRowBlock]) {
  int64_t copy[kRowBlock], other_copy[kRowBlock];
  const int64_t* const pods = block.Values(pod_count, copy);
  const int64_t* const allowed = block.Values(allowed_pods, other_copy);
  const size_t rows = block.size();
  uint64_t any = 0, amounts = 0;
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t most = static_cast<uint64_t>(allowed[i]);
    lacks[i] = (most - static_cast<uint64_t>(pods[i]) - 1) >> 63;
    any |= lacks[i];
    amounts |= most;
  }
  uint64_t reason = 0;
  for (const Columns& c : columns) {
    ++reason;
    const int64_t* const allocatable = block.Values(c.allocatable, copy);
    const int64_t* const requested = block.Values(c.requested, other_copy);
    const uint64_t request = static_cast<uint64_t>(c.request);
    amounts |= request;
    for (size_t i = 0; i < rows; ++i) {
      const uint64_t has = static_cast<uint64_t>(allocatable[i]);
      const uint64_t used = static_cast<uint64_t>(requested[i]);
      lacks[i] |= (has - used - request) >> 63 << reason;
      any |= lacks[i];
      amounts |= has | used;
    }
  }
  if ((amounts | amounts << 1) >> 63 != 0) return Found::kDoubtful;
  return any == 0 ? Found::kNothing : Found::kShortages;
}

// Whether all nodes of a block's values lack the same as the first, and none of them would when it
// is empty.
BERTH_VECTOR_CLONES bool AllAreOccupied(absl::Span<const Columns> columns, const RowBlock& block,
                                        const uint64_t (&lacks)[kRowBlock]) {
  const size_t rows = block.size();
  uint64_t differences = 0;
  for (size_t i = 0; i < rows; ++i) differences |= lacks[i] ^ lacks[0];
  if (differences != 0) return false;
  int64_t copy[kRowBlock];
  for (uint64_t left = lacks[0] >> 1; left != 0; left &= left - 1) {
    const Columns& c = columns[static_cast<size_t>(absl::countr_zero(left))];
    const int64_t* const allocatable = block.Values(c.allocatable, copy);
    int64_t too_small = 0;
    for (size_t i = 0; i < rows; ++i) too_small |= allocatable[i] - c.request;
    if (too_small < 0) return false;
  }
  return true;
}

// Whether a row that lacks this does so even when it is empty.
bool IsTooSmall(absl::Span<const Columns> columns, NodeRow row, uint64_t lacks) {
  for (uint64_t left = lacks >> 1; left != 0; left &= left - 1) {
    const Columns& c = columns[static_cast<size_t>(absl::countr_zero(left))];
    if (c.request > c.allocatable[row]) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> NodeResourcesFit::Create(const PluginArgs& args,
                                                                 Handle& handle) {
  return std::make_unique<NodeResourcesFit>(args.As<NodeResourcesFitArgs>(), &handle);
}

NodeResourcesFit::NodeResourcesFit(const NodeResourcesFitArgs& args, Handle* handle)
    : ignored_resources_(args.ignored_resources.begin(), args.ignored_resources.end()),
      ignored_resource_groups_(args.ignored_resource_groups.begin(),
                               args.ignored_resource_groups.end()),
      scorer_(*args.scoring_strategy),
      handle_(handle),
      classes_(handle == nullptr ? nullptr : handle->Shared<ExtendedResourceClasses>()) {}

const ExtendedResourceClasses* NodeResourcesFit::Classes() const {
  return handle_ == nullptr ? nullptr : UpToDate(classes_.get(), *handle_);
}

Status NodeResourcesFit::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                                   PreFilterResult&) {
  state.Write(kFitState,
              std::make_unique<FitState>(
                  RequestsToFit(pod, ignored_resources_, ignored_resource_groups_), Classes()));
  return Status::Success();
}

Status NodeResourcesFit::Filter(const CycleState& state, const PodInfo&,
                                const NodeInfo& node) const {
  const absl::StatusOr<const FitState*> read = state.Read(kFitState);
  if (!read.ok()) return Status::Error(read.status());
  const FitState* const fit = *read;
  std::vector<std::string> reasons;
  Shortage worst = Shortage::kNone;
  ForEachShortage(*fit, node, [&](size_t reason, Shortage shortage) {
    worst = std::max(worst, shortage);
    reasons.push_back(
        reason == 0 ? std::string(kTooManyPods)
                    : absl::StrCat(kInsufficient, ResourceName(fit->requests[reason - 1].first)));
  });
  return worst == Shortage::kNone ? Status::Success()
                                  : Status::Make(CodeOf(worst), std::move(reasons));
}

Status NodeResourcesFit::FilterNodes(const CycleState& state, const PodInfo&,
                                     const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const absl::StatusOr<const FitState*> read = state.Read(kFitState);
  if (!read.ok()) return Status::Error(read.status());
  const FitState* const fit = *read;
  // So many requests get no columns, nor do so few nodes: there may be one of each for every node.
  // Nor where devices may stand for one: such pods are mostly few.
  const bool one_by_one = fit->requests.size() > kMostColumns ||
                          verdicts.candidates().size() < kFewRows || !fit->backed.empty();
  absl::InlinedVector<Columns, 4> columns;
  for (const auto& [resource, amount] : fit->requests) {
    if (one_by_one) break;
    columns.push_back(
        {amount, nodes.allocatable(resource).data(), nodes.requested(resource).data()});
  }
  const int64_t* const pod_count = nodes.pod_count().data();
  const int64_t* const allowed_pods = nodes.allowed_pods().data();
  const auto reason_id_of = [&](uint64_t lacks) {  // the message names what is lacking
    return fit->requests.size() < 8 ? static_cast<uint8_t>(lacks) : NodeVerdicts::kNoReasonId;
  };
  const auto check = [&](NodeRow row) {
    Shortage worst = Shortage::kNone;
    uint64_t lacks = 0;
    ForEachShortage(*fit, nodes.node(row), [&](size_t reason, Shortage shortage) {
      if (reason < 64) lacks |= uint64_t{1} << reason;
      worst = std::max(worst, shortage);
    });
    if (worst == Shortage::kNone) return;
    verdicts.Set(row, CodeOf(worst), reason_id_of(lacks));
  };
  uint64_t lacks[kRowBlock];
  ForEachBlock(verdicts.candidates(), [&](absl::Span<const NodeRow> rows) {
    const RowBlock block(rows);
    const Found found = one_by_one ? Found::kDoubtful
                                   : FindShortages(columns, pod_count, allowed_pods, block, lacks);
    if (found == Found::kNothing) return;
    if (found == Found::kShortages && lacks[0] != 0 && AllAreOccupied(columns, block, lacks)) {
      const uint8_t reason_id = reason_id_of(lacks[0]);
      for (const NodeRow row : rows) verdicts.Set(row, CodeOf(Shortage::kOccupied), reason_id);
      return;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t lacking = found == Found::kDoubtful ? 0 : lacks[block.At(i)];
      if (found == Found::kDoubtful) {
        check(rows[i]);
      } else if (lacking != 0) {
        const bool too_small = IsTooSmall(columns, rows[i], lacking);
        verdicts.Set(rows[i], CodeOf(too_small ? Shortage::kTooSmall : Shortage::kOccupied),
                     reason_id_of(lacking));
      }
    }
  });
  return Status::Success();
}

bool NodeResourcesFit::SelectRows(const CycleState& state, const PodInfo&, const NodeTable& nodes,
                                  int most, std::vector<NodeRow>& rows) {
  const FitState* const fit = state.Find(kFitState);
  if (fit == nullptr || !fit->backed.empty()) return false;
  bool found = false;
  std::vector<NodeRow> with_room;
  for (const auto& [resource, amount] : fit->requests) {
    if (amount <= 0 || !nodes.SelectRowsWithRoom(resource, amount, most, with_room)) continue;
    rows.swap(with_room);
    found = true;
    most = static_cast<int>(rows.size());
  }
  return found;
}

NeededResources NodeResourcesFit::ResourcesNeededBy(const CycleState& state, const PodInfo&) const {
  const FitState* fit = state.Find(kFitState);
  if (fit == nullptr) return {};
  return {.requests = fit->requests, .is_all = fit->backed.empty()};
}

absl::StatusOr<int64_t> NodeResourcesFit::Score(const CycleState&, const PodInfo& pod,
                                                const NodeInfo& node) const {
  return scorer_.Score(pod, node, Classes());
}

absl::Status NodeResourcesFit::ScoreNodes(const CycleState&, const PodInfo& pod,
                                          const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                          absl::Span<int64_t> scores) const {
  scorer_.ScoreNodes(pod, nodes, rows, scores, Classes());
  return absl::OkStatus();
}

std::vector<ClusterEventWithHint> NodeResourcesFit::EventsToRegister() const {
  std::vector<ClusterEventWithHint> events = {
      {{EventResource::Pod(), action::kDelete | action::kUpdatePodScaleDown},
       &FitHintAfterPodChange,
       /*waits_for_room=*/Classes() == nullptr},  // else the pod may wait for devices
      {{EventResource::Node(), action::kAdd | action::kUpdateNodeAllocatable},
       [this](const PodInfo& pod, const ObjectChange& change) {
         return FitHintAfterNodeChange(pod, change, Classes());
       }}};
  if (Classes() != nullptr) {
    events.push_back({{EventResource::Of(Kind::kDeviceClass), action::kAdd | action::kUpdate},
                      &FitHintAfterClassChange});
  }
  return events;
}

void NodeResourcesFit::ExplainWaiting(const PodInfo& pod, const Status& rejection, const NodeTable&,
                                      WaitingFor& waiting) const {
  waiting.reason = WaitingReason::kInsufficientResources;
  absl::string_view text = rejection.reasons().front();
  if (text == kTooManyPods) {
    waiting.resource = std::string(kPodsResource);
    waiting.needed = 1;
  } else if (absl::ConsumePrefix(&text, kInsufficient)) {
    waiting.resource = std::string(text);
    waiting.needed = pod.requests().Get(ResourceIdOf(text));
    if (handle_ != nullptr && Classes() == nullptr) {
      const std::string devices = WhatDevicesWouldDo(
          ResourceIdOf(text), [&] { return handle_->objects().List(Kind::kDeviceClass); });
      if (!devices.empty()) absl::StrAppend(&waiting.detail, " (", devices, ")");
    }
  }
}

Status NodeResourcesFit::SignPod(const PodInfo& pod, PodSignature& signature) const {
  SignResources(pod.requests(), signature);
  SignResources(pod.nonzero_scoring_requests(), signature);
  return Status::Success();
}

}  // namespace berth
