// SPDX-License-Identifier: Apache-2.0
// The fields of KubeSchedulerConfiguration v1 (kube-scheduler v1.35 config/v1/types.go), with
// upstream's defaults and the rules that need no plugins.
#include "config/configuration_file.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "berth/api/labels.h"
#include "config/arguments/field_text.h"

namespace berth {

namespace {

constexpr size_t kMaxLabelBytes = 63, kMaxSubdomainBytes = 253;

// apimachinery IsDNS1123Subdomain.
bool IsSubdomain(absl::string_view name) {
  if (name.empty() || name.size() > kMaxSubdomainBytes) return false;
  const auto is_alphanumeric = [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c);
  };
  for (const absl::string_view part : absl::StrSplit(name, '.')) {
    if (part.empty() || !is_alphanumeric(part.front()) || !is_alphanumeric(part.back())) {
      return false;
    }
    if (!std::all_of(part.begin(), part.end(),
                     [&](char c) { return c == '-' || is_alphanumeric(c); })) {
      return false;
    }
  }
  return true;
}

}  // namespace

// component-base ValidateLeaderElectionConfiguration, client-go NewLeaderElector (the last two).
void CheckLeaderElection(const LeaderElectionConfiguration& election, FieldProblems& problems) {
  if (!election.leader_elect) return;
  const auto check = [&](bool ok, absl::string_view field, absl::Duration value,
                         absl::string_view detail) {
    if (!ok) {
      problems.Add(field,
                   absl::StrCat("Invalid value: ", absl::FormatDuration(value), ": ", detail));
    }
  };
  const absl::Duration zero = absl::ZeroDuration();
  check(election.lease_duration > zero, "leaseDuration", election.lease_duration,
        "must be greater than zero");
  check(election.renew_deadline > zero, "renewDeadline", election.renew_deadline,
        "must be greater than zero");
  check(election.retry_period > zero, "retryPeriod", election.retry_period,
        "must be greater than zero");
  check(election.lease_duration > election.renew_deadline, "leaseDuration", election.lease_duration,
        "must be greater than renewDeadline");
  check(election.renew_deadline > election.retry_period * 1.2, "renewDeadline",
        election.renew_deadline, "must be greater than retryPeriod*1.2");
  if (election.resource_lock != "leases") {
    problems.Invalid("resourceLock", election.resource_lock,
                     "resourceLock value must be \"leases\"");
  }
  // kube-scheduler takes any, and then is refused by the API server for ever.
  if (!IsSubdomain(election.resource_name)) {
    problems.Invalid("resourceName", election.resource_name,
                     "must be the name of an object: lower case letters, digits, '-' and '.'");
  }
  if (!IsSubdomain(election.resource_namespace) ||
      absl::StrContains(election.resource_namespace, '.') ||
      election.resource_namespace.size() > kMaxLabelBytes) {
    problems.Invalid("resourceNamespace", election.resource_namespace,
                     "must be the name of a namespace: lower case letters, digits and '-'");
  }
}

// kube-scheduler takes any, and then can neither read nor write.
void CheckClientConnection(const ClientConnectionConfiguration& client, FieldProblems& problems) {
  const auto is_known = [](absl::string_view type) {
    type = absl::StripAsciiWhitespace(type.substr(0, type.find(';')));
    return type == "application/json" || type == "application/vnd.kubernetes.protobuf";
  };
  constexpr char kKnown[] = "application/json or application/vnd.kubernetes.protobuf";
  if (!client.content_type.empty() && !is_known(client.content_type)) {
    problems.Invalid("contentType", client.content_type, absl::StrCat("must be ", kKnown));
  }
  const std::vector<absl::string_view> accepted =
      absl::StrSplit(client.accept_content_types, ',', absl::SkipWhitespace());
  if (!accepted.empty() && std::none_of(accepted.begin(), accepted.end(), is_known)) {
    problems.Invalid("acceptContentTypes", client.accept_content_types,
                     absl::StrCat("must have ", kKnown));
  }
}

