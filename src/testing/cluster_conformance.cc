// SPDX-License-Identifier: Apache-2.0
// Implementation of cluster_conformance.h.
#include "berth/testing/cluster_conformance.h"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "berth/api/core_v1.pb.h"
#include "berth/mutex.h"
#include "berth/testing/objects.h"

namespace berth::testing {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);

#define BERTH_RETURN_IF_ERROR(expression)              \
  do {                                                 \
    const absl::Status& status_of_step = (expression); \
    if (!status_of_step.ok()) return status_of_step;   \
  } while (false)

absl::Status Broken(absl::string_view what) { return absl::FailedPreconditionError(what); }

absl::Status Expect(bool holds, absl::string_view what) {
  return holds ? absl::OkStatus() : Broken(what);
}

// What is delivered, by the object it is about.
class Sink final : public WatchSink {
 public:
  void Deliver(std::vector<WatchEvent> events) override {
    MutexLock lock(mutex_);
    for (WatchEvent& event : events) Take(std::move(event));
    changed_.SignalAll();
  }

  int synced() const {
    MutexLock lock(mutex_);
    return synced_;
  }
  int64_t count() const {
    MutexLock lock(mutex_);
    return count_;
  }
  // All that came of the object, in order.
  std::vector<WatchEvent> Of(const Object& object) const {
    MutexLock lock(mutex_);
    const auto found = events_.find(std::string(object.uid()));
    return found == events_.end() ? std::vector<WatchEvent>() : found->second;
  }
  bool CameBeforeSynced(const Object& object) const {
    MutexLock lock(mutex_);
    return before_synced_.contains(std::string(object.uid()));
  }
  // Waits until something holds of this.
  absl::Status WaitUntil(absl::string_view what, const std::function<bool()>& holds) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (!holds()) {
      MutexLock lock(mutex_);
      if (absl::Now() > deadline) {
        return Broken(absl::StrCat("the watch did not show within ",
                                   absl::FormatDuration(kPatience), " that ", what));
      }
      changed_.WaitFor(mutex_, absl::Milliseconds(20));
    }
    return absl::OkStatus();
  }

 private:
  void Take(WatchEvent event) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++count_;
    if (event.type == WatchEvent::Type::kSynced) {
      ++synced_;
      return;
    }
    std::string uid(event.object->uid());
    if (synced_ == 0) before_synced_.insert(uid);
    events_[std::move(uid)].push_back(std::move(event));
  }

  mutable Mutex mutex_;
  CondVar changed_;
  int synced_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::string> before_synced_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::vector<WatchEvent>> events_ ABSL_GUARDED_BY(mutex_);  // by uid
};

const std::vector<Kind> kWatched = {Kind::kPod, Kind::kNode, Kind::kPersistentVolume};

// A watched cluster with some nodes and a pod; the watch ends with it.
class Scene {
 public:
  explicit Scene(ClusterUnderTest& under_test) : under_test_(under_test) {}
  ~Scene() {
    if (watching_) cluster().StopWatching();
  }

  absl::Status Begin(int nodes = 2) {
    for (int i = 0; i < nodes; ++i) {
      BERTH_RETURN_IF_ERROR(Create(MakeNode().Name(NodeName(i)).Object()).status());
    }
    // Each has a name of its own: a node agent may still be deleting the one before by its name.
    static std::atomic<int> pods = 0;
    const std::string name = absl::StrCat("conformance-", ++pods);
    const auto created = Create(MakePod().Name(name).Container("image").Object());
    BERTH_RETURN_IF_ERROR(created.status());
    pod_ = std::make_unique<Object>(*created);
    return Watch();
  }
  absl::Status Watch() {
    watching_ = true;
    BERTH_RETURN_IF_ERROR(cluster().Watch(sink_, kWatched));
    return sink_.WaitUntil("all that existed was delivered", [this] { return sink_.synced() > 0; });
  }
  absl::StatusOr<Object> Create(const Object& object) {
    absl::StatusOr<Object> created = under_test_.Create(object);
    if (created.ok()) return created;
    return Broken(absl::StrCat("the test could not create ", object.ToString(), ": ",
                               created.status().ToString()));
  }
  void StopWatching() {
    cluster().StopWatching();
    watching_ = false;
  }

