// The rule of NodeResourcesFit, once for both forms.
#include "plugins/node_resources/node_resources_fit.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/api/amounts.h"
#include "berth/framework/vector_clones.h"
#include "plugins/node_resources/fit_hints.h"
#include "plugins/node_resources/requests.h"
#include "plugins/node_resources/row_block.h"

namespace berth {
namespace {

constexpr absl::string_view kTooManyPods = "Too many pods";
constexpr absl::string_view kInsufficient = "Insufficient ";

// What the filter compares for this pod.
struct FitState final : StateData {
  explicit FitState(Requests r) : requests(std::move(r)) {}
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<FitState>(*this); }

  Requests requests;
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

struct Columns {
  int64_t request;
  const int64_t* allocatable;
  const int64_t* requested;
};

// What the rows of a block lack.
struct Shortages {
  static constexpr size_t kMostColumns = 56;
  static constexpr uint64_t kDoubtful = uint64_t{1} << 63;

  // A bit for each reason: no place for another pod, and each column; or kDoubtful and any others,
  // if an amount is one from 2^62 on or below 0, of which differences might overflow.
  uint64_t lacks[kRowBlock];
  // The highest bit, if one of the reasons holds of an empty node too.
  uint64_t too_small[kRowBlock];
};

// Returns whether anything is lacking, perhaps.
BERTH_VECTOR_CLONES bool FindShortages(absl::Span<const Columns> columns, const int64_t* pod_count,
                                       const int64_t* allowed_pods, const RowBlock& block,
                                       Shortages& shortages) {
  int64_t copy[kRowBlock], other_copy[kRowBlock];
  const int64_t* const pods = block.Values(pod_count, copy);
  const int64_t* const allowed = block.Values(allowed_pods, other_copy);
  const size_t rows = block.size();
  uint64_t any = 0;
  for (size_t i = 0; i < rows; ++i) {
    const uint64_t most = static_cast<uint64_t>(allowed[i]);
    const uint64_t left = most - static_cast<uint64_t>(pods[i]) - 1;
    shortages.lacks[i] = (left >> 63) | (most & Shortages::kDoubtful);
    shortages.too_small[i] = 0;
    any |= shortages.lacks[i];
  }
  uint64_t bit = 1;
  for (const Columns& c : columns) {
    bit <<= 1;
    const int64_t* const allocatable = block.Values(c.allocatable, copy);
    const int64_t* const requested = block.Values(c.requested, other_copy);
    const uint64_t request = static_cast<uint64_t>(c.request);
    for (size_t i = 0; i < rows; ++i) {
      const uint64_t has = static_cast<uint64_t>(allocatable[i]);
      const uint64_t used = static_cast<uint64_t>(requested[i]);
      const uint64_t amounts = has | used | request;
      const uint64_t lacks = (uint64_t{0} - ((has - used - request) >> 63)) & bit;
      shortages.lacks[i] |= lacks | ((amounts | amounts << 1) & Shortages::kDoubtful);
      shortages.too_small[i] |= has - request;
      any |= shortages.lacks[i];
    }
  }
  return any != 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Plugin>> NodeResourcesFit::Create(const PluginArgs& args, Handle&) {
  return std::make_unique<NodeResourcesFit>(args.As<NodeResourcesFitArgs>());
}

NodeResourcesFit::NodeResourcesFit(const NodeResourcesFitArgs& args)
    : ignored_resources_(args.ignored_resources.begin(), args.ignored_resources.end()),
      ignored_resource_groups_(args.ignored_resource_groups.begin(),
                               args.ignored_resource_groups.end()),
      scorer_(*args.scoring_strategy) {}

Status NodeResourcesFit::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable&,
                                   PreFilterResult&) {
  state.Write(kFitState, std::make_unique<FitState>(
                             RequestsToFit(pod, ignored_resources_, ignored_resource_groups_)));
  return Status::Success();
}

Status NodeResourcesFit::Filter(const CycleState& state, const PodInfo&,
                                const NodeInfo& node) const {
  const FitState* fit = state.Find(kFitState);
  if (fit == nullptr) return Status::Error("NodeResourcesFit filters only where its PreFilter ran");
  std::vector<std::string> reasons;
  Shortage worst = PodShortage(static_cast<int64_t>(node.pods().size()), node.allowed_pods());
  if (worst != Shortage::kNone) reasons.emplace_back(kTooManyPods);
  for (const auto& [resource, amount] : fit->requests) {
    const Shortage shortage =
        ShortageOf(amount, node.allocatable().Get(resource), node.requested().Get(resource));
    if (shortage == Shortage::kNone) continue;
    reasons.push_back(absl::StrCat(kInsufficient, ResourceName(resource)));
    worst = std::max(worst, shortage);
  }
  return worst == Shortage::kNone ? Status::Success()
                                  : Status::Make(CodeOf(worst), std::move(reasons));
}

Status NodeResourcesFit::FilterNodes(const CycleState& state, const PodInfo&,
                                     const NodeTable& nodes, NodeVerdicts& verdicts) const {
  const FitState* fit = state.Find(kFitState);
  if (fit == nullptr) return Status::Error("NodeResourcesFit filters only where its PreFilter ran");
  absl::InlinedVector<Columns, 4> columns;
  for (const auto& [resource, amount] : fit->requests) {
    columns.push_back(
        {amount, nodes.allocatable(resource).data(), nodes.requested(resource).data()});
  }
  const int64_t* const pod_count = nodes.pod_count().data();
  const int64_t* const allowed_pods = nodes.allowed_pods().data();
  Shortages shortages;
  const auto words_of = [&](uint64_t lacks) {  // what is lacking is all that is said
    return columns.size() < 8 ? static_cast<uint8_t>(lacks) : NodeVerdicts::kOwnWords;
  };
  const auto judge = [&](NodeRow row) {
    Shortage worst = PodShortage(pod_count[row], allowed_pods[row]);
    uint64_t lacks = worst != Shortage::kNone;
    for (size_t k = 0; k < columns.size(); ++k) {
      const Columns& c = columns[k];
      const Shortage shortage = ShortageOf(c.request, c.allocatable[row], c.requested[row]);
      if (shortage != Shortage::kNone) lacks |= uint64_t{2} << k;
      worst = std::max(worst, shortage);
    }
    if (worst == Shortage::kNone) return;
    verdicts.Set(row, CodeOf(worst), words_of(lacks));
  };
  if (columns.size() > Shortages::kMostColumns) {
    for (const NodeRow row : verdicts.candidates()) judge(row);
    return Status::Success();
  }
  ForEachBlock(verdicts.candidates(), [&](absl::Span<const NodeRow> rows) {
    if (!FindShortages(columns, pod_count, allowed_pods, RowBlock(rows), shortages)) return;
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t lacks = shortages.lacks[i];
      if (lacks == 0) continue;
      if ((lacks & Shortages::kDoubtful) != 0) {
        judge(rows[i]);
        continue;
      }
      const bool too_small = shortages.too_small[i] >> 63 != 0;
      verdicts.Set(rows[i], CodeOf(too_small ? Shortage::kTooSmall : Shortage::kOccupied),
                   words_of(lacks));
    }
  });
  return Status::Success();
}

NeededRoom NodeResourcesFit::RoomFor(const CycleState& state, const PodInfo&) const {
  const FitState* fit = state.Find(kFitState);
  return {fit == nullptr ? Requests() : fit->requests};
}

absl::StatusOr<int64_t> NodeResourcesFit::Score(const CycleState&, const PodInfo& pod,
                                                const NodeInfo& node) const {
  return scorer_.Score(pod, node);
}

absl::Status NodeResourcesFit::ScoreNodes(const CycleState&, const PodInfo& pod,
                                          const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                          absl::Span<int64_t> scores) const {
  scorer_.ScoreNodes(pod, nodes, rows, scores);
  return absl::OkStatus();
}

std::vector<ClusterEventWithHint> NodeResourcesFit::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kDelete | action::kUpdatePodScaleDown},
           &FitHintAfterPodChange},
          {{EventResource::Node(), action::kAdd | action::kUpdateNodeAllocatable},
           &FitHintAfterNodeChange}};
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
  }
}

Status NodeResourcesFit::SignPod(const PodInfo& pod, PodSignature& signature) const {
  SignResources(pod.requests(), signature);
  SignResources(pod.nonzero_scoring_requests(), signature);
  return Status::Success();
}

}  // namespace berth
