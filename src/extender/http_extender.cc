// SPDX-License-Identifier: Apache-2.0
// An extender over HTTP. As kube-scheduler v1.35 extender.go.
#include "berth/http_extender.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/api/core_v1.pb.h"
#include "extender/extender_client.h"
#include "extender/extender_messages.h"
#include "kubernetes/kubeconfig.h"

namespace berth {
namespace {

// An answer is a part of what was asked about, with reasons.
constexpr size_t kMostBytesBesideRequest = size_t{16} << 20;

// The JSON of nodes, made once for each state of a node. Scheduling thread.
class NodeJsons {
 public:
  absl::string_view Of(const NodeInfo& node) {
    Made& made = made_[node.name()];
    if (made.spec != node.shared_spec()) {
      made.spec = node.shared_spec();
      made.json = node.has_node() ? ObjectJson(*node.spec().object) : "{}";
    }
    return made.json;
  }
  // Drops nodes that are gone, now and then.
  void Trim(size_t nodes) {
    if (made_.size() > 2 * nodes + 1000) made_.clear();
  }

 private:
  struct Made {
    std::shared_ptr<const NodeSpec> spec;
    std::string json;
  };
  absl::flat_hash_map<Symbol, Made> made_;
};

// What the extenders of one configuration share.
struct Shared {
  ExtenderClient client;
  NodeJsons nodes;
};

absl::StatusOr<std::string> ReadPem(const std::string& data, const std::string& file) {
  if (!data.empty() || file.empty()) return data;
  std::ifstream stream(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream.is_open() || text.empty()) {
    return absl::NotFoundError(absl::StrCat("tlsConfig: ", file, " cannot be read, or is empty"));
  }
  return text;
}

// makeTransport, and client-go's transport.TLSConfigFor.
absl::StatusOr<std::shared_ptr<const HttpEndpoint>> EndpointOf(const Extender& extender) {
  auto endpoint = std::make_shared<HttpEndpoint>();
  absl::string_view url = extender.url_prefix;
  while (absl::ConsumeSuffix(&url, "/")) {
  }
  const size_t scheme_end = url.find("://");
  if (!absl::StartsWith(url, "http://") && !absl::StartsWith(url, "https://")) {
    return absl::InvalidArgumentError("urlPrefix does not begin with http:// or https://");
  }
  if (absl::StatusOr<std::string> server = ParseServer(url); !server.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("urlPrefix ", server.status().message()));
  }
  endpoint->url = std::string(url);
  const ExtenderTlsConfig tls = extender.tls_config.value_or(ExtenderTlsConfig());
  for (const auto& [data, file, pem] :
       {std::tie(tls.ca_data, tls.ca_file, endpoint->authority_pem),
        std::tie(tls.cert_data, tls.cert_file, endpoint->certificate_pem),
        std::tie(tls.key_data, tls.key_file, endpoint->key_pem)}) {
    absl::StatusOr<std::string> read = ReadPem(data, file);
    if (!read.ok()) return read.status();
    const_cast<std::string&>(pem) = *std::move(read);
  }
  // enableHTTPS without roots trusts any server, as in kube-scheduler.
  const bool insecure = tls.insecure || (extender.enable_https && endpoint->authority_pem.empty());
  if (insecure && !endpoint->authority_pem.empty()) {
    return absl::InvalidArgumentError(
        "tlsConfig: specifying a root certificates file with the insecure flag is not allowed");
  }
  if (endpoint->certificate_pem.empty() != endpoint->key_pem.empty()) {
    return absl::InvalidArgumentError(
        "tlsConfig: has one of certificate and key; give both, or none");
  }
  endpoint->verify = !insecure;
  if (!tls.server_name.empty()) {
    const absl::string_view rest = url.substr(scheme_end + 3);
    const absl::string_view authority = rest.substr(0, rest.find('/'));
    const absl::string_view path = rest.substr(authority.size());
    const size_t colon = authority.rfind(':');
    const bool has_port =
        colon != absl::string_view::npos && authority.find(']', colon) == absl::string_view::npos;
    const absl::string_view port = has_port ? authority.substr(colon) : absl::string_view();
    endpoint->url = absl::StrCat(url.substr(0, scheme_end), "://", tls.server_name, port, path);
    endpoint->connect_to =
        has_port ? std::string(authority)
                 : absl::StrCat(authority, absl::StartsWith(url, "https") ? ":443" : ":80");
    endpoint->host_header = std::string(authority);
  }
  return std::shared_ptr<const HttpEndpoint>(std::move(endpoint));
}

class HttpExtender final : public SchedulerExtender {
 public:
  HttpExtender(const Extender& configuration, std::shared_ptr<const HttpEndpoint> endpoint,
               std::shared_ptr<Shared> shared)
      : configuration_(configuration), endpoint_(std::move(endpoint)), shared_(std::move(shared)) {
    for (const ExtenderManagedResource& resource : configuration.managed_resources) {
      managed_.insert(resource.name);
    }
  }

  absl::string_view Name() const override { return configuration_.url_prefix; }
  bool IsIgnorable() const override { return configuration_.ignorable; }
  bool IsFilter() const override { return !configuration_.filter_verb.empty(); }
  bool IsPrioritizer() const override { return !configuration_.prioritize_verb.empty(); }
  bool SupportsPreemption() const override { return !configuration_.preempt_verb.empty(); }
  bool IsBinder() const override { return !configuration_.bind_verb.empty(); }
  int64_t weight() const override { return configuration_.weight; }

