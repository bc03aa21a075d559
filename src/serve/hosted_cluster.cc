// SPDX-License-Identifier: Apache-2.0
// Implementation of hosted_cluster.h.
#include "serve/hosted_cluster.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace berth {
namespace {

// Changes on their way to the scheduler, and answers to them on their way back.
constexpr size_t kMostPendingChanges = 16384;
constexpr size_t kMostAnswers = 64;
// How much the scheduler does before the client is told of it, and heard again: some hundreds of
// microseconds' worth. So many events more than the limit may be waiting.
constexpr int64_t kSteps = 256;

// So much is one message, of which clients by default take 4 MiB.
constexpr int kMostEventsAMessage = 512;

constexpr absl::Duration kLongestPause = absl::Hours(1);

constexpr uint32_t kProtocolVersion = 1;

}  // namespace

HostedCluster::HostedCluster(const ClusterServerOptions& options, std::string incarnation)
    : options_(options),
      incarnation_(std::move(incarnation)),
      cluster_(clock_, options.max_objects),
      alone_since_(clock_.Now()),
      rate_(options.changes_per_second, clock_.Now()),
      read_again_(clock_.Now()),
      log_({.events = options.max_events}) {
  if (options.binding_threads > 0) {
    executor_ = MakeGrowingThreadPool(options.binding_threads);
  } else {
    executor_ = std::make_unique<InlineExecutor>();
  }
  thread_ = std::thread([this] { Run(); });
}

HostedCluster::~HostedCluster() {
  End(absl::UnavailableError("the cluster is forgotten"));
  thread_.join();
}

// --- The client ----------------------------------------------------------------------------------

bool HostedCluster::IsClient(const ClusterClient& client) { return client_.get() == &client; }

absl::Status HostedCluster::CheckVersion(const v1::Hello& hello) {
  if (hello.protocol_version() == kProtocolVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("protocol version ", hello.protocol_version(),
                                                    " is not known here; this is ",
                                                    kProtocolVersion));
}

absl::StatusOr<v1::Welcome> HostedCluster::Attach(const v1::Hello& hello,
                                                  const std::shared_ptr<ClusterClient>& client) {
  if (absl::Status known = CheckVersion(hello); !known.ok()) return known;
  std::shared_ptr<ClusterClient> before;
  v1::Welcome welcome;
  {
    MutexLock lock(mutex_);
    if (ending_) return why_ended_;
    if (client_ != nullptr && !hello.take_over()) {
      return absl::AlreadyExistsError("the cluster has a client; take_over ends its stream");
    }
    before = std::exchange(client_, client);
    alone_since_ = absl::InfiniteFuture();
    acknowledges_ = hello.acknowledges();
    applied_.clear();
    const v1::Position& position = hello.resume();
    if (!hello.has_resume()) {
    } else if (position.incarnation() != incarnation_) {
      welcome.set_why_not("the cluster was forgotten, or the server started again");
    } else if (!resumable_) {
      welcome.set_why_not("not everything had been sent");
    } else if (position.revision() > log_.last()) {
      welcome.set_why_not(absl::StrCat("there is no revision ", position.revision(),
                                       " yet: the latest is ", log_.last()));
    } else if (!log_.Reaches(position.revision())) {
      welcome.set_why_not("too old: what was told since is not here any more");
    } else {
      welcome.set_resumed(true);
      given_ = position.revision();
      log_.Rewind(given_);
    }
    if (!welcome.resumed()) {
      log_.Clear();
      given_ = log_.last();
      resumable_ = false;
      batches_.clear();
      pending_changes_ = 0;
      accepted_ = 0;
      batches_.push_back({.era = ++era_, .begins_anew = true});
    }
    welcome.set_incarnation(incarnation_);
    welcome.set_revision(given_);
    welcome.set_applied(accepted_);
    WakeThread();
  }
  if (before != nullptr) before->OnEnd(absl::AbortedError("another client took the cluster over"));
  return welcome;
}

void HostedCluster::Detach(const ClusterClient& client) {
  std::shared_ptr<ClusterClient> gone;
  MutexLock lock(mutex_);
  if (!IsClient(client)) return;
  gone.swap(client_);
  alone_since_ = clock_.Now();
  applied_.clear();
}

