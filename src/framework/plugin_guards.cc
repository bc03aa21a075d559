// SPDX-License-Identifier: Apache-2.0
// Implementation of plugin_guards.h.
#include "framework/plugin_guards.h"

#include <exception>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "berth/extensions/moves_pods.h"

namespace berth {
namespace {

std::string NoteThrow(const FaultCounter& counter, absl::string_view where,
                      absl::string_view what) {
  counter.log->AddFault(counter.plugin, where, ThrewText(what));
  return absl::StrCat("plugin \"", counter.plugin.view(), "\" threw in ", where, ": ", what);
}

// From here to the end of the scope.
class TimedCall {
 public:
  TimedCall(const FaultCounter& counter, absl::string_view where)
      : counter_(counter), where_(where), timer_(*counter.log) {
    timer_.Start();
  }
  ~TimedCall() { timer_.Lap(counter_.plugin, where_); }

 private:
  const FaultCounter& counter_;
  const absl::string_view where_;
  CallTimer timer_;
};

// Runs `call`; if it throws, counts that and returns on_throw(text). If it takes long, counts that.
template <class Call, class OnThrow>
auto Caught(const FaultCounter& counter, absl::string_view where, const Call& call,
            const OnThrow& on_throw) -> decltype(call()) {
  const TimedCall timed(counter, where);
  try {
    return call();
  } catch (const std::exception& error) {
    return on_throw(NoteThrow(counter, where, error.what()));
  } catch (...) {
    return on_throw(NoteThrow(counter, where, "not a std::exception"));
  }
}

// The queue times Less, a whole insertion at once: a call is too short to be timed.
class GuardedQueueSort final : public QueueSortPlugin {
 public:
  GuardedQueueSort(QueueSortPlugin& plugin, FaultCounter counter)
      : plugin_(plugin), counter_(counter) {}

  bool Less(const QueuedPodInfo& a, const QueuedPodInfo& b) const override {
    try {
      return plugin_.Less(a, b);
    } catch (const std::exception& error) {
      NoteThrow(counter_, "Less", error.what());
    } catch (...) {
      NoteThrow(counter_, "Less", "not a std::exception");
    }
    return false;
  }
  bool IsByPriorityAndTime() const override { return plugin_.IsByPriorityAndTime(); }

 private:
  QueueSortPlugin& plugin_;
  const FaultCounter counter_;
};

class GuardedGroup final : public GroupPlugin, public MovesPods {
 public:
  GuardedGroup(GroupPlugin& plugin, FaultCounter counter)
      : plugin_(plugin), moves_(dynamic_cast<MovesPods*>(&plugin)), counter_(counter) {}

  std::optional<std::string> GroupOf(const PodInfo& pod) const override {
    return Caught(
        counter_, "GroupOf", [&] { return plugin_.GroupOf(pod); },
        [](const auto&) { return std::nullopt; });
  }
  std::vector<std::string> GroupsOf(const Object& object) const override {
    return Caught(
        counter_, "GroupsOf", [&] { return plugin_.GroupsOf(object); },
        [](const auto&) { return std::vector<std::string>(); });
  }
  int SubgroupOf(const PodInfo& pod, const GroupSpec& spec) const override {
    return Caught(
        counter_, "SubgroupOf", [&] { return plugin_.SubgroupOf(pod, spec); },
        [](const auto&) { return -1; });
  }
  void AppendDeclaration(const PodInfo& pod, std::string& text) const override {
    if (!Caught(
            counter_, "AppendDeclaration",
            [&] {
              plugin_.AppendDeclaration(pod, text);
              return true;
            },
            [](const auto&) { return false; })) {
      text.clear();
    }
  }
  std::optional<GroupSpec> Spec(absl::string_view name) const override {
    return Caught(
        counter_, "Spec", [&] { return plugin_.Spec(name); },
        [](const auto&) { return std::nullopt; });
  }
  bool ReservesForGroups() const override {
    return Caught(
        counter_, "ReservesForGroups", [&] { return plugin_.ReservesForGroups(); },
        [](const auto&) { return false; });
  }
  int MostMoves() const override {
    if (moves_ == nullptr) return 0;
    return Caught(
        counter_, "MostMoves", [&] { return moves_->MostMoves(); }, [](const auto&) { return 0; });
  }
  bool MayMove(const PodInfo& pod) const override {
    return moves_ != nullptr && Caught(
                                    counter_, "MayMove", [&] { return moves_->MayMove(pod); },
                                    [](const auto&) { return false; });
  }
  Status ReadyToSchedule(const GroupMembers& group) const override {
    return Verdict("ReadyToSchedule",
                   Caught(
                       counter_, "ReadyToSchedule", [&] { return plugin_.ReadyToSchedule(group); },
                       [](std::string text) { return Status::Error(std::move(text)); }));
  }
  Status GroupUnschedulable(const GroupMembers& group, int placed,
                            const Status& cause) const override {
    return Verdict("GroupUnschedulable",
                   Caught(
                       counter_, "GroupUnschedulable",
                       [&] { return plugin_.GroupUnschedulable(group, placed, cause); },
                       [](std::string text) { return Status::Error(std::move(text)); }));
  }

