// SPDX-License-Identifier: Apache-2.0
// An API server that answers what a test tells it to, and remembers what it was asked.
#ifndef BERTH_TESTS_KUBERNETES_SCRIPTED_SERVER_H_
#define BERTH_TESTS_KUBERNETES_SCRIPTED_SERVER_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "berth/mutex.h"
#include "kubernetes/connection.h"
#include "tests/kubernetes/test_server.h"

namespace berth {

struct ScriptedAnswer {
  int code = 200;
  std::string body = "{}";
  std::string content_type = "application/json";
  bool cut = false;   // does it, and closes the connection without an answer
  bool held = false;  // answers after Release()
};

// A metav1.Status.
inline ScriptedAnswer Refusal(int code, absl::string_view reason, absl::string_view message = "") {
  return {.code = code,
          .body = absl::StrCat(R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":)",
                               code, R"(,"reason":")", reason, R"(","message":")", message, "\"}")};
}

class ScriptedServer {
 public:
  ScriptedServer()
      : server_(
            [this](const TestRequest& request, TestAnswer& answer) { Answer(request, answer); }) {}
  ~ScriptedServer() { Release(); }

  // The answers to "METHOD /path", in order; the last one is given again and again. What is not
  // scripted is not found.
  ScriptedServer& On(const std::string& what, std::deque<ScriptedAnswer> answers) {
    MutexLock lock(mutex_);
    scripts_[what] = std::move(answers);
    return *this;
  }
  void Release() {
    MutexLock lock(mutex_);
    released_ = true;
    changed_.SignalAll();
  }

  Connection connection() const {
    Connection connection;
    connection.name = "test";
    connection.server = server_.url();
    return connection;
  }
  // "METHOD /path" of what came so far.
  std::vector<std::string> Asked() {
    MutexLock lock(mutex_);
    std::vector<std::string> asked;
    for (const TestRequest& request : requests_) asked.push_back(NameOf(request));
    return asked;
  }
  // Waits until there have been `count` requests; returns the last of them.
  TestRequest WaitFor(size_t count) {
    MutexLock lock(mutex_);
    while (requests_.size() < count) changed_.Wait(mutex_);
    return requests_[count - 1];
  }
  // The last request of that kind; it must have been made.
  TestRequest Last(const std::string& what) {
    MutexLock lock(mutex_);
    for (auto it = requests_.rbegin(); it != requests_.rend(); ++it) {
      if (NameOf(*it) == what) return *it;
    }
    return {};
  }

 private:
  static std::string NameOf(const TestRequest& request) {
    return absl::StrCat(request.method, " ", request.target);
  }
  void Answer(const TestRequest& request, TestAnswer& answer) {
    ScriptedAnswer scripted = Refusal(404, "NotFound", "nothing is scripted");
    if (absl::StrContains(NameOf(request), "sendInitialEvents")) {  // lists come in pages only
      scripted = Refusal(422, "Invalid", "sendInitialEvents is forbidden");
    }
    {
      MutexLock lock(mutex_);
      requests_.push_back(request);
      changed_.SignalAll();
      std::deque<ScriptedAnswer>& script = scripts_[NameOf(request)];
      if (!script.empty()) scripted = script.front();
      if (script.size() > 1) script.pop_front();
      while (scripted.held && !released_) changed_.Wait(mutex_);
    }
    if (scripted.cut) return answer.Cut();
    answer.Send(scripted.code, scripted.content_type, scripted.body,
                scripted.code == 429 ? std::map<std::string, std::string>{{"Retry-After", "0"}}
                                     : std::map<std::string, std::string>{});
  }

  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::deque<ScriptedAnswer>> scripts_ ABSL_GUARDED_BY(mutex_);
  std::vector<TestRequest> requests_ ABSL_GUARDED_BY(mutex_);
  bool released_ ABSL_GUARDED_BY(mutex_) = false;
  TestServer server_;  // last: its threads use the others
};

}  // namespace berth

#endif  // BERTH_TESTS_KUBERNETES_SCRIPTED_SERVER_H_
