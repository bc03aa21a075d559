// SPDX-License-Identifier: Apache-2.0
// Implementation of engine_metrics.h.
#include "engine/engine_metrics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

constexpr absl::Duration kPublishInterval = absl::Seconds(1);
constexpr const char* kResultNames[] = {"scheduled", "unschedulable", "error"};

// kube-scheduler v1.35 schedule_one.go getAttemptsLabel.
std::string AttemptsLabel(int attempts) { return attempts >= 15 ? "15+" : absl::StrCat(attempts); }

// The event that kube-scheduler's handler would name.
absl::string_view EventLabel(const ClusterChange& change) {
  using Type = ClusterChange::Type;
  switch (change.type) {
    case Type::kPodPending:
      return change.change.old_pod == nullptr ? "UnschedulablePodAdd" : "UnschedulablePodUpdate";
    case Type::kPodGone:
      return change.was_assigned ? "AssignedPodDelete" : "UnschedulablePodDelete";
    case Type::kPodAssigned:
      return "AssignedPodAdd";
    case Type::kPodChanged:
    case Type::kPodLeaving:
      return "AssignedPodUpdate";
    default:
      return change.events.empty() ? absl::string_view() : change.events.front().label;
  }
}

// Sets every series that is not named here to zero.
void SetAll(GaugeMetric& metric, const std::map<std::vector<std::string>, double>& values) {
  for (const MetricSample& sample : metric.Read().samples) {
    if (!values.contains(sample.labels)) metric.With(sample.labels).Set(0);
  }
  for (const auto& [labels, value] : values) metric.With(labels).Set(value);
}

// Removes every series that is not named here.
void ReplaceAll(GaugeMetric& metric, const std::map<std::vector<std::string>, double>& values) {
  for (const MetricSample& sample : metric.Read().samples) {
    if (!values.contains(sample.labels)) metric.Remove(sample.labels);
  }
  for (const auto& [labels, value] : values) metric.With(labels).Set(value);
}

}  // namespace

EngineMetrics::EngineMetrics(SchedulerMetrics* metrics, const Clock& clock)
    : metrics_(metrics), clock_(clock) {}

void EngineMetrics::CountAttempt(Result result, const Framework& framework, absl::Duration took) {
  AttemptSeries& series = attempts_[{&framework, result}];
  if (series.count == nullptr) {
    const std::vector<std::string> labels = {kResultNames[static_cast<size_t>(result)],
                                             framework.profile().scheduler_name};
    series = {&metrics_->schedule_attempts.With(labels), &metrics_->attempt_duration.With(labels)};
  }
  series.count->Add();
  series.duration->Observe(took);
}

void EngineMetrics::AttemptEnded(const AttemptRequest& request, const AttemptResult& result,
                                 absl::Duration took) {
  if (metrics_ == nullptr) return;
  metrics_->algorithm_duration.only().Observe(took);
  metrics_->preemption_attempts.only().Add(result.post_filters);
  for (const AttemptResult::Plan& plan : result.plans) {
    metrics_->preemption_victims.only().Observe(static_cast<double>(plan.result.victims.size()));
  }
  for (const PodFailure& failure : result.failed) {
    CountAttempt(failure.status.IsError() ? Result::kError : Result::kUnschedulable,
                 *request.framework, took);
  }
}

void EngineMetrics::EvictionsBegan(absl::string_view preemptor_uid) {
  if (metrics_ != nullptr) evictions_[preemptor_uid] = std::chrono::steady_clock::now();
}

void EngineMetrics::EvictionsEnded(absl::string_view preemptor_uid, bool all_go) {
  if (metrics_ == nullptr) return;
  const char* const result = all_go ? "success" : "error";
  metrics_->evictions.With({result}).Add();
  const auto begun = evictions_.find(preemptor_uid);
  if (begun == evictions_.end()) return;
  metrics_->eviction_duration.With({result}).Observe(
      absl::FromChrono(std::chrono::steady_clock::now() - begun->second));
  evictions_.erase(begun);
}

void EngineMetrics::BindingEnded(const AssumedPod& placement, const Status& status) {
  if (metrics_ == nullptr) return;
  if (placement.permit_wait > absl::ZeroDuration()) {
    const Code code = status.IsRejected() ? status.code() : Code::kSuccess;
    metrics_->permit_wait_duration.With({std::string(CodeName(code))})
        .Observe(placement.permit_wait);
  }
  const absl::Duration took =
      absl::FromChrono(std::chrono::steady_clock::now() - placement.attempt_begun);
  const Result result = status.ok()           ? Result::kScheduled
                        : status.IsRejected() ? Result::kUnschedulable
                                              : Result::kError;
  CountAttempt(result, *placement.framework, took);
  if (!status.ok()) return;
  const AttemptHistory& history = placement.history;
  metrics_->pod_attempts.only().Observe(history.attempts);
  metrics_->sli_duration.With({AttemptsLabel(history.attempts)})
      .Observe(clock_.Now() - history.initial_attempt_timestamp);
}

