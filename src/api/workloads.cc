// SPDX-License-Identifier: Apache-2.0
// Implementation of workloads.h.
#include "api/workloads.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "berth/api/apps_v1.pb.h"
#include "berth/api/batch_v1.pb.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/labels.h"

namespace berth {
namespace {

constexpr int64_t kMaxPods = 20000;  // of one workload

constexpr WorkloadKind kKinds[] = {
    {"apps/v1", "Deployment"},  {"apps/v1", "ReplicaSet"}, {"v1", "ReplicationController"},
    {"apps/v1", "StatefulSet"}, {"apps/v1", "DaemonSet"},  {"batch/v1", "Job"},
    {"batch/v1", "CronJob"},
};

// As kubectl create makes it of generateName.
std::string NameOf(Value metadata) {
  const absl::string_view name = metadata.Find("name").text();
  if (!name.empty()) return std::string(name);
  const absl::string_view prefix = metadata.Find("generateName").text();
  return prefix.empty() ? "" : absl::StrCat(prefix, "0");
}

// A number of pods that may be left out.
int64_t CountOr(Value value, int64_t fallback) { return value.AsInt64().value_or(fallback); }

// How many pods the controller has running at once.
int64_t WantedPods(absl::string_view kind, Value spec) {
  if (kind != "Job") return CountOr(spec.Find("replicas"), 1);
  if (spec.Find("suspend").AsBool().value_or(false)) return 0;
  const int64_t parallelism = CountOr(spec.Find("parallelism"), 1);
  return std::min(parallelism, CountOr(spec.Find("completions"), parallelism));
}

std::string Subject(const Workload& workload) {
  return absl::StrCat(workload.kind, " ", workload.namespace_name, "/", workload.name);
}

// Whether the fields that are not the template's are good. Those of kinds in BERTH_KINDS are read
// where objects are.
bool CheckFields(Value value, const Workload& workload, Problems& problems) {
  const DecodeOptions options{.unknown_fields = UnknownFields::kWarn, .subject = Subject(workload)};
  const auto is_good = [&](auto message) {
    return DecodeMessage(value, options, message, problems);
  };
  if (workload.kind == "Deployment") return is_good(api::Deployment());
  if (workload.kind == "DaemonSet") return is_good(api::DaemonSet());
  if (workload.kind == "Job") return is_good(api::Job());
  if (workload.kind == "CronJob") return is_good(api::CronJob());
  return true;
}

// What the objects made have in common.
class Maker {
 public:
  Maker(Value value, Workload& workload, Problems& problems)
      : value_(value), workload_(workload), problems_(problems) {}

  // Returns false if the template is at fault.
  bool Make(int64_t count) {
    api::Pod pod_template;
    if (!Decode(value_.Find("spec").Find("template"), "spec.template", pod_template)) return false;
    pod_template.clear_status();
    CheckSelector(value_.Find("spec").Find("selector"), pod_template.metadata());
    // Controllers take these of the template's metadata.
    api::ObjectMeta meta;
    *meta.mutable_labels() = pod_template.metadata().labels();
    *meta.mutable_annotations() = pod_template.metadata().annotations();
    meta.set_namespace_(workload_.namespace_name);
    SetOwner(meta);
    if (workload_.kind == "Job") {
      (*meta.mutable_labels())["job-name"] = workload_.name;
      (*meta.mutable_labels())["batch.kubernetes.io/job-name"] = workload_.name;
    }
    *pod_template.mutable_metadata() = meta;
    if (workload_.kind == "Deployment" && !MakeReplicaSet()) return false;
    for (int64_t i = 0; i < count; ++i) {
      auto pod = std::make_shared<api::Pod>(pod_template);
      pod->mutable_metadata()->set_name(absl::StrCat(workload_.name, "-", i));
      if (workload_.kind == "StatefulSet" && !AddClaims(*pod)) return false;
      workload_.objects.emplace_back(Kind::kPod, std::move(pod));
      ++workload_.pods;
    }
    return true;
  }

 private:
  bool Decode(Value value, absl::string_view path, google::protobuf::Message& message) {
    return DecodeMessage(value,
                         {.unknown_fields = UnknownFields::kWarn,
                          .subject = Subject(workload_),
                          .field_path = std::string(path)},
                         message, problems_);
  }

  // An API server refuses what does not select its own pods.
  void CheckSelector(Value selector, const api::ObjectMeta& labelled) {
    if (!selector.IsMap() || workload_.kind == "Job") return;
    api::LabelSelector message;
    Problems reported;  // with the object's other fields
    if (workload_.kind == "ReplicationController") {
      for (const Value::Item& item : selector.items()) {
        (*message.mutable_match_labels())[std::string(item.key)] = std::string(item.value.text());
      }
    } else if (!DecodeMessage(selector, {}, message, reported)) {
      return;
    }
    const absl::StatusOr<LabelSelector> compiled = LabelSelector::FromProto(&message);
    if (!compiled.ok() || compiled->Matches(LabelSet::FromMap(labelled.labels()))) return;
    problems_.AddWarning(selector.where(), Subject(workload_),
                         absl::StrCat("spec.selector: does not match the labels of spec.template; "
                                      "an API server would refuse this ",
                                      workload_.kind));
  }

