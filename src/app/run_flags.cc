// SPDX-License-Identifier: Apache-2.0
// Implementation of run_flags.h.
#include "app/run_flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "berth/api/time.h"

namespace berth {
namespace {

// Flags of kube-scheduler that are taken, so that unit files and manifests work on, and do nothing.
struct IdleFlag {
  const char* name;
  enum Value { kText, kTexts, kSwitch } value;  // kTexts: it may be given again and again
  const char* why;
};
constexpr char kNoProfiles[] = "the process serves no profiles of itself";
constexpr char kNoGates[] = "Berth emulates no versions";
constexpr char kGatesOfPlugins[] =
    "feature gates are arguments of plugins: featureGates of DynamicResourcesArgs";
constexpr char kNoHttp2[] = "the secure port speaks HTTP/1.1";
constexpr char kOwnSockets[] = "the secure port is bound by one process at a time";
constexpr char kNoFrontProxy[] = "no proxy is trusted to say who its users are";
constexpr char kOneCertificate[] = "the secure port shows one certificate, that of --tls-cert-file";
constexpr char kOwnLog[] = "the log is one stream, and every line is written at once";
constexpr char kOwnMetrics[] = "metrics are neither hidden nor filtered";
constexpr IdleFlag kIdleFlags[] = {
    {"allow-metric-labels", IdleFlag::kText, kOwnMetrics},
    {"allow-metric-labels-manifest", IdleFlag::kText, kOwnMetrics},
    {"cert-dir", IdleFlag::kText, "name the files with --tls-cert-file and --tls-private-key-file"},
    {"contention-profiling", IdleFlag::kSwitch, kNoProfiles},
    {"disable-http2-serving", IdleFlag::kSwitch, kNoHttp2},
    {"disabled-metrics", IdleFlag::kText, kOwnMetrics},
    {"emulated-version", IdleFlag::kText, kNoGates},
    {"emulation-forward-compatible", IdleFlag::kSwitch, kNoGates},
    {"feature-gates", IdleFlag::kText, kGatesOfPlugins},
    {"http2-max-streams-per-connection", IdleFlag::kText, kNoHttp2},
    {"log-flush-frequency", IdleFlag::kText, kOwnLog},
    {"log-json-info-buffer-size", IdleFlag::kText, kOwnLog},
    {"log-json-split-stream", IdleFlag::kSwitch, kOwnLog},
    {"log-text-info-buffer-size", IdleFlag::kText, kOwnLog},
    {"log-text-split-stream", IdleFlag::kSwitch, kOwnLog},
    {"min-compatibility-version", IdleFlag::kText, kNoGates},
    {"permit-address-sharing", IdleFlag::kSwitch, kOwnSockets},
    {"permit-port-sharing", IdleFlag::kSwitch, kOwnSockets},
    {"pod-max-in-unschedulable-pods-duration", IdleFlag::kText,
     "pods that were unschedulable for five minutes are tried again"},
    {"profiling", IdleFlag::kSwitch, kNoProfiles},
    {"requestheader-allowed-names", IdleFlag::kText, kNoFrontProxy},
    {"requestheader-client-ca-file", IdleFlag::kText, kNoFrontProxy},
    {"requestheader-extra-headers-prefix", IdleFlag::kText, kNoFrontProxy},
    {"requestheader-group-headers", IdleFlag::kText, kNoFrontProxy},
    {"requestheader-uid-headers", IdleFlag::kText, kNoFrontProxy},
    {"requestheader-username-headers", IdleFlag::kText, kNoFrontProxy},
    {"show-hidden-metrics-for-version", IdleFlag::kText, kOwnMetrics},
    {"tls-cipher-suites", IdleFlag::kText, "the ciphers are OpenSSL's for TLS 1.2 and 1.3"},
    {"tls-sni-cert-key", IdleFlag::kTexts, kOneCertificate},
    {"vmodule", IdleFlag::kText, "-v is for all of the log"},
};

// What is wrong with the value of a switch; empty if it is one of Go's strconv.ParseBool. CLI11
// takes more, and throws at what it does not know.
std::string NoSwitch(const std::string& text) {
  for (const absl::string_view known :
       {"1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"}) {
    if (text == known) return "";
  }
  return absl::StrCat(text, " is neither true nor false");
}

// Goes when the flags are described; what runs at parsing holds on to the options alone.
class RunFlags {
 public:
  RunFlags(CLI::App& command, RunOptions& options) : command_(command), options_(options) {}

