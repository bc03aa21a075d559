// SPDX-License-Identifier: Apache-2.0
// Implementation of gpu_devices.h.
#include "plugins/gpu/gpu_devices.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "berth/api/amounts.h"
#include "berth/columns/node_verdicts.h"
#include "berth/framework/bind.h"
#include "berth/gpu/request_marks.h"

namespace berth {
namespace {

// Koordinator's record of the cards.
std::string DeviceAllocated(const GpuNode& node, const GpuRequest& request, const CardSet& cards) {
  return absl::StrCat(
      "{\"gpu\":[",
      absl::StrJoin(
          cards, ",",
          [&](std::string* out, int position) {
            const GpuCard& card = node.cards[position];
            const int64_t milli = node.MilliOn(request, card);
            absl::StrAppend(out, "{\"minor\":", card.index,
                            ",\"resources\":{\"koordinator.sh/gpu-core\":\"", milli / 10, "\"");
            const int64_t memory = node.MemoryOn(request, card);
            if (memory > 0) {
              absl::StrAppend(out, ",\"koordinator.sh/gpu-memory\":\"", memory, "\"");
            }
            absl::StrAppend(
                out, ",\"koordinator.sh/gpu-memory-ratio\":\"",
                card.memory_bytes > 0 ? PercentOf(memory, card.memory_bytes) : milli / 10, "\"}}");
          }),
      "]}");
}

// gpu-share: when the cards were given, in nanoseconds of Unix time.
constexpr absl::string_view kAssumeTimeAnnotation = "alibabacloud.com/assume-time";
// KAI: pods that share a card have the same group; of several cards, a label each.
constexpr absl::string_view kReceivedTypeAnnotation = "received-resource-type";
constexpr char kKaiGroupLabel[] = "runai-gpu-group";

// A name for the card that is a label's value and, after a slash, the name of a label.
std::string KaiGroup(absl::string_view node_name, int index) {
  constexpr size_t kLongest = 63;
  std::string group = absl::StrCat(node_name, "-gpu-", index);
  if (group.size() <= kLongest) return group;
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : node_name) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return absl::StrCat("node-", absl::Hex(hash, absl::kZeroPad16), "-gpu-", index);
}

bool OfOneGroup(const GpuNode& node, const CardSet& cards, GpuGroupKind kind) {
  std::set<int> groups;
  for (const int position : cards) groups.insert(node.cards[position].group(kind));
  return groups.size() == 1 && *groups.begin() >= 0;
}

ResourceUsage::Node UsageOf(const GpuNode& node) {
  ResourceUsage::Node usage{.milli_all = node.usable * kMilliPerGpu,
                            .milli_used = node.homeless * kMilliPerGpu};
  int idle = 0;
  for (const GpuCard& card : node.cards) {
    usage.milli_used += kMilliPerGpu - card.milli_free;
    idle += card.healthy && card.idle();
  }
  usage.whole_free = std::min(idle, node.Spare());
  return usage;
}

}  // namespace

static_assert(GpuDevices::kName == kGpuRequestReader);

const FieldTable& GpuDevicesArgs::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<GpuDevicesArgs>("GpuDevicesArgs", "Arguments of GpuDevices.")
          .Field("resources", &GpuDevicesArgs::resources,
                 "The extended resources of which one is a whole GPU; the same in every profile.")
          .Field("cards", &GpuDevicesArgs::cards,
                 "Which cards of the node a pod gets: those that the first GPU policy of the "
                 "profile chooses; or for a share the card with the least left that is enough "
                 "(Binpack), or the one with the most (Spread), and for whole cards the first idle "
                 "ones. Without a policy, Policy means Binpack.",
                 OneOf({"Policy", "Binpack", "Spread"}))
          .Check([](const GpuDevicesArgs& args, FieldProblems& problems) {
            if (args.resources.empty()) problems.Required("resources", "name at least one");
          }));
  return table;
}

absl::StatusOr<std::unique_ptr<Plugin>> GpuDevices::Create(const PluginArgs& args, Handle& handle) {
  const GpuDevicesArgs& given = args.As<GpuDevicesArgs>();
  // Held until the plugin holds it: it lives as long as a holder does, and has the resources.
  const std::shared_ptr<GpuInventory> inventory = handle.Shared<GpuInventory>();
  if (!inventory->SetResources(given.resources)) {
    return absl::InvalidArgumentError(
        "resources: another profile has others; all profiles give away the same cards");
  }
  return std::make_unique<GpuDevices>(given, handle);
}

GpuDevices::GpuDevices(const GpuDevicesArgs& args, Handle& handle)
    : handle_(handle), cards_(args.cards), inventory_(handle.Shared<GpuInventory>()) {}