  static std::string NodeName(int i) { return absl::StrCat("conformance-", i); }
  Cluster& cluster() { return under_test_.cluster(); }
  ClusterUnderTest& under_test() { return under_test_; }
  Sink& sink() { return sink_; }
  const Object& pod() const { return *pod_; }
  // Another pod of its name, that is not there.
  IdentityPtr Stranger() const {
    return std::make_shared<const Identity>(Kind::kPod, pod().namespace_name(), pod().name(),
                                            "00000000-0000-0000-0000-000000000000");
  }

  absl::Status WaitForPod(absl::string_view what, const std::function<bool(const api::Pod&)>& is) {
    return sink_.WaitUntil(what, [&] {
      const std::vector<WatchEvent> events = sink_.Of(pod());
      return !events.empty() && events.back().type == WatchEvent::Type::kSet &&
             is(events.back().object->As<api::Pod>());
    });
  }

 private:
  ClusterUnderTest& under_test_;
  Sink sink_;
  std::unique_ptr<Object> pod_;
  bool watching_ = false;
};

absl::Status ExpectCode(absl::string_view what, const absl::Status& got,
                        std::initializer_list<absl::StatusCode> wanted) {
  for (const absl::StatusCode code : wanted) {
    if (got.code() == code) return absl::OkStatus();
  }
  return Broken(absl::StrCat(what, " returned ", got.ToString(), ", not ",
                             absl::StatusCodeToString(*wanted.begin())));
}

absl::Status ExpectOk(absl::string_view what, const absl::Status& got) {
  return ExpectCode(what, got, {absl::StatusCode::kOk});
}

const api::PodCondition* FindCondition(const api::Pod& pod, absl::string_view type) {
  for (const api::PodCondition& condition : pod.status().conditions()) {
    if (condition.type() == type) return &condition;
  }
  return nullptr;
}

// --- The watch -----------------------------------------------------------------------------------

absl::Status DeliversWhatExistsBeforeSynced(ClusterUnderTest& under_test) {
  Scene scene(under_test);
  const absl::StatusOr<Object> node = scene.Create(MakeNode().Name("conformance-0").Object());
  BERTH_RETURN_IF_ERROR(node.status());
  BERTH_RETURN_IF_ERROR(scene.Begin(0));
  BERTH_RETURN_IF_ERROR(Expect(scene.sink().CameBeforeSynced(scene.pod()),
                               "a pod that existed was not delivered before kSynced"));
  BERTH_RETURN_IF_ERROR(Expect(scene.sink().CameBeforeSynced(*node),
                               "a node that existed was not delivered before kSynced"));
  return Expect(scene.sink().synced() == 1, "kSynced came more than once");
}

absl::Status DeliversAPodsLifeInOrder(ClusterUnderTest& under_test) {
  Scene scene(under_test);
  BERTH_RETURN_IF_ERROR(scene.Begin());
  const std::string node = Scene::NodeName(0);
  BERTH_RETURN_IF_ERROR(ExpectOk("Bind", scene.cluster().Bind({scene.pod().identity(), node})));
  BERTH_RETURN_IF_ERROR(scene.WaitForPod(
      "the pod was bound", [&](const api::Pod& pod) { return pod.spec().node_name() == node; }));
  BERTH_RETURN_IF_ERROR(scene.under_test().Delete(scene.pod()));
  BERTH_RETURN_IF_ERROR(scene.sink().WaitUntil("the pod was deleted", [&] {
    return scene.sink().Of(scene.pod()).back().type == WatchEvent::Type::kDeleted;
  }));
  bool bound = false;
  for (const WatchEvent& event : scene.sink().Of(scene.pod())) {
    const bool is_bound = !event.object->As<api::Pod>().spec().node_name().empty();
    BERTH_RETURN_IF_ERROR(Expect(is_bound || !bound, "an older state of a pod came after a newer"));
    bound = is_bound;
  }
  return scene.sink().synced() == 1 ? absl::OkStatus() : Broken("kSynced came again");
}

absl::Status DeliversNothingAfterStopWatching(ClusterUnderTest& under_test) {
  Scene scene(under_test);
  BERTH_RETURN_IF_ERROR(scene.Begin());
  std::atomic<bool> stop = false;
  std::atomic<int> patched = 0;
  std::thread changes([&] {
    for (int i = 0; !stop; ++i) {
      (void)scene.cluster().PatchPodStatus(
          {.pod = scene.pod().identity(), .nominated_node_name = absl::StrCat("n", i % 7)});
      ++patched;
      absl::SleepFor(absl::Milliseconds(1));
    }
  });
  while (patched < 3) absl::SleepFor(absl::Milliseconds(1));
  scene.StopWatching();
  const int64_t count = scene.sink().count();
  absl::SleepFor(absl::Milliseconds(200));
  stop = true;
  changes.join();
  return Expect(scene.sink().count() == count, "something was delivered after StopWatching()");
}