absl::Status HostedCluster::Submit(const ClusterClient& client, const v1::Changes& changes) {
  Batch batch;
  batch.applied = std::make_shared<v1::FromScheduler>();
  v1::Applied& applied = *batch.applied->mutable_applied();
  applied.set_sequence(changes.sequence());
  batch.synced = changes.synced();
  batch.size = static_cast<size_t>(changes.changes_size()) + 1;
  {
    MutexLock lock(decoder_mutex_);
    for (int i = 0; i < changes.changes_size(); ++i) {
      decoder_.Decode(changes.changes(i), static_cast<uint32_t>(i), batch.changes,
                      *applied.mutable_problems());
    }
  }
  MutexLock lock(mutex_);
  if (!IsClient(client)) return absl::OkStatus();
  if (changes.sequence() <= accepted_) {
    return absl::InvalidArgumentError(
        absl::StrCat("changes.sequence is ", changes.sequence(), " after ", accepted_));
  }
  accepted_ = changes.sequence();
  batch.era = era_;
  resumable_ |= changes.synced();
  pending_changes_ += batch.size;
  const absl::Time now = clock_.Now();
  read_again_ = rate_.Take(static_cast<double>(std::max(changes.changes_size(), 1)), now);
  batches_.push_back(std::move(batch));
  WakeThread();
  return absl::OkStatus();
}

absl::Status HostedCluster::Acknowledge(const ClusterClient& client, uint64_t revision) {
  MutexLock lock(mutex_);
  if (!IsClient(client)) return absl::OkStatus();
  if (revision > given_) {
    return absl::InvalidArgumentError(absl::StrCat("revision ", revision, " was never told"));
  }
  if (!acknowledges_) return absl::OkStatus();
  log_.Release(revision);
  WakeThread();
  return absl::OkStatus();
}

bool HostedCluster::HasRoom(const ClusterClient& client) {
  MutexLock lock(mutex_);
  if (!IsClient(client)) return true;  // what is read is not taken in
  if (pending_changes_ >= kMostPendingChanges || applied_.size() >= kMostAnswers) return false;
  if (read_again_ <= clock_.Now()) return true;
  tell_at_read_again_ = true;
  WakeThread();
  return false;
}

HostedCluster::Message HostedCluster::Next(const ClusterClient& client) {
  MutexLock lock(mutex_);
  if (!IsClient(client)) return nullptr;
  if (!applied_.empty()) {
    Message message = std::move(applied_.front());
    applied_.pop_front();
    return message;
  }
  if (!log_.Reaches(given_)) return nullptr;
  Message message = log_.After(given_);
  if (message != nullptr) given_ = message->events().events().rbegin()->revision();
  return message;
}

void HostedCluster::Told(const ClusterClient& client, const v1::FromScheduler& message) {
  MutexLock lock(mutex_);
  if (!IsClient(client) || acknowledges_ || !message.has_events()) return;
  log_.Release(message.events().events().rbegin()->revision());
  WakeThread();
}

absl::Time HostedCluster::alone_since() {
  MutexLock lock(mutex_);
  return alone_since_;
}

bool HostedCluster::has_ended() {
  MutexLock lock(mutex_);
  return ending_;
}

void HostedCluster::End(const absl::Status& why) {
  std::shared_ptr<ClusterClient> client;
  {
    MutexLock lock(mutex_);
    if (!ending_) why_ended_ = why;
    ending_ = true;
    client.swap(client_);
    if (client != nullptr) alone_since_ = clock_.Now();
    WakeThread();
  }
  if (client != nullptr) client->OnEnd(why);
}

// --- The thread ----------------------------------------------------------------------------------

void HostedCluster::WakeThread() {
  if (waiting_ == Waiting::kInScheduler) cluster_.Wake();
  if (waiting_ == Waiting::kForRoom) room_.SignalAll();
}

void HostedCluster::TellReady() {
  std::shared_ptr<ClusterClient> client;
  {
    MutexLock lock(mutex_);
    client = client_;
  }
  if (client != nullptr) client->OnReady();
}

