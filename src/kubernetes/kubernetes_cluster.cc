// SPDX-License-Identifier: Apache-2.0
// Implementation of kubernetes_cluster.h.
#include "kubernetes/kubernetes_cluster.h"

#include <google/protobuf/message.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "api/json.h"
#include "api/object_meta.h"
#include "berth/api/core_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/value.h"
#include "berth/check.h"
#include "berth/kubernetes/wire.pb.h"
#include "kubernetes/api_error.h"
#include "kubernetes/blocking_call.h"
#include "kubernetes/envelope.h"
#include "kubernetes/find_connection.h"
#include "kubernetes/merge_patch.h"
#include "kubernetes/object_body.h"
#include "kubernetes/resource.h"

namespace berth {
namespace {

constexpr absl::Duration kLastEvents = absl::Seconds(2);
constexpr int kEndedPageSize = 500;
constexpr int kEditTries = 5;
constexpr char kStrategicMergePatch[] = "application/strategic-merge-patch+json";
constexpr char kMergePatch[] = "application/merge-patch+json";

ApiClientOptions ClientOptions(const KubernetesClusterOptions& options, uint64_t seed,
                               const KubernetesCluster::ObserveCall& observe) {
  return {.qps = options.qps,
          .burst = options.burst,
          .user_agent = options.user_agent,
          .seed = seed,
          .may_write = options.may_write,
          .warn = options.warn,
          .observe = observe};
}

// As client-go's events, which take os.Hostname().
std::string HostName() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

EventRecorderOptions EventOptions(const KubernetesClusterOptions& options,
                                  EventRecorderOptions events) {
  events.content_type = options.content_type;
  if (events.host_name.empty()) events.host_name = HostName();
  return events;
}

const std::string& AcceptedTypes(const KubernetesClusterOptions& options) {
  return options.accept_content_types.empty() ? options.content_type : options.accept_content_types;
}

WatchSetOptions WatchOptions(const KubernetesClusterOptions& options) {
  const bool is_protobuf = absl::StrContains(AcceptedTypes(options), kProtobufType);
  return {.format = is_protobuf ? WireFormat::kProtobuf : WireFormat::kJson,
          .seed = 2,
          .warn = options.warn};
}

bool HasAnnotations(const api::Pod& pod, const std::map<std::string, std::string>& wanted) {
  const auto& annotations = pod.metadata().annotations();
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& entry) {
    const auto found = annotations.find(entry.first);
    return found != annotations.end() && found->second == entry.second;
  });
}

PodStatusChange ChangeOf(const PodStatusPatch& patch) {
  PodStatusChange change;
  if (!patch.condition_type.empty()) {
    change.conditions[patch.condition_type] = {.is_true = patch.condition_true,
                                               .reason = patch.condition_reason,
                                               .message = patch.condition_message};
  }
  change.nominated_node_name = patch.nominated_node_name;
  change.extended_resource_claim = patch.extended_resource_claim;
  return change;
}

std::string PathOf(const Identity& object, ObjectUpdate::Part part) {
  return absl::StrCat(ObjectPath(object), part == ObjectUpdate::Part::kStatus ? "/status" : "");
}

// Leaves of `message` what `part` names, and the resource version.
void KeepPart(Kind kind, ObjectUpdate::Part part, google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const bool keeps_status = part == ObjectUpdate::Part::kStatus;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->name() == "metadata") continue;
    if ((field->name() == "status") != keeps_status) reflection.ClearField(&message, field);
  }
  if (!keeps_status) return;
  api::ObjectMeta& metadata = MutableObjectMetaOf(kind, message);
  api::ObjectMeta version;
  version.set_resource_version(metadata.resource_version());
  metadata = std::move(version);
}

std::shared_ptr<google::protobuf::Message> Copy(const Object& object) {
  std::shared_ptr<google::protobuf::Message> copy = NewMessage(object.kind());
  copy->CopyFrom(object.message());
  return copy;
}

