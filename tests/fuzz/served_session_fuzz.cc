// SPDX-License-Identifier: Apache-2.0
// What a scheduler sends to a plugin that PluginServer serves: messages, each behind its length in
// two bytes. Whatever they are, an answer makes sense to the scheduler.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>

#include "berth/builtin_plugins.h"
#include "berth/check.h"
#include "remote/plugin/served_session.h"
#include "remote/plugin/verdicts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using berth::v1::FromPlugin;
  using berth::v1::ToPlugin;
  static const berth::Registry& registry = *new berth::Registry(*berth::BuiltinRegistry());
  const google::protobuf::LogSilencer quiet;
  berth::ServedPlugin served{.registration = *registry.Find("NodeResourcesFit")};
  served.args = berth::PluginArgs::Defaults(served.registration.args);
  uint32_t nodes = 0;
  bool is_hypothetical = false;
  berth::ServedSession session(served, berth::v1::Start(), [&](const FromPlugin& answer) {
    if (!answer.has_evaluation()) return;
    const auto read = berth::ReadEvaluation(answer.evaluation(), is_hypothetical ? 1 : nodes);
    BERTH_CHECK(read.ok()) << read.status();
  });
  BERTH_CHECK(session.Begin().ok());
  while (size >= 2) {
    const size_t length = size_t{data[0]} | size_t{data[1]} << 8;
    data += 2;
    size -= 2;
    if (length > size) return 0;
    ToPlugin message;
    if (!message.ParseFromArray(data, static_cast<int>(length))) return 0;
    data += length;
    size -= length;
    if (message.has_update()) {
      if (message.update().node_count() > 64) return 0;  // it would only take memory
      nodes = message.update().node_count();
    }
    is_hypothetical = message.evaluate().has_hypothetical();
    if (!session.Handle(message).ok()) return 0;
  }
  return 0;
}