 private:
  // Success, a rejection or an Error; the last two with the plugin's name.
  Status Verdict(absl::string_view point, Status status) const {
    if (status.ok()) return status;
    if (status.IsRejected() || status.IsError())
      return std::move(status).WithPlugin(counter_.plugin);
    counter_.log->AddFault(counter_.plugin, point,
                           absl::StrCat("returned \"", CodeName(status.code()), "\""));
    return Status::Error(absl::StrCat("group plugin \"", counter_.plugin.view(), "\" returned \"",
                                      CodeName(status.code()), "\", which is unsupported"))
        .WithPlugin(counter_.plugin);
  }

  GroupPlugin& plugin_;
  const MovesPods* const moves_;  // null: it moves none
  const FaultCounter counter_;
};

class GuardedObserver final : public AssignmentObserver {
 public:
  GuardedObserver(AssignmentObserver& plugin, FaultCounter counter)
      : plugin_(plugin), counter_(counter) {}

  void OnPodAssigned(const PodInfo& pod, const NodeInfo& node) override {
    Caught(
        counter_, "OnPodAssigned", [&] { plugin_.OnPodAssigned(pod, node); }, [](const auto&) {});
  }
  void OnPodUnassigned(const PodInfo& pod, const NodeInfo& node) override {
    Caught(
        counter_, "OnPodUnassigned", [&] { plugin_.OnPodUnassigned(pod, node); },
        [](const auto&) {});
  }
  void OnPodPending(const PodInfo& pod) override {
    Caught(
        counter_, "OnPodPending", [&] { plugin_.OnPodPending(pod); }, [](const auto&) {});
  }
  void OnPodGone(const PodInfo& pod) override {
    Caught(
        counter_, "OnPodGone", [&] { plugin_.OnPodGone(pod); }, [](const auto&) {});
  }

 private:
  AssignmentObserver& plugin_;
  const FaultCounter counter_;
};

class GuardedContest final : public QueueContest {
 public:
  // `contest` is null if there is none.
  GuardedContest(std::unique_ptr<QueueContest> contest, FaultCounter counter)
      : contest_(std::move(contest)), counter_(counter) {}

  void SetHead(int line, const QueuedPodInfo* head) override {
    if (line >= static_cast<int>(has_head_.size())) has_head_.resize(line + 1);
    has_head_[line] = head != nullptr;
    Ask("SetHead", [&] {
      contest_->SetHead(line, head);
      return true;
    });
  }
  int Next() override {
    const int next = Ask("Next", [&] { return contest_->Next(); });
    if (HasHead(next)) return next;
    const int lowest = static_cast<int>(absl::c_find(has_head_, true) - has_head_.begin());
    if (!HasHead(lowest)) return -1;
    if (contest_ != nullptr) {
      counter_.log->AddFault(counter_.plugin, "Next",
                             absl::StrCat("returned ", next, ", a line without a head"));
    }
    return lowest;
  }

 private:
  bool HasHead(int line) const {
    return line >= 0 && line < static_cast<int>(has_head_.size()) && has_head_[line];
  }
  // A contest that has thrown may not know the heads any more.
  template <class Call>
  auto Ask(absl::string_view where, const Call& call) -> decltype(call()) {
    if (contest_ == nullptr) return decltype(call())(-1);
    return Caught(counter_, where, call, [&](const auto&) {
      contest_.reset();
      return decltype(call())(-1);
    });
  }

  std::unique_ptr<QueueContest> contest_;
  const FaultCounter counter_;
  std::vector<bool> has_head_;  // by line
};

class GuardedQueueOrder final : public QueueOrder {
 public:
  // Lines are numbered from 0, and there is a place for each.
  static constexpr int kMostLines = 1 << 20;