Document ParseOwnJson(const std::string& json) {
  Problems problems;
  std::vector<Document> documents = ReadDocuments(json, "", problems);
  BERTH_CHECK(problems.ok() && documents.size() == 1) << json;
  return std::move(documents[0]);
}

// The merge patch that makes the part of `after` of that of `before`, as long as that has its
// resource version; empty if they are the same. Changes both.
std::string PatchBody(Kind kind, ObjectUpdate::Part part, google::protobuf::Message& before,
                      google::protobuf::Message& after) {
  KeepPart(kind, part, before);
  KeepPart(kind, part, after);
  const std::string wanted = ToJson(after);
  if (ToJson(before) == wanted) return "";
  // So that it is in the patch, as precondition.
  MutableObjectMetaOf(kind, before).clear_resource_version();
  JsonWriter out;
  WriteMergePatch(ParseOwnJson(ToJson(before)).root(), ParseOwnJson(wanted).root(), out);
  return std::string(out.text());
}

}  // namespace

KubernetesCluster::KubernetesCluster(const Connection& connection,
                                     const KubernetesClusterOptions& options,
                                     EventRecorderOptions events, const ObserveCall& observe)
    : content_type_(options.content_type),
      accept_(AcceptedTypes(options)),
      denials_(options.warn),
      status_patches_([this](const Identity& pod, const PodStatusChange& change) {
        const absl::StatusOr<std::shared_ptr<const PackedPod>> known = KnownPod(pod);
        return known.ok() ? WriteStatus(pod, **known, change, Priority::kLow) : known.status();
      }),
      events_(connection, ClientOptions(options, 1, observe),
              EventOptions(options, std::move(events))),
      client_(connection, ClientOptions(options, 0, observe)),
      status_client_(connection, ClientOptions(options, 3, observe)),
      group_statuses_(StatusServer(options)),
      keep_group_statuses_(options.keep_group_statuses),
      watch_(client_, WatchOptions(options)) {}

KubernetesCluster::~KubernetesCluster() {
  StopWatching();
  events_.Flush(kLastEvents);
}

void KubernetesCluster::LiftRateLimits() {
  client_.LiftRateLimit();
  events_.LiftRateLimit();
}

absl::StatusOr<ApiResponse> KubernetesCluster::Call(ApiClient& client, ApiRequest request) {
  absl::StatusOr<ApiResponse> answer = CallAndWait(client, std::move(request));
  if (!answer.ok()) denials_.See(answer.status());
  return answer;
}

// --- The watch -----------------------------------------------------------------------------------

absl::Status KubernetesCluster::Watch(WatchSink& sink, const std::vector<Kind>& kinds) {
  if (keep_group_statuses_) {
    group_statuses_.Start(sink, kinds);
    pods_.SetSink(group_statuses_);
  } else {
    pods_.SetSink(sink);
  }
  watch_.Start(pods_, kinds);
  return absl::OkStatus();
}

void KubernetesCluster::StopWatching() {
  watch_.Stop();
  status_client_.Stop();  // what its thread waits for
  group_statuses_.Stop();
}

// --- Reading -------------------------------------------------------------------------------------

absl::StatusOr<Object> KubernetesCluster::ReadBy(ApiClient& client, const Identity& object) {
  const absl::StatusOr<ApiResponse> answer =
      Call(client, {.target = ObjectPath(object),
                    .accept = IsCustomResource(object.kind()) ? kJsonType : accept_});
  if (!answer.ok()) return answer.status();
  absl::StatusOr<Object> read = DecodeObject(object.kind(), answer->content_type, answer->body);
  if (read.ok() && object.has_uid() && read->uid() != object.uid()) {
    return absl::NotFoundError(
        absl::StrCat(read->ToString(), " is another one, with the uid ", read->uid()));
  }
  return read;
}

absl::StatusOr<std::shared_ptr<const PackedPod>> KubernetesCluster::KnownPod(const Identity& pod) {
  if (std::shared_ptr<const PackedPod> watched = pods_.Find(pod)) return watched;
  const absl::StatusOr<Object> read = Read(pod);
  if (!read.ok()) return read.status();
  return read->packed();
}