  void Describe() {
    Cluster();
    LeaderElection();
    Serving();
    Logs();
    for (const IdleFlag& flag : kIdleFlags) Idle(flag);
  }

 private:
  void Cluster() {
    RunOptions::ClientConnection& client = options_.client_connection;
    Option("--kubeconfig", client.kubeconfig,
           "Where the API server is; without it, the service account of the pod", "FILE");
    Option("--master", options_.master, "URL of the API server, instead of the kubeconfig's",
           "URL");
    Option("--kube-api-qps", client.qps, "Requests a second to the API server", "NUMBER")
        ->check([](const std::string& text) {
          double number = 0;
          return absl::SimpleAtod(text, &number) && std::isfinite(number)
                     ? std::string()
                     : absl::StrCat(text, " is no number");
        });
    Option("--kube-api-burst", client.burst, "Requests at once above that", "NUMBER");
    Option("--kube-api-content-type", client.content_type, "How objects are written", "TYPE");
    Option("--seed", options_.seed, "Seed of what is left to chance", "NUMBER");
    Option("--write-config-to", options_.write_config_to,
           "Write the configuration with its defaults, and end", "FILE");
  }

  void LeaderElection() {
    RunOptions::LeaderElection& election = options_.leader_election;
    group_ = "Leader election";
    Switch("--leader-elect", election.leader_elect, "Schedule only while a Lease is held (true)");
    Time("--leader-elect-lease-duration", election.lease_duration,
         "How long others wait after a renewal (15s)");
    Time("--leader-elect-renew-deadline", election.renew_deadline,
         "How long the leader tries to renew (10s)");
    Time("--leader-elect-retry-period", election.retry_period, "Time between attempts (2s)");
    Option("--leader-elect-resource-name", election.resource_name,
           "The Lease's name (kube-scheduler)", "NAME");
    Option("--leader-elect-resource-namespace", election.resource_namespace,
           "Its namespace (kube-system)", "NAME");
    Option("--leader-elect-resource-lock", election.resource_lock, "leases", "leases");
  }

  void Serving() {
    RunOptions::Serving& serving = options_.serving;
    group_ = "Secure port: health, metrics, configuration";
    Option("--secure-port", serving.secure_port, "Its number; 0: none (10259)", "PORT")
        ->check(CLI::Range(0, 65535).description(""));
    Option("--bind-address", serving.bind_address, "Where it listens (0.0.0.0)", "ADDRESS");
    CLI::Option* const certificate =
        Option("--tls-cert-file", serving.tls_cert_file,
               "Its certificate; without, one that it signs itself", "FILE");
    CLI::Option* const key =
        Option("--tls-private-key-file", serving.tls_private_key_file, "The key of that", "FILE");
    certificate->needs(key);
    key->needs(certificate);
    command_
        .add_option_function<std::string>(
            "--tls-min-version",
            [&serving](const std::string& version) {
              serving.only_tls13 = version == "VersionTLS13";
            },
            "VersionTLS13, or VersionTLS12 as which older ones count (VersionTLS12)")
        ->check(CLI::IsMember({"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"})
                    .description(""))
        ->type_name("VERSION")
        ->group(group_);
    Option("--authentication-kubeconfig", serving.authentication_kubeconfig,
           "Who asks the API server whose a token is", "FILE");
    Option("--authorization-kubeconfig", serving.authorization_kubeconfig,
           "Who asks the API server what a user may", "FILE");
    Option("--client-ca-file", serving.client_ca_file,
           "Whose client certificates count, instead of the API server's", "FILE");
    Switch("--authentication-skip-lookup", serving.skip_lookup,
           "Do not ask the API server whose client certificates count");
    Switch("--authentication-tolerate-lookup-failure", serving.tolerate_lookup_failure,
           "Go on if it does not say (true)");
    command_
        .add_option_function<std::string>(
            "--authorization-always-allow-paths",
            [&serving](const std::string& paths) {
              serving.always_allow_paths = absl::StrSplit(paths, ',', absl::SkipEmpty());
            },
            "Paths for everybody (/healthz,/readyz,/livez)")
        ->type_name("PATHS")
        ->group(group_);
    Time("--authentication-token-webhook-cache-ttl", serving.token_cache_life,
         "How long an answer about a token holds (10s)");
    Time("--authorization-webhook-cache-authorized-ttl", serving.allowed_cache_life,
         "How long a permission holds (10s)");
    Time("--authorization-webhook-cache-unauthorized-ttl", serving.denied_cache_life,
         "How long a refusal holds (10s)");
  }