  GuardedQueueOrder(QueueOrder& plugin, FaultCounter counter)
      : plugin_(plugin), counter_(counter) {}

  uint64_t LinesVersion() override {
    Count("LinesVersion", [&] { version_ = plugin_.LinesVersion(); });
    return version_;
  }
  int LineOf(const PodInfo& pod) override {
    int line = 0;
    Count("LineOf", [&] { line = plugin_.LineOf(pod); });
    if (line >= 0 && line < kMostLines) return line;
    counter_.log->AddFault(counter_.plugin, "LineOf", absl::StrCat("returned ", line));
    return 0;
  }
  int Compare(int line, const QueuedPodInfo& a, const QueuedPodInfo& b) override {
    int comparison = 0;
    Count("Compare", [&] { comparison = plugin_.Compare(line, a, b); });
    return comparison;
  }
  bool IsStrict(int line) override {
    bool strict = false;
    Count("IsStrict", [&] { strict = plugin_.IsStrict(line); });
    return strict;
  }
  std::unique_ptr<QueueContest> NewContest() override {
    std::unique_ptr<QueueContest> contest;
    Count("NewContest", [&] {
      contest = plugin_.NewContest();
      if (contest == nullptr) counter_.log->AddFault(counter_.plugin, "NewContest", "made none");
    });
    return std::make_unique<GuardedContest>(std::move(contest), counter_);
  }

 private:
  // The queue times these calls, a whole insertion at once.
  template <class Call>
  void Count(absl::string_view where, const Call& call) {
    try {
      call();
    } catch (const std::exception& error) {
      NoteThrow(counter_, where, error.what());
    } catch (...) {
      NoteThrow(counter_, where, "not a std::exception");
    }
  }

  QueueOrder& plugin_;
  const FaultCounter counter_;
  uint64_t version_ = 0;
};

class GuardedIndexedHints final : public IndexedHints {
 public:
  GuardedIndexedHints(const IndexedHints& plugin, FaultCounter counter)
      : plugin_(plugin), counter_(counter) {}

  bool IndexPod(const PodInfo& pod, std::vector<uint64_t>& values) const override {
    return Caught(
        counter_, "IndexPod", [&] { return plugin_.IndexPod(pod, values); },
        [](const auto&) { return false; });
  }
  bool IndexChange(const ObjectChange& change, std::vector<uint64_t>& values) const override {
    return Caught(
        counter_, "IndexChange", [&] { return plugin_.IndexChange(change, values); },
        [](const auto&) { return false; });
  }

 private:
  const IndexedHints& plugin_;
  const FaultCounter counter_;
};

}  // namespace

std::unique_ptr<QueueSortPlugin> Guard(QueueSortPlugin& plugin, FaultCounter counter) {
  return std::make_unique<GuardedQueueSort>(plugin, counter);
}

std::unique_ptr<GroupPlugin> Guard(GroupPlugin& plugin, FaultCounter counter) {
  return std::make_unique<GuardedGroup>(plugin, counter);
}

std::unique_ptr<AssignmentObserver> Guard(AssignmentObserver& plugin, FaultCounter counter) {
  return std::make_unique<GuardedObserver>(plugin, counter);
}

std::unique_ptr<QueueOrder> Guard(QueueOrder& plugin, FaultCounter counter) {
  return std::make_unique<GuardedQueueOrder>(plugin, counter);
}

std::shared_ptr<const IndexedHints> Guard(const IndexedHints& plugin, FaultCounter counter) {
  return std::make_shared<GuardedIndexedHints>(plugin, counter);
}

QueueingHintFn Guard(QueueingHintFn hint, FaultCounter counter) {
  if (hint == nullptr) return nullptr;
  return [hint = std::move(hint), counter](const PodInfo& pod, const ObjectChange& change) {
    return Caught(
        counter, "QueueingHint", [&] { return hint(pod, change); },
        [](const std::string& text) -> absl::StatusOr<QueueingHint> {
          return absl::InternalError(text);
        });
  };
}

EventFilterFn Guard(EventFilterFn filter, FaultCounter counter) {
  if (filter == nullptr) return nullptr;
  return [filter = std::move(filter), counter](const ObjectChange& change) {
    return Caught(
        counter, "EventFilter", [&] { return filter(change); },
        [](const std::string&) { return true; });
  };
}

}  // namespace berth
