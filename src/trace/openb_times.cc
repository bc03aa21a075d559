// SPDX-License-Identifier: Apache-2.0
// RunTimes: the trace at its own times.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/api/core_v1.pb.h"
#include "berth/simulation.h"
#include "trace/openb_cluster.h"
#include "trace/openb_run.h"

namespace berth {
namespace {

constexpr absl::string_view kChosenCards = "alibabacloud.com/gpu-index";

// One run of the clock over all arrivals and ends.
class TimedRun {
 public:
  TimedRun(const OpenbTrace& trace, Simulation& simulation, std::string profile, OpenbShares shares,
           int64_t every_seconds)
      : trace_(trace),
        simulation_(simulation),
        profile_(std::move(profile)),
        every_(std::max<int64_t>(1, every_seconds)),
        books_(trace, shares),
        shares_(shares),
        running_(trace.pods.size()) {
    order_.resize(trace.pods.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int a, int b) { return trace.pods[a].created < trace.pods[b].created; });
    for (size_t i = 0; i < trace.pods.size(); ++i) index_of_[trace.pods[i].name] = i;
    simulation.cluster().SetBindFault([this](const Identity& pod, const std::string&) {
      bound_.emplace_back(pod.name());
      return absl::OkStatus();
    });
  }
  ~TimedRun() { simulation_.cluster().SetBindFault(nullptr); }

  absl::StatusOr<TraceResult> Run(const std::function<void(int64_t)>& progress) {
    const absl::Time start = absl::Now();
    while (next_ < order_.size() || !ends_.empty() || waiting_ > 0) {
      const int64_t due = NextDue();
      if (due < 0) break;  // nothing comes any more: what waits, waits for ever
      AdvanceTo(due);
      Arrive(due);
      End(due);
      simulation_.RunUntilIdle();
      absl::Status noted = NoteBound();
      if (!noted.ok()) return noted;
      if (progress) progress(static_cast<int64_t>(next_));
    }
    Finish();
    result_.seconds = absl::ToDoubleSeconds(absl::Now() - start);
    return std::move(result_);
  }

 private:
  struct Running {
    std::string node, cards;
  };

  int64_t Seconds(absl::Time time) const {
    return static_cast<int64_t>(std::ceil(absl::ToDoubleSeconds(time - absl::UnixEpoch())));
  }
  // -1: nothing.
  int64_t NextDue() const {
    int64_t due = -1;
    const auto consider = [&](int64_t seconds) {
      due = due < 0 ? seconds : std::min(due, seconds);
    };
    if (next_ < order_.size()) consider(std::max<int64_t>(0, trace_.pods[order_[next_]].created));
    if (!ends_.empty()) consider(ends_.begin()->first);
    const absl::Time retry = simulation_.scheduler().NextRetry();
    if (due >= 0 && retry != absl::InfiniteFuture()) consider(std::max(now_, Seconds(retry)));
    return due;
  }

  // Notes the moments up to `seconds`, and what happened until then.
  void AdvanceTo(int64_t seconds) {
    while (next_moment_ < seconds) {
      NoteMoment(next_moment_);
      next_moment_ += every_;
    }
    allocated_seconds_ +=
        static_cast<double>(books_.allocated()) * static_cast<double>(seconds - now_);
    now_ = seconds;
    simulation_.AdvanceTo(absl::UnixEpoch() + absl::Seconds(seconds));
  }

  void Arrive(int64_t seconds) {
    while (next_ < order_.size() && trace_.pods[order_[next_]].created <= seconds) {
      const OpenbPod& pod = trace_.pods[order_[next_++]];
      simulation_.cluster().Set(OpenbPodObject(pod, pod.name, profile_, shares_));
      ++waiting_;
    }
  }

  void End(int64_t seconds) {
    while (!ends_.empty() && ends_.begin()->first <= seconds) {
      const size_t pod = ends_.begin()->second;
      ends_.erase(ends_.begin());
      simulation_.cluster().Delete(Kind::kPod, absl::StrCat("openb/", trace_.pods[pod].name));
      books_.Remove(trace_.pods[pod], running_[pod].node, running_[pod].cards);
      --running_count_;
    }
  }

