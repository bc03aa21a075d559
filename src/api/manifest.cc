// SPDX-License-Identifier: Apache-2.0
// Files, folders and lists of manifests into objects: see manifest.h.
#include "berth/api/manifest.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "api/device_rules.h"
#include "api/duplicate_keys.h"
#include "api/field_error.h"
#include "api/group_rules.h"
#include "api/input_file.h"
#include "api/manifest_warnings.h"
#include "api/near_miss.h"
#include "api/object_meta.h"
#include "api/object_rules.h"
#include "api/workloads.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/node_v1.pb.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/api/value.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

class ManifestReader {
 public:
  explicit ManifestReader(const ManifestOptions& options)
      : options_(options),
        admission_(options.admission != nullptr ? *options.admission : own_admission_) {}

  void ReadPath(const std::string& path) {
    std::error_code error;
    const bool is_folder = path != "-" && fs::is_directory(path, error);
    is_folder ? ReadFolder(path) : ReadFile(path);
  }

  void ReadText(absl::string_view text, absl::string_view file_name) {
    ReadDocuments(text, file_name, result_.problems,
                  [this](Document document) { ReadObject(document.root(), "", ""); });
  }

  Manifests Finish() {
    AddWorkloads();
    Admit();
    warnings_.AddTo(result_.problems);
    return std::move(result_);
  }

 private:
  void ReadFolder(const std::string& folder) {
    const size_t problems_before = result_.problems.size();
    const std::vector<std::string> files =
        FindInputFiles(folder, {".yaml", ".yml", ".json", ".jsonl"}, result_.problems);
    for (const std::string& file : files) ReadFile(file);
    if (files.empty() && result_.problems.size() == problems_before) {
      result_.problems.AddWarning({Symbol::Intern(folder)}, "",
                                  "no *.yaml, *.yml, *.json or *.jsonl file in this folder");
    }
  }

  void ReadFile(const std::string& path) {
    const absl::StatusOr<std::string> text = ReadInputFile(path);
    if (!text.ok()) {
      result_.problems.AddError({Symbol::Intern(InputName(path))}, "",
                                std::string(text.status().message()));
      return;
    }
    ReadText(*text, InputName(path));
  }

  // Reads one object, or a list of them. The defaults are what the items of a typed list, such as
  // PodList, need not repeat.
  void ReadObject(Value value, absl::string_view default_api_version,
                  absl::string_view default_kind) {
    if (!value.IsMap()) {
      return Report(value.where(), "",
                    absl::StrCat("expected an object, found ", value.KindText()));
    }
    const int errors_before = result_.problems.errors();
    ReadMap(value, default_api_version, default_kind);
    if (result_.problems.errors() != errors_before) return;
    // What was decoded was checked with its fields; lists and kinds that are not read were not.
    ForEachDuplicateKey(value, [&](const Value::Item& item, SourceLocation first) {
      Report(item.where, SubjectOf(value, Text(value.Find("kind"), default_kind)),
             absl::StrCat(item.key, ": appears a second time; first in line ", first.line));
    });
  }

