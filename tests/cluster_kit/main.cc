// SPDX-License-Identifier: Apache-2.0
// berth_cluster_kit KUBECONFIG: does the Kubernetes backend keep the promises of the port, at that
// API server? Creates and deletes pods in the namespace default, nodes and volumes.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/api/apps_v1.pb.h"
#include "berth/api/decode.h"
#include "berth/api/scheduling_x_k8s_io.pb.h"
#include "berth/kubernetes_cluster.h"
#include "berth/testing/cluster_conformance.h"
#include "berth/testing/objects.h"
#include "kubernetes/blocking_call.h"
#include "kubernetes/envelope.h"
#include "kubernetes/find_connection.h"
#include "kubernetes/group_statuses.h"
#include "kubernetes/object_body.h"
#include "kubernetes/resource.h"

namespace berth {
namespace {

class ApiServer final : public testing::ClusterUnderTest {
 public:
  ApiServer(std::unique_ptr<Cluster> cluster, ApiClient& client)
      : cluster_(std::move(cluster)), client_(client) {}
  ~ApiServer() override {
    for (const Object& object : created_) (void)Delete(object);
  }

  Cluster& cluster() override { return *cluster_; }

  absl::StatusOr<Object> Create(const Object& object) override {
    const absl::StatusOr<ApiResponse> answer =
        CallAndWait(client_, {.method = "POST",
                              .target = CollectionPath(object.kind(), object.namespace_name()),
                              .content_type = kJsonType,
                              .body = ToJson(object.message())});
    if (!answer.ok()) return answer.status();
    absl::StatusOr<Object> created =
        DecodeObject(object.kind(), answer->content_type, answer->body);
    if (created.ok()) created_.push_back(*created);
    return created;
  }

  absl::Status Delete(const Object& object) override {
    const std::string path = ObjectPath(*object.identity());
    const absl::Status deleted =
        CallAndWait(client_,
                    {.method = "DELETE", .target = absl::StrCat(path, "?gracePeriodSeconds=0")})
            .status();
    if (!deleted.ok()) return deleted;
    // Volumes have a finalizer, which their controller takes away.
    for (int tries = 0; tries < 200; ++tries) {
      if (absl::IsNotFound(CallAndWait(client_, {.target = path}).status())) return deleted;
      absl::SleepFor(absl::Milliseconds(50));
    }
    return absl::DeadlineExceededError(absl::StrCat(object.ToString(), " does not go"));
  }

 private:
  const std::unique_ptr<Cluster> cluster_;
  ApiClient& client_;
  std::vector<Object> created_;
};

// Berth reads little of a ReplicaSet: an update must leave the rest as it is.
absl::Status KeepsWhatBerthDoesNotRead(testing::ClusterUnderTest& under_test, ApiClient& client) {
  constexpr char kSets[] = "/apis/apps/v1/namespaces/default/replicasets";
  constexpr char kSet[] =
      R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"conformance"},"spec":{)"
      R"("replicas":0,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{)"
      R"("a":"b"}},"spec":{"containers":[{"name":"c","image":"i","command":["of","no","use"]}]}}}})";
  const absl::StatusOr<ApiResponse> created = CallAndWait(
      client,
      {.method = "POST", .target = kSets, .content_type = kJsonType, .body = std::string(kSet)});
  if (!created.ok()) return created.status();
  absl::Status updated = absl::AbortedError("");
  // Its controller writes its status meanwhile.
  for (int tries = 0; tries < 20 && absl::IsAborted(updated); ++tries) {
    const absl::StatusOr<ApiResponse> answer =
        CallAndWait(client, {.target = absl::StrCat(kSets, "/conformance")});
    if (!answer.ok()) return answer.status();
    const absl::StatusOr<Object> read =
        DecodeObject(Kind::kReplicaSet, answer->content_type, answer->body);
    if (!read.ok()) return read.status();
    auto changed = std::make_shared<api::ReplicaSet>(read->As<api::ReplicaSet>());
    (*changed->mutable_metadata()->mutable_annotations())["conformance"] = "1";
    updated = under_test.cluster().Update({Object::Of(std::move(changed))});
  }
  const absl::StatusOr<ApiResponse> after =
      CallAndWait(client, {.target = absl::StrCat(kSets, "/conformance")});
  (void)CallAndWait(client, {.method = "DELETE", .target = absl::StrCat(kSets, "/conformance")});
  if (!updated.ok()) return updated;
  if (!after.ok()) return after.status();
  const bool kept = absl::StrContains(after->body, R"("command":["of","no","use"])");
  const bool written = absl::StrContains(after->body, R"("conformance":"1")");
  return kept && written ? absl::OkStatus() : absl::InternalError(after->body);
}

absl::Status WritesEvents(testing::ClusterUnderTest& under_test, ApiClient& client) {
  static int events = 0;
  const std::string name = absl::StrCat("conformance-event-", ++events);
  const absl::StatusOr<Object> pod =
      under_test.Create(testing::MakePod().Name(name).Container("image").Object());
  if (!pod.ok()) return pod.status();
  RecordedEvent event{.regarding = pod->identity(),
                      .scheduler_name = Symbol::Intern("conformance"),
                      .warning = true,
                      .reason = "FailedScheduling",
                      .action = "Scheduling",
                      .text = "no node",
                      .related = pod->identity()};
  under_test.cluster().Record(event);
  absl::SleepFor(absl::Milliseconds(200));
  event.text = "still no node";
  under_test.cluster().Record(event);
  absl::Status written;
  for (int tries = 0; tries < 50; ++tries) {
    const absl::StatusOr<ApiResponse> answer =
        CallAndWait(client, {.target = "/apis/events.k8s.io/v1/namespaces/default/events"});
    if (!answer.ok()) return answer.status();
    written = absl::DeadlineExceededError(answer->body);
    const std::string begin = absl::StrCat(R"({"metadata":{"name":")", name, ".");
    const size_t found = answer->body.find(begin);
    if (found == std::string::npos) continue;
    const std::string rest = answer->body.substr(found, answer->body.find(begin, found + 1));
    bool has_all = true;
    for (const absl::string_view part :
         {R"("series":{"count":2,)", R"("reportingController":"conformance")",
          R"("reportingInstance":"conformance-)", R"("action":"Scheduling")",
          R"("reason":"FailedScheduling")", R"("note":"no node","type":"Warning")",
          R"("related":{"kind":"Pod")", R"("eventTime":"20)"}) {
      has_all = has_all && absl::StrContains(rest, part);
    }
    if (has_all) return absl::OkStatus();
    absl::SleepFor(absl::Milliseconds(100));
  }
  return written;
}

