// SPDX-License-Identifier: Apache-2.0
// Implementation of shared_by_members.h.
#include "engine/shared_by_members.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "berth/extensions/member_choices.h"

namespace berth {
namespace {

constexpr PluginPoint kSharedBy{"SharedBy", Codes(), "running Filter plugin \"$0\": $1"};
constexpr PluginPoint kHoldsForOtherNodes{"HoldsForOtherNodes", Codes(),
                                          "running Filter plugin \"$0\": $1"};
constexpr PluginPoint kCountNeeds{"CountNeeds", Codes(), "running Filter plugin \"$0\": $1"};
constexpr PluginPoint kWhyNotAllTried{"WhyNotAllTried", Codes(),
                                      "running Filter plugin \"$0\": $1"};

std::vector<Hook<MemberChoices>> FindChoices(const Framework& framework) {
  std::vector<Hook<MemberChoices>> choices;
  for (const Hook<FilterPlugin>& hook : framework.plugins().filter) {
    auto* const found = dynamic_cast<MemberChoices*>(hook.plugin);
    if (found != nullptr) choices.push_back({found, hook.name, hook.index});
  }
  return choices;
}

// Of a plugin that fails nothing is known.
class GuardedNeeds final : public CountedNeeds {
 public:
  GuardedNeeds(const Framework& framework, Symbol plugin, std::unique_ptr<CountedNeeds> needs)
      : framework_(framework), plugin_(plugin), needs_(std::move(needs)) {}

  size_t sorts() const override { return needs_->sorts(); }
  absl::Span<const int64_t> Of(size_t member) const override { return needs_->Of(member); }
  void FreeOn(const NodeInfo& node, int32_t gone_below, absl::Span<int64_t> free) const override {
    const Status asked = framework_.plugins().calls.Guarded(kCountNeeds, plugin_, [&] {
      needs_->FreeOn(node, gone_below, free);
      return Status::Success();
    });
    if (!asked.ok()) absl::c_fill(free, kNobodyKnows);
  }

 private:
  static constexpr int64_t kNobodyKnows = int64_t{1} << 32;
  const Framework& framework_;
  const Symbol plugin_;
  const std::unique_ptr<CountedNeeds> needs_;
};

}  // namespace

std::shared_ptr<const CountedNeeds> CountNeeds(
    const Framework& framework, absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  for (const Hook<MemberChoices>& hook : FindChoices(framework)) {
    std::unique_ptr<CountedNeeds> needs;
    const Status asked = framework.plugins().calls.Guarded(kCountNeeds, hook.name, [&] {
      needs = hook.plugin->CountNeeds(pods);
      return Status::Success();
    });
    if (asked.ok() && needs != nullptr) {
      return std::make_shared<GuardedNeeds>(framework, hook.name, std::move(needs));
    }
  }
  return nullptr;
}

absl::flat_hash_set<const PodInfo*> FindPodsThatShare(
    const Framework& framework, absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  absl::flat_hash_set<const PodInfo*> share;
  for (const Hook<MemberChoices>& hook : FindChoices(framework)) {
    absl::flat_hash_map<std::string, const PodInfo*> first;  // by name
    for (const auto& pod : pods) {
      std::vector<std::string> names;
      const Status asked = framework.plugins().calls.Guarded(kSharedBy, hook.name, [&] {
        names = hook.plugin->SharedBy(*pod);
        return Status::Success();
      });
      if (!asked.ok()) continue;
      for (std::string& name : names) {
        const PodInfo* const other = first.try_emplace(std::move(name), pod.get()).first->second;
        if (other == pod.get()) continue;
        share.insert(other);
        share.insert(pod.get());
      }
    }
  }
  return share;
}

bool HoldsForOtherNodes(const Framework& framework, const PodInfo& pod) {
  return absl::c_any_of(FindChoices(framework), [&](const Hook<MemberChoices>& hook) {
    bool holds = false;
    const Status asked = framework.plugins().calls.Guarded(kHoldsForOtherNodes, hook.name, [&] {
      holds = hook.plugin->HoldsForOtherNodes(pod);
      return Status::Success();
    });
    return holds || !asked.ok();
  });
}

std::string WhyNotAllTried(const Framework& framework,
                           absl::Span<const std::shared_ptr<const PodInfo>> pods) {
  for (const Hook<MemberChoices>& hook : FindChoices(framework)) {
    for (const auto& pod : pods) {
      std::string why;
      const Status asked = framework.plugins().calls.Guarded(kWhyNotAllTried, hook.name, [&] {
        why = hook.plugin->WhyNotAllTried(*pod);
        return Status::Success();
      });
      if (!asked.ok()) why = absl::StrCat(hook.name.view(), " failed");
      if (!why.empty()) return why;
    }
  }
  return "";
}

}  // namespace berth
