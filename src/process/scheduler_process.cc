// SPDX-License-Identifier: Apache-2.0
// Implementation of scheduler_process.h.
#include "process/scheduler_process.h"

#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/time/time.h"
#include "berth/http_extender.h"
#include "berth/kubernetes_cluster.h"
#include "berth/mutex.h"
#include "berth/scheduler.h"
#include "berth/version.h"
#include "kubernetes/find_connection.h"
#include "kubernetes/http_loop.h"
#include "kubernetes/kubernetes_cluster.h"
#include "metrics/scheduler_metrics.h"
#include "process/configz.h"
#include "process/health_checks.h"
#include "process/lease_election.h"
#include "process/metrics_text.h"
#include "process/observed_cluster.h"
#include "process/process_metrics.h"
#include "process/secure_port.h"
#include "process/termination.h"

namespace berth {
namespace {

// Bindings and other writes that are under way at once; each waits for the API server, and a
// plugin's PreBind or Bind may wait for longer.
constexpr int kMostBindingThreads = 2048;
// From SIGTERM. Kubernetes kills a pod 30 s after it.
constexpr absl::Duration kLongestEnd = absl::Seconds(20);
constexpr absl::Duration kLongestRelease = absl::Seconds(5);
// kube-scheduler: how long after its lease a leader that does not end is not yet unhealthy.
constexpr absl::Duration kLeaseTolerance = absl::Seconds(20);
constexpr char kUserAgent[] = "berth";

// Lets a thread wait until something has happened since it waited last.
class News {
 public:
  void Wait() {
    MutexLock lock(mutex_);
    while (!is_there_) came_.Wait(mutex_);
    is_there_ = false;
  }
  void Tell() {
    MutexLock lock(mutex_);
    is_there_ = true;
    came_.SignalAll();
  }

 private:
  Mutex mutex_;
  CondVar came_;
  bool is_there_ ABSL_GUARDED_BY(mutex_) = false;
};

class SchedulerProcess {
 public:
  SchedulerProcess(const RunOptions& options, KubeSchedulerConfiguration configuration,
                   const Registry& registry)
      : options_(options),
        configuration_(std::move(configuration)),
        registry_(registry),
        log_({.format = options.log_format, .verbosity = options.verbosity}) {}

  int Run() {
    const TerminationSignals signals([this] { SeeToTheEnd(); });
    log_.Info("Starting berth", {{"version", kVersion}});
    for (const std::string& warning : options_.warnings) log_.Warning(warning);
    const absl::Status run = Connect();
    if (!run.ok()) log_.Error("Cannot run", run);
    {
      MutexLock lock(mutex_);
      has_ended_ = true;
      changed_.SignalAll();
    }
    log_.Flush();
    return run.ok() ? 0 : 1;
  }

 private:
  // --- From connecting to scheduling, and back ---

  absl::Status Connect() {
    const absl::StatusOr<Connection> connection =
        FindConnection(configuration_.client_connection.kubeconfig, "", options_.master);
    if (!connection.ok()) return connection.status();
    if (configuration_.leader_election.leader_elect) MakeElection(*connection);
    absl::Status serving = OpenPort();
    if (!serving.ok()) return serving;
    const absl::Status run = RunOn(*connection);
    // What was to be written has been.
    if (election_ != nullptr) election_->Release(kLongestRelease);
    return run;
  }

  absl::Status RunOn(const Connection& connection) {
    const ClientConnectionConfiguration& client = configuration_.client_connection;
    KubernetesCluster server(connection,
                             {.qps = client.qps,
                              .burst = client.burst,
                              .content_type = client.content_type,
                              .accept_content_types = client.accept_content_types,
                              .user_agent = kUserAgent,
                              .may_write = [this] { return MayWrite(); },
                              .warn = Warn()},
                             {}, ObserveCalls());
    SetServer(&server);
    const absl::Cleanup forget_server = [this] { SetServer(nullptr); };
    ObservedCluster cluster(
        server, log_,
        {.on_events = [this] { news_.Tell(); }, .may_write = [this] { return MayWrite(); }});
    const std::unique_ptr<Executor> executor = MakeGrowingThreadPool(kMostBindingThreads);
    std::unique_ptr<Scheduler> scheduler;
    // A replica that stands by knows the cluster already when its turn comes.
    const bool waits_for_lease = election_ != nullptr && configuration_.delay_cache_until_active;
    absl::Status run = absl::OkStatus();
    if (waits_for_lease) WaitForLease(nullptr);
    if (!is_ending_) run = MakeScheduler(cluster, *executor, scheduler);
    if (!run.ok()) return run;
    while (!is_ending_ && !cluster.synced()) Follow(scheduler.get());
    if (!is_ending_) {
      scheduler->TakeEvents();
      is_synced_ = true;
      log_.Verbose(3, "Caches synced");
    }
    if (election_ != nullptr && !waits_for_lease) WaitForLease(scheduler.get());
    if (!is_ending_) run = Schedule(*scheduler);
    // Bindings under way are finished; what waits in Permit is given up.
    return run;
  }