// --- Bindings ------------------------------------------------------------------------------------

absl::Status BindsWithAnnotationsAndLabels(ClusterUnderTest& under_test) {
  Scene scene(under_test);
  BERTH_RETURN_IF_ERROR(scene.Begin());
  const std::string node = Scene::NodeName(1);
  const absl::StatusOr<std::string> before = scene.cluster().AssignedNode(*scene.pod().identity());
  BERTH_RETURN_IF_ERROR(ExpectOk("AssignedNode", before.status()));
  BERTH_RETURN_IF_ERROR(Expect(before->empty(), "AssignedNode of a new pod is not \"\""));
  // A label that Kubernetes takes over, too: see PodBinding.
  constexpr char kZone[] = "topology.kubernetes.io/zone";
  BERTH_RETURN_IF_ERROR(ExpectOk("Bind", scene.cluster().Bind({.pod = scene.pod().identity(),
                                                               .node_name = node,
                                                               .annotations = {{"a", "1"}},
                                                               .labels = {{kZone, "z"}}})));
  const absl::StatusOr<std::string> after = scene.cluster().AssignedNode(*scene.pod().identity());
  BERTH_RETURN_IF_ERROR(ExpectOk("AssignedNode", after.status()));
  BERTH_RETURN_IF_ERROR(Expect(*after == node, "AssignedNode is not where the pod was bound"));
  return scene.WaitForPod("the pod was bound, with annotation and label", [&](const api::Pod& pod) {
    const auto& annotations = pod.metadata().annotations();
    const auto& labels = pod.metadata().labels();
    return pod.spec().node_name() == node && annotations.contains("a") &&
           annotations.at("a") == "1" && labels.contains(kZone) && labels.at(kZone) == "z";
  });
}

absl::Status BindsOnce(ClusterUnderTest& under_test) {
  constexpr int kBinders = 6;
  Scene scene(under_test);
  BERTH_RETURN_IF_ERROR(scene.Begin(kBinders));
  std::vector<absl::Status> answers(kBinders);
  std::vector<std::thread> binders;
  for (int i = 0; i < kBinders; ++i) {
    binders.emplace_back([&, i] {
      answers[i] = scene.cluster().Bind({scene.pod().identity(), Scene::NodeName(i)});
    });
  }
  for (std::thread& binder : binders) binder.join();
  std::string bound_to;
  for (int i = 0; i < kBinders; ++i) {
    BERTH_RETURN_IF_ERROR(ExpectCode("one of many bindings at once", answers[i],
                                     {absl::StatusCode::kFailedPrecondition,
                                      absl::StatusCode::kAborted, absl::StatusCode::kOk}));
    if (!answers[i].ok()) continue;
    BERTH_RETURN_IF_ERROR(Expect(bound_to.empty(), "two bindings of one pod were both done"));
    bound_to = Scene::NodeName(i);
  }
  BERTH_RETURN_IF_ERROR(Expect(!bound_to.empty(), "of many bindings at once none was done"));
  const absl::StatusOr<std::string> node = scene.cluster().AssignedNode(*scene.pod().identity());
  BERTH_RETURN_IF_ERROR(ExpectOk("AssignedNode", node.status()));
  return Expect(*node == bound_to, "the pod is not where the binding that was done put it");
}

// --- Who it is -----------------------------------------------------------------------------------

absl::Status ExpectNotFound(Cluster& cluster, const IdentityPtr& pod, absl::string_view which) {
  const auto expect = [&](absl::string_view call, const absl::Status& answer) {
    return ExpectCode(absl::StrCat(call, " of ", which), answer, {absl::StatusCode::kNotFound});
  };
  BERTH_RETURN_IF_ERROR(expect("Bind", cluster.Bind({pod, Scene::NodeName(0)})));
  BERTH_RETURN_IF_ERROR(expect("AssignedNode", cluster.AssignedNode(*pod).status()));
  return expect("Evict", cluster.Evict(*pod, "to make room"));
}

