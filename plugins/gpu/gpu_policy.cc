// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_policy.h.
#include "plugins/gpu/gpu_policy.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace berth {
namespace {

constexpr size_t kMaxMemos = 512;  // classes of pods cached

struct GpuPodState final : StateData {
  GpuPod pod;
  std::unique_ptr<StateData> Clone() const override { return std::make_unique<GpuPodState>(*this); }
};
constexpr StateKey<GpuPodState> kGpuPod{"GpuPod"};

void Sign(const GpuPod& pod, PodSignature& signature) {
  const GpuRequest& request = pod.request;
  signature.Add(pod.milli_cpu);
  signature.Add(int64_t{request.cards});
  signature.Add(request.milli);
  signature.Add(request.memory_bytes);
  signature.Add(static_cast<int64_t>(request.group) * 2 + (request.group_required ? 1 : 0));
  for (const Symbol model : request.models) signature.Add(model.view());
}

}  // namespace

const GpuPod& GpuPodOf(CycleState& state, const PodInfo& pod, const GpuInventory& inventory) {
  if (const GpuPodState* const known = state.Find(kGpuPod)) return known->pod;
  auto fresh = std::make_unique<GpuPodState>();
  fresh->pod = {pod.requests().Get(kCpu), ReadGpuRequest(pod, inventory.resources())};
  const GpuPod& read = fresh->pod;
  state.Write(kGpuPod, std::move(fresh));
  return read;
}

const GpuPod* FindGpuPod(const CycleState& state) {
  const GpuPodState* const known = state.Find(kGpuPod);
  return known == nullptr ? nullptr : &known->pod;
}

GpuPolicy::GpuPolicy(Handle& handle) : handle_(handle), inventory_(handle.Shared<GpuInventory>()) {
  handle.Watch(Kind::kDevice);
  inventory_->AddPolicy(handle.profile_name(), this);
}

GpuPolicy::~GpuPolicy() { inventory_->RemovePolicy(this); }

Status GpuPolicy::PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                           absl::Span<const NodeRow>) {
  const GpuPod& gpu_pod = GpuPodOf(state, pod, *inventory_);
  inventory_->Sync(nodes, handle_);
  inventory_->demand().Note(pod, gpu_pod.request);
  const uint64_t epoch = Prepare();
  if (epoch != epoch_) memos_.clear();
  epoch_ = epoch;
  return gpu_pod.request.cards == 0 && !ScoresCpuPods() ? Status::Skip() : Status::Success();
}

absl::StatusOr<int64_t> GpuPolicy::Score(const CycleState& state, const PodInfo& pod,
                                         const NodeInfo& node) const {
  const GpuPod* const gpu_pod = FindGpuPod(state);
  if (gpu_pod == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("PreScore did not see pod ", pod.key()));
  }
  const GpuInventory::Entry entry = inventory_->At(node);
  return Choose(PlaceOf(entry), *gpu_pod).score;
}

CardSet GpuPolicy::DifferentCards(const GpuNode& node, const GpuRequest& request) {
  CardSet different;
  for (const int position : node.Fitting(request)) {
    const GpuCard& card = node.cards[position];
    const bool seen = std::any_of(different.begin(), different.end(), [&](int other) {
      return node.cards[other].milli_free == card.milli_free &&
             node.cards[other].memory_bytes == card.memory_bytes;
    });
    if (!seen) different.push_back(position);
  }
  return different;
}

GpuPolicy::Memo& GpuPolicy::MemoOf(const GpuPod& pod) const {
  PodSignature signature;
  Sign(pod, signature);
  Memo& memo = memos_[signature.bytes()];
  if (memos_.size() > kMaxMemos) {
    const auto oldest =
        std::min_element(memos_.begin(), memos_.end(), [](const auto& a, const auto& b) {
          return (a.second.last_use == 0 ? ~uint64_t{0} : a.second.last_use) <
                 (b.second.last_use == 0 ? ~uint64_t{0} : b.second.last_use);
        });
    memos_.erase(oldest);
    return MemoOf(pod);
  }
  memo.last_use = ++uses_;
  memo.versions.resize(inventory_->slots(), 0);
  memo.scores.resize(inventory_->slots(), 0);
  return memo;
}

absl::Status GpuPolicy::ScoreNodes(const CycleState& state, const PodInfo& pod,
                                   const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                   absl::Span<int64_t> scores) const {
  const GpuPod* const gpu_pod = FindGpuPod(state);
  if (gpu_pod == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("PreScore did not see pod ", pod.key()));
  }
  inventory_->Sync(nodes, handle_);  // between alike pods there is no PreScore
  Memo& memo = MemoOf(*gpu_pod);
  for (size_t i = 0; i < rows.size(); ++i) {
    const NodeRow row = rows[i];
    const GpuInventory::Entry& entry = inventory_->entry(row);
    int64_t& score = memo.scores[entry.slot];
    if (std::exchange(memo.versions[entry.slot], entry.version) != entry.version) {
      score = Choose(PlaceInInventory(entry), *gpu_pod).score;
    }
    scores[i] = score;
  }
  return absl::OkStatus();
}

std::vector<NodeNote> GpuPolicy::ExplainNode(const CycleState& state, const PodInfo&,
                                             const NodeInfo& node) const {
  const GpuPod* const gpu_pod = FindGpuPod(state);
  if (gpu_pod == nullptr || gpu_pod->request.cards == 0) return {};
  const GpuInventory::Entry entry = inventory_->At(node);
  const GpuChoice choice = Choose(PlaceOf(entry), *gpu_pod);
  if (choice.cards.empty()) return {};
  return {{"would take", absl::StrCat("cards ", CardIndexes(entry.node, choice.cards))}};
}

Status GpuPolicy::SignPod(const PodInfo& pod, PodSignature& signature) const {
  if (Learns()) return Status::Unschedulable("follows the pods that were seen");
  Sign({pod.requests().Get(kCpu), ReadGpuRequest(pod, inventory_->resources())}, signature);
  // A Device changes what a node has, and not the node.
  signature.Add(static_cast<int64_t>(handle_.objects().version(Kind::kDevice)));
  return Status::Success();
}

}  // namespace berth
