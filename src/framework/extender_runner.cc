// SPDX-License-Identifier: Apache-2.0
// Implementation of extender_runner.h.
#include "framework/extender_runner.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "berth/api/amounts.h"
#include "framework/extender_guard.h"

namespace berth {
namespace {

// MaxNodeScore / MaxExtenderPriority: extenders score from 0 to 10, plugins from 0 to 100.
constexpr int64_t kPointsOfPriority = 10;

std::vector<const NodeInfo*> NodesOf(const NodeTable& nodes, absl::Span<const NodeRow> rows) {
  std::vector<const NodeInfo*> found;
  found.reserve(rows.size());
  for (const NodeRow row : rows) found.push_back(&nodes.node(row));
  return found;
}

int64_t Times(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max()
                            : std::numeric_limits<int64_t>::min();
}

int64_t Plus(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

}  // namespace

bool ExtenderRunner::AnyInterested(const PodInfo& pod) const {
  return absl::c_any_of(plugins_.handle.extenders(),
                        [&](const auto& extender) { return extender->IsInterested(pod); });
}

bool ExtenderRunner::AnyChooses(const PodInfo& pod) const {
  return absl::c_any_of(plugins_.handle.extenders(), [&](const auto& extender) {
    return (extender->IsFilter() || extender->IsPrioritizer()) && extender->IsInterested(pod);
  });
}

void ExtenderRunner::AddFault(const SchedulerExtender& extender, absl::string_view point,
                              const absl::Status& error) const {
  plugins_.fault_log.AddFault(Symbol::Intern(absl::StrCat(kExtenderName, " ", extender.Name())),
                              point, error.message());
}

// --- Filter --------------------------------------------------------------------------------------

Status ExtenderRunner::RunFilter(const PodInfo& pod, const NodeTable& nodes,
                                 std::vector<NodeRow>& feasible, ExtenderStatuses& statuses) const {
  for (const auto& extender : plugins_.handle.extenders()) {
    if (feasible.empty()) break;
    if (!extender->IsFilter() || !extender->IsInterested(pod)) continue;
    const std::vector<const NodeInfo*> asked = NodesOf(nodes, feasible);
    absl::StatusOr<SchedulerExtender::FilterResult> result =
        GuardExtender(*extender, [&] { return extender->Filter(pod, asked); });
    absl::Status read = result.ok()
                            ? ReadFilterResult(*extender, *result, nodes, feasible, statuses)
                            : result.status();
    if (read.ok()) continue;
    AddFault(*extender, "Filter", read);
    if (extender->IsIgnorable()) continue;
    return Status::Error(read).WithPlugin(Symbol::Intern(kExtenderName));
  }
  return Status::Success();
}

// Changes nothing if the answer is refused.
absl::Status ExtenderRunner::ReadFilterResult(const SchedulerExtender& extender,
                                              const SchedulerExtender::FilterResult& result,
                                              const NodeTable& nodes,
                                              std::vector<NodeRow>& feasible,
                                              ExtenderStatuses& statuses) const {
  std::vector<NodeRow> left;
  left.reserve(result.nodes.size());
  for (const std::string& name : result.nodes) {
    const NodeRow row = nodes.FindRow(name);
    // `feasible` is sorted.
    if (row < 0 || !std::binary_search(feasible.begin(), feasible.end(), row)) {
      return absl::InvalidArgumentError(
          absl::StrCat("extender \"", extender.Name(), "\" claims a filtered node \"", name,
                       "\" which is not found in the input node list"));
    }
    left.push_back(row);
  }
  std::sort(left.begin(), left.end());
  left.erase(std::unique(left.begin(), left.end()), left.end());
  const Symbol plugin = Symbol::Intern(kExtenderName);
  const auto note = [&](const std::map<std::string, std::string>& failed, Code code) {
    for (const auto& [name, message] : failed) {
      const NodeRow row = nodes.FindRow(name);
      if (row >= 0) statuses[row] = Status::Make(code, {message}).WithPlugin(plugin);
    }
  };
  note(result.failed, Code::kUnschedulable);
  note(result.failed_and_unresolvable, Code::kUnschedulableAndUnresolvable);
  feasible = std::move(left);
  return absl::OkStatus();
}

// --- Prioritize ----------------------------------------------------------------------------------

ExtenderRunner::Scores ExtenderRunner::BeginPrioritize(const PodInfo& pod, const NodeTable& nodes,
                                                       absl::Span<const NodeRow> rows) const {
  Scores scores;
  scores.runner_ = this;
  std::vector<const NodeInfo*> asked;
  for (const auto& extender : plugins_.handle.extenders()) {
    if (!extender->IsPrioritizer() || !extender->IsInterested(pod)) continue;
    if (asked.empty()) asked = NodesOf(nodes, rows);
    absl::StatusOr<std::function<SchedulerExtender::Priorities()>> wait = GuardExtender(
        *extender, [&]() -> absl::StatusOr<std::function<SchedulerExtender::Priorities()>> {
          return extender->Prioritize(pod, asked);
        });
    if (wait.ok() && *wait != nullptr) {
      scores.asked_.push_back({extender.get(), *std::move(wait)});
    } else {
      AddFault(*extender, "Prioritize", wait.status());
    }
  }
  return scores;
}

void ExtenderRunner::Scores::AddTo(const NodeTable& nodes, absl::Span<const NodeRow> rows,
                                   absl::Span<int64_t> totals,
                                   std::vector<PluginScores>* by_plugin) && {
  for (Asked& asked : asked_) {
    const SchedulerExtender::Priorities priorities =
        GuardExtender(*asked.extender, [&] { return asked.wait(); });
    if (!priorities.ok()) {
      runner_->AddFault(*asked.extender, "Prioritize", priorities.status());
      continue;
    }
    const int64_t factor = Times(Times(asked.extender->weight(), kPointsOfPriority),
                                 runner_->plugins_.score_resolution);
    PluginScores shares{Symbol::Intern(asked.extender->Name()),
                        std::vector<int64_t>(rows.size(), 0)};
    for (const SchedulerExtender::HostPriority& priority : *priorities) {
      // Scores of nodes that were not asked about have no effect.
      const NodeRow row = nodes.FindRow(priority.node);
      const auto place = std::lower_bound(rows.begin(), rows.end(), row);
      if (row < 0 || place == rows.end() || *place != row) continue;
      int64_t& share = shares.weighted[place - rows.begin()];
      share = Plus(share, Times(priority.score, factor));
    }
    for (size_t i = 0; i < rows.size(); ++i) totals[i] = Plus(totals[i], shares.weighted[i]);
    if (by_plugin != nullptr) by_plugin->push_back(std::move(shares));
  }
}

// --- Bind ----------------------------------------------------------------------------------------

std::optional<Status> ExtenderRunner::RunBind(const PodInfo& pod,
                                              absl::string_view node_name) const {
  for (const auto& extender : plugins_.handle.extenders()) {
    if (!extender->IsBinder() || !extender->IsInterested(pod)) continue;
    const absl::Status bound =
        GuardExtender(*extender, [&] { return extender->Bind(pod, node_name); });
    if (bound.ok()) return Status::Success();
    AddFault(*extender, "Bind", bound);
    if (extender->IsIgnorable()) continue;
    return Status::Error(bound).WithPlugin(Symbol::Intern(kExtenderName));
  }
  return std::nullopt;
}

}  // namespace berth