  void ReadMap(Value value, absl::string_view default_api_version, absl::string_view default_kind) {
    const absl::string_view api_version = Text(value.Find("apiVersion"), default_api_version);
    const absl::string_view kind_name = Text(value.Find("kind"), default_kind);
    if (api_version.empty()) return Report(value.where(), "", "apiVersion: is missing");
    if (kind_name.empty()) return Report(value.where(), "", "kind: is missing");
    if (absl::EndsWith(kind_name, "List") && IsList(value, api_version, kind_name)) {
      return ReadList(value, api_version, absl::StripSuffix(kind_name, "List"));
    }
    const bool makes_pods = MakesPods(api_version, kind_name);
    if (makes_pods) {
      Problems problems;
      std::optional<Workload> workload =
          ReadWorkload(value, api_version, kind_name, options_.default_namespace, problems);
      if (workload.has_value()) {
        const Value pod_template = value.Find("spec").Find("template");
        const auto subject = [&] {
          return absl::StrCat(kind_name, " ", workload->namespace_name, "/", workload->name);
        };
        warnings_.CheckGroupMarks(pod_template, ManifestWarnings::Marked::kPod, "spec.template.",
                                  subject);
        warnings_.CheckAnnotations(pod_template.Find("metadata"), "spec.template.", subject);
        Problems of_claims;
        CheckClaimReferences(pod_template.Find("spec"), "spec.template.spec", value, of_claims);
        if (!of_claims.empty()) Take(of_claims, subject());
      }
      Take(problems);
      if (workload.has_value()) workloads_.push_back(*std::move(workload));
    }
    if (const std::optional<Kind> kind = FindKind(api_version, kind_name)) {
      DecodeObject(value, *kind, api_version);
    } else if (api_version == "node.k8s.io/v1" && kind_name == "RuntimeClass") {
      api::RuntimeClass runtime_class;
      const DecodeOptions options{.unknown_fields = UnknownFieldsOf(value),
                                  .subject = SubjectOf(value, kind_name)};
      Problems problems;
      if (DecodeMessage(value, options, runtime_class, problems)) admission_.Learn(runtime_class);
      Take(problems);
    } else if (const std::optional<Kind> other = OtherVersion(api_version, kind_name)) {
      Report(value.Find("apiVersion") ? value.Find("apiVersion").where() : value.where(),
             SubjectOf(value, kind_name),
             absl::StrCat("apiVersion: ", api_version, " is not read; write it as ",
                          ApiVersion(*other)));
    } else if (!makes_pods && !IsGroupTemplate(api_version, kind_name)) {
      ++result_.ignored_kinds[absl::StrCat(api_version, " ", kind_name)];
      warnings_.CheckKind(value, api_version, kind_name);
    }
  }

  // A Workload after v1alpha1: what is read are the PodGroups that its controller makes of it.
  static bool IsGroupTemplate(absl::string_view api_version, absl::string_view kind_name) {
    return kind_name == "Workload" && absl::StartsWith(api_version, "scheduling.k8s.io/");
  }

  static absl::string_view Text(Value value, absl::string_view default_text) {
    return value.AsString().value_or(default_text);
  }

  static bool IsList(Value value, absl::string_view api_version, absl::string_view kind_name) {
    const Value items = value.Find("items");
    return kind_name == "List" || items.IsSequence() ||
           FindKind(api_version, absl::StripSuffix(kind_name, "List"));
  }

  void ReadList(Value list, absl::string_view api_version, absl::string_view item_kind) {
    WarnOfFieldsOfList(list, item_kind);
    const Value items = list.Find("items");
    if (!items || items.IsNull()) return;
    if (!items.IsSequence()) {
      return Report(items.where(), absl::StrCat(item_kind, "List"),
                    absl::StrCat("items: is ", items.KindText(), ", not a list"));
    }
    for (const Value item : items.elements()) {
      ReadObject(item, item_kind.empty() ? "" : api_version, item_kind);
    }
  }

  void WarnOfFieldsOfList(Value list, absl::string_view item_kind) {
    constexpr absl::string_view kFields[] = {"apiVersion", "kind", "metadata", "items"};
    for (const Value::Item& item : list.items()) {
      if (absl::c_linear_search(kFields, item.key)) continue;
      const std::vector<std::string> fields(std::begin(kFields), std::end(kFields));
      result_.problems.AddWarning(
          item.where, absl::StrCat(item_kind, "List"),
          absl::StrCat(item.key, ": unknown field", DidYouMean(item.key, fields)));
    }
  }

  // The kind of that name which Berth knows in another version of the same group.
  static std::optional<Kind> OtherVersion(absl::string_view api_version,
                                          absl::string_view kind_name) {
    const size_t slash = api_version.find('/');
    const absl::string_view group =
        slash == absl::string_view::npos ? absl::string_view() : api_version.substr(0, slash);
    for (const Kind kind : AllKinds()) {
      if (KindName(kind) != kind_name) continue;
      if (IsGroupTemplate(api_version, kind_name)) continue;
      if (group == ApiGroup(kind) || group == "extensions") return kind;
    }
    return std::nullopt;
  }

