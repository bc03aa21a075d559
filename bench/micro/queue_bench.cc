// SPDX-License-Identifier: Apache-2.0
// What do the operations of the scheduling queue cost while more and more pods wait in it?
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "berth/check.h"
#include "berth/clock.h"
#include "berth/testing/objects.h"
#include "queue/scheduling_queue.h"

namespace berth {
namespace {

using ::berth::testing::MakePod;
using PodPtr = std::shared_ptr<const PodInfo>;

class ByPriority final : public QueueSortPlugin {
 public:
  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override {
    if (a.pod->priority() != b.pod->priority()) return a.pod->priority() > b.pod->priority();
    return a.timestamp < b.timestamp;
  }
};

PodPtr Pod(int i) {
  return MakePod().Name(absl::StrCat("pod-", i)).Namespace("default").Priority(i % 10).Obj();
}

// A queue with pods in it, and one more to play with.
struct Waiting {
  explicit Waiting(int pods) {
    for (int i = 0; i < pods; ++i) queue.Add(Pod(i), std::nullopt);
  }
  // Rejects everything there is, by `plugin`.
  void RejectAll(Symbol plugin) {
    while (const QueueEntry* entry = queue.Pop()) {
      Rejection rejection;
      rejection.unschedulable_plugins = {plugin};
      queue.AddUnschedulable(entry, rejection);
    }
  }

  SimulatedClock clock{absl::UnixEpoch()};
  ByPriority sort;
  const Symbol plugin = Symbol::Intern("Rejector");
  SchedulingQueue queue{
      sort,
      {{.name = Symbol::Intern("default-scheduler"),
        .plugins = {{plugin, {{{EventResource::Node(), action::kAdd}, nullptr}}}}}},
      nullptr,
      clock};
};

void BM_AddPopDone(benchmark::State& state) {
  Waiting waiting(static_cast<int>(state.range(0)));
  const PodPtr pod = MakePod().Name("p").Namespace("default").Priority(5).Obj();
  for (auto _ : state) {
    waiting.queue.Add(pod, std::nullopt);
    const QueueEntry* entry = waiting.queue.Pop();
    const PodPtr popped = entry->members.front().pod;
    waiting.queue.Placed(entry, *popped->identity());
    waiting.queue.Done(entry);
    if (popped != pod) {  // something was in front of it: put it back
      waiting.queue.Delete(pod->uid());
      waiting.queue.Add(popped, std::nullopt);
    }
  }
}
BENCHMARK(BM_AddPopDone)->Arg(0)->Arg(1'000)->Arg(100'000);

// An event that no plugin registered for, with many pods that were rejected.
void BM_EventThatHelpsNobody(benchmark::State& state) {
  Waiting waiting(static_cast<int>(state.range(0)));
  waiting.RejectAll(waiting.plugin);
  const ClusterEvent event{EventResource::AssignedPod(), action::kDelete, "AssignedPodDelete"};
  for (auto _ : state) waiting.queue.MoveAllOnEvent(event, {});
}
BENCHMARK(BM_EventThatHelpsNobody)->Arg(1'000)->Arg(100'000);

// An event that makes each of so many rejected pods worth another try; then they are all tried and
// rejected again. Items are pods.
void BM_EventThatHelpsAll(benchmark::State& state) {
  Waiting waiting(static_cast<int>(state.range(0)));
  waiting.RejectAll(waiting.plugin);
  const ClusterEvent event{EventResource::Node(), action::kAdd, "NodeAdd"};
  for (auto _ : state) {
    waiting.clock.Advance(absl::Minutes(1));  // no backoff is left
    waiting.queue.MoveAllOnEvent(event, {});
    waiting.RejectAll(waiting.plugin);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_EventThatHelpsAll)->Arg(1'000)->Arg(100'000);

// One of many pods in backoff changes.
void BM_UpdateInBackoff(benchmark::State& state) {
  Waiting waiting(static_cast<int>(state.range(0)));
  waiting.RejectAll(waiting.plugin);
  waiting.queue.MoveAllOnEvent({EventResource::Node(), action::kAdd, "NodeAdd"}, {});
  const PodPtr pods[] = {Pod(7), Pod(7)};
  size_t i = 0;
  for (auto _ : state) waiting.queue.Update(pods[++i % 2], std::nullopt);
}
BENCHMARK(BM_UpdateInBackoff)->Arg(1'000)->Arg(100'000);

// One of many waiting pods goes, and comes again.
void BM_DeleteAndAdd(benchmark::State& state) {
  Waiting waiting(static_cast<int>(state.range(0)));
  const PodPtr pod = Pod(7);
  for (auto _ : state) {
    waiting.queue.Delete(*pod->identity());
    waiting.queue.Add(pod, std::nullopt);
  }
}
BENCHMARK(BM_DeleteAndAdd)->Arg(1'000)->Arg(100'000);

}  // namespace
}  // namespace berth
