// SPDX-License-Identifier: Apache-2.0
// Implementation of extender_client.h.
#include "extender/extender_client.h"

#include <future>
#include <utility>

#include "absl/strings/str_cat.h"
#include "berth/api/time.h"

namespace berth {

// Belongs to the loop's thread once it has begun.
class ExtenderClient::Exchange final : public HttpReceiver,
                                       public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(ExtenderClient& client, ExtenderCall call) : client_(client), call_(std::move(call)) {}

  std::future<absl::StatusOr<std::string>> result() { return result_.get_future(); }

  void Begin() {
    client_.exchanges_.insert(shared_from_this());
    client_.loop_.RunAt(MonotonicNow() + call_.timeout, [weak = weak_from_this()] {
      if (const std::shared_ptr<Exchange> late = weak.lock()) late->TimeOut();
    });
    transfer_ = client_.loop_.Start(std::move(call_.request), *this);
  }

 private:
  void OnHead(const HttpHead& head) override { code_ = head.code; }
  void OnBytes(absl::string_view bytes) override {
    if (body_.size() + bytes.size() <= call_.most_bytes) {
      body_.append(bytes.data(), bytes.size());
    } else {
      Abort(absl::ResourceExhaustedError(
          absl::StrCat("the answer has more than ", call_.most_bytes, " bytes")));
    }
  }
  void OnEnd(const absl::Status& status, bool) override {
    if (!status.ok()) {
      End(status);
    } else if (code_ != 200) {
      End(absl::FailedPreconditionError(absl::StrCat("code ", code_)));
    } else {
      End(std::move(body_));
    }
  }
  void TimeOut() {
    if (ended_) return;
    Abort(absl::DeadlineExceededError(
        absl::StrCat("no complete answer within ", DurationToString(call_.timeout))));
  }
  void Abort(absl::Status why) {
    client_.loop_.AbortLate(transfer_, call_.timeout);
    End(std::move(why));
  }
  void End(absl::StatusOr<std::string> result) {
    ended_ = true;
    result_.set_value(std::move(result));
    // The caller uses it still.
    client_.loop_.RunAt(MonotonicNow(), [&client = client_, self = shared_from_this()] {
      client.exchanges_.erase(self);
    });
  }

  ExtenderClient& client_;
  ExtenderCall call_;
  HttpLoop::TransferId transfer_ = 0;
  int code_ = 0;
  bool ended_ = false;
  std::string body_;
  std::promise<absl::StatusOr<std::string>> result_;
};

ExtenderClient::ExtenderClient() = default;
ExtenderClient::~ExtenderClient() = default;

std::function<absl::StatusOr<std::string>()> ExtenderClient::Begin(ExtenderCall call) {
  // Not in one piece with its reference count: the timer holds on to that.
  std::shared_ptr<Exchange> exchange(new Exchange(*this, std::move(call)));
  auto result = std::make_shared<std::future<absl::StatusOr<std::string>>>(exchange->result());
  loop_.Post([exchange = std::move(exchange)] { exchange->Begin(); });
  return [result] { return result->get(); };
}

}  // namespace berth
