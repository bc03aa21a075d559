// SPDX-License-Identifier: Apache-2.0
// Quotas, read leniently from manifests, made a tree, checked, and charged.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "berth/api/manifest.h"
#include "berth/check.h"
#include "berth/quota/quota_spec.h"
#include "berth/quota/quota_tree.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const berth::Manifests manifests = berth::ParseManifest(text, "fuzz.yaml");
  std::vector<const berth::Object*> quotas;
  for (const berth::Object& object : manifests.objects) quotas.push_back(&object);
  berth::Problems problems;
  const std::vector<berth::QuotaSpec> specs = berth::ReadQuotas(quotas, problems);
  berth::CheckQuotas(specs, berth::QuotaAmounts(), problems);
  BERTH_CHECK(problems.empty() || !problems.ToString().empty());
  berth::QuotaTree tree(specs);
  for (int line = 0; line < static_cast<int>(tree.lines().size()); ++line) {
    const berth::QuotaLine& of = tree.lines()[line];
    BERTH_CHECK(berth::QuotaLine::Parse(of.ToString()) == of) << of.ToString();
    tree.SetCapacity(line, 1000);
    for (berth::QuotaId quota = 1; quota < tree.size(); ++quota) {
      const berth::LineAmounts amounts = {{line, INT64_MAX}};
      tree.Charge(quota, amounts);
      tree.Want(quota, amounts);
      if (const auto shortage = tree.FindShortage(quota, amounts)) tree.ToString(*shortage);
      tree.DominantShareOf(quota, amounts);
      if (quota < 20) tree.ShareOf(quota, line);
    }
    for (berth::QuotaId quota = 1; quota < tree.size(); ++quota) {
      tree.Release(quota, {{line, INT64_MAX}});
    }
    BERTH_CHECK(tree.used(berth::QuotaTree::kCluster, line) == 0);
  }
  BERTH_CHECK(tree.IsConsistent());
  return 0;
}