absl::Status HostedCluster::Start() {
  absl::StatusOr<std::unique_ptr<Scheduler>> scheduler =
      Scheduler::Create({.configuration = options_.configuration,
                         .registry = options_.registry,
                         .cluster = &cluster_,
                         .clock = &clock_,
                         .executor = executor_.get(),
                         .extenders = options_.extenders,
                         .warn = [](absl::string_view) {}});  // it is the client that is slow
  if (!scheduler.ok()) return scheduler.status();
  scheduler_ = *std::move(scheduler);
  return absl::OkStatus();
}

bool HostedCluster::MaySchedule() { return complete_ && !log_.is_full(); }

void HostedCluster::Run() {
  const absl::Status started = Start();
  if (!started.ok()) End(started);
  while (true) {
    bool may_schedule;
    {
      MutexLock lock(mutex_);
      if (ending_) break;
      may_schedule = MaySchedule();
    }
    bool more = TakeBatch();
    if (may_schedule) {
      more |= scheduler_->RunSteps(kSteps);
    } else {
      scheduler_->TakeEvents();
    }
    more |= Publish();
    if (!more) Wait();
  }
  scheduler_.reset();
}

// One message of the client.
bool HostedCluster::TakeBatch() {
  Batch batch;
  {
    MutexLock lock(mutex_);
    if (batches_.empty()) return false;
    batch = std::move(batches_.front());
    batches_.pop_front();
  }
  if (batch.begins_anew) {
    complete_ = false;
    cluster_.BeginAnew();
    return true;
  }
  v1::Applied& applied = *batch.applied->mutable_applied();
  cluster_.Apply(std::move(batch.changes), [&](const ClientChange& change, std::string why) {
    v1::ObjectProblem& problem = *applied.add_problems();
    problem.set_change(change.position);
    problem.set_subject(change.object->ToString());
    problem.set_message(std::move(why));
  });
  if (batch.synced) {
    cluster_.Sync();
    complete_ = true;
  }
  {
    MutexLock lock(mutex_);
    if (batch.era == era_) {
      pending_changes_ -= batch.size;
      if (client_ != nullptr) applied_.push_back(std::move(batch.applied));
    }
  }
  TellReady();
  return true;
}

// What was decided goes into the log.
bool HostedCluster::Publish() {
  v1::Events decisions = cluster_.TakeDecisions();
  if (decisions.events().empty()) return false;
  {
    MutexLock lock(mutex_);
    while (decisions.events_size() > kMostEventsAMessage) {
      v1::Events first;
      first.mutable_events()->Reserve(kMostEventsAMessage);
      for (int i = 0; i < kMostEventsAMessage; ++i) {
        first.add_events()->Swap(decisions.mutable_events(i));
      }
      decisions.mutable_events()->DeleteSubrange(0, kMostEventsAMessage);
      log_.Append(std::move(first));
    }
    log_.Append(std::move(decisions));
  }
  TellReady();
  return true;
}

void HostedCluster::Wait() {
  absl::Time until = absl::InfiniteFuture();
  bool in_scheduler = false;
  {
    MutexLock lock(mutex_);
    if (ending_ || !batches_.empty()) return;
    if (tell_at_read_again_) until = read_again_;
    in_scheduler = MaySchedule();
    waiting_ = in_scheduler ? Waiting::kInScheduler : Waiting::kForRoom;
    while (!in_scheduler && !ending_ && batches_.empty() && !MaySchedule() &&
           clock_.Now() < until) {
      // Setting a time signals it.
      room_.WaitFor(mutex_, std::min(until - clock_.Now(), kLongestPause));
      if (tell_at_read_again_) until = read_again_;
    }
  }
  // What arrives from here on leaves something in the scheduler's inbox.
  if (in_scheduler) scheduler_->Wait(until);
  bool tell = false;
  {
    MutexLock lock(mutex_);
    waiting_ = Waiting::kNo;
    if (tell_at_read_again_ && read_again_ <= clock_.Now()) {
      tell_at_read_again_ = false;
      tell = true;
    }
  }
  if (tell) TellReady();
}

}  // namespace berth
