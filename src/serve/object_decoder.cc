// SPDX-License-Identifier: Apache-2.0
// Implementation of object_decoder.h.
#include "serve/object_decoder.h"

#include <google/protobuf/message.h>

#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/object_meta.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/manifest.h"
#include "berth/api/scheduling_v1.pb.h"
#include "berth/api/storage_v1.pb.h"
#include "berth/framework/node_info.h"
#include "berth/framework/pod_info.h"

namespace berth {
namespace {

using ProblemList = google::protobuf::RepeatedPtrField<v1::ObjectProblem>;

constexpr absl::string_view kDefaultNamespace = "default";
// What people send by hand: a manifest of a line of its own needs no name for its file.
constexpr absl::string_view kManifest = "json";

// Names become parts of keys.
std::string NameProblem(absl::string_view namespace_name, absl::string_view name) {
  if (name.empty()) return "metadata.name: is missing";
  if (absl::StrContains(name, '/')) return "metadata.name: contains a slash";
  if (absl::StrContains(namespace_name, '/')) return "metadata.namespace: contains a slash";
  return "";
}

}  // namespace

struct ObjectDecoder::Context {
  uint32_t position;
  bool is_gone;
  std::vector<ClientChange>& changes;
  ProblemList& problems;

  void Report(std::string subject, std::string message, bool warning = false) {
    v1::ObjectProblem& problem = *problems.Add();
    problem.set_change(position);
    problem.set_subject(std::move(subject));
    problem.set_message(std::move(message));
    problem.set_warning(warning);
  }
};

void ObjectDecoder::Decode(const v1::Change& change, uint32_t position,
                           std::vector<ClientChange>& changes, ProblemList& problems) {
  Context context{position, change.type() == v1::Change::DELETED, changes, problems};
  if (change.type() != v1::Change::ADDED && change.type() != v1::Change::MODIFIED &&
      change.type() != v1::Change::DELETED) {
    return context.Report("", "type: is not ADDED, MODIFIED or DELETED");
  }
  switch (change.object().form_case()) {
    case v1::Object::kProtobuf:
      return DecodeProtobuf(change.object(), context);
    case v1::Object::kJson:
      return DecodeJson(change.object(), context);
    case v1::Object::kName:
      return DecodeName(change.object(), context);
    default:
      return context.Report(change.object().kind(), "object: is missing");
  }
}

std::vector<Object> ObjectDecoder::DecodeAll(
    const google::protobuf::RepeatedPtrField<v1::Object>& objects, ProblemList& problems) {
  std::vector<ClientChange> changes;
  for (int i = 0; i < objects.size(); ++i) {
    Context context{static_cast<uint32_t>(i), false, changes, problems};
    if (objects[i].has_protobuf()) {
      DecodeProtobuf(objects[i], context);
    } else if (objects[i].has_json()) {
      DecodeJson(objects[i], context);
    } else {
      context.Report(objects[i].kind(), "object: is missing");
    }
  }
  std::vector<Object> decoded;
  for (ClientChange& change : changes) {
    if (change.object.has_value()) decoded.push_back(*std::move(change.object));
  }
  return decoded;
}

void ObjectDecoder::DecodeName(const v1::Object& object, Context& context) {
  const std::optional<Kind> kind = FindKind(object.api_version(), object.kind());
  if (!kind.has_value()) return;  // it is not here: its object was not read either
  if (!context.is_gone) return context.Report(object.kind(), "name: is for what is deleted");
  const std::string namespace_name = !IsNamespaced(*kind) ? ""
                                     : object.name().namespace_().empty()
                                         ? std::string(kDefaultNamespace)
                                         : object.name().namespace_();
  std::string problem = NameProblem(namespace_name, object.name().name());
  if (!problem.empty()) return context.Report(object.kind(), std::move(problem));
  if (*kind == Kind::kPriorityClass) admission_.ForgetPriorityClass(object.name().name());
  context.changes.push_back(
      {context.position, std::nullopt,
       std::make_shared<Identity>(*kind, namespace_name, object.name().name(), "")});
}

void ObjectDecoder::DecodeProtobuf(const v1::Object& object, Context& context) {
  const std::optional<Kind> kind = FindKind(object.api_version(), object.kind());
  if (!kind.has_value()) {
    return context.Report(object.kind(),
                          absl::StrCat("is of a kind that Berth does not read: ",
                                       object.api_version(), " ", object.kind()),
                          /*warning=*/true);
  }
  const std::string& bytes = object.protobuf();
  if (IsRegisteredKind(*kind)) {
    return context.Report(object.kind(),
                          "comes in protobuf; objects of this kind are sent as JSON");
  }
  if (object.api_version() != ApiVersion(*kind) && ApiGroup(*kind) == "resource.k8s.io") {
    return context.Report(object.kind(), absl::StrCat("in protobuf, only ", ApiVersion(*kind),
                                                      " is read; send it as JSON"));
  }
  std::shared_ptr<google::protobuf::Message> message = NewMessage(*kind);
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return context.Report(object.kind(), "its protobuf form is broken");
  }
  message->DiscardUnknownFields();
  api::ObjectMeta& meta = MutableObjectMetaOf(*kind, *message);
  if (!IsNamespaced(*kind)) {
    meta.clear_namespace_();
  } else if (meta.namespace_().empty()) {
    meta.set_namespace_(std::string(kDefaultNamespace));
  }
  std::string problem = NameProblem(meta.namespace_(), meta.name());
  if (!problem.empty()) return context.Report(object.kind(), std::move(problem));
  switch (*kind) {
    case Kind::kPod: {
      auto& pod = static_cast<api::Pod&>(*message);
      for (std::string& warning : admission_.Admit(pod)) {
        context.Report(absl::StrCat("Pod ", meta.namespace_(), "/", meta.name()),
                       std::move(warning), /*warning=*/true);
      }
      return Add(Object(PackedPod::Pack(pod)), context);
    }
    case Kind::kNode:
      Admission::Admit(static_cast<api::Node&>(*message));
      break;
    case Kind::kNamespace:
      Admission::Admit(static_cast<api::Namespace&>(*message));
      break;
    case Kind::kPersistentVolumeClaim:
      admission_.Admit(static_cast<api::PersistentVolumeClaim&>(*message));
      break;
    case Kind::kPriorityClass:
      if (!context.is_gone) admission_.Learn(static_cast<const api::PriorityClass&>(*message));
      break;
    case Kind::kStorageClass:
      if (!context.is_gone) admission_.Learn(static_cast<const api::StorageClass&>(*message));
      break;
    default:
      break;
  }
  Add(Object(*kind, std::move(message)), context);
}