absl::Status KnowsPodsByTheirUid(ClusterUnderTest& under_test) {
  Scene scene(under_test);
  BERTH_RETURN_IF_ERROR(scene.Begin());
  BERTH_RETURN_IF_ERROR(
      ExpectNotFound(scene.cluster(), scene.Stranger(), "a pod whose name another one has now"));
  if (under_test.KeepsStatus()) {
    BERTH_RETURN_IF_ERROR(ExpectCode(
        "PatchPodStatus of a pod whose name another one has now",
        scene.cluster().PatchPodStatus({.pod = scene.Stranger(), .nominated_node_name = "n"}),
        {absl::StatusCode::kNotFound}));
  }
  const absl::StatusOr<std::string> node = scene.cluster().AssignedNode(*scene.pod().identity());
  return Expect(node.ok() && node->empty(), "a call for another pod of its name changed a pod");
}

absl::Status SaysOfAPodThatIsGoneThatItIs(ClusterUnderTest& under_test) {
  Scene scene(under_test);
  BERTH_RETURN_IF_ERROR(scene.Begin());
  BERTH_RETURN_IF_ERROR(scene.under_test().Delete(scene.pod()));
  return ExpectNotFound(scene.cluster(), scene.pod().identity(), "a pod that is gone");
}

// --- Evictions, statuses, updates ----------------------------------------------------------------

absl::Status EvictsGracefully(ClusterUnderTest& under_test) {
  Scene scene(under_test);
  BERTH_RETURN_IF_ERROR(scene.Begin());
  const IdentityPtr& pod = scene.pod().identity();
  BERTH_RETURN_IF_ERROR(ExpectOk("Bind", scene.cluster().Bind({pod, Scene::NodeName(0)})));
  BERTH_RETURN_IF_ERROR(ExpectOk("Evict", scene.cluster().Evict(*pod, "to make room")));
  BERTH_RETURN_IF_ERROR(scene.sink().WaitUntil("the evicted pod goes", [&] {
    const std::vector<WatchEvent> events = scene.sink().Of(scene.pod());
    return events.back().type == WatchEvent::Type::kDeleted ||
           events.back().object->As<api::Pod>().metadata().has_deletion_timestamp();
  }));
  const WatchEvent last = scene.sink().Of(scene.pod()).back();
  if (last.type == WatchEvent::Type::kSet && under_test.KeepsStatus()) {
    const api::PodCondition* const target =
        FindCondition(last.object->As<api::Pod>(), "DisruptionTarget");
    BERTH_RETURN_IF_ERROR(Expect(target != nullptr && target->message() == "to make room",
                                 "an evicted pod has no DisruptionTarget that says why"));
  }
  return ExpectCode("Evict of a pod that goes already",
                    scene.cluster().Evict(*pod, "to make more room"),
                    {absl::StatusCode::kOk, absl::StatusCode::kNotFound});
}

absl::Status WritesPodStatuses(ClusterUnderTest& under_test) {
  if (!under_test.KeepsStatus()) return absl::OkStatus();
  Scene scene(under_test);
  BERTH_RETURN_IF_ERROR(scene.Begin());
  const PodStatusPatch both{.pod = scene.pod().identity(),
                            .condition_type = "PodScheduled",
                            .condition_reason = "Unschedulable",
                            .condition_message = "no node",
                            .nominated_node_name = "n"};
  const PodStatusPatch cleared{.pod = scene.pod().identity(), .nominated_node_name = ""};
  const auto has_condition = [](const api::Pod& pod) {
    const api::PodCondition* const condition = FindCondition(pod, "PodScheduled");
    return condition != nullptr && condition->status() == "False" &&
           condition->reason() == "Unschedulable" && condition->message() == "no node";
  };
  for (int round = 0; round < 2; ++round) {
    BERTH_RETURN_IF_ERROR(ExpectOk("PatchPodStatus", scene.cluster().PatchPodStatus(both)));
    // At once: what was written before the watch has shown it counts.
    BERTH_RETURN_IF_ERROR(ExpectOk("PatchPodStatus", scene.cluster().PatchPodStatus(cleared)));
    BERTH_RETURN_IF_ERROR(ExpectOk("PatchPodStatus", scene.cluster().PatchPodStatus(both)));
    BERTH_RETURN_IF_ERROR(
        scene.WaitForPod("condition and nomination were set", [&](const api::Pod& pod) {
          return has_condition(pod) && pod.status().nominated_node_name() == "n";
        }));
    BERTH_RETURN_IF_ERROR(ExpectOk("PatchPodStatus", scene.cluster().PatchPodStatus(cleared)));
    BERTH_RETURN_IF_ERROR(
        scene.WaitForPod("the nomination alone was cleared", [&](const api::Pod& pod) {
          return has_condition(pod) && pod.status().nominated_node_name().empty();
        }));
  }
  return absl::OkStatus();
}