absl::Status KubernetesCluster::GoneOr(const Identity& pod, const absl::Status& otherwise) {
  absl::Status now = Read(pod).status();
  return absl::IsNotFound(now) ? now : otherwise;
}

// --- Pods ----------------------------------------------------------------------------------------

absl::Status KubernetesCluster::Bind(const PodBinding& binding) {
  const Identity& pod = *binding.pod;
  kubernetes_wire::Binding body;
  api::ObjectMeta& metadata = *body.mutable_metadata();
  metadata.set_namespace_(std::string(pod.namespace_name()));
  metadata.set_name(std::string(pod.name()));
  // Another pod of that name is refused.
  if (pod.has_uid()) metadata.set_uid(pod.uid());
  metadata.mutable_annotations()->insert(binding.annotations.begin(), binding.annotations.end());
  metadata.mutable_labels()->insert(binding.labels.begin(), binding.labels.end());
  body.mutable_target()->set_kind("Node");
  body.mutable_target()->set_name(binding.node_name);
  status_patches_.Close(pod);
  absl::Status bound = SendBinding(binding, body);
  if (!bound.ok()) status_patches_.Open(pod);
  return bound;
}

absl::Status KubernetesCluster::SendBinding(const PodBinding& binding,
                                            const kubernetes_wire::Binding& body) {
  const Identity& pod = *binding.pod;
  absl::Status answer = Call({.method = "POST",
                              .target = absl::StrCat(ObjectPath(pod), "/binding"),
                              .accept = accept_,
                              .content_type = content_type_,
                              .body = EncodeObject(content_type_, "v1", "Binding", body),
                              .repeatable = Repeatable::kNo})
                            .status();
  const std::optional<ApiError> refusal = ApiError::Of(answer);
  if (!refusal.has_value()) return answer;
  if (refusal->code == 409) return ResolveConflict(binding, answer);
  return LeavesDoubt(*refusal) ? absl::UnknownError(answer.message()) : answer;
}

// The pod has a node, which may be ours since a try that no answer came to was done; or it is being
// deleted; or it is another one.
absl::Status KubernetesCluster::ResolveConflict(const PodBinding& binding,
                                                const absl::Status& conflict) {
  const absl::StatusOr<Object> pod = Read(*binding.pod);
  if (absl::IsNotFound(pod.status())) return pod.status();
  if (!pod.ok()) {
    return absl::UnknownError(absl::StrCat(conflict.message(), "; then ", pod.status().message()));
  }
  absl::Status status;
  pod->packed()->ReadOwn([&](const api::Pod& own) {
    const std::string& node = own.spec().node_name();
    if (node.empty()) {
      status = conflict;
    } else if (node != binding.node_name || !HasAnnotations(own, binding.annotations)) {
      status = absl::FailedPreconditionError(
          absl::StrCat("pod ", binding.pod->key(), " is already assigned to node ", node));
    }
  });
  return status;
}

absl::StatusOr<std::string> KubernetesCluster::AssignedNode(const Identity& pod) {
  const absl::StatusOr<Object> read = Read(pod);
  if (!read.ok()) return read.status();
  std::string node;
  read->packed()->ReadOwn([&](const api::Pod& own) { node = own.spec().node_name(); });
  return node;
}

