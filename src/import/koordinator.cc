// SPDX-License-Identifier: Apache-2.0
// Koordinator's ElasticQuotas, which Berth reads as they are but for some labels, and its
// ElasticQuotaProfiles.
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "import/source_object.h"

namespace berth {
namespace {

constexpr absl::string_view kPrefix = "quota.scheduling.koordinator.sh/";
constexpr absl::string_view kNamespaces = "quota.scheduling.koordinator.sh/namespaces";
constexpr absl::string_view kSharedWeight = "quota.scheduling.koordinator.sh/shared-weight";
constexpr absl::string_view kIsParent = "quota.scheduling.koordinator.sh/is-parent";
constexpr absl::string_view kOurPrefix = "scheduling.berth.dev/";
// What Berth reads of those with the prefix; what Koordinator's controllers write is left out.
constexpr absl::string_view kRead[] = {"parent", "is-parent", "allow-lent-resource",
                                       "shared-weight", "namespaces"};
constexpr absl::string_view kWritten[] = {"request",
                                          "runtime",
                                          "child-request",
                                          "profile",
                                          "non-preemptible-request",
                                          "non-preemptible-used"};

class KoordinatorImporter {
 public:
  explicit KoordinatorImporter(Imported& imported) : imported_(imported) {}

  void Import(absl::Span<const SourceObject> objects) {
    const auto quotas = ObjectsOf(objects, Rival::kKoordinator, "ElasticQuota");
    for (const SourceObject* object : quotas) ReadQuota(*object);
    for (const SourceObject* object :
         ObjectsOf(objects, Rival::kKoordinator, "ElasticQuotaProfile")) {
      ReadProfile(*object);
    }
    if (absl::c_none_of(imported_.elastic_quotas, [](const ImportedElasticQuota& quota) {
          return absl::c_any_of(quota.labels, [](const auto& label) {
            return absl::StartsWith(label.first, kPrefix);
          });
        })) {
      return;
    }
    imported_.remarks.push_back(
        "Koordinator: a quota there is limited by what its share is at the moment (runtime), and "
        "pods beyond it may be revoked for that alone; here it borrows what is idle up to max, "
        "and pods go only for those that take back what is theirs.");
  }

 private:
  void ReadQuota(const SourceObject& object) {
    Problems& problems = imported_.problems;
    ImportedElasticQuota quota;
    quota.where = object.where();
    quota.api_version = TextOf(object.value.Find("apiVersion"));
    quota.name = object.name;
    quota.namespace_name = object.namespace_name;
    const Value metadata = object.value.Find("metadata");
    CopyMarks(metadata.Find("labels"), "metadata.labels", object.subject(), quota.labels,
              quota.notes);
    CopyMarks(metadata.Find("annotations"), "metadata.annotations", object.subject(),
              quota.annotations, quota.notes);
    quota.min = ReadAmounts(object.spec().Find("min"), "spec.min", object.subject(), problems);
    quota.max = ReadAmounts(object.spec().Find("max"), "spec.max", object.subject(), problems);
    NoteUnread(object.spec(), "spec.", {"min", "max"}, quota.notes);
    CheckWeights(object, quota);
    ClaimNamespaces(object, quota);
    imported_.elastic_quotas.push_back(std::move(quota));
  }

  void CopyMarks(Value marks, absl::string_view field, const std::string& subject,
                 std::map<std::string, std::string>& copied, std::vector<ImportedNote>& notes) {
    for (const Value::Item mark : marks.items()) {
      absl::string_view name = mark.key;
      if (absl::StartsWith(name, kOurPrefix)) {
        copied[std::string(mark.key)] = NameOf(mark.value, field, subject, imported_.problems);
        continue;
      }
      if (!absl::ConsumePrefix(&name, kPrefix)) continue;
      if (absl::c_linear_search(kRead, name)) {
        copied[std::string(mark.key)] = NameOf(mark.value, field, subject, imported_.problems);
      } else if (!absl::c_linear_search(kWritten, name)) {
        notes.push_back({"", absl::StrCat(mark.key, ": ", Show(mark.value),
                                          " is not read by Berth and left out")});
      }
    }
  }