void EngineMetrics::EventHandled(const ClusterChange& change, SteadyTime begun) {
  if (metrics_ == nullptr) return;
  const absl::string_view label = EventLabel(change);
  if (label.empty()) return;
  Histogram*& series = events_[label];
  if (series == nullptr) series = &metrics_->event_duration.With({std::string(label)});
  series->Observe(absl::FromChrono(std::chrono::steady_clock::now() - begun));
}

void EngineMetrics::Publish(const QueueCensus& queue, const Cache& cache, const GroupCensus& groups,
                            const std::vector<QuotaFigure>& quotas, int binding,
                            const SchedulerCounters& counters,
                            const std::map<std::string, int64_t>& plugin_counters) {
  if (metrics_ == nullptr) return;
  next_publication_ = clock_.Now() + kPublishInterval;
  SchedulerMetrics& metrics = *metrics_;

  for (const auto& [name, counted] : queue.queues) {
    metrics.pending_pods.With({name}).Set(counted.pods);
    const bool any = counted.oldest < absl::InfiniteFuture();
    metrics.oldest_pending_pod.With({name}).Set(
        any ? absl::ToDoubleSeconds(clock_.Now() - counted.oldest) : 0);
  }
  std::map<std::vector<std::string>, double> rejected;
  for (const auto& [plugin_and_profile, pods] : queue.rejected) {
    rejected[{std::string(plugin_and_profile.first.view()),
              std::string(plugin_and_profile.second.view())}] = pods;
  }
  SetAll(metrics.unschedulable_pods, rejected);
  std::map<std::vector<std::string>, double> events;
  for (const auto& [label, count] : queue.inflight_events) events[{label}] = count;
  SetAll(metrics.inflight_events, events);
  metrics.goroutines.With({"binding"}).Set(binding);
  metrics.cache_size.With({"nodes"}).Set(cache.node_count());
  metrics.cache_size.With({"pods"}).Set(cache.pod_count());
  metrics.cache_size.With({"assumed_pods"}).Set(cache.assumed_count());

  metrics.pod_groups.With({"running"}).Set(groups.running);
  metrics.pod_groups.With({"partial"}).Set(groups.partial);
  metrics.pod_groups.With({"waiting"}).Set(groups.waiting);
  metrics.group_pods.With({"assigned"}).Set(groups.assigned);
  metrics.group_pods.With({"pending"}).Set(groups.pending);
  PublishQuotas(quotas);

  const auto set = [](GaugeMetric& metric, int64_t value) {
    metric.only().Set(static_cast<double>(value));
  };
  metrics.cycles.With({"full"}).Set(
      static_cast<double>(counters.cycles - counters.incremental_cycles));
  metrics.cycles.With({"incremental"}).Set(static_cast<double>(counters.incremental_cycles));
  set(metrics.bind_failures, counters.bind_failures);
  set(metrics.refused_evictions, counters.eviction_failures);
  set(metrics.unusable_objects, counters.unusable_objects);
  set(metrics.unconfirmed_nodes, counters.unconfirmed);
  set(metrics.deferred_calls, counters.deferred_calls);
  for (const PluginTrouble& trouble : counters.troubles) {
    metrics.plugin_faults.With({trouble.plugin, trouble.point})
        .Set(static_cast<double>(trouble.faults));
    metrics.slow_plugin_calls.With({trouble.plugin, trouble.point})
        .Set(static_cast<double>(trouble.slow_calls));
  }
  for (const auto& [name, count] : plugin_counters) {
    metrics.SetPluginCounter(name, count);
  }
}

// A bound that is gone is no bound of 0.
void EngineMetrics::PublishQuotas(const std::vector<QuotaFigure>& quotas) {
  std::map<std::vector<std::string>, double> values;
  for (const QuotaFigure& figure : quotas) {
    const auto add = [&](const char* type, double value) {
      values[{figure.quota, figure.resource, type}] = value;
    };
    if (figure.min.has_value()) add("min", *figure.min);
    if (figure.max.has_value()) add("max", *figure.max);
    add("used", figure.used);
  }
  ReplaceAll(metrics_->quotas, values);
}

}  // namespace berth