  void Logs() {
    group_ = "Log";
    Option("-v,--v", options_.verbosity, "Verbosity; 2 has a line for each decision", "NUMBER")
        ->check(CLI::Range(0, std::numeric_limits<int>::max()).description(""));
    command_
        .add_option_function<std::string>(
            "--logging-format",
            [&options = options_](const std::string& format) {
              options.log_format = format == "json" ? LogFormat::kJson : LogFormat::kText;
            },
            "How lines are written (text)")
        ->check(CLI::IsMember({"text", "json"}).description(""))
        ->type_name("text|json")
        ->group(group_);
  }

  void Idle(const IdleFlag& flag) {
    const std::string name = absl::StrCat("--", flag.name);
    const auto warn = [&options = options_, name, why = flag.why] {
      options.warnings.push_back(absl::StrCat(name, " has no effect: ", why));
    };
    constexpr char kHelp[] = "Has no effect";
    CLI::Option* const option = [&]() -> CLI::Option* {
      switch (flag.value) {
        case IdleFlag::kSwitch:
          return command_
              .add_flag_function(
                  name, [warn](int64_t) { warn(); }, kHelp)
              ->check(NoSwitch);
        case IdleFlag::kTexts:
          return command_
              .add_option_function<std::vector<std::string>>(
                  name, [warn](const std::vector<std::string>&) { warn(); }, kHelp)
              ->allow_extra_args(false);
        case IdleFlag::kText:
          break;
      }
      return command_.add_option_function<std::string>(
          name, [warn](const std::string&) { warn(); }, kHelp);
    }();
    option->group(kIdleFlagGroup);
  }

  template <class T>
  CLI::Option* Option(const std::string& names, T& value, const std::string& what,
                      const std::string& type) {
    return command_.add_option(names, value, what)->type_name(type)->group(group_);
  }
  template <class T>  // bool, or an optional one
  void Switch(const std::string& name, T& value, const std::string& what) {
    command_
        .add_flag_function(
            name, [&value](int64_t count) { value = count > 0; }, what)
        ->check(NoSwitch)
        ->group(group_);
  }
  template <class T>  // absl::Duration, or an optional one
  void Time(const std::string& name, T& value, const std::string& what) {
    command_
        .add_option_function<std::string>(
            name, [&value](const std::string& text) { value = ParseDuration(text).value(); }, what)
        ->check([](const std::string& text) {
          return ParseDuration(text).ok() ? std::string()
                                          : absl::StrCat(text, " is no duration as 15s or 1m30s");
        })
        ->type_name("DURATION")
        ->group(group_);
  }

  CLI::App& command_;
  RunOptions& options_;
  std::string group_ = "Flags";
};

}  // namespace

void DescribeRunFlags(CLI::App& command, RunOptions& options) {
  RunFlags(command, options).Describe();
}

void SplitShortFlags(std::vector<std::string>& words) {
  for (std::string& word : words) {
    if (absl::StartsWith(word, "-v=")) word.insert(0, "-");
  }
}

}  // namespace berth