  // The one JSON value of an annotation; an error and nothing if it is none.
  std::optional<Document> Json(absl::string_view key, const SourceObject& object,
                               const ImportedElasticQuota& quota) {
    Problems problems;
    std::vector<Document> documents =
        ReadDocuments(quota.annotations.at(std::string(key)), "", problems);
    if (problems.ok() && documents.size() == 1) return std::move(documents.front());
    imported_.problems.AddError(object.where(), object.subject(),
                                absl::StrCat(key, ": is not JSON"));
    return std::nullopt;
  }

  void CheckWeights(const SourceObject& object, const ImportedElasticQuota& quota) {
    if (!quota.annotations.contains(std::string(kSharedWeight))) return;
    const std::optional<Document> json = Json(kSharedWeight, object, quota);
    if (!json.has_value()) return;
    if (!json->root().IsMap()) {
      imported_.problems.AddError(object.where(), object.subject(),
                                  absl::StrCat(kSharedWeight, ": is no map"));
      return;
    }
    Problems of_amounts;
    ReadAmounts(json->root(), kSharedWeight, object.subject(), of_amounts);
    for (const Value::Item weight : json->root().items()) {
      if (!weight.value.IsNull()) continue;
      of_amounts.AddError(weight.where, object.subject(),
                          absl::StrCat(kSharedWeight, "[", weight.key, "]: has no value"));
    }
    for (const Problem& problem : of_amounts) {
      imported_.problems.AddError(object.where(), object.subject(), problem.message);
    }
  }

  // The quota of a namespace's pods without a label. Each namespace to one quota, the first.
  void ClaimNamespaces(const SourceObject& object, ImportedElasticQuota& quota) {
    const bool listed = quota.annotations.contains(std::string(kNamespaces));
    std::vector<std::string> wanted;
    if (listed) {
      const std::optional<Document> json = Json(kNamespaces, object, quota);
      if (!json.has_value()) return;
      if (!json->root().IsSequence()) {
        imported_.problems.AddError(object.where(), object.subject(),
                                    absl::StrCat(kNamespaces, ": is no list"));
        return;
      }
      for (const Value name : json->root().elements()) {
        wanted.push_back(NameOf(name, kNamespaces, object.subject(), imported_.problems));
      }
    } else {
      const auto is_parent = quota.labels.find(std::string(kIsParent));
      if (is_parent != quota.labels.end() && is_parent->second == "true") return;
      wanted.push_back(quota.namespace_name);
    }
    std::vector<std::string> had;
    for (const std::string& name : wanted) {
      if (!name.empty() && claimed_.insert(name).second) {
        had.push_back(JsonQuoted(name));
        continue;
      }
      quota.notes.push_back(
          {"annotations", absl::StrCat("pods of namespace ", name,
                                       " that name no quota belong to another one already")});
    }
    if (listed || had.size() < wanted.size()) {
      quota.annotations[std::string(kNamespaces)] = absl::StrCat("[", absl::StrJoin(had, ","), "]");
    }
  }

  // Its controller makes the root of a tree with what the nodes that it selects have.
  void ReadProfile(const SourceObject& object) {
    const Value spec = object.spec();
    const std::string name =
        NameOf(spec.Find("quotaName"), "spec.quotaName", object.subject(), imported_.problems);
    if (name.empty()) {
      imported_.problems.AddError(object.where(), object.subject(), "spec.quotaName: is required");
      return;
    }
    const std::string says = absl::StrCat(
        "ElasticQuotaProfile ", object.name, ": the tree has what nodes ",
        Show(spec.Find("nodeSelector")), " have",
        spec.Find("resourceRatio") ? absl::StrCat(", times ", Show(spec.Find("resourceRatio")))
                                   : "",
        "; here that is not known: set max, and keep the pods on these nodes");
    for (ImportedElasticQuota& quota : imported_.elastic_quotas) {
      if (quota.name != name) continue;
      quota.notes.push_back({"", says});
      return;
    }
    ImportedQuota quota;
    quota.from = object.subject();
    quota.where = object.where();
    quota.key = absl::StrCat("koordinator/", object.namespace_name, "/", object.name);
    quota.name = name;
    quota.Note("", says);
    NoteUnread(spec, "spec.", {"quotaName", "quotaLabels", "nodeSelector", "resourceRatio"},
               quota.notes);
    imported_.quotas.push_back(std::move(quota));
  }

  Imported& imported_;
  std::set<std::string> claimed_;  // namespaces
};

}  // namespace

void ImportKoordinator(absl::Span<const SourceObject> objects, Imported& imported) {
  KoordinatorImporter(imported).Import(objects);
}

}  // namespace berth
