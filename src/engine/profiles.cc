// Implementation of profiles.h.
#include "engine/profiles.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// One queue serves all profiles, so they must agree on its order.
void CheckQueueSort(const Framework& first, const Framework& other, Problems& problems) {
  const auto quoted = [](absl::string_view text) { return absl::StrCat("\"", text, "\""); };
  const std::string& name = other.profile().scheduler_name;
  if (other.queue_sort_name() != first.queue_sort_name()) {
    problems.AddError(other.profile().where, other.profile().Title(),
                      absl::StrCat("different queue sort plugins for profile ", quoted(name), ": ",
                                   quoted(other.queue_sort_name().view()),
                                   ", first: ", quoted(first.queue_sort_name().view()),
                                   "; enable the same one in every profile"));
    return;
  }
  const absl::string_view plugin = first.queue_sort_name().view();
  if (first.args(plugin).ToString() != other.args(plugin).ToString()) {
    problems.AddError(other.profile().where, other.profile().Title(),
                      absl::StrCat("different queue sort plugin args for profile ", quoted(name)));
  }
}

}  // namespace

std::unique_ptr<Profiles> Profiles::Create(const KubeSchedulerConfiguration& configuration,
                                           const Registry& registry, const ClusterState& cluster,
                                           const Clock& clock, RandomSequence& random,
                                           SchedulerServices* services, Problems& problems) {
  auto profiles = std::make_unique<Profiles>();
  for (const Profile& profile : configuration.profiles) {
    Entry entry;
    entry.handle = std::make_unique<ProfileHandle>(profile.scheduler_name, cluster, clock, random,
                                                   *profiles->shared_, services);
    entry.framework = Framework::Create(profile, registry, *entry.handle, problems);
    if (entry.framework == nullptr) continue;
    entry.handle->SetFramework(entry.framework.get());
    profiles->all_.push_back(entry.framework.get());
    profiles->by_name_.emplace(Symbol::Intern(profile.scheduler_name), entry.framework.get());
    profiles->entries_.push_back(std::move(entry));
  }
  for (size_t i = 1; i < profiles->all_.size(); ++i) {
    CheckQueueSort(*profiles->all_[0], *profiles->all_[i], problems);
  }
  return problems.ok() && !profiles->all_.empty() ? std::move(profiles) : nullptr;
}

const Framework* Profiles::Find(Symbol scheduler_name) const {
  const auto it = by_name_.find(scheduler_name);
  return it == by_name_.end() ? nullptr : it->second;
}

}  // namespace berth