absl::Status KubernetesCluster::Evict(const Identity& pod, const std::string& message) {
  const absl::StatusOr<std::shared_ptr<const PackedPod>> known = KnownPod(pod);
  if (!known.ok()) return known.status();
  bool leaving = false;
  (*known)->ReadOwn(
      [&](const api::Pod& own) { leaving = own.metadata().has_deletion_timestamp(); });
  if (leaving) return absl::OkStatus();
  PodStatusChange target;
  target.conditions["DisruptionTarget"] = {
      .is_true = true, .reason = "PreemptionByScheduler", .message = message};
  // Not by status_patches_, whose change a newer one may take over: the pod would go before it.
  absl::Status written = WriteStatus(pod, **known, target, Priority::kUsual);
  if (!written.ok()) return written;

  kubernetes_wire::DeleteOptions options;
  options.mutable_preconditions()->set_uid(pod.uid());
  const absl::Status answer =
      Call({.method = "DELETE",
            .target = ObjectPath(pod),
            .accept = accept_,
            .content_type = content_type_,
            .body = EncodeObject(content_type_, "v1", "DeleteOptions", options)})
          .status();
  // The precondition, or a race at the server.
  return absl::IsAborted(answer) ? GoneOr(pod, answer) : answer;
}

absl::Status KubernetesCluster::PatchPodStatus(const PodStatusPatch& patch) {
  return status_patches_.Apply(*patch.pod, ChangeOf(patch));
}

absl::Status KubernetesCluster::WriteStatus(const Identity& pod, const PackedPod& known,
                                            const PodStatusChange& change, Priority priority) {
  std::string body;
  known.ReadOwn([&](const api::Pod& own) { body = StatusPatch(own, change, absl::Now()); });
  if (body.empty()) return absl::OkStatus();
  const absl::StatusOr<ApiResponse> answer =
      Call({.method = "PATCH",
            .target = absl::StrCat(ObjectPath(pod), "/status"),
            .accept = accept_,
            .content_type = kStrategicMergePatch,
            .body = std::move(body),
            .priority = priority});
  if (!answer.ok()) {
    // Another uid is refused as a conflict, or as a change of what cannot be changed.
    const std::optional<ApiError> refusal = ApiError::Of(answer.status());
    const bool may_be_another =
        refusal.has_value() && (refusal->code == 409 || refusal->code == 422);
    return may_be_another ? GoneOr(pod, answer.status()) : answer.status();
  }
  const absl::StatusOr<Object> written =
      DecodeObject(Kind::kPod, answer->content_type, answer->body);
  if (written.ok()) pods_.TakeAnswer(written->packed());
  return absl::OkStatus();
}

// --- Other objects -------------------------------------------------------------------------------

absl::Status KubernetesCluster::Update(const ObjectUpdate& update) {
  return UpdateBy(client_, update);
}

absl::Status KubernetesCluster::UpdateBy(ApiClient& client, const ObjectUpdate& update) {
  const Object& object = update.object;
  const Kind kind = object.kind();
  if (kind == Kind::kPod) {
    return absl::InvalidArgumentError("pods are not updated, but bound, evicted and patched");
  }
  const absl::StatusOr<Object> current = ReadBy(client, *object.identity());
  if (!current.ok()) return current.status();
  const std::shared_ptr<google::protobuf::Message> before = Copy(*current);
  const std::shared_ptr<google::protobuf::Message> after = Copy(object);
  // An object without a version is not one that the watch has delivered.
  if (ObjectMetaOf(kind, *before).resource_version() !=
      ObjectMetaOf(kind, *after).resource_version()) {
    return absl::AbortedError(absl::StrCat(object.ToString(), " has been changed meanwhile"));
  }
  std::string body = PatchBody(kind, update.part, *before, *after);
  if (body.empty()) return absl::OkStatus();
  return Call(client, {.method = "PATCH",
                       .target = PathOf(*object.identity(), update.part),
                       .content_type = kMergePatch,
                       .body = std::move(body)})
      .status();
}

absl::Status KubernetesCluster::Edit(const ObjectEdit& edit) {
  if (edit.object->kind() == Kind::kPod) {
    return absl::InvalidArgumentError("pods are not edited, but bound, evicted and patched");
  }
  absl::Status edited;
  for (int i = 0; i < kEditTries; ++i) {  // as client-go's retry.DefaultRetry
    edited = EditOnce(edit);
    if (!absl::IsAborted(edited)) break;
  }
  return edited;
}