Status GpuDevices::PreFilter(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                             PreFilterResult&) {
  const GpuPod& gpu_pod = GpuPodOf(state, pod, *inventory_);
  inventory_->Sync(nodes, handle_);
  inventory_->demand().Note(pod, gpu_pod.request);
  if (!gpu_pod.request.problem.empty()) {
    return Status::UnschedulableAndUnresolvable(gpu_pod.request.problem);
  }
  return gpu_pod.request.cards == 0 ? Status::Skip() : Status::Success();
}

Status GpuDevices::Check(const GpuNode& node, const GpuRequest& request) const {
  if (node.Fits(request)) return Status::Success();
  bool resolvable = false;
  std::string why = node.WhyNot(request, resolvable);
  return resolvable ? Status::Unschedulable(std::move(why))
                    : Status::UnschedulableAndUnresolvable(std::move(why));
}

Status GpuDevices::Filter(const CycleState& state, const PodInfo& pod, const NodeInfo& node) const {
  const GpuPod* const gpu_pod = FindGpuPod(state);
  if (gpu_pod == nullptr) {
    return Status::Error(absl::StrCat("PreFilter did not see pod ", pod.key()));
  }
  if (gpu_pod->request.cards == 0) return Status::Success();
  if (const GpuInventory::Entry* const known = inventory_->Find(node)) {
    return Check(known->node, gpu_pod->request);
  }
  return Check(inventory_->At(node).node, gpu_pod->request);
}

Status GpuDevices::FilterNodes(const CycleState& state, const PodInfo& pod, const NodeTable&,
                               NodeVerdicts& verdicts) const {
  const GpuPod* const gpu_pod = FindGpuPod(state);
  if (gpu_pod == nullptr) {
    return Status::Error(absl::StrCat("PreFilter did not see pod ", pod.key()));
  }
  const GpuRequest& request = gpu_pod->request;
  if (request.cards == 0) return Status::Success();
  for (const NodeRow row : verdicts.candidates()) {
    const GpuNode& node = inventory_->entry(row).node;
    if (!node.Fits(request)) verdicts.Set(row, Check(node, request));
  }
  return Status::Success();
}

Status GpuDevices::PreScore(CycleState& state, const PodInfo& pod, const NodeTable& nodes,
                            absl::Span<const NodeRow>) {
  inventory_->Sync(nodes, handle_);
  const GpuRequest& request = GpuPodOf(state, pod, *inventory_).request;
  const bool grouped = request.group != GpuGroupKind::kNone && request.cards > 1;
  return request.cards > 0 && (request.models.size() > 1 || grouped) ? Status::Success()
                                                                     : Status::Skip();
}

absl::StatusOr<int64_t> GpuDevices::Score(const CycleState& state, const PodInfo& pod,
                                          const NodeInfo& node) const {
  const GpuPod* const gpu_pod = FindGpuPod(state);
  if (gpu_pod == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("PreScore did not see pod ", pod.key()));
  }
  const GpuRequest& request = gpu_pod->request;
  const GpuInventory::Entry entry = inventory_->At(node);
  int64_t sum = 0, terms = 0;
  if (request.models.size() > 1) {
    const auto at = std::find(request.models.begin(), request.models.end(), entry.node.model);
    const int64_t last = static_cast<int64_t>(request.models.size()) - 1;
    const int64_t place = std::min<int64_t>(at - request.models.begin(), last);
    sum += kMaxNodeScore * (last - place) / last;
    ++terms;
  }
  if (request.group != GpuGroupKind::kNone) {
    const CardSet cards = ChooseCards(entry, entry.milli_cpu, *gpu_pod);
    sum += OfOneGroup(entry.node, cards, request.group) ? kMaxNodeScore : 0;
    ++terms;
  }
  return terms == 0 ? 0 : sum / terms;
}

CardSet GpuDevices::ChooseCards(const GpuInventory::Entry& entry, int64_t milli_cpu,
                                const GpuPod& pod) const {
  if (cards_ == "Policy") {
    if (const GpuPolicy* const policy = inventory_->PolicyOf(handle_.profile_name())) {
      GpuPlace place = PlaceOf(entry);
      place.milli_cpu = milli_cpu;
      return policy->Choose(place, pod).cards;
    }
  }
  return entry.node.Choose(pod.request,
                           cards_ == "Spread" ? CardOrder::kSpread : CardOrder::kBinpack);
}

Status GpuDevices::Reserve(CycleState& state, const PodInfo& pod, absl::string_view node_name) {
  const GpuPod& gpu_pod = GpuPodOf(state, pod, *inventory_);
  if (gpu_pod.request.cards == 0) return Status::Success();
  const NodeTable& nodes = handle_.nodes();
  inventory_->Sync(nodes, handle_);
  const NodeRow row = nodes.FindRow(node_name);
  if (row < 0) return Status::Error(absl::StrCat("node ", node_name, " is gone"));
  // The node counts the pod already; what was scored is the node before.
  const NodeInfo& node = nodes.node(row);
  const GpuInventory::Entry entry = inventory_->At(node, pod.uid());
  const bool counted = std::any_of(node.pods().begin(), node.pods().end(),
                                   [&](const auto& other) { return other->uid() == pod.uid(); });
  const int64_t milli_cpu = entry.milli_cpu + (counted ? gpu_pod.milli_cpu : 0);
  const CardSet cards = ChooseCards(entry, milli_cpu, gpu_pod);
  if (cards.empty()) return Status::Unschedulable("the GPUs were taken in the meantime");
  std::vector<int> indexes;
  for (const int position : cards) indexes.push_back(entry.node.cards[position].index);
  inventory_->Claim(pod, node_name, std::move(indexes));
  AnnotateWithBind(state, kGpuIndexAnnotation, CardIndexes(entry.node, cards));
  RecordForNeighbours(state, node_name, entry.node, gpu_pod.request, cards);
  return Status::Success();
}

