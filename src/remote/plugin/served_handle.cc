// SPDX-License-Identifier: Apache-2.0
// Implementation of served_handle.h.
#include "remote/plugin/served_handle.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/framework/bind.h"

namespace berth {
namespace {

constexpr uint32_t kMostNodes = 1 << 20;

absl::Status NotServed() {
  return absl::UnimplementedError("a plugin outside the scheduler cannot ask for this");
}

}  // namespace

absl::Status ServedNodes::Apply(const v1::Update& update) {
  if (update.full()) {
    table_.SetOrder({});
    nodes_.clear();
    index_of_row_.clear();
  }
  if (update.node_count() > kMostNodes || update.node_count() < nodes_.size()) {
    return absl::InvalidArgumentError("node_count makes no sense");
  }
  std::vector<std::unique_ptr<NodeInfo>> gone;  // the table reads them until it has the new order
  nodes_.resize(update.node_count());
  for (const uint32_t index : update.removed()) {
    if (index >= nodes_.size()) return absl::InvalidArgumentError("an index beyond node_count");
    gone.push_back(std::move(nodes_[index]));
  }
  bool same_order = gone.empty() && !update.full();
  for (const v1::NodeState& state : update.nodes()) {
    if (state.index() >= nodes_.size()) {
      return absl::InvalidArgumentError("an index beyond node_count");
    }
    same_order = same_order && nodes_[state.index()] != nullptr;
    if (absl::Status status = ApplyNode(state); !status.ok()) return status;
  }
  if (same_order) {
    std::vector<NodeRow> rows;
    for (const v1::NodeState& state : update.nodes()) {
      rows.push_back(table_.FindRow(nodes_[state.index()]->name()));
    }
    table_.RefreshRows(rows);
  } else {
    std::vector<const NodeInfo*> order;
    index_of_row_.clear();
    for (uint32_t index = 0; index < nodes_.size(); ++index) {
      if (nodes_[index] == nullptr) continue;
      order.push_back(nodes_[index].get());
      index_of_row_.push_back(index);
    }
    table_.SetOrder(order);
  }
  revision_ = update.revision();
  return absl::OkStatus();
}

absl::Status ServedNodes::ApplyNode(const v1::NodeState& state) {
  std::unique_ptr<NodeInfo>& node = nodes_[state.index()];
  if (state.has_node()) {
    auto spec = NodeSpec::Create(std::make_shared<const api::Node>(state.node()));
    if (!spec.ok()) return spec.status();
    if (node == nullptr) {
      node = std::make_unique<NodeInfo>(*std::move(spec));
    } else {
      node->SetSpec(*std::move(spec));
    }
  }
  if (node == nullptr) return absl::InvalidArgumentError("a new node without its object");
  for (const std::string& uid : state.pods_removed()) node->RemovePod(uid);
  for (const api::Pod& message : state.pods()) {
    auto pod = PodInfo::Create(std::make_shared<const api::Pod>(message));
    if (!pod.ok()) return pod.status();
    node->RemovePod((*pod)->uid());
    node->AddPod(*std::move(pod));
  }
  return absl::OkStatus();
}

class ServedHandle::Waiting final : public WaitingPod {
 public:
  Waiting(ServedHandle& handle, std::shared_ptr<const PodInfo> pod, absl::string_view node_name,
          absl::string_view plugin, absl::Time until)
      : handle_(handle),
        pod_(std::move(pod)),
        node_name_(node_name),
        plugin_(plugin),
        until_(until) {}

  bool is_over(absl::Time now) const { return decided_ || now >= until_; }

  const PodInfo& pod() const override { return *pod_; }
  absl::string_view node_name() const override { return node_name_; }
  std::vector<absl::string_view> pending_plugins() const override { return {plugin_}; }
  void Allow(absl::string_view) override { Decide(true, ""); }
  void Reject(absl::string_view, absl::string_view message) override { Decide(false, message); }

 private:
  void Decide(bool allow, absl::string_view message) {
    if (std::exchange(decided_, true)) return;
    v1::FromPlugin decision;
    decision.mutable_permit()->set_pod_uid(pod_->uid());
    decision.mutable_permit()->set_allow(allow);
    decision.mutable_permit()->set_message(std::string(message));
    handle_.options_.send(std::move(decision));
  }

  ServedHandle& handle_;
  const std::shared_ptr<const PodInfo> pod_;
  const std::string node_name_, plugin_;
  const absl::Time until_;
  bool decided_ = false;
};

ServedHandle::ServedHandle(Options options) : options_(std::move(options)) {}
ServedHandle::~ServedHandle() = default;

void ServedHandle::NoteWaiting(std::shared_ptr<const PodInfo> pod, absl::string_view node_name,
                               absl::string_view plugin, absl::Duration timeout) {
  if (waiting_.size() >= most_waiting_) ForgetDecided();
  const std::string uid = pod->uid();
  waiting_[uid] =
      std::make_unique<Waiting>(*this, std::move(pod), node_name, plugin, absl::Now() + timeout);
}

void ServedHandle::ForgetDecided() {
  const absl::Time now = absl::Now();
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    it = it->second->is_over(now) ? waiting_.erase(it) : std::next(it);
  }
  most_waiting_ = std::max<size_t>(64, 2 * waiting_.size());
}

void ServedHandle::ForEachWaitingPod(const std::function<void(WaitingPod&)>& visit) {
  const absl::Time now = absl::Now();
  for (const auto& [uid, waiting] : waiting_) {
    if (!waiting->is_over(now)) visit(*waiting);
  }
}

WaitingPod* ServedHandle::FindWaitingPod(absl::string_view uid) {
  const auto found = waiting_.find(uid);
  const bool waits = found != waiting_.end() && !found->second->is_over(absl::Now());
  return waits ? found->second.get() : nullptr;
}

bool ServedHandle::RejectWaitingPod(absl::string_view uid) {
  WaitingPod* const pod = FindWaitingPod(uid);
  if (pod != nullptr) pod->Reject("", "");
  return pod != nullptr;
}

// The scheduler tries all pods again that this plugin rejected.
void ServedHandle::Activate(absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  if (pods.empty()) return;
  v1::FromPlugin message;
  message.mutable_invalidate();
  options_.send(std::move(message));
}

TimerId ServedHandle::RunAt(absl::string_view, absl::Time, std::function<void()>) {
  return TimerId::kNone;
}

Status ServedHandle::RunFilterPlugins(const CycleState&, const PodInfo&, const NodeInfo&) {
  return Status::Error(NotServed());
}
Status ServedHandle::RunFilterPluginsWithNominatedPods(const CycleState&, const PodInfo&,
                                                       const NodeInfo&) {
  return Status::Error(NotServed());
}
Status ServedHandle::RunPreFilterExtensionAddPod(CycleState&, const PodInfo&, const PodInfo&,
                                                 const NodeInfo&) {
  return Status::Error(NotServed());
}
Status ServedHandle::RunPreFilterExtensionRemovePod(CycleState&, const PodInfo&, const PodInfo&,
                                                    const NodeInfo&) {
  return Status::Error(NotServed());
}
absl::Status ServedHandle::Bind(const PodInfo&, absl::string_view, const BindMetadata&) {
  return NotServed();
}
absl::Status ServedHandle::Update(const ObjectUpdate&) { return NotServed(); }
absl::Status ServedHandle::Edit(const ObjectEdit&) { return NotServed(); }

}  // namespace berth