// For a patch the server turns the object into JSON and back, which may write a driver's parameters
// with other spaces. Of a claim these cannot be changed, and so it would refuse any patch.
absl::Status KubernetesCluster::EditOnce(const ObjectEdit& edit) {
  if (edit.object->kind() == Kind::kResourceClaim) {
    if (std::optional<absl::Status> put = PutEdited(edit)) return *std::move(put);
  }
  return PatchEdited(edit);
}

std::optional<absl::Status> KubernetesCluster::PutEdited(const ObjectEdit& edit) {
  const Kind kind = edit.object->kind();
  if (!absl::StrContains(accept_, kProtobufType)) return std::nullopt;
  const absl::StatusOr<ApiResponse> answer =
      Call({.target = ObjectPath(*edit.object), .accept = accept_});
  if (!answer.ok()) return answer.status();
  if (!IsProtobuf(answer->content_type)) return std::nullopt;
  const absl::StatusOr<Enveloped> envelope = OpenEnvelope(answer->body);
  if (!envelope.ok()) return absl::DataLossError(envelope.status().message());
  const std::shared_ptr<google::protobuf::Message> message = NewMessage(kind);
  if (!message->ParseFromString(envelope->raw)) {  // with the fields that are not known here
    return absl::DataLossError("the protobuf form of the API server's answer is broken");
  }
  const api::ObjectMeta& metadata = ObjectMetaOf(kind, *message);
  if (edit.object->has_uid() && metadata.uid() != edit.object->uid()) {
    return absl::NotFoundError(absl::StrCat(KindName(kind), " ", metadata.namespace_(), "/",
                                            metadata.name(), " is another one, with the uid ",
                                            metadata.uid()));
  }
  absl::Status edited = edit.edit(*message);
  if (!edited.ok()) return edited;
  const std::string body = message->SerializeAsString();
  if (body == envelope->raw) return absl::OkStatus();
  return Call({.method = "PUT",
               .target = PathOf(*edit.object, edit.part),
               .accept = accept_,
               .content_type = kProtobufType,
               .body = Envelope(envelope->api_version, envelope->kind, body)})
      .status();
}

absl::Status KubernetesCluster::PatchEdited(const ObjectEdit& edit) {
  const absl::StatusOr<Object> current = ReadBy(client_, *edit.object);
  if (!current.ok()) return current.status();
  const std::shared_ptr<google::protobuf::Message> before = Copy(*current);
  const std::shared_ptr<google::protobuf::Message> after = Copy(*current);
  absl::Status edited = edit.edit(*after);
  if (!edited.ok()) return edited;
  std::string body = PatchBody(edit.object->kind(), edit.part, *before, *after);
  if (body.empty()) return absl::OkStatus();
  return Call(client_, {.method = "PATCH",
                        .target = PathOf(*edit.object, edit.part),
                        .content_type = kMergePatch,
                        .body = std::move(body)})
      .status();
}

absl::StatusOr<Object> KubernetesCluster::Create(const Object& object) {
  const Kind kind = object.kind();
  if (kind == Kind::kPod) return absl::InvalidArgumentError("pods are not created");
  const absl::StatusOr<ApiResponse> answer =
      Call({.method = "POST",
            .target = object.namespace_name().empty()
                          ? CollectionPath(kind)
                          : CollectionPath(kind, std::string(object.namespace_name())),
            .accept = IsCustomResource(kind) ? kJsonType : accept_,
            .content_type = kJsonType,
            .body = ToJson(object.message()),
            .repeatable = Repeatable::kNo});
  if (answer.ok()) return DecodeObject(kind, answer->content_type, answer->body);
  const std::optional<ApiError> refusal = ApiError::Of(answer.status());
  if (!refusal.has_value()) return answer.status();
  if (refusal->code == 409) return absl::AlreadyExistsError(answer.status().message());
  return LeavesDoubt(*refusal) ? absl::UnknownError(answer.status().message()) : answer.status();
}

