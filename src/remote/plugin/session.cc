// SPDX-License-Identifier: Apache-2.0
// Implementation of session.h.
#include "remote/plugin/session.h"

#include <atomic>
#include <deque>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/v1/plugin.grpc.pb.h"
#include "berth/version.h"
#include "remote/wire/certificates.h"
#include "remote/wire/connection.h"

namespace berth {
namespace {

constexpr absl::Duration kFirstRetry = absl::Milliseconds(100);
constexpr absl::Duration kLastRetry = absl::Seconds(5);
// A peer that takes in nothing is given up before it costs more memory than this.
constexpr size_t kMostWaiting = 65536;  // messages

absl::StatusOr<std::shared_ptr<grpc::Channel>> ChannelOf(const RemotePluginArgs& args) {
  const absl::StatusOr<WireAddress> address = WireAddress::Parse(args.address);
  if (!address.ok()) return address.status();
  return OpenChannel(*address, args.tls());
}

// `waits`: for a process that is not there yet; otherwise a connection that cannot be made is an
// error at once.
grpc::Status Describe(v1::Plugin::Stub& stub, absl::Duration timeout, bool waits,
                      v1::Description& description) {
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  context.set_wait_for_ready(waits);
  v1::DescribeRequest request;
  request.set_protocol_version(v1::PROTOCOL_VERSION_1);
  request.set_berth_version(std::string(kVersion));
  return stub.Describe(&context, request, &description);
}

absl::StatusOr<v1::Description> Describe(grpc::Channel& channel, v1::Plugin::Stub& stub,
                                         const RemotePluginArgs& args, absl::Duration timeout,
                                         Patience patience) {
  v1::Description description;
  grpc::Status status = Describe(stub, timeout, patience == Patience::kWaits, description);
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED &&
      channel.GetState(false) != GRPC_CHANNEL_READY) {
    // A call that waits does not learn why there is no connection.
    status = Describe(stub, absl::Milliseconds(500), false, description);
  }
  if (status.ok()) return description;
  const std::string text = WireErrorText(status);
  const absl::StatusOr<WireAddress> address = WireAddress::Parse(args.address);
  if (!address.ok()) return address.status();
  const std::string advice = TlsAdvice(text, *address, args.tls());
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE && advice.empty()) {
    return absl::UnavailableError(text);
  }
  return absl::FailedPreconditionError(absl::StrCat(text, advice));
}

absl::Status Refusal(absl::string_view error) {
  return absl::FailedPreconditionError(absl::StrCat("it refuses its arguments: ", error));
}

// The number of the question that it answers, or 0.
uint64_t AnsweredId(const v1::FromPlugin& message) {
  switch (message.message_case()) {
    case v1::FromPlugin::kEvaluation:
      return message.evaluation().id();
    case v1::FromPlugin::kPostFilter:
      return message.post_filter().id();
    case v1::FromPlugin::kCall:
      return message.call().id();
    default:
      return 0;
  }
}

}  // namespace

absl::StatusOr<v1::Description> DescribeRemotePlugin(const RemotePluginArgs& args,
                                                     absl::Duration timeout, Patience patience) {
  const auto channel = ChannelOf(args);
  if (!channel.ok()) return channel.status();
  const auto stub = v1::Plugin::NewStub(*channel);
  return Describe(**channel, *stub, args, timeout, patience);
}

absl::Status CheckStart(const RemotePluginArgs& args, const v1::Start& start,
                        absl::Duration timeout) {
  const auto channel = ChannelOf(args);
  if (!channel.ok()) return channel.status();
  const auto stub = v1::Plugin::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + timeout));
  v1::ToPlugin message;
  *message.mutable_start() = start;
  v1::FromPlugin answer;
  const auto stream = stub->Session(&context);
  const bool answered = stream->Write(message) && stream->Read(&answer);
  context.TryCancel();
  stream->Finish();
  if (!answered || answer.started().error().empty()) return absl::OkStatus();
  return Refusal(answer.started().error());
}