  // A resource counts whose amount is zero, too. Threads: any.
  bool IsInterested(const PodInfo& pod) const override {
    if (managed_.empty()) return true;
    const api::PodSpec& spec = pod.spec();
    return AnyHasManaged(spec.containers()) || AnyHasManaged(spec.init_containers());
  }

  absl::StatusOr<FilterResult> Filter(const PodInfo& pod,
                                      absl::Span<const NodeInfo* const> nodes) override {
    const std::string& verb = configuration_.filter_verb;
    const absl::StatusOr<std::string> answer = Named(Begin(verb, NodesBody(pod, nodes))(), verb);
    if (!answer.ok()) return answer.status();
    return Named(ReadFilterResult(*answer, configuration_.node_cache_capable), verb);
  }

  std::function<Priorities()> Prioritize(const PodInfo& pod,
                                         absl::Span<const NodeInfo* const> nodes) override {
    const std::string& verb = configuration_.prioritize_verb;
    return [this, verb, wait = Begin(verb, NodesBody(pod, nodes))]() -> Priorities {
      const absl::StatusOr<std::string> answer = Named(wait(), verb);
      if (!answer.ok()) return answer.status();
      return Named(ReadPriorities(*answer), verb);
    };
  }

  absl::StatusOr<std::map<std::string, Victims>> ProcessPreemption(
      const PodInfo& pod, absl::Span<const PreemptionCandidate* const> candidates) override {
    const std::string& verb = configuration_.preempt_verb;
    const std::string json = PodJson(pod);
    const absl::StatusOr<std::string> answer =
        Named(Begin(verb, configuration_.node_cache_capable ? MetaVictimsRequest(json, candidates)
                                                            : VictimsRequest(json, candidates))(),
              verb);
    if (!answer.ok()) return answer.status();
    return Named(ReadPreemptionResult(*answer), verb);
  }

  absl::Status Bind(const PodInfo& pod, absl::string_view node_name) override {
    const std::string& verb = configuration_.bind_verb;
    const absl::StatusOr<std::string> answer =
        Named(Begin(verb, BindingRequest(pod, node_name))(), verb);
    if (!answer.ok()) return answer.status();
    return Named(ReadBindingResult(*answer), verb);
  }

 private:
  template <class Containers>
  bool AnyHasManaged(const Containers& containers) const {
    const auto any = [&](const auto& amounts) {
      return std::any_of(amounts.begin(), amounts.end(),
                         [&](const auto& amount) { return managed_.contains(amount.first); });
    };
    return std::any_of(containers.begin(), containers.end(), [&](const auto& container) {
      return any(container.resources().requests()) || any(container.resources().limits());
    });
  }

  std::string NodesBody(const PodInfo& pod, absl::Span<const NodeInfo* const> nodes) {
    const std::string json = PodJson(pod);
    if (configuration_.node_cache_capable) return NodeNamesRequest(json, nodes);
    shared_->nodes.Trim(nodes.size());
    std::vector<absl::string_view> jsons;
    jsons.reserve(nodes.size());
    for (const NodeInfo* node : nodes) jsons.push_back(shared_->nodes.Of(*node));
    return NodesRequest(json, jsons);
  }

  std::function<absl::StatusOr<std::string>()> Begin(const std::string& verb, std::string body) {
    const size_t most_bytes = kMostBytesBesideRequest + 2 * body.size();
    return shared_->client.Begin({.request = {.endpoint = endpoint_,
                                              .method = "POST",
                                              .target = absl::StrCat("/", verb),
                                              .headers = {"Content-Type: application/json"},
                                              .body = std::move(body)},
                                  .timeout = configuration_.http_timeout,
                                  .most_bytes = most_bytes});
  }

  absl::Status Named(const absl::Status& status, absl::string_view verb) const {
    if (status.ok()) return status;
    absl::string_view url = Name();
    while (absl::ConsumeSuffix(&url, "/")) {
    }
    return absl::Status(status.code(), absl::StrCat("failed ", verb, " with extender at URL ", url,
                                                    "/", verb, ", ", status.message()));
  }
  template <class T>
  absl::StatusOr<T> Named(absl::StatusOr<T> result, absl::string_view verb) const {
    if (result.ok()) return result;
    return Named(result.status(), verb);
  }

  const Extender configuration_;
  const std::shared_ptr<const HttpEndpoint> endpoint_;
  const std::shared_ptr<Shared> shared_;
  absl::flat_hash_set<std::string> managed_;
};

}  // namespace

absl::StatusOr<ExtenderList> NewHttpExtenders(const std::vector<Extender>& extenders) {
  ExtenderList made, ignorable;
  if (extenders.empty()) return made;
  const auto shared = std::make_shared<Shared>();
  for (size_t i = 0; i < extenders.size(); ++i) {
    const Extender& extender = extenders[i];
    absl::StatusOr<std::shared_ptr<const HttpEndpoint>> endpoint = EndpointOf(extender);
    if (!endpoint.ok()) {
      return absl::Status(endpoint.status().code(),
                          absl::StrCat("extenders[", i, "] (", extender.url_prefix,
                                       "): ", endpoint.status().message()));
    }
    (extender.ignorable ? ignorable : made)
        .push_back(std::make_shared<HttpExtender>(extender, *std::move(endpoint), shared));
  }
  made.insert(made.end(), ignorable.begin(), ignorable.end());
  return made;
}

}  // namespace berth
