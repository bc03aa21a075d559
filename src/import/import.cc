// SPDX-License-Identifier: Apache-2.0
// Implementation of import.h: read, translate by rival, reconcile, write.
#include "import/import.h"

#include <vector>

#include "absl/strings/str_join.h"
#include "import/imported_quota.h"
#include "import/source_object.h"

namespace berth {

ImportResult ImportQuotas(absl::Span<const ImportInput> inputs) {
  ImportResult result;
  Imported imported;
  std::vector<Document> documents;
  const std::vector<SourceObject> objects = ReadSources(inputs, documents, imported.problems);
  ImportKueue(objects, imported);
  ImportKai(objects, imported);
  ImportVolcano(objects, imported);
  ImportYuniKorn(objects, imported);
  ImportKoordinator(objects, imported);
  Reconcile(imported);
  if (imported.problems.ok() && imported.quotas.empty() && imported.elastic_quotas.empty() &&
      !inputs.empty()) {
    imported.problems.AddError({Symbol::Intern(inputs.front().name), 1}, "",
                               "has no queue that could become a quota; give the queues, too");
  }
  imported.problems.SortByLocation();
  result.quotas = static_cast<int>(imported.quotas.size() + imported.elastic_quotas.size());
  if (imported.problems.ok()) {
    const std::string names = absl::StrJoin(
        inputs, ", ", [](std::string* out, const ImportInput& input) { out->append(input.name); });
    result.yaml = WriteYaml(imported, names, result.comments);
  }
  result.problems = std::move(imported.problems);
  return result;
}

}  // namespace berth