  // "Pod default/p" before the object is decoded, from what there is.
  std::string SubjectOf(Value value, absl::string_view kind_name) const {
    const Value metadata = value.Find("metadata");
    const absl::string_view name = Text(metadata.Find("name"), "");
    absl::string_view space = Text(metadata.Find("namespace"), "");
    const std::optional<Kind> kind = FindKind(Text(value.Find("apiVersion"), ""), kind_name);
    if (kind && !IsNamespaced(*kind)) space = "";
    if (kind && IsNamespaced(*kind) && space.empty()) space = options_.default_namespace;
    return absl::StrCat(kind_name, name.empty() ? "" : " ", name.empty() ? "" : space,
                        space.empty() || name.empty() ? "" : "/", name);
  }

  // What may have marks of groups.
  static std::optional<ManifestWarnings::Marked> MarkedAs(Kind kind) {
    switch (kind) {
      case Kind::kPod:
        return ManifestWarnings::Marked::kPod;
      case Kind::kPodGroup:
        return ManifestWarnings::Marked::kPodGroup;
      case Kind::kVolcanoPodGroup:
        return ManifestWarnings::Marked::kVolcanoPodGroup;
      case Kind::kKubernetesPodGroup:
      case Kind::kCompositePodGroup:
        return ManifestWarnings::Marked::kKubernetesPodGroup;
      default:
        return std::nullopt;
    }
  }

  // An API server that stored an object has pruned what it did not know.
  static UnknownFields UnknownFieldsOf(Value value) {
    return IsStored(value) ? UnknownFields::kWarnOfMistakes : UnknownFields::kWarn;
  }

  void DecodeObject(Value value, Kind kind, absl::string_view api_version) {
    const DecodeOptions options{.unknown_fields = UnknownFieldsOf(value)};
    // The subject is for problems only, and costs as much as a small object.
    Problems problems;
    std::shared_ptr<google::protobuf::Message> message = NewMessage(kind);
    bool good = DecodeObjectMessage(kind, value, options, *message, problems);
    api::ObjectMeta& meta = MutableObjectMetaOf(kind, *message);
    if (meta.name().empty() && !meta.generate_name().empty()) {
      meta.set_name(absl::StrCat(meta.generate_name(), generated_names_++));
    }
    good &= CheckMeta(value, kind, meta, problems);
    if (good) good = CheckRules(value, kind, api_version, problems);
    if (!problems.empty()) Take(problems, SubjectOf(value, KindName(kind)));
    const bool is_quota = kind == Kind::kClusterQuota || kind == Kind::kElasticQuota;
    if (is_quota) NoteFields(value.where().ToString(), value, "");
    if (!good) {
      if (!is_quota || meta.name().empty()) return;
      SetNamespace(kind, meta);
      result_.quotas_in_part.emplace_back(kind, std::move(message), value.where());
      return;
    }
    const auto subject = [&] { return SubjectOf(value, KindName(kind)); };
    if (const std::optional<ManifestWarnings::Marked> what = MarkedAs(kind)) {
      warnings_.CheckGroupMarks(value, *what, "", subject);
    }
    if (kind == Kind::kPod) warnings_.CheckAnnotations(value.Find("metadata"), "", subject);
    if (kind == Kind::kDeviceClass) warnings_.CheckGpuMilli(value.Find("metadata"), subject);
    for (const auto& [field, place] : PlacesOfDeviceFields(kind, value)) {
      result_.places_of_device_fields.emplace(absl::StrCat(value.where().ToString(), " ", field),
                                              place);
    }
    SetNamespace(kind, meta);
    AddObject(kind, std::move(message), value.where());
  }

