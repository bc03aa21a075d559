// SPDX-License-Identifier: Apache-2.0
// Manifests: any text is read without a crash, and the objects read from it survive being printed
// as JSON and read again.
#include <cstddef>
#include <cstdint>
#include <string>

#include "berth/api/decode.h"
#include "berth/api/manifest.h"
#include "berth/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const berth::Manifests manifests = berth::ParseManifest(text, "f");
  for (const berth::Problem& problem : manifests.problems) {
    BERTH_CHECK(!problem.message.empty());
    BERTH_CHECK(problem.where.line >= 0 && problem.where.column >= 0) << problem.ToString();
  }
  std::string lines;
  for (const berth::Object& object : manifests.objects) {
    BERTH_CHECK(object.where().line > 0) << object.ToString();
    lines += berth::ToJson(object.message()) + "\n";
  }
  const berth::Manifests again = berth::ParseManifest(lines, "again");
  BERTH_CHECK(again.problems.ok()) << lines << again.problems.ToString();
  BERTH_CHECK(again.objects.size() == manifests.objects.size()) << lines;
  for (size_t i = 0; i < again.objects.size(); ++i) {
    BERTH_CHECK(again.objects[i].key() == manifests.objects[i].key()) << lines;
    BERTH_CHECK(berth::ToJson(again.objects[i].message()) ==
                berth::ToJson(manifests.objects[i].message()))
        << lines;
  }
  return 0;
}