// gRPC calls the reactor's functions on its own threads; it writes one message at a time. The
// reactor holds itself until gRPC is done with it, and its opener until AwaitDone() returns.
class SessionKeeper::Stream final : public Session,
                                    public grpc::ClientBidiReactor<v1::ToPlugin, v1::FromPlugin> {
 public:
  Stream(std::shared_ptr<grpc::Channel> channel,
         std::function<void(const v1::FromPlugin&)> on_message)
      : channel_(std::move(channel)),
        stub_(v1::Plugin::NewStub(channel_)),
        on_message_(std::move(on_message)) {
    static std::atomic<uint64_t> ids = 0;
    id_ = ++ids;
  }

  static void Open(const std::shared_ptr<Stream>& stream) {
    stream->self_ = stream;
    stream->stub_->async()->Session(&stream->context_, stream.get());
    stream->StartRead(&stream->incoming_);
    stream->StartCall();
  }

  uint64_t id() const override { return id_; }
  uint64_t NextId() override { return ++questions_; }

  void Send(v1::ToPlugin message) override {
    bool too_many = false;
    {
      MutexLock lock(mutex_);
      if (!why_broken_.empty()) return;
      waiting_.push_back(std::move(message));
      too_many = waiting_.size() > kMostWaiting;
      if (!writing_ && !too_many) WriteNext();
    }
    if (too_many) Break("it takes in nothing");
  }

  absl::StatusOr<v1::FromPlugin> Ask(v1::ToPlugin message, uint64_t id,
                                     absl::Duration deadline) override {
    const absl::Time end = absl::Now() + deadline;
    {
      MutexLock lock(mutex_);
      answers_.try_emplace(id);
    }
    Send(std::move(message));
    MutexLock lock(mutex_);
    while (why_broken_.empty() && !answers_.at(id).has_value()) {
      const absl::Duration left = end - absl::Now();
      if (left <= absl::ZeroDuration()) {
        answers_.erase(id);
        return absl::DeadlineExceededError(
            absl::StrCat("no answer within ", absl::FormatDuration(deadline)));
      }
      changed_.WaitFor(mutex_, left);
    }
    std::optional<v1::FromPlugin> answer = std::move(answers_.at(id));
    answers_.erase(id);
    if (answer.has_value()) return *std::move(answer);
    return absl::UnavailableError(why_broken_);
  }

  absl::Status AwaitSynced(uint64_t revision, absl::Duration deadline) override {
    return Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return synced_ >= revision; }, deadline);
  }
  uint64_t synced_revision() const override {
    MutexLock lock(mutex_);
    return synced_;
  }

  // Waits for Started, which says "" or what is wrong with the arguments.
  absl::Status AwaitStarted(absl::Duration deadline) {
    if (absl::Status status =
            Await([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return started_.has_value(); }, deadline);
        !status.ok()) {
      return status;
    }
    MutexLock lock(mutex_);
    if (started_->empty()) return absl::OkStatus();
    return Refusal(*started_);
  }

  void AwaitBroken() {
    MutexLock lock(mutex_);
    while (why_broken_.empty()) changed_.Wait(mutex_);
  }
  // Until gRPC calls nothing of this any more; after Break() that is soon.
  void AwaitDone() {
    MutexLock lock(mutex_);
    while (!done_) changed_.Wait(mutex_);
  }
  std::string why_broken() const {
    MutexLock lock(mutex_);
    return why_broken_;
  }

  void Break(absl::string_view why) override {
    {
      MutexLock lock(mutex_);
      if (!why_broken_.empty()) return;
      why_broken_ = std::string(why);
      is_broken_ = true;
      waiting_.clear();
      changed_.SignalAll();
    }
    context_.TryCancel();
  }
  bool is_broken() const override { return is_broken_; }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) return;  // OnDone follows
    MutexLock lock(mutex_);
    writing_ = false;
    if (!waiting_.empty()) WriteNext();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Break("the connection was lost");
    if (const absl::Status status = Take(); !status.ok()) return Break(status.message());
    incoming_.Clear();
    StartRead(&incoming_);
  }

  void OnDone(const grpc::Status& status) override {
    Break(status.ok() ? "it ended the session" : WireErrorText(status));
    // A caller that waits in AwaitDone() has a reference still, and so lets go of the channel. Here
    // it must not go: with the last channel gRPC ends the threads of its callbacks, of which this
    // is one.
    self_.reset();
    MutexLock lock(mutex_);
    done_ = true;
    changed_.SignalAll();
  }

  absl::Status Take() {
    if (incoming_.message_case() == v1::FromPlugin::MESSAGE_NOT_SET) {
      return absl::InvalidArgumentError("it sent a message of which nothing is known");
    }
    bool is_for_others = false;
    {
      MutexLock lock(mutex_);
      if (incoming_.has_started()) {
        if (started_.has_value()) return absl::InvalidArgumentError("it said Started twice");
        started_ = incoming_.started().error();
      } else if (!started_.has_value()) {
        return absl::InvalidArgumentError("it did not begin with Started");
      } else if (incoming_.has_synced()) {
        synced_ = std::max(synced_, incoming_.synced().revision());
      } else if (const uint64_t id = AnsweredId(incoming_); id != 0) {
        const auto asked = answers_.find(id);
        // One that comes too late belongs to no call.
        if (asked != answers_.end()) asked->second = std::move(incoming_);
      } else {
        is_for_others = true;
      }
      changed_.SignalAll();
    }
    if (is_for_others) on_message_(incoming_);
    return absl::OkStatus();
  }

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    writing_ = true;
    outgoing_ = std::move(waiting_.front());
    waiting_.pop_front();
    StartWrite(&outgoing_);
  }

  template <class Condition>
  absl::Status Await(Condition is_so, absl::Duration deadline) {
    const absl::Time end = absl::Now() + deadline;
    MutexLock lock(mutex_);
    while (why_broken_.empty() && !is_so()) {
      const absl::Duration left = end - absl::Now();
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError(
            absl::StrCat("no answer within ", absl::FormatDuration(deadline)));
      }
      changed_.WaitFor(mutex_, left);
    }
    return is_so() ? absl::OkStatus() : absl::UnavailableError(why_broken_);
  }

  uint64_t id_ = 0;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<v1::Plugin::Stub> stub_;
  const std::function<void(const v1::FromPlugin&)> on_message_;
  grpc::ClientContext context_;
  std::shared_ptr<Stream> self_;
  v1::FromPlugin incoming_;  // of the read under way
  v1::ToPlugin outgoing_;    // of the write under way
  std::atomic<uint64_t> questions_ = 0;
  std::atomic<bool> is_broken_ = false;  // whether why_broken_ says why

  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<v1::ToPlugin> waiting_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<uint64_t, std::optional<v1::FromPlugin>> answers_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::string> started_ ABSL_GUARDED_BY(mutex_);
  uint64_t synced_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string why_broken_ ABSL_GUARDED_BY(mutex_);
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