  // The controller of a Deployment's pods is a ReplicaSet, which is given the Deployment's name.
  void SetOwner(api::ObjectMeta& meta) {
    api::OwnerReference& owner = *meta.add_owner_references();
    owner.set_api_version(workload_.api_version);
    owner.set_kind(workload_.owner_kind);
    owner.set_name(workload_.name);
    owner.set_controller(true);
  }

  bool MakeReplicaSet() {
    auto replica_set = std::make_shared<api::ReplicaSet>();
    const DecodeOptions lenient{.subject = Subject(workload_), .field_path = "spec"};
    if (!DecodeMessage(value_.Find("spec"), lenient, *replica_set->mutable_spec(), problems_)) {
      return false;
    }
    replica_set->mutable_metadata()->set_name(workload_.name);
    replica_set->mutable_metadata()->set_namespace_(workload_.namespace_name);
    workload_.objects.emplace_back(Kind::kReplicaSet, std::move(replica_set));
    return true;
  }

  // Each pod of a StatefulSet has claims of its own, and volumes that use them.
  bool AddClaims(api::Pod& pod) {
    for (const Value claim_template : value_.Find("spec").Find("volumeClaimTemplates").elements()) {
      auto claim = std::make_shared<api::PersistentVolumeClaim>();
      if (!Decode(claim_template, "spec.volumeClaimTemplates", *claim)) return false;
      const std::string volume = claim->metadata().name();
      if (volume.empty() || absl::StrContains(volume, '/')) {
        problems_.AddError(
            claim_template.where(), absl::StrCat(workload_.kind, " ", workload_.name),
            "spec.volumeClaimTemplates: metadata.name is missing or contains a slash");
        return false;
      }
      claim->mutable_metadata()->set_name(absl::StrCat(volume, "-", pod.metadata().name()));
      claim->mutable_metadata()->set_namespace_(workload_.namespace_name);
      api::Volume& added = *pod.mutable_spec()->add_volumes();
      added.set_name(volume);
      added.mutable_volume_source()->mutable_persistent_volume_claim()->set_claim_name(
          claim->metadata().name());
      workload_.objects.emplace_back(Kind::kPersistentVolumeClaim, std::move(claim));
    }
    return true;
  }

  const Value value_;
  Workload& workload_;
  Problems& problems_;
};

}  // namespace

absl::Span<const WorkloadKind> WorkloadKinds() { return kKinds; }

bool MakesPods(absl::string_view api_version, absl::string_view kind) {
  return std::any_of(std::begin(kKinds), std::end(kKinds), [&](const WorkloadKind& known) {
    return known.api_version == api_version && known.kind == kind;
  });
}

std::optional<Workload> ReadWorkload(Value value, absl::string_view api_version,
                                     absl::string_view kind, absl::string_view default_namespace,
                                     Problems& problems) {
  const Value metadata = value.Find("metadata");
  const absl::string_view namespace_name = metadata.Find("namespace").text();
  Workload workload;
  workload.api_version = std::string(api_version);
  workload.kind = std::string(kind);
  workload.namespace_name =
      std::string(namespace_name.empty() ? default_namespace : namespace_name);
  workload.name = NameOf(metadata);
  workload.where = value.where();
  workload.owner_kind = kind == "Deployment" ? "ReplicaSet" : workload.kind;
  const bool stored = !metadata.Find("uid").text().empty();
  if (stored || workload.name.empty()) return std::nullopt;
  if (absl::StrContains(workload.name, '/') || absl::StrContains(workload.namespace_name, '/')) {
    problems.AddError(metadata.where(), absl::StrCat(kind, " ", workload.name),
                      "metadata: a name or namespace contains a slash");
    return std::nullopt;
  }
  if (!CheckFields(value, workload, problems)) return std::nullopt;
  if (kind == "DaemonSet") {
    workload.why_none = "a pod for each node is for its controller to make";
    return workload;
  }
  if (kind == "CronJob") {
    workload.why_none = "its controller makes Jobs when their time comes";
    return workload;
  }
  const Value spec = value.Find("spec");
  if (!spec.Find("template").Find("spec").IsMap()) {
    problems.AddWarning(spec ? spec.where() : value.where(), Subject(workload),
                        "spec.template.spec: is missing; no pods are made");
    return std::nullopt;
  }
  const int64_t count = WantedPods(kind, spec);
  if (count < 0 || count > kMaxPods) {
    problems.AddError(
        spec.where(), absl::StrCat(kind, " ", workload.name),
        absl::StrCat("spec: ", count, " pods are wanted; 0 to ", kMaxPods, " can be made"));
    return std::nullopt;
  }
  if (kind == "Job" && spec.Find("suspend").AsBool().value_or(false)) {
    workload.why_none = "spec.suspend is true";
  } else if (count == 0) {
    workload.why_none = "none are wanted";
  }
  if (!Maker(value, workload, problems).Make(count)) return std::nullopt;
  return workload;
}

}  // namespace berth