namespace {

// --- Values that are written in ways of their own ------------------------------------------------

// Go's []byte: base64.
FieldType Base64Type() {
  FieldType type = FieldTypeOf<std::string>();
  type.name = "base64";
  type.read = [read_string = type.read](Value value, const std::string& path, void* out,
                                        Problems& problems) {
    std::string text;
    const size_t before = problems.size();
    read_string(value, path, &text, problems);
    if (problems.size() == before && !absl::Base64Unescape(text, static_cast<std::string*>(out))) {
      problems.AddError(value.where(), "", absl::StrCat(path, ": is not base64"));
    }
  };
  type.print = [](const void* object) {
    return YamlQuoted(absl::Base64Escape(*static_cast<const std::string*>(object)));
  };
  return type;
}

// What the plugin's own table reads later.
FieldType ArgumentsType() {
  return {.name = "the plugin's arguments, see below",
          .read = [](Value value, const std::string&, void* out,
                     Problems&) { *static_cast<Value*>(out) = value; },
          .check = [](const void*, const FieldCheck&, const std::string&, FieldProblems&) {},
          .print = [](const void*) { return std::string("{}"); }};
}

// --- Rules ---------------------------------------------------------------------------------------

// component-base RecommendedDefaultLeaderElectionConfiguration and scheduler defaults.go: what is
// zero or empty gets the default, too.
void CompleteLeaderElection(LeaderElectionConfiguration& election) {
  const LeaderElectionConfiguration defaults;
  const auto complete = [](auto& value, const auto& empty, const auto& fallback) {
    if (value == empty) value = fallback;
  };
  complete(election.lease_duration, absl::ZeroDuration(), defaults.lease_duration);
  complete(election.renew_deadline, absl::ZeroDuration(), defaults.renew_deadline);
  complete(election.retry_period, absl::ZeroDuration(), defaults.retry_period);
  complete(election.resource_lock, "", defaults.resource_lock);
  complete(election.resource_name, "", defaults.resource_name);
  complete(election.resource_namespace, "", defaults.resource_namespace);
}

void CompleteClientConnection(ClientConnectionConfiguration& client) {
  const ClientConnectionConfiguration defaults;
  if (client.content_type.empty()) client.content_type = defaults.content_type;
  if (client.qps == 0) client.qps = defaults.qps;
  if (client.burst == 0) client.burst = defaults.burst;
}

FieldCheck ShortMessage(std::string text, std::string detail, bool (*allows)(double)) {
  return {.text = std::move(text), .number = [detail = std::move(detail), allows](double value) {
            return allows(value) ? "" : InvalidValue(value, detail);
          }};
}

FieldCheck Percentage() {
  return ShortMessage("0 to 100", "not in valid range [0-100]",
                      [](double value) { return value >= 0 && value <= 100; });
}

// apis/core/v1/helper IsExtendedResourceName, for names that CheckLabelKey() accepts.
bool IsExtendedResourceName(absl::string_view name) {
  return absl::StrContains(name, '/') && !absl::StrContains(name, "kubernetes.io/") &&
         !absl::StartsWith(name, "requests.") &&
         CheckLabelKey(absl::StrCat("requests.", name)).empty();
}

// validation.go validateExtenders.
void CheckExtenders(const std::vector<Extender>& extenders, FieldProblems& problems) {
  int binders = 0;
  std::vector<std::string> managed;
  for (size_t i = 0; i < extenders.size(); ++i) {
    const Extender& extender = extenders[i];
    FieldProblems of_extender = problems.At(ElementPath("extenders", i));
    if (!extender.prioritize_verb.empty() && extender.weight <= 0) {
      of_extender.Invalid("weight", extender.weight, "must have a positive weight applied to it");
    }
    if (!extender.bind_verb.empty()) ++binders;
    for (size_t j = 0; j < extender.managed_resources.size(); ++j) {
      const std::string& name = extender.managed_resources[j].name;
      const std::string field = absl::StrCat(ElementPath("managedResources", j), ".name");
      const std::string wrong = CheckLabelKey(name);
      if (!wrong.empty()) {
        of_extender.Invalid(field, name, wrong);
      } else if (!IsExtendedResourceName(name)) {
        of_extender.Invalid(field, name, "is an invalid extended resource name");
      }
      if (std::find(managed.begin(), managed.end(), name) != managed.end()) {
        of_extender.Invalid(field, name, "duplicate extender managed resource name");
      }
      managed.push_back(name);
    }
  }
  if (binders > 1) {
    problems.Invalid("extenders", absl::StrCat("found ", binders, " extenders implementing bind"),
                     "only one extender can implement bind");
  }
}

void CheckConfiguration(const ConfigurationFile& file, FieldProblems& problems) {
  if (file.pod_max_backoff_seconds < file.pod_initial_backoff_seconds) {
    problems.Invalid("podMaxBackoffSeconds", file.pod_max_backoff_seconds,
                     "must be greater than or equal to PodInitialBackoffSeconds");
  }
  CheckExtenders(file.extenders, problems);
}

// --- Tables of the public structs ----------------------------------------------------------------

const FieldTable& LeaderElectionFields() {
  using T = LeaderElectionConfiguration;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<T>("LeaderElectionConfiguration",
                        "How replicas of the scheduler agree on the one that works.")
          .Field("leaderElect", &T::leader_elect, "Whether to elect a leader before scheduling.")
          .Field("leaseDuration", &T::lease_duration,
                 "How long others wait after the last renewal before they try to take over.")
          .Field("renewDeadline", &T::renew_deadline,
                 "How long the leader tries to renew before it stops. Less than leaseDuration.")
          .Field("retryPeriod", &T::retry_period,
                 "Time between attempts. renewDeadline has to be more than 1.2 times that.")
          .Field("resourceLock", &T::resource_lock, "The kind of the lock: `leases`.")
          .Field("resourceName", &T::resource_name, "The name of the Lease.")
          .Field("resourceNamespace", &T::resource_namespace, "The namespace of the Lease.")
          .Complete(CompleteLeaderElection)
          .Check(CheckLeaderElection));
  return table;
}

