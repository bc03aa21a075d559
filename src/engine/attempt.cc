// SPDX-License-Identifier: Apache-2.0
// Implementation of attempt.h.
#include "engine/attempt.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

WaitingPtr WhyGroup(const AttemptRequest& request, const AttemptResult& result) {
  const PodFailure& cause = result.failed.front();
  if (cause.waiting->reason == WaitingReason::kWaitingForMembers) return cause.waiting;
  std::vector<int64_t> requests;
  for (const auto& pod : request.pods) {
    const absl::string_view resource = cause.waiting->resource;
    requests.push_back(resource.empty() || resource == kPodsResource
                           ? 1
                           : pod->requests().Get(ResourceIdOf(resource)));
  }
  std::sort(requests.begin(), requests.end());
  requests.resize(std::min<size_t>(requests.size(), request.minimum));
  return WhyGroupWaits(*cause.waiting, request.minimum, result.most_placed, cause.pod->key(),
                       std::accumulate(requests.begin(), requests.end(), int64_t{0}));
}

}  // namespace

void SortByImportance(absl::InlinedVector<std::shared_ptr<const PodInfo>, 1>& pods) {
  const auto before = [](const auto& a, const auto& b) { return a->priority() > b->priority(); };
  if (!std::is_sorted(pods.begin(), pods.end(), before)) {
    std::stable_sort(pods.begin(), pods.end(), before);
  }
}

int MissingMembers(const GroupPlugin& plugin, const Groups& groups, const std::string& group) {
  const std::optional<GroupSpec> spec = plugin.Spec(group);
  if (!spec.has_value()) return 1;
  const int missing = MissingMembers(*spec, groups.Find(group));
  return spec->mode == GangMode::kNonStrict ? std::min(missing, 1) : missing;
}

Status WhyGroupFailed(const AttemptRequest& request, const GroupMembers& group,
                      const AttemptResult& result) {
  const PodFailure& cause = result.failed.front();
  Status why = request.framework->plugins().group->GroupUnschedulable(
      group, group.assigned_count() + result.most_placed,
      Status::Make(cause.status.code(), {cause.message}));
  why.SetPlugin(cause.status.plugin_symbol());
  return why;
}

// The others count for the group but cannot be tried now: gated by a plugin that the group's does
// not know, or waiting under another profile.
AttemptResult TooFewMembers(const AttemptRequest& request) {
  AttemptResult result;
  const Symbol plugin = request.framework->plugins().group_name;
  const std::string message =
      absl::StrCat("only ", request.pods.size(), " of the ", request.minimum,
                   " pods it still needs can be tried in this profile");
  auto waiting = std::make_shared<WaitingFor>();
  waiting->reason = WaitingReason::kWaitingForMembers;
  waiting->plugin = std::string(plugin.view());
  waiting->detail = message;
  waiting->members_needed = request.minimum;
  waiting->members_placeable = static_cast<int>(request.pods.size());
  for (const auto& pod : request.pods) {
    PodFailure failure{pod, Status::Unschedulable(message).WithPlugin(plugin), {plugin}, message};
    failure.waiting = waiting;
    result.failed.push_back(std::move(failure));
  }
  return result;
}

void FailEveryMember(const AttemptRequest& request, const GroupMembers& group,
                     AttemptResult& result) {
  const Status why = WhyGroupFailed(request, group, result);
  const WaitingPtr waiting = WhyGroup(request, result);
  for (const auto& pod : request.pods) {
    const auto failed = std::find_if(result.failed.begin(), result.failed.end(),
                                     [&](const PodFailure& f) { return f.pod == pod; });
    PodFailure& told =
        failed != result.failed.end() ? *failed : result.failed.emplace_back(PodFailure{pod});
    told.status = why;
    told.message = why.message();
    told.waiting = waiting;
  }
}

Rejection DescribeRejection(const AttemptRequest& request, const AttemptResult& result) {
  Rejection rejection;
  const auto add = [](std::vector<Symbol>& to, Symbol plugin) {
    if (std::find(to.begin(), to.end(), plugin) == to.end()) to.push_back(plugin);
  };
  for (const PodFailure& failure : result.failed) {
    for (const Symbol plugin : failure.rejecting_plugins) {
      add(failure.status.code() == Code::kPending ? rejection.pending_plugins
                                                  : rejection.unschedulable_plugins,
          plugin);
    }
    rejection.pods.push_back({failure.pod->uid(),
                              Status::Make(failure.status.code(), {failure.message})
                                  .WithPlugin(failure.status.plugin_symbol()),
                              !failure.rejecting_plugins.empty(), failure.waiting});
    if (failure.waiting->reason == WaitingReason::kMinRuntime) {
      rejection.retry_at = std::min(rejection.retry_at, failure.waiting->until);
    }
  }
  if (!request.group.empty() && !rejection.IsError()) {
    add(rejection.unschedulable_plugins, request.framework->plugins().group_name);
  }
  return rejection;
}

}  // namespace berth