  static bool CheckRules(Value value, Kind kind, absl::string_view api_version,
                         Problems& problems) {
    const int errors_before = problems.errors();
    CheckDeviceRules(kind, absl::StripPrefix(api_version, "resource.k8s.io/"), value, problems);
    CheckGroupRules(kind, value, problems);
    return problems.errors() == errors_before;
  }

  void SetNamespace(Kind kind, api::ObjectMeta& meta) const {
    if (!IsNamespaced(kind)) {
      meta.clear_namespace_();
    } else if (meta.namespace_().empty()) {
      meta.set_namespace_(options_.default_namespace);
    }
  }

  // As messages name them: "spec.reclaim.strategy", "spec.min[gpu]"; a label or annotation by its
  // key alone.
  void NoteFields(const std::string& object, Value map, const std::string& path) {
    const bool has_keys = path == "metadata.labels" || path == "metadata.annotations";
    for (const Value::Item item : map.items()) {
      const std::string field = absl::StrCat(path, path.empty() ? "" : ".", item.key);
      const std::string entry = absl::StrCat(path, "[", item.key, "]");
      for (const std::string& name : {field, entry, has_keys ? std::string(item.key) : field}) {
        result_.fields_of_quotas.try_emplace(absl::StrCat(object, " ", name), item.where);
      }
      NoteFields(object, item.value, field);
    }
  }

  void AddObject(Kind kind, std::shared_ptr<google::protobuf::Message> message,
                 SourceLocation where) {
    google::protobuf::Message* changeable = message.get();
    Object object(kind, std::move(message), where);
    const auto [first, is_new] =
        first_of_.try_emplace(absl::StrCat(GroupResource(kind), "/", object.key()), object.where());
    if (!is_new) {
      return Report(object.where(), object.ToString(),
                    absl::StrCat("is there a second time; first at ", first->second.ToString()));
    }
    if (object.identity()->has_uid()) {
      const auto [holder, is_unique] =
          holder_of_uid_.try_emplace(object.uid(), result_.objects.size());
      if (!is_unique) {
        const Object& other = result_.objects[holder->second];
        return Report(object.where(), object.ToString(),
                      absl::StrCat("metadata.uid: is that of ", other.ToString(),
                                   ", too; first at ", other.where().ToString()));
      }
    }
    // Most pods are done with here, so that only few messages are in memory at a time.
    if (kind == Kind::kPod) {
      auto& pod = static_cast<api::Pod&>(*changeable);
      if (Admission::NeedsClasses(pod)) {
        waiting_pods_.push_back(result_.objects.size());
      } else {
        admission_.Admit(pod);
      }
      object = Object(PackedPod::Pack(pod), where);
      changeable = nullptr;
    }
    result_.objects.push_back(std::move(object));
    messages_.push_back(changeable);
  }

  // --- What an API server and its controllers would have done ---

  void AddWorkloads() {
    if (workloads_.empty()) return;
    absl::flat_hash_set<std::string> owners;  // of the pods in the input
    for (const Object& object : result_.objects) {
      if (object.kind() != Kind::kPod) continue;
      const auto pod = object.Share<api::Pod>();
      for (const api::OwnerReference& owner : pod->metadata().owner_references()) {
        owners.insert(OwnerKey(owner.kind(), object.namespace_name(), owner.name()));
        // A ReplicaSet is named by its Deployment and a hash.
        const size_t dash = owner.name().rfind('-');
        if (owner.kind() != "ReplicaSet" || dash == std::string::npos) continue;
        owners.insert(
            OwnerKey("ReplicaSet", object.namespace_name(), owner.name().substr(0, dash)));
      }
    }
    for (Workload& workload : workloads_) {
      if (owners.contains(OwnerKey(workload.owner_kind, workload.namespace_name, workload.name))) {
        continue;
      }
      for (auto& [kind, message] : workload.objects) {
        AddObject(kind, std::move(message), workload.where);
      }
      result_.workloads.push_back({absl::StrCat(workload.api_version, " ", workload.kind, " ",
                                                workload.namespace_name, "/", workload.name),
                                   workload.pods, workload.why_none});
    }
  }