SessionKeeper::SessionKeeper(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

SessionKeeper::~SessionKeeper() {
  std::shared_ptr<Stream> current;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    current = current_;
    changed_.SignalAll();
  }
  if (current != nullptr) current->Break("the scheduler ends");
  thread_.join();
}

std::shared_ptr<Session> SessionKeeper::Current(std::string* why) const {
  return Await(absl::ZeroDuration(), why);
}

std::shared_ptr<Session> SessionKeeper::Await(absl::Duration timeout, std::string* why) const {
  const absl::Time end = absl::Now() + timeout;
  MutexLock lock(mutex_);
  while (true) {
    if (current_ != nullptr && !current_->is_broken()) return current_;
    const absl::Duration left = end - absl::Now();
    if (timeout <= absl::ZeroDuration() || left <= absl::ZeroDuration() || stopping_) break;
    changed_.WaitFor(mutex_, left);
  }
  if (why != nullptr) *why = current_ != nullptr ? current_->why_broken() : why_;
  return nullptr;
}

void SessionKeeper::Run() {
  absl::Duration pause = kFirstRetry;
  while (!is_stopping()) {
    absl::StatusOr<std::shared_ptr<Stream>> stream = Connect();
    if (stream.ok()) {
      pause = kFirstRetry;
      const absl::Time since = absl::Now();
      Note(*stream, "");
      if (is_stopping()) (*stream)->Break("the scheduler ends");
      if (options_.on_up) options_.on_up();
      (*stream)->AwaitBroken();
      (*stream)->AwaitDone();
      const std::string why = (*stream)->why_broken();
      Note(nullptr, why);
      if (options_.on_down) options_.on_down(why);
      // One that breaks at once is not called again at once.
      if (absl::Now() - since < absl::Seconds(1)) pause = kFirstRetry * 2;
    } else {
      Note(nullptr, std::string(stream.status().message()));
      pause = std::min(pause * 2, kLastRetry);
    }
    MutexLock lock(mutex_);
    const absl::Time until = absl::Now() + pause;
    while (!stopping_ && absl::Now() < until) changed_.WaitFor(mutex_, until - absl::Now());
  }
}

absl::StatusOr<std::shared_ptr<SessionKeeper::Stream>> SessionKeeper::Connect() {
  const auto channel = ChannelOf(options_.args);
  if (!channel.ok()) return channel.status();
  // Short, so that a scheduler that ends does not wait for a process that does not answer.
  const absl::Duration timeout =
      std::min(std::max(options_.args.deadline * 10, absl::Seconds(1)), absl::Seconds(5));
  const auto stub = v1::Plugin::NewStub(*channel);
  const absl::StatusOr<v1::Description> description =
      Describe(**channel, *stub, options_.args, timeout, Patience::kWaits);
  if (!description.ok()) return description.status();
  if (const auto read = ReadDescription(*description); !read.ok()) return read.status();
  absl::Status same = CheckSamePlugin(options_.description, *description);
  if (!same.ok()) return same;
  auto stream = std::make_shared<Stream>(*channel, options_.on_message);
  Stream::Open(stream);
  v1::ToPlugin start;
  *start.mutable_start() = options_.start;
  stream->Send(std::move(start));
  if (absl::Status started = stream->AwaitStarted(timeout); !started.ok()) {
    stream->Break(started.message());
    stream->AwaitDone();
    return started;
  }
  return stream;
}

void SessionKeeper::Note(std::shared_ptr<Stream> stream, std::string why) {
  MutexLock lock(mutex_);
  current_ = std::move(stream);
  why_ = std::move(why);
  changed_.SignalAll();
}

bool SessionKeeper::is_stopping() const {
  MutexLock lock(mutex_);
  return stopping_;
}

}  // namespace berth
