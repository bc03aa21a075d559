// SPDX-License-Identifier: Apache-2.0
// What a client of `berth serve` sends: changes of its cluster. Any bytes at all are read or
// refused in settings, and what is read is scheduled.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "berth/clock.h"
#include "berth/configuration.h"
#include "berth/executor.h"
#include "berth/scheduler.h"
#include "serve/object_decoder.h"
#include "serve/served_cluster.h"

namespace {

const berth::Registry& BuiltIn() {
  static const berth::Registry& registry = *new berth::Registry(berth::BuiltinRegistry({}).value());
  return registry;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer quiet;
  berth::v1::ToScheduler message;
  if (!message.ParseFromArray(data, static_cast<int>(size)) || !message.has_changes()) return 0;

  const berth::SimulatedClock clock(absl::FromUnixSeconds(1'700'000'000));
  berth::ServedCluster cluster(clock, 100);
  berth::InlineExecutor executor;
  const auto scheduler =
      berth::Scheduler::Create({.configuration = berth::DefaultConfiguration(BuiltIn()),
                                .registry = &BuiltIn(),
                                .cluster = &cluster,
                                .clock = &clock,
                                .executor = &executor});
  BERTH_CHECK(scheduler.ok());
  berth::ObjectDecoder decoder;
  std::vector<berth::ClientChange> changes;
  google::protobuf::RepeatedPtrField<berth::v1::ObjectProblem> problems;
  const berth::v1::Changes& sent = message.changes();
  for (int i = 0; i < sent.changes_size(); ++i) {
    decoder.Decode(sent.changes(i), static_cast<uint32_t>(i), changes, problems);
  }
  for (const berth::v1::ObjectProblem& problem : problems) BERTH_CHECK(!problem.message().empty());
  for (const bool anew : {false, true}) {  // the second time as after a broken stream
    if (anew) cluster.BeginAnew();
    cluster.Apply(changes, [](const berth::ClientChange&, const std::string& why) {
      BERTH_CHECK(!why.empty());
    });
    cluster.Sync();
    (*scheduler)->RunSteps(1000);
    const berth::v1::Events decisions = cluster.TakeDecisions();
    for (const berth::v1::SchedulerEvent& event : decisions.events()) {
      BERTH_CHECK(event.event_case() != berth::v1::SchedulerEvent::EVENT_NOT_SET);
    }
  }
  BERTH_CHECK(cluster.Objects().size() <= 100);
  return 0;
}
