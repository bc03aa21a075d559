// SPDX-License-Identifier: Apache-2.0
// A scheduler whose API server sends any objects, in any order and form: it goes on, and still
// schedules a pod that nothing is wrong with.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/packed_pod.h"
#include "berth/api/symbol.h"
#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/clock.h"
#include "berth/cluster.h"
#include "berth/configuration.h"
#include "berth/executor.h"
#include "berth/scheduler.h"
#include "kubernetes/known_objects.h"
#include "kubernetes/object_reader.h"
#include "kubernetes/watched_pods.h"

namespace {

using berth::Kind;
using berth::Object;
using berth::WatchEvent;

constexpr char kGoodName[] = "nothing-is-wrong";
constexpr absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);
constexpr int kMostSteps = 2000;  // at one moment of the clock
constexpr int kMostMoments = 50;

// Takes every write, and shows bindings as the watch does.
class ServedCluster final : public berth::Cluster {
 public:
  absl::Status Watch(berth::WatchSink& sink, const std::vector<Kind>&) override {
    pods_.SetSink(sink);
    return absl::OkStatus();
  }
  void StopWatching() override {}
  absl::Status Bind(const berth::PodBinding& binding) override {
    const std::shared_ptr<const berth::PackedPod> pod = pods_.Find(*binding.pod);
    if (pod == nullptr) return absl::NotFoundError("it is gone");
    bound_.push_back(binding.pod->key());
    Set(Object(pod->Bound(berth::Symbol::Intern(binding.node_name), kStart)));
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> AssignedNode(const berth::Identity&) override { return ""; }
  absl::Status Evict(const berth::Identity&, const std::string&) override {
    return absl::OkStatus();
  }
  absl::Status PatchPodStatus(const berth::PodStatusPatch&) override { return absl::OkStatus(); }
  absl::Status Update(const berth::ObjectUpdate&) override { return absl::OkStatus(); }
  void Record(berth::RecordedEvent event) override { BERTH_CHECK(event.regarding != nullptr); }

  void Serve(Kind kind, berth::ServedObject object, bool deleted) {
    std::vector<WatchEvent> events;
    berth::KnownObjects& known = known_[kind];
    if (deleted) {
      known.Delete(std::move(object), events);
    } else {
      known.Set(std::move(object), events);
    }
    Deliver(std::move(events));
  }
  void Set(Object object) { Deliver({{WatchEvent::Type::kSet, std::move(object)}}); }
  void Sync() { Deliver({{WatchEvent::Type::kSynced, std::nullopt}}); }

  bool HasBound(absl::string_view key) const {
    return std::find(bound_.begin(), bound_.end(), key) != bound_.end();
  }

 private:
  void Deliver(std::vector<WatchEvent> events) {
    if (!events.empty()) pods_.Deliver(std::move(events));
  }

  berth::WatchedPods pods_;
  std::map<Kind, berth::KnownObjects> known_;
  std::vector<std::string> bound_;  // keys
};

Object GoodNode() {
  auto node = std::make_shared<berth::api::Node>();
  node->mutable_metadata()->set_name(kGoodName);
  auto& allocatable = *node->mutable_status()->mutable_allocatable();
  allocatable["cpu"].set_string("64");
  allocatable["memory"].set_string("64Gi");
  allocatable["pods"].set_string("110");
  return Object::Of(std::move(node));
}

Object GoodPod() {
  auto pod = std::make_shared<berth::api::Pod>();
  pod->mutable_metadata()->set_name(kGoodName);
  pod->mutable_metadata()->set_namespace_(kGoodName);
  pod->mutable_metadata()->set_uid(kGoodName);
  pod->mutable_spec()->add_containers()->set_name("c");
  pod->mutable_spec()->set_priority(2'000'001'000);
  return Object::Of(std::move(pod));
}

// Until nothing is due but the retries that never end.
void Run(berth::Scheduler& scheduler, berth::SimulatedClock& clock, absl::Duration most) {
  const absl::Time end = clock.Now() + most;
  for (int moment = 0; moment < kMostMoments; ++moment) {
    scheduler.RunSteps(kMostSteps);
    const absl::Time next = scheduler.NextRetry();
    if (next > end) break;
    clock.AdvanceTo(std::max(next, clock.Now() + absl::Milliseconds(1)));
  }
}

}  // namespace

// Records: a letter for the kind, 'A' the first one of kinds.h; a letter for what happens: the
// object, in protobuf ('o') or JSON ('O'), is there; it is gone ('d', 'D'); otherwise time passes;
// the length of the object, or seconds, in two bytes; the object.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 20'000) return 0;  // more objects find nothing more, only later
  static const berth::Registry& registry = *new berth::Registry(berth::BuiltinRegistry().value());
  static const berth::KubeSchedulerConfiguration& configuration =
      *new berth::KubeSchedulerConfiguration(berth::DefaultConfiguration(registry));
  ServedCluster cluster;
  berth::SimulatedClock clock(kStart);
  berth::InlineExecutor executor;
  const auto scheduler = berth::Scheduler::Create({.configuration = configuration,
                                                   .registry = &registry,
                                                   .cluster = &cluster,
                                                   .clock = &clock,
                                                   .executor = &executor,
                                                   .warn = [](absl::string_view) {}});
  BERTH_CHECK(scheduler.ok()) << scheduler.status();
  cluster.Sync();

  absl::string_view rest(reinterpret_cast<const char*>(data), size);
  while (rest.size() >= 4) {
    const Kind kind = static_cast<Kind>(static_cast<uint8_t>(rest[0] - 'A') % berth::kKindCount);
    const char what = rest[1];
    const size_t number =
        static_cast<size_t>(static_cast<uint8_t>(rest[2])) << 8 | static_cast<uint8_t>(rest[3]);
    rest.remove_prefix(4);
    const bool protobuf = what == 'o' || what == 'd', json = what == 'O' || what == 'D';
    if (!protobuf && !json) {
      Run(**scheduler, clock, absl::Seconds(number));
      continue;
    }
    const bool deleted = what == 'd' || what == 'D';
    const absl::string_view object = rest.substr(0, number);
    rest.remove_prefix(object.size());
    if (protobuf) {
      cluster.Serve(kind, berth::ReadProtobufObject(kind, object), deleted);
    } else {
      berth::ReadJson(object, [&](berth::Value map) {
        cluster.Serve(kind, berth::ReadJsonObject(kind, map), deleted);
      }).IgnoreError();
    }
  }
  Run(**scheduler, clock, absl::Minutes(1));

  cluster.Set(GoodNode());
  cluster.Set(GoodPod());
  Run(**scheduler, clock, absl::Minutes(10));
  BERTH_CHECK(cluster.HasBound(absl::StrCat(kGoodName, "/", kGoodName)));
  for (const berth::UnboundPod& pod : (*scheduler)->Unbound()) BERTH_CHECK(!pod.pod.empty());
  return 0;
}