void ObjectDecoder::DecodeJson(const v1::Object& object, Context& context) {
  // The file's name stays in memory for good: it is the same for all.
  Manifests manifests = ParseManifest(object.json(), kManifest, {.admission = &admission_});
  for (const Problem& problem : manifests.problems) {
    const bool has_line = problem.where.line > 1;
    context.Report(problem.subject,
                   absl::StrCat(has_line ? absl::StrCat("line ", problem.where.line, ": ") : "",
                                problem.message),
                   problem.severity == Severity::kWarning);
  }
  for (const auto& [kind, count] : manifests.ignored_kinds) {
    context.Report(kind, absl::StrCat("is of a kind that Berth does not read: ", kind),
                   /*warning=*/true);
  }
  for (const WorkloadPods& workload : manifests.workloads) {
    if (workload.why_none.empty()) continue;
    context.Report(workload.workload, absl::StrCat("no pods here, ", workload.why_none),
                   /*warning=*/true);
  }
  for (Object& one : manifests.objects) Add(std::move(one), context);
}

void ObjectDecoder::Add(Object object, Context& context) {
  if (context.is_gone) {
    if (object.kind() == Kind::kPriorityClass) {
      admission_.ForgetPriorityClass(std::string(object.name()));
    }
    context.changes.push_back({context.position, std::nullopt, object.identity()});
    return;
  }
  if (!IsUsable(object, context)) return;
  context.changes.push_back({context.position, std::move(object), nullptr});
}

// What the scheduler would leave out without a word to the client.
bool ObjectDecoder::IsUsable(const Object& object, Context& context) {
  absl::Status status;
  if (object.kind() == Kind::kPod) {
    const std::shared_ptr<const PackedPod> pod = object.packed();
    if (pod->shape() == good_shape_) return true;
    status = PodInfo::Create(pod).status();
    if (status.ok()) good_shape_ = pod->shape();
  } else if (object.kind() == Kind::kNode) {
    status = NodeSpec::Create(object.Share<api::Node>()).status();
  }
  if (!status.ok()) context.Report(object.ToString(), std::string(status.message()));
  return status.ok();
}

}  // namespace berth