  void SetServer(KubernetesCluster* server) {
    MutexLock lock(mutex_);
    server_ = server;
  }

  absl::Status MakeScheduler(ObservedCluster& cluster, Executor& executor,
                             std::unique_ptr<Scheduler>& scheduler) {
    absl::StatusOr<ExtenderList> extenders = NewHttpExtenders(configuration_.extenders);
    if (!extenders.ok()) return extenders.status();
    absl::StatusOr<std::unique_ptr<Scheduler>> made =
        Scheduler::Create({.configuration = configuration_,
                           .registry = &registry_,
                           .cluster = &cluster,
                           .clock = &clock_,
                           .executor = &executor,
                           .extenders = *std::move(extenders),
                           .seed = options_.seed,
                           .metrics = &scheduler_metrics_,
                           .warn = Warn()});
    if (!made.ok()) return made.status();
    scheduler = *std::move(made);
    if (log_.IsOn(kVerbosityOfDecisions)) {
      scheduler->ObserveAttempts([this](const AttemptRecord& attempt) { LogDecisions(attempt); });
    }
    return absl::OkStatus();
  }

  absl::Status Schedule(Scheduler& scheduler) {
    {
      MutexLock lock(mutex_);
      if (is_ending_) return absl::OkStatus();
      scheduling_ = &scheduler;
    }
    log_.Info("Scheduling starts");
    absl::Status run = scheduler.Run();
    MutexLock lock(mutex_);
    scheduling_ = nullptr;
    return run;
  }

  // Takes in what has happened in the cluster, without scheduling.
  void Follow(Scheduler* scheduler) {
    news_.Wait();
    if (scheduler != nullptr) scheduler->TakeEvents();
  }

  void WaitForLease(Scheduler* scheduler) {
    if (is_ending_) return;
    election_->Start();
    while (!is_ending_ && !election_->Leads()) Follow(scheduler);
  }

  // On the thread of signals: asks for an end, and makes one if that does not come.
  void SeeToTheEnd() {
    log_.Info("Requested to terminate, exiting");
    const absl::Time deadline = MonotonicNow() + kLongestEnd;
    {
      MutexLock lock(mutex_);
      is_ending_ = true;
      if (scheduling_ != nullptr) scheduling_->Stop();
      // A thousand bindings may wait, which at 50 a second would take longer than there is.
      if (server_ != nullptr) server_->LiftRateLimits();
      news_.Tell();
      while (!has_ended_ && MonotonicNow() < deadline) {
        changed_.WaitFor(mutex_, deadline - MonotonicNow());
      }
      if (has_ended_) return;
    }
    log_.Error("Bindings are still under way after a long time, and are given up",
               absl::OkStatus());
    if (election_ != nullptr) election_->Release(kLongestRelease);
    log_.Flush();
    _exit(1);
  }

  // --- Leader election ---

  void MakeElection(const Connection& connection) {
    election_ = std::make_unique<LeaseElection>(
        connection,
        ApiClientOptions{.qps = configuration_.client_connection.qps,
                         .burst = configuration_.client_connection.burst,
                         .user_agent = kUserAgent,
                         .warn = Warn(),
                         .observe = ObserveCalls()},
        LeaseElection::Options{.configuration = configuration_.leader_election,
                               .scheduler_name = configuration_.profiles.front().scheduler_name,
                               .on_started = [this] { news_.Tell(); },
                               .on_lost =
                                   [this] {
                                     // Another may schedule by now: nothing is finished, nothing
                                     // more is sent.
                                     log_.Error("Leaderelection lost", absl::OkStatus());
                                     log_.Flush();
                                     _exit(1);
                                   }},
        log_);
  }