const FieldTable& ClientConnectionFields() {
  using T = ClientConnectionConfiguration;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<T>("ClientConnectionConfiguration", "The connection to the API server.")
          .Field("kubeconfig", &T::kubeconfig, "Path of a kubeconfig file; empty: in the cluster.")
          .Field("acceptContentTypes", &T::accept_content_types,
                 "The Accept header; empty: as contentType.")
          .Field("contentType", &T::content_type, "The content type of what is sent.")
          .Field("qps", &T::qps, "Requests a second; 0 means the default.")
          .Field("burst", &T::burst, "Requests at once above qps; 0 means the default.",
                 ShortMessage("at least 0", "must be non-negative",
                              [](double value) { return value >= 0; }))
          .Complete(CompleteClientConnection)
          .Check(CheckClientConnection));
  return table;
}

const FieldTable& ExtenderTlsFields() {
  using T = ExtenderTlsConfig;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<T>("ExtenderTLSConfig", "TLS settings of an extender.")
          .Field("insecure", &T::insecure, "Do not verify the server's certificate.")
          .Field("serverName", &T::server_name, "The name to verify, if not the host's.")
          .Field("certFile", &T::cert_file, "The client's certificate.")
          .Field("keyFile", &T::key_file, "The client's key.")
          .Field("caFile", &T::ca_file, "The roots to trust.")
          .Field("certData", &T::cert_data, "PEM; used instead of certFile.", Base64Type())
          .Field("keyData", &T::key_data, "PEM; used instead of keyFile.", Base64Type())
          .Field("caData", &T::ca_data, "PEM; used instead of caFile.", Base64Type()));
  return table;
}

const FieldTable& ManagedResourceFields() {
  using T = ExtenderManagedResource;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<T>("ExtenderManagedResource", "An extended resource that an extender manages.")
          .Field("name", &T::name, "The resource's name.")
          .Field("ignoredByScheduler", &T::ignored_by_scheduler,
                 "Whether NodeResourcesFit leaves the resource to the extender."));
  return table;
}

}  // namespace