  absl::Status NoteBound() {
    for (const std::string& name : std::exchange(bound_, {})) {
      const auto message = simulation_.cluster().Find(Kind::kPod, absl::StrCat("openb/", name));
      if (message == nullptr) continue;
      const api::Pod& object = static_cast<const api::Pod&>(*message);
      if (object.spec().node_name().empty()) continue;
      const size_t index = index_of_.find(name)->second;
      const OpenbPod& pod = trace_.pods[index];
      Running& running = running_[index];
      running.node = object.spec().node_name();
      const auto cards = object.metadata().annotations().find(std::string(kChosenCards));
      if (cards != object.metadata().annotations().end()) running.cards = cards->second;
      absl::StatusOr<std::string> placed = books_.Place(pod, running.node, running.cards);
      if (!placed.ok()) return placed.status();
      running.cards = *std::move(placed);
      --waiting_;
      ++running_count_;
      delays_.push_back(static_cast<double>(now_ - std::max<int64_t>(0, pod.created)));
      // It runs as long as it did. The list rounds to seconds; no pod ends before it began.
      const int64_t began = pod.scheduled >= 0 ? pod.scheduled : pod.created;
      if (pod.deleted >= 0) ends_.emplace(now_ + std::max<int64_t>(1, pod.deleted - began), index);
    }
    return absl::OkStatus();
  }

  void NoteMoment(int64_t seconds) {
    const double capacity = static_cast<double>(books_.capacity());
    result_.moments.push_back(
        {.seconds = seconds,
         .allocation = static_cast<double>(books_.allocated()) * 100 / capacity,
         .fragmentation = books_.fragmentation() * 100 / capacity,
         .cpu = static_cast<double>(books_.milli_cpu()) * 100 /
                static_cast<double>(books_.cpu_capacity()),
         .running = running_count_,
         .waiting = waiting_});
  }

  void Finish() {
    NoteMoment(now_);
    result_.unscheduled = waiting_;
    if (now_ > 0) {
      result_.mean_allocation =
          allocated_seconds_ * 100 /
          (static_cast<double>(books_.capacity()) * static_cast<double>(now_));
    }
    if (delays_.empty()) return;
    std::sort(delays_.begin(), delays_.end());
    const auto quantile = [&](double share) {
      return delays_[std::llround(share * static_cast<double>(delays_.size() - 1))];
    };
    result_.delays = {
        std::accumulate(delays_.begin(), delays_.end(), 0.0) / static_cast<double>(delays_.size()),
        quantile(0.5), quantile(0.9), quantile(0.99), delays_.back()};
  }

  const OpenbTrace& trace_;
  Simulation& simulation_;
  const std::string profile_;
  const int64_t every_;
  OpenbBooks books_;
  const OpenbShares shares_;
  std::vector<int> order_;  // pods by their time of arrival
  size_t next_ = 0;
  absl::flat_hash_map<std::string, size_t> index_of_;
  std::vector<Running> running_;         // by pod
  std::multimap<int64_t, size_t> ends_;  // second → pod
  std::vector<std::string> bound_;       // since the last look
  int64_t now_ = 0, next_moment_ = 0, waiting_ = 0, running_count_ = 0;
  double allocated_seconds_ = 0;
  std::vector<double> delays_;
  TraceResult result_;
};

}  // namespace

absl::StatusOr<TraceResult> RunTimes(const OpenbTrace& trace, TraceOptions options,
                                     int64_t every_seconds) {
  for (const OpenbPod& pod : trace.pods) {
    if (pod.created < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "pod ", pod.name, " has no creation_time; this list can only be run in order"));
    }
  }
  absl::Status given = GiveMix(trace.Mix(), *options.registry, options.configuration);
  if (!given.ok()) return given;
  std::string profile = options.configuration.profiles.front().scheduler_name;
  const OpenbShares shares = SharesFor(options.configuration.profiles.front());
  absl::StatusOr<std::unique_ptr<Simulation>> created =
      Simulation::Create({.configuration = std::move(options.configuration),
                          .registry = options.registry,
                          .objects = OpenbNodes(trace)});
  if (!created.ok()) return created.status();
  (*created)->RunUntilIdle();
  absl::StatusOr<TraceResult> result =
      TimedRun(trace, **created, std::move(profile), shares, every_seconds).Run(options.progress);
  if (!result.ok()) return result;
  return AddTroubles(**created, *std::move(result));
}

}  // namespace berth