  // For a write that is about to be sent.
  bool MayWrite() const { return election_ == nullptr || election_->Leads(); }

  // --- The secure port ---

  absl::Status OpenPort() {
    const RunOptions::Serving& serving = options_.serving;
    if (serving.secure_port == 0) return absl::OkStatus();
    absl::StatusOr<std::unique_ptr<SecurePort>> opened =
        SecurePort::Open(serving, MakeEndpoints(), Warn());
    if (!opened.ok()) return opened.status();
    port_ = *std::move(opened);
    log_.Info("Serving securely", {{"address", serving.bind_address}, {"port", port_->number()}});
    return absl::OkStatus();
  }

  Endpoints MakeEndpoints() {
    std::vector<HealthCheck> checks;
    if (election_ != nullptr) {
      checks.push_back({"leaderElection", [this] {
                          return election_->IsHealthy(kLeaseTolerance)
                                     ? absl::OkStatus()
                                     : absl::InternalError("failed to renew its lease");
                        }});
    }
    std::vector<HealthCheck> ready_checks = checks;
    ready_checks.push_back({"shutdown", [this] {
                              return is_ending_ ? absl::UnavailableError("process is shutting down")
                                                : absl::OkStatus();
                            }});
    ready_checks.push_back({"sched-handler-sync", [this] {
                              return is_synced_ ? absl::OkStatus()
                                                : absl::UnavailableError(
                                                      "handlers are not fully synchronized");
                            }});
    const ObserveHealth observe = [this](const std::string& check, const std::string& type,
                                         bool passed) { health_.Observe(check, type, passed); };
    Endpoints endpoints;
    AddHealthEndpoints("/healthz", checks, endpoints, observe);
    AddHealthEndpoints("/livez", {}, endpoints, observe);
    AddHealthEndpoints("/readyz", ready_checks, endpoints, observe);
    AddConfigzEndpoint(configuration_, endpoints);
    MetricList metrics = scheduler_metrics_.list();
    metrics.insert(metrics.end(), metrics_.list().begin(), metrics_.list().end());
    AddMetricsEndpoint(
        "/metrics", std::move(metrics),
        [this] {
          metrics_.Refresh();
          metrics_.SetLeader(configuration_.leader_election.resource_name, MayWrite());
        },
        endpoints);
    AddMetricsEndpoint("/metrics/slis", health_.list(), nullptr, endpoints);
    return endpoints;
  }

  // --- Log ---

  static constexpr int kVerbosityOfDecisions = 2;

  std::function<void(const ApiCallRecord&)> ObserveCalls() {
    return [this](const ApiCallRecord& call) { metrics_.ObserveCall(call); };
  }
  std::function<void(absl::string_view)> Warn() {
    return [this](absl::string_view sentence) { log_.Warning(sentence); };
  }

  void LogDecisions(const AttemptRecord& attempt) {
    if (attempt.yielded) return;
    for (const PodOutcome& outcome : attempt.outcomes) {
      const std::string& pod = outcome.pod->identity()->key();
      if (!outcome.node.empty()) {
        log_.Verbose(kVerbosityOfDecisions, "Scheduled pod",
                     {{"pod", pod}, {"node", outcome.node}});
      } else {
        log_.Verbose(kVerbosityOfDecisions, "Unable to schedule pod",
                     {{"pod", pod}, {"err", outcome.message}});
      }
    }
  }

  const RunOptions& options_;
  const KubeSchedulerConfiguration configuration_;
  const Registry& registry_;
  const RealClock clock_;
  Log log_;
  SchedulerMetrics scheduler_metrics_;
  ProcessMetrics metrics_{std::string(kVersion)};
  HealthMetrics health_;
  News news_;  // of the cluster, of the election, or that it is time to end
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> is_synced_ = false;
  Mutex mutex_;
  CondVar changed_;
  Scheduler* scheduling_ ABSL_GUARDED_BY(mutex_) = nullptr;      // or null
  KubernetesCluster* server_ ABSL_GUARDED_BY(mutex_) = nullptr;  // or null
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;

  std::unique_ptr<LeaseElection> election_;  // null: without
  std::unique_ptr<SecurePort> port_;         // null: without
};

}  // namespace

int RunSchedulerProcess(const RunOptions& options, KubeSchedulerConfiguration configuration,
                        const Registry& registry) {
  return SchedulerProcess(options, std::move(configuration), registry).Run();
}

}  // namespace berth