template <>
FieldType FieldTypeOf<LeaderElectionConfiguration>() {
  return internal::StructType(LeaderElectionFields());
}
template <>
FieldType FieldTypeOf<ClientConnectionConfiguration>() {
  return internal::StructType(ClientConnectionFields());
}
template <>
FieldType FieldTypeOf<ExtenderTlsConfig>() {
  return internal::StructType(ExtenderTlsFields());
}
template <>
FieldType FieldTypeOf<ExtenderManagedResource>() {
  return internal::StructType(ManagedResourceFields());
}

namespace {

const FieldTable& ExtenderFields() {
  using T = Extender;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<T>("Extender", "A scheduler extender: a web service that is asked over HTTP.")
          .Field("urlPrefix", &T::url_prefix, "Where the extender is.")
          .Field("filterVerb", &T::filter_verb, "Appended for filtering; empty: not asked.")
          .Field("preemptVerb", &T::preempt_verb, "Appended for preemption; empty: not asked.")
          .Field("prioritizeVerb", &T::prioritize_verb, "Appended for scoring; empty: not asked.")
          .Field("weight", &T::weight,
                 "Multiplies its scores. Positive if there is a prioritizeVerb.")
          .Field("bindVerb", &T::bind_verb,
                 "Appended for binding; empty: not asked. One extender can have it.")
          .Field("enableHTTPS", &T::enable_https, "Whether to use HTTPS.")
          .Field("tlsConfig", &T::tls_config, "TLS settings.")
          .Field("httpTimeout", &T::http_timeout, "Limit of one call; 0 means the default.")
          .Field("nodeCacheCapable", &T::node_cache_capable,
                 "Whether it knows the nodes, so that their names are enough.")
          .Field("managedResources", &T::managed_resources,
                 "Ask it only for pods that request one of these; empty: for all pods.")
          .Field("ignorable", &T::ignorable, "Whether scheduling goes on when it fails.")
          .Complete([](T& extender) {
            if (extender.http_timeout == absl::ZeroDuration())
              extender.http_timeout = T().http_timeout;
          }));
  return table;
}

}  // namespace

template <>
FieldType FieldTypeOf<Extender>() {
  return internal::StructType(ExtenderFields());
}

// --- Tables of the file's structs ----------------------------------------------------------------

const FieldTable& PluginFile::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<PluginFile>("Plugin", "A plugin in a list.")
          .Field("name", &PluginFile::name, "The plugin's name; `*` in `disabled` means all.")
          .Field("weight", &PluginFile::weight,
                 "Multiplies the plugin's scores; 0 means 1. Only in `score` and `multiPoint`."));
  return table;
}

const FieldTable& PluginSetFile::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<PluginSetFile>("PluginSet", "What to change in a list of default plugins.")
          .Field("enabled", &PluginSetFile::enabled,
                 "Plugins to add. A default plugin keeps its place and gets this weight.")
          .Field("disabled", &PluginSetFile::disabled,
                 "Default plugins to leave out. One that is also enabled moves to the end."));
  return table;
}

namespace {

struct PointField {
  PluginSetFile PluginsFile::*member;
  absl::string_view doc;
};

// In the order of ExtensionPoint.
constexpr PointField kPointFields[kExtensionPointCount] = {
    {&PluginsFile::pre_enqueue, "May the pod enter the queue?"},
    {&PluginsFile::queue_sort, "The order of the queue. One plugin, the same in all profiles."},
    {&PluginsFile::pre_filter,
     "Before nodes are filtered: what can be worked out once for the pod."},
    {&PluginsFile::filter, "May the pod run on this node?"},
    {&PluginsFile::post_filter, "After no node was found: preemption."},
    {&PluginsFile::pre_score, "Before nodes are scored."},
    {&PluginsFile::score, "How good is this node?"},
    {&PluginsFile::reserve, "A node was chosen; claim and give back."},
    {&PluginsFile::permit, "Let the pod be bound now, later or not."},
    {&PluginsFile::pre_bind, "Before binding."},
    {&PluginsFile::bind, "Bind. The first plugin that does not skip has done it."},
    {&PluginsFile::post_bind, "After binding."},
    {&PluginsFile::placement_generate, "On which nodes may the members of a group be together?"},
    {&PluginsFile::placement_feasible, "Is a group that is being placed on such nodes worth it?"},
    {&PluginsFile::placement_score, "How good are these nodes for the group?"},
};

}  // namespace