absl::Status KubernetesCluster::Delete(const Identity& object) {
  if (object.kind() == Kind::kPod) {
    return absl::InvalidArgumentError("pods are not deleted, but evicted");
  }
  kubernetes_wire::DeleteOptions options;
  if (object.has_uid()) options.mutable_preconditions()->set_uid(object.uid());
  const absl::Status answer =
      Call({.method = "DELETE",
            .target = ObjectPath(object),
            .accept = IsCustomResource(object.kind()) ? kJsonType : accept_,
            .content_type = content_type_,
            .body = EncodeObject(content_type_, "v1", "DeleteOptions", options)})
          .status();
  // The precondition, or a race at the server.
  return absl::IsAborted(answer) ? GoneOr(object, answer) : answer;
}

// --- Statuses of groups and quotas ---------------------------------------------------------------

GroupStatuses::Server KubernetesCluster::StatusServer(const KubernetesClusterOptions& options) {
  return {.update = [this](const ObjectUpdate& update) { return UpdateBy(status_client_, update); },
          .read_pod = [this](const Identity& pod) { return ReadBy(status_client_, pod); },
          .list_ended = [this](const Identity* group,
                               const std::string& version) { return ListEnded(group, version); },
          .may_write = options.may_write != nullptr ? options.may_write : [] { return true; }};
}

// From the server's cache: not older than what is said, instead of the newest, which may have it
// read all pods of the namespace from etcd.
absl::StatusOr<std::vector<Object>> KubernetesCluster::ListEnded(const Identity* group,
                                                                 const std::string& version) {
  const std::string label =
      group == nullptr ? kGroupLabel : absl::StrCat(kGroupLabel, "=", group->name());
  // Neither of the phases of pods that the watch shows: there is no "or".
  const std::string selectors = absl::StrCat(
      "?labelSelector=", QueryEscape(label), "&fieldSelector=",
      QueryEscape("status.phase!=Pending,status.phase!=Running,status.phase!=Unknown"));
  const std::string collection = group == nullptr
                                     ? CollectionPath(Kind::kPod)
                                     : CollectionPath(Kind::kPod, group->namespace_name());
  // With a limit and a version the server would read from etcd, too.
  std::string page = version == "0" ? absl::StrCat("&resourceVersion=0&limit=", kEndedPageSize)
                                    : absl::StrCat("&resourceVersion=", QueryEscape(version),
                                                   "&resourceVersionMatch=NotOlderThan");
  std::vector<Object> ended;
  while (true) {
    const absl::StatusOr<ApiResponse> answer = Call(
        status_client_, {.target = absl::StrCat(collection, selectors, page), .accept = accept_});
    if (!answer.ok()) return answer.status();
    absl::StatusOr<ObjectList> list = DecodeList(Kind::kPod, answer->content_type, answer->body);
    if (!list.ok()) return list.status();
    std::move(list->objects.begin(), list->objects.end(), std::back_inserter(ended));
    if (list->continue_token.empty()) return ended;
    page = absl::StrCat("&limit=", kEndedPageSize, "&continue=", QueryEscape(list->continue_token));
  }
}

// --- Events --------------------------------------------------------------------------------------

EventSubject KubernetesCluster::SubjectOf(const IdentityPtr& who) const {
  EventSubject subject{.who = who};
  if (who == nullptr || who->kind() != Kind::kPod) return subject;
  const std::shared_ptr<const PackedPod> watched = pods_.Find(*who);
  if (watched == nullptr) return subject;
  watched->ReadOwn(
      [&](const api::Pod& own) { subject.resource_version = own.metadata().resource_version(); });
  return subject;
}

void KubernetesCluster::Record(RecordedEvent event) {
  events_.Record(event, SubjectOf(event.regarding), SubjectOf(event.related));
}

// --- Connecting ----------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<Cluster>> ConnectToCluster(const KubernetesClusterOptions& options) {
  absl::StatusOr<Connection> connection = FindConnection(options.kubeconfig, options.context);
  if (!connection.ok()) return connection.status();
  return std::make_unique<KubernetesCluster>(*connection, options);
}

}  // namespace berth
