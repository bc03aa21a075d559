// SPDX-License-Identifier: Apache-2.0
// Implementation of schedule_stream.h.
#include "serve/schedule_stream.h"

#include <utility>

namespace berth {

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

ScheduleStream* ScheduleStream::Start(ClusterSet& clusters) {
  const std::shared_ptr<ScheduleStream> stream(new ScheduleStream(clusters));
  stream->self_ = stream;
  stream->Pump();
  return stream.get();
}

absl::Status ScheduleStream::Greet(const v1::Hello& hello) {
  absl::StatusOr<ClusterSet::Attached> attached = clusters_.Attach(hello, shared_from_this());
  if (!attached.ok()) return attached.status();
  auto welcome = std::make_shared<v1::FromScheduler>();
  *welcome->mutable_welcome() = std::move(attached->welcome);
  MutexLock lock(mutex_);
  cluster_ = std::move(attached->cluster);
  welcome_ = std::move(welcome);
  return absl::OkStatus();
}

absl::Status ScheduleStream::Handle(const v1::ToScheduler& message) {
  std::shared_ptr<HostedCluster> cluster;
  {
    MutexLock lock(mutex_);
    cluster = cluster_;
  }
  if (cluster == nullptr) {
    if (message.has_hello()) return Greet(message.hello());
    return absl::InvalidArgumentError("the first message must be Hello");
  }
  switch (message.message_case()) {
    case v1::ToScheduler::kChanges:
      return cluster->Submit(*this, message.changes());
    case v1::ToScheduler::kAcknowledge:
      return cluster->Acknowledge(*this, message.acknowledge().revision());
    case v1::ToScheduler::kForget:
      cluster->Detach(*this);
      clusters_.Forget(*cluster);
      End(absl::OkStatus());
      return absl::OkStatus();
    case v1::ToScheduler::kHello:
      return absl::InvalidArgumentError("Hello comes once");
    default:
      return absl::InvalidArgumentError("a message of which nothing is known");
  }
}

absl::Status ScheduleStream::HandleBytes() {
  v1::ToScheduler message;
  const grpc::Status parsed =
      grpc::SerializationTraits<v1::ToScheduler>::Deserialize(&in_, &message);
  if (!parsed.ok()) return absl::InvalidArgumentError("a message is none: its form is broken");
  return Handle(message);
}

void ScheduleStream::OnReadDone(bool ok) {
  // Broken, cancelled, or half-closed: there is no more to come.
  absl::Status handled = ok ? HandleBytes() : absl::CancelledError("the client has gone");
  {
    MutexLock lock(mutex_);
    reading_ = false;
  }
  if (!ok) return End(absl::OkStatus());
  if (!handled.ok()) return End(std::move(handled));
  Pump();
}

void ScheduleStream::OnWriteDone(bool ok) {
  std::shared_ptr<HostedCluster> cluster;
  HostedCluster::Message written;
  {
    MutexLock lock(mutex_);
    writing_ = false;
    written = std::exchange(out_, nullptr);
    cluster = cluster_;
  }
  if (!ok) return End(absl::CancelledError("the client has gone"));
  if (cluster != nullptr && written != nullptr) cluster->Told(*this, *written);
  Pump();
}

void ScheduleStream::OnCancel() { End(absl::CancelledError("the client has gone")); }

void ScheduleStream::OnDone() {
  std::shared_ptr<HostedCluster> cluster;
  {
    MutexLock lock(mutex_);
    cluster = std::move(cluster_);
  }
  if (cluster != nullptr) {
    cluster->Detach(*this);
    clusters_.Return(std::move(cluster));
  }
  const std::shared_ptr<ScheduleStream> last = std::move(self_);
}

void ScheduleStream::End(absl::Status why) {
  std::shared_ptr<HostedCluster> cluster;
  {
    MutexLock lock(mutex_);
    if (!end_.has_value()) end_ = std::move(why);
    cluster = cluster_;
  }
  if (cluster != nullptr) cluster->Detach(*this);
  Pump();
}

void ScheduleStream::Pump() {
  enum class Action { kNone, kRead, kWrite, kFinish };
  const std::shared_ptr<ScheduleStream> self = shared_from_this();
  Action done = Action::kNone;
  while (true) {
    Action action = Action::kNone;
    HostedCluster::Message message;
    absl::Status why;
    {
      MutexLock lock(mutex_);
      if (done != Action::kNone) --starting_;
      if (finished_) return;
      if (end_.has_value()) {
        if (starting_ == 0 && !writing_) {
          finished_ = true;
          why = *end_;
          action = Action::kFinish;
        }
      } else if (!writing_ && welcome_ != nullptr) {
        message = std::exchange(welcome_, nullptr);
        action = Action::kWrite;
      } else if (!writing_ && cluster_ != nullptr && (message = cluster_->Next(*this)) != nullptr) {
        action = Action::kWrite;
      } else if (!reading_ && (cluster_ == nullptr || cluster_->HasRoom(*this))) {
        action = Action::kRead;
      }
      if (action == Action::kNone) return;
      if (action == Action::kWrite) {
        writing_ = true;
        out_ = message;
      } else if (action == Action::kRead) {
        reading_ = true;
      }
      if (action != Action::kFinish) ++starting_;
    }
    if (action == Action::kFinish) return Finish(ToGrpc(why));
    if (action == Action::kWrite) {
      out_bytes_.Clear();
      bool own_buffer = false;
      grpc::SerializationTraits<v1::FromScheduler>::Serialize(*message, &out_bytes_, &own_buffer);
      StartWrite(&out_bytes_);
    }
    if (action == Action::kRead) StartRead(&in_);
    done = action;
  }
}

}  // namespace berth