const PluginSetFile& PluginsFile::at(ExtensionPoint point) const {
  return this->*kPointFields[static_cast<size_t>(point)].member;
}

const FieldTable& PluginsFile::Fields() {
  static const FieldTable& table = *[] {
    auto fields = DescribeFields<PluginsFile>("Plugins", "The plugins of a profile.");
    for (int i = 0; i < kExtensionPointCount; ++i) {
      fields.Field(ExtensionPointField(static_cast<ExtensionPoint>(i)), kPointFields[i].member,
                   kPointFields[i].doc);
    }
    fields.Field("multiPoint", &PluginsFile::multi_point,
                 "Plugins for every extension point that they have.");
    return new FieldTable(fields);
  }();
  return table;
}

const FieldTable& PluginConfigFile::Fields() {
  static const FieldTable& table = *new FieldTable(
      DescribeFields<PluginConfigFile>("PluginConfig", "The arguments of one plugin.")
          .Field("name", &PluginConfigFile::name, "The plugin's name.")
          .Field("args", &PluginConfigFile::args, "Its arguments.", ArgumentsType()));
  return table;
}

const FieldTable& ProfileFile::Fields() {
  using T = ProfileFile;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<T>("KubeSchedulerProfile", "Plugins for the pods of one schedulerName.")
          .Field(
              "schedulerName", &T::scheduler_name,
              "The spec.schedulerName of its pods. Only a profile that is the only one may leave "
              "it out; it is then `default-scheduler`.")
          .Field("percentageOfNodesToScore", &T::percentage_of_nodes_to_score,
                 "Instead of the configuration's.", Percentage())
          .Field("plugins", &T::plugins, "What differs from the default plugins.")
          .Field("pluginConfig", &T::plugin_config, "Arguments by plugin."));
  return table;
}

const FieldTable& ConfigurationFile::Fields() {
  using T = ConfigurationFile;
  static const FieldTable& table = *new FieldTable(
      DescribeFields<T>(kConfigurationKind, "The file that `--config` names.")
          .Field("apiVersion", &T::api_version, "`kubescheduler.config.k8s.io/v1`. Required.")
          .Field("kind", &T::kind, "`KubeSchedulerConfiguration`. Required.")
          .Field("parallelism", &T::parallelism, "Has no effect: placements do not depend on it.",
                 ShortMessage("greater than 0", "should be an integer value greater than zero",
                              [](double value) { return value > 0; }))
          .Field("leaderElection", &T::leader_election, "Leader election, of `berth run`.")
          .Field("clientConnection", &T::client_connection,
                 "The connection to the API server, of `berth run`.")
          .Field("enableProfiling", &T::enable_profiling,
                 "Serve profiles of the process. Not used by this version.")
          .Field("enableContentionProfiling", &T::contention_profiling,
                 "Serve profiles of locks. Default: as enableProfiling.")
          .Field("percentageOfNodesToScore", &T::percentage_of_nodes_to_score,
                 "The share of nodes that, once found feasible, ends the search; 0 means that "
                 "every node is evaluated.",
                 Percentage())
          .Field("podInitialBackoffSeconds", &T::pod_initial_backoff_seconds,
                 "How long a pod waits after its first failed attempt; doubles with each.",
                 ShortMessage("greater than 0", "must be greater than 0",
                              [](double value) { return value > 0; }))
          .Field("podMaxBackoffSeconds", &T::pod_max_backoff_seconds,
                 "The longest such wait. At least podInitialBackoffSeconds.")
          .Field("profiles", &T::profile_files,
                 "What pods of which schedulerName go through. None: one, `default-scheduler`.")
          .Field("extenders", &T::extenders,
                 "Scheduler extenders, asked after the plugins: [extenders.md](extenders.md).")
          .Field("delayCacheUntilActive", &T::delay_cache_until_active,
                 "Whether a replica of `berth run` fills its cache only once it leads.")
          .Complete([](T& file) {
            file.enable_contention_profiling =
                file.contention_profiling.value_or(file.enable_profiling);
          })
          .Check(CheckConfiguration));
  return table;
}

}  // namespace berth