// The object as the watch showed it last, with an annotation.
absl::StatusOr<ObjectUpdate> Annotated(const Sink& sink, const Object& volume,
                                       const std::string& value) {
  const std::vector<WatchEvent> events = sink.Of(volume);
  if (events.empty()) return Broken("the watch did not show a PersistentVolume");
  auto changed =
      std::make_shared<api::PersistentVolume>(events.back().object->As<api::PersistentVolume>());
  (*changed->mutable_metadata()->mutable_annotations())["conformance"] = value;
  return ObjectUpdate{Object::Of(std::move(changed))};
}

absl::Status UpdatesWhatHasNotChanged(ClusterUnderTest& under_test) {
  Scene scene(under_test);
  auto wanted = std::make_shared<api::PersistentVolume>();
  wanted->mutable_metadata()->set_name("conformance");
  api::PersistentVolumeSpec& spec = *wanted->mutable_spec();
  (*spec.mutable_capacity())["storage"].set_string("1Gi");
  spec.add_access_modes("ReadWriteOnce");
  spec.mutable_persistent_volume_source()->mutable_host_path()->set_path("/conformance");
  const absl::StatusOr<Object> volume = scene.Create(Object::Of(std::move(wanted)));
  BERTH_RETURN_IF_ERROR(volume.status());
  BERTH_RETURN_IF_ERROR(scene.Begin());

  const absl::StatusOr<ObjectUpdate> first = Annotated(scene.sink(), *volume, "1");
  BERTH_RETURN_IF_ERROR(first.status());
  const absl::Status updated = scene.cluster().Update(*first);
  if (absl::IsUnimplemented(updated)) return absl::OkStatus();
  // A controller that changed it in between: as the port says, again with what the watch shows.
  if (!absl::IsAborted(updated)) BERTH_RETURN_IF_ERROR(ExpectOk("Update", updated));
  const auto shows = [&](const std::string& value) {
    return scene.sink().WaitUntil(absl::StrCat("the annotation ", value, " was written"), [&] {
      const auto& annotations = scene.sink()
                                    .Of(*volume)
                                    .back()
                                    .object->As<api::PersistentVolume>()
                                    .metadata()
                                    .annotations();
      return annotations.contains("conformance") && annotations.at("conformance") == value;
    });
  };
  if (updated.ok()) BERTH_RETURN_IF_ERROR(shows("1"));
  absl::Status second = absl::AbortedError("");
  for (int tries = 0; tries < 20 && absl::IsAborted(second); ++tries) {
    const absl::StatusOr<ObjectUpdate> again = Annotated(scene.sink(), *volume, "2");
    BERTH_RETURN_IF_ERROR(again.status());
    second = scene.cluster().Update(*again);
    if (absl::IsAborted(second)) absl::SleepFor(absl::Milliseconds(100));
  }
  BERTH_RETURN_IF_ERROR(ExpectOk("Update of what the watch shows", second));
  BERTH_RETURN_IF_ERROR(shows("2"));
  BERTH_RETURN_IF_ERROR(ExpectCode("Update of what was changed since",
                                   scene.cluster().Update(*first), {absl::StatusCode::kAborted}));
  BERTH_RETURN_IF_ERROR(scene.under_test().Delete(*volume));
  return ExpectCode("Update of what is gone", scene.cluster().Update(*first),
                    {absl::StatusCode::kNotFound});
}

}  // namespace

absl::Span<const ClusterCheck> ClusterChecks() {
  static constexpr ClusterCheck kChecks[] = {
      {"DeliversWhatExistsBeforeSynced", &DeliversWhatExistsBeforeSynced},
      {"DeliversAPodsLifeInOrder", &DeliversAPodsLifeInOrder},
      {"DeliversNothingAfterStopWatching", &DeliversNothingAfterStopWatching},
      {"BindsWithAnnotationsAndLabels", &BindsWithAnnotationsAndLabels},
      {"BindsOnce", &BindsOnce},
      {"KnowsPodsByTheirUid", &KnowsPodsByTheirUid},
      {"SaysOfAPodThatIsGoneThatItIs", &SaysOfAPodThatIsGoneThatItIs},
      {"EvictsGracefully", &EvictsGracefully},
      {"WritesPodStatuses", &WritesPodStatuses},
      {"UpdatesWhatHasNotChanged", &UpdatesWhatHasNotChanged},
  };
  return kChecks;
}

}  // namespace berth::testing
