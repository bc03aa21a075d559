// SPDX-License-Identifier: Apache-2.0
// Queues of other schedulers: whatever is read without an error is written so that it is read
// without one.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/check.h"
#include "berth/quota/quota_spec.h"
#include "import/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const berth::ImportInput input = {"fuzz.yaml",
                                    std::string(reinterpret_cast<const char*>(data), size)};
  const berth::ImportResult result = berth::ImportQuotas({&input, 1});
  BERTH_CHECK(result.yaml.empty() == !result.problems.ok());
  if (!result.problems.ok()) return 0;
  const berth::Manifests manifests = berth::ParseManifest(result.yaml, "written.yaml");
  BERTH_CHECK(manifests.problems.ok()) << manifests.problems.ToString() << result.yaml;
  BERTH_CHECK(manifests.objects.size() == static_cast<size_t>(result.quotas)) << result.yaml;
  std::vector<const berth::Object*> quotas;
  for (const berth::Object& object : manifests.objects) quotas.push_back(&object);
  berth::Problems problems;
  const std::vector<berth::QuotaSpec> specs = berth::ReadQuotas(quotas, problems);
  berth::CheckQuotas(specs, berth::QuotaAmounts(), problems);
  BERTH_CHECK(problems.ok()) << problems.ToString() << result.yaml;
  return 0;
}
