// SPDX-License-Identifier: Apache-2.0
// Answers of extenders: any bytes are an answer or an error with a sentence, whichever question
// they answer.
#include <cstddef>
#include <cstdint>

#include "berth/check.h"
#include "extender/extender_messages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const auto check = [](const absl::Status& status) {
    BERTH_CHECK(status.ok() || !status.message().empty());
  };
  for (const bool node_names_first : {false, true}) {
    check(berth::ReadFilterResult(text, node_names_first).status());
  }
  check(berth::ReadPriorities(text).status());
  check(berth::ReadPreemptionResult(text).status());
  check(berth::ReadBindingResult(text));
  return 0;
}