// Where readers of the pod's request look for the answer.
void GpuDevices::RecordForNeighbours(CycleState& state, absl::string_view node_name,
                                     const GpuNode& node, const GpuRequest& request,
                                     const CardSet& cards) const {
  switch (request.dialect) {
    case GpuDialect::kResource:
      break;
    case GpuDialect::kGpuShare:
      AnnotateWithBind(state, kAssumeTimeAnnotation,
                       absl::StrCat(absl::ToUnixNanos(handle_.clock().Now())));
      break;
    case GpuDialect::kKoordinator:
      AnnotateWithBind(state, kDeviceAllocatedAnnotation, DeviceAllocated(node, request, cards));
      break;
    case GpuDialect::kKai:
      AnnotateWithBind(state, kReceivedTypeAnnotation, "Fraction");
      for (const int position : cards) {
        const std::string group = KaiGroup(node_name, node.cards[position].index);
        LabelWithBind(state,
                      request.cards > 1 ? absl::StrCat(kKaiGroupLabel, "/", group) : kKaiGroupLabel,
                      group);
      }
      break;
  }
}

void GpuDevices::Unreserve(CycleState&, const PodInfo& pod, absl::string_view node_name) {
  inventory_->Release(pod, node_name);
}

std::vector<ClusterEventWithHint> GpuDevices::EventsToRegister() const {
  return {{{EventResource::Pod(), action::kDelete}, nullptr},
          {{EventResource::Node(), action::kAdd | action::kUpdateNodeAllocatable |
                                       action::kUpdateNodeLabel | action::kUpdateNodeAnnotation},
           nullptr},
          {{EventResource::Of(Kind::kDevice), action::kAdd | action::kUpdate, ""}, nullptr}};
}

Status GpuDevices::SignPod(const PodInfo& pod, PodSignature& signature) const {
  const GpuRequest request = ReadGpuRequest(pod, inventory_->resources());
  signature.Add(request.problem);
  signature.Add(pod.requests().Get(kCpu));
  signature.Add(int64_t{request.cards});
  signature.Add(request.milli);
  signature.Add(request.memory_bytes);
  signature.Add(static_cast<int64_t>(request.group) * 2 + (request.group_required ? 1 : 0));
  for (const Symbol model : request.models) signature.Add(model.view());
  // A Device changes what a node has, and not the node.
  signature.Add(static_cast<int64_t>(handle_.objects().version(Kind::kDevice)));
  return Status::Success();
}

std::vector<NodeNote> GpuDevices::ExplainNode(const CycleState& state, const PodInfo&,
                                              const NodeInfo& node) const {
  const GpuPod* const gpu_pod = FindGpuPod(state);
  if (gpu_pod == nullptr || gpu_pod->request.cards == 0) return {};
  const GpuInventory::Entry entry = inventory_->At(node);
  if (entry.node.cards.empty()) return {};
  std::vector<NodeNote> notes = {{"cards", DescribeCards(entry.node)}};
  const CardSet cards = ChooseCards(entry, entry.milli_cpu, *gpu_pod);
  if (!cards.empty()) notes.push_back({"chosen", CardIndexes(entry.node, cards)});
  return notes;
}

std::vector<ResourceUsage> GpuDevices::Usage(const NodeTable& nodes) {
  inventory_->Sync(nodes, handle_);
  const std::vector<ResourceId>& resources = inventory_->resources();
  std::vector<ResourceUsage> usage(resources.size());
  for (NodeRow row = 0; row < nodes.size(); ++row) {
    const GpuNode& node = inventory_->entry(row).node;
    if (node.cards.empty()) continue;
    const ResourceVector& has = nodes.node(row).allocatable();
    auto resource = absl::c_find_if(resources, [&](ResourceId id) { return has.Get(id) > 0; });
    if (resource == resources.end()) resource = resources.begin();
    usage[resource - resources.begin()].nodes.push_back(UsageOf(node));
  }
  for (size_t i = 0; i < usage.size(); ++i)
    usage[i].resource = std::string(ResourceName(resources[i]));
  std::erase_if(usage, [](const ResourceUsage& of) { return of.nodes.empty(); });
  return usage;
}

}  // namespace berth
