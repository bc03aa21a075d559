// SPDX-License-Identifier: Apache-2.0
// What the process of a remote plugin sends: an answer, or its description. Any bytes at all.
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <cstdint>

#include "berth/check.h"
#include "remote/plugin/description.h"
#include "remote/plugin/verdicts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const google::protobuf::LogSilencer quiet;
  if (size == 0) return 0;
  const uint32_t nodes = data[0] % 40;
  berth::v1::FromPlugin message;
  if (message.ParseFromArray(data + 1, static_cast<int>(size - 1)) && message.has_evaluation()) {
    const auto verdicts = berth::ReadEvaluation(message.evaluation(), nodes);
    if (verdicts.ok()) {
      BERTH_CHECK(verdicts->scores.size() == nodes);
      for (uint32_t i = 0; i < nodes; ++i) {
        const berth::Status& status = verdicts->StatusOf(i);
        BERTH_CHECK(status.ok() || status.IsRejected() || status.IsError());
      }
    }
  }
  berth::v1::Description description;
  if (description.ParseFromArray(data + 1, static_cast<int>(size - 1))) {
    berth::ReadDescription(description).status().IgnoreError();
  }
  return 0;
}