  static std::string OwnerKey(absl::string_view kind, absl::string_view namespace_name,
                              absl::string_view name) {
    return absl::StrCat(kind, "/", namespace_name, "/", name);
  }

  // Classes first: they may stand behind the pods that name them.
  void Admit() {
    for (const Object& object : result_.objects) {
      if (object.kind() == Kind::kPriorityClass) admission_.Learn(object.As<api::PriorityClass>());
      if (object.kind() == Kind::kStorageClass) admission_.Learn(object.As<api::StorageClass>());
    }
    for (const size_t i : waiting_pods_) {
      Object& object = result_.objects[i];
      api::Pod pod = *object.Share<api::Pod>();
      for (std::string& warning : admission_.Admit(pod)) {
        result_.problems.AddWarning(object.where(), object.ToString(), std::move(warning));
      }
      object = Object(PackedPod::Pack(pod), object.where());
    }
    for (size_t i = 0; i < messages_.size(); ++i) {
      const Object& object = result_.objects[i];
      switch (object.kind()) {
        case Kind::kPersistentVolumeClaim:
          admission_.Admit(static_cast<api::PersistentVolumeClaim&>(*messages_[i]));
          break;
        case Kind::kNode:
          Admission::Admit(static_cast<api::Node&>(*messages_[i]));
          break;
        case Kind::kNamespace:
          Admission::Admit(static_cast<api::Namespace&>(*messages_[i]));
          break;
        default:
          break;
      }
    }
  }

  // Names become parts of keys.
  static bool CheckMeta(Value value, Kind kind, const api::ObjectMeta& meta, Problems& problems) {
    const Value metadata = value.Find("metadata");
    const auto report = [&](Value at, std::string message) {
      problems.AddError(at         ? at.where()
                        : metadata ? metadata.where()
                                   : value.where(),
                        "", std::move(message));
      return false;
    };
    if (meta.name().empty()) return report({}, "metadata.name: is missing");
    if (absl::StrContains(meta.name(), '/')) {
      return report(metadata.Find("name"),
                    absl::StrCat("metadata.name: ", Quoted(meta.name()), " contains a slash"));
    }
    if (IsNamespaced(kind) && absl::StrContains(meta.namespace_(), '/')) {
      return report(
          metadata.Find("namespace"),
          absl::StrCat("metadata.namespace: ", Quoted(meta.namespace_()), " contains a slash"));
    }
    return true;
  }

  // Errors at once, warnings when all is read.
  void Take(const Problems& problems, const std::string& subject = "") {
    for (Problem problem : problems) {
      if (!subject.empty()) problem.subject = subject;
      if (problem.severity == Severity::kError) {
        result_.problems.Add(std::move(problem));
      } else {
        warnings_.Add(std::move(problem));
      }
    }
  }

  void Report(SourceLocation where, std::string subject, std::string message) {
    result_.problems.AddError(where, std::move(subject), std::move(message));
  }

  const ManifestOptions& options_;
  Admission own_admission_;
  Admission& admission_;
  Manifests result_;
  ManifestWarnings warnings_;
  // One for each object, in their order: they change once more before others see them. Null
  // for pods.
  std::vector<google::protobuf::Message*> messages_;
  std::vector<size_t> waiting_pods_;  // those of the objects that classes may add to
  std::vector<Workload> workloads_;
  int generated_names_ = 0;
  absl::flat_hash_map<std::string, SourceLocation> first_of_;  // by "Kind/namespace/name"
  absl::flat_hash_map<std::string, size_t> holder_of_uid_;     // among the objects
};

}  // namespace

Manifests ReadManifests(absl::Span<const std::string> paths, const ManifestOptions& options) {
  ManifestReader reader(options);
  for (const std::string& path : paths) reader.ReadPath(path);
  return reader.Finish();
}

Manifests ParseManifest(absl::string_view text, absl::string_view file_name,
                        const ManifestOptions& options) {
  ManifestReader reader(options);
  reader.ReadText(text, file_name);
  return reader.Finish();
}

}  // namespace berth
