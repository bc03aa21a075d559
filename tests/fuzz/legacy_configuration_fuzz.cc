// SPDX-License-Identifier: Apache-2.0
// Conversion of older configurations: any bytes are refused with a problem, or become a document
// that can be read.
#include <cstddef>
#include <cstdint>

#include "berth/api/value.h"
#include "berth/check.h"
#include "config/legacy_configuration.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const berth::ConvertedConfiguration converted = berth::ConvertConfiguration(text, "f");
  if (!converted.problems.ok()) {
    BERTH_CHECK(converted.yaml.empty());
    return 0;
  }
  berth::Problems problems;
  const auto documents = berth::ReadDocuments(converted.yaml, "converted", problems);
  BERTH_CHECK(problems.ok()) << problems.ToString() << "\n" << converted.yaml;
  BERTH_CHECK(documents.size() == 1) << converted.yaml;
  BERTH_CHECK(documents.front().root().Find("profiles").IsSequence()) << converted.yaml;
  return 0;
}