// Nobody but the backend keeps the status of the group.
absl::Status KeepsGroupStatuses(testing::ClusterUnderTest& under_test, ApiClient& client) {
  class Nowhere final : public WatchSink {
   public:
    void Deliver(std::vector<WatchEvent>) override {}
  } nowhere;
  const absl::Status watched = under_test.cluster().Watch(nowhere, {Kind::kPod, Kind::kPodGroup});
  if (!watched.ok()) return watched;
  static int groups = 0;
  const std::string name = absl::StrCat("conformance-group-", ++groups);
  auto group = std::make_shared<api::PodGroup>();
  group->mutable_metadata()->set_name(name);
  group->mutable_metadata()->set_namespace_("default");
  group->mutable_spec()->set_min_member(1);
  const absl::StatusOr<Object> created = under_test.Create(Object::Of(std::move(group)));
  if (!created.ok()) return created.status();
  const absl::StatusOr<Object> pod = under_test.Create(
      testing::MakePod().Name(name).Label(kGroupLabel, name).Container("image").Object());
  if (!pod.ok()) return pod.status();
  absl::Status reached;
  for (const std::string phase : {"Running", "Succeeded"}) {
    const absl::Status patched =
        CallAndWait(client, {.method = "PATCH",
                             .target = absl::StrCat(ObjectPath(*pod->identity()), "/status"),
                             .content_type = "application/merge-patch+json",
                             .body = absl::StrCat(R"({"status":{"phase":")", phase, R"("}})")})
            .status();
    if (!patched.ok()) return patched;
    const std::string wanted = phase == "Running" ? "Running" : "Finished";
    for (int tries = 0; tries < 100; ++tries) {
      const absl::StatusOr<ApiResponse> answer =
          CallAndWait(client, {.target = ObjectPath(*created->identity())});
      if (!answer.ok()) return answer.status();
      const bool is_there = absl::StrContains(answer->body, absl::StrCat(R"("phase":")", wanted));
      reached = is_there ? absl::OkStatus() : absl::DeadlineExceededError(answer->body);
      if (is_there) break;
      absl::SleepFor(absl::Milliseconds(100));
    }
    if (!reached.ok()) break;
  }
  under_test.cluster().StopWatching();
  return reached;
}

absl::Status Run(const std::string& kubeconfig) {
  const absl::StatusOr<Connection> connection = FindConnection(kubeconfig, "");
  if (!connection.ok()) return connection.status();
  ApiClient client(*connection, {.qps = 0});
  int broken = 0;
  for (const std::string content_type : {kProtobufType, kJsonType}) {
    KubernetesClusterOptions options;
    options.kubeconfig = kubeconfig;
    options.qps = 0;
    options.content_type = content_type;
    options.warn = [](absl::string_view text) { std::cerr << text << '\n'; };
    const auto check = [&](absl::string_view name, const auto& run) {
      absl::StatusOr<std::unique_ptr<Cluster>> cluster = ConnectToCluster(options);
      absl::Status kept = cluster.status();
      if (cluster.ok()) {
        ApiServer under_test(*std::move(cluster), client);
        kept = run(under_test);
      }
      broken += kept.ok() ? 0 : 1;
      std::cout << name << " (" << content_type << "): " << (kept.ok() ? "kept" : kept.ToString())
                << std::endl;
    };
    for (const testing::ClusterCheck& promise : testing::ClusterChecks()) {
      check(promise.name, promise.run);
    }
    check("KeepsWhatBerthDoesNotRead", [&](testing::ClusterUnderTest& under_test) {
      return KeepsWhatBerthDoesNotRead(under_test, client);
    });
    check("WritesEvents",
          [&](testing::ClusterUnderTest& under_test) { return WritesEvents(under_test, client); });
    check("KeepsGroupStatuses", [&](testing::ClusterUnderTest& under_test) {
      return KeepsGroupStatuses(under_test, client);
    });
  }
  return broken == 0 ? absl::OkStatus()
                     : absl::InternalError(absl::StrCat(broken, " promises are not kept"));
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: berth_cluster_kit KUBECONFIG\n";
    return 2;
  }
  const absl::Status status = berth::Run(argv[1]);
  if (!status.ok()) std::cerr << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
