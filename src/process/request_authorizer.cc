// SPDX-License-Identifier: Apache-2.0
// Implementation of request_authorizer.h. As apiserver's delegating authenticator and authorizer:
// certificate, then token, then anonymous; privileged group, then path, then review.
#include "process/request_authorizer.h"

#include <openssl/sha.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "api/json.h"
#include "berth/mutex.h"
#include "kubernetes/api_error.h"
#include "process/client_certificates.h"
#include "process/review_cache.h"
#include "process/reviews.h"

namespace berth {
namespace {

constexpr size_t kMostCached = 8192;        // as apiserver's authorizer
constexpr size_t kMostCachedBytes = 10000;  // of a question; the same
constexpr char kPrivilegedGroup[] = "system:masters";

using Done = std::function<void(std::optional<ServerResponse>)>;

// metav1.Status, as the API machinery answers.
ServerResponse Refuse(int code, absl::string_view reason, absl::string_view message) {
  JsonWriter json;
  json.BeginObject();
  json.Key("kind").String("Status");
  json.Key("apiVersion").String("v1");
  json.Key("metadata").BeginObject().EndObject();
  json.Key("status").String("Failure");
  json.Key("message").String(message);
  json.Key("reason").String(reason);
  if (code == 403) json.Key("details").BeginObject().EndObject();
  json.Key("code").Int(code);
  json.EndObject();
  return {
      .code = code, .content_type = "application/json", .body = absl::StrCat(json.text(), "\n")};
}

// No error looks like HTML.
std::string WithoutMarkup(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

ServerResponse Unauthorized() { return Refuse(401, "Unauthorized", "Unauthorized"); }

ServerResponse Forbidden(const UserInfo& user, absl::string_view verb, absl::string_view path,
                         absl::string_view reason) {
  const std::string message =
      WithoutMarkup(absl::StrCat("User \"", user.name, "\" cannot ", verb, " path \"", path, "\""));
  return Refuse(403, "Forbidden",
                absl::StrCat("forbidden: ", message, reason.empty() ? "" : ": ", reason));
}

ServerResponse ReviewFailed(absl::string_view path, const absl::Status& status) {
  return PlainError(500, WithoutMarkup(absl::StrCat("Internal Server Error: \"", path,
                                                    "\": ", status.message())));
}

// The token of "Authorization: Bearer TOKEN", or "".
std::string BearerToken(const ServerRequest& request) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(absl::StripAsciiWhitespace(request.Header("authorization")), ' ');
  if (parts.size() < 2 || absl::AsciiStrToLower(parts[0]) != "bearer") return "";
  return std::string(parts[1]);
}

std::string TokenDigest(absl::string_view token) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

UserInfo Anonymous() { return {.name = "system:anonymous", .groups = {"system:unauthenticated"}}; }

UserInfo Authenticated(UserInfo user) {
  for (const char* const group : {"system:authenticated", "system:unauthenticated"}) {
    if (absl::c_linear_search(user.groups, group)) return user;
  }
  user.groups.push_back("system:authenticated");
  return user;
}

// Entries may leave out their slash, and end in "*".
bool IsAllowedPath(const std::vector<std::string>& allowed, absl::string_view path) {
  path = absl::StripPrefix(path, "/");
  return absl::c_any_of(allowed, [&](absl::string_view entry) {
    entry = absl::StripPrefix(entry, "/");
    return absl::ConsumeSuffix(&entry, "*") ? absl::StartsWith(path, entry) : path == entry;
  });
}

}  // namespace

// Shared with calls that are under way.
class RequestAuthorizer::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(RequestAuthorizerOptions options) : options_(std::move(options)) {}

  absl::Status Start();
  void Stop() {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  void Check(const ServerRequest& request, Done done);

 private:
  using User = std::optional<UserInfo>;
  struct Question {
    std::string path, verb;
    Done done;
  };

  // Client authorities.
  absl::Status FollowFile();
  void LookUp(std::function<void(absl::Status)> then);
  absl::Status TakeConfigMap(const absl::StatusOr<ApiResponse>& response);
  void LookUpAgain(const absl::Status& last);
  std::optional<ClientAuthorities> Authorities();

  // One request.
  ApiRequest Post(const char* target, std::string body) const;
  void AskAboutToken(const std::string& token, Question question);
  void Authorize(const UserInfo& user, Question question);
  void AskAboutAccess(const UserInfo& user, Question question);

  const RequestAuthorizerOptions options_;
  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<ClientAuthorities> authorities_ ABSL_GUARDED_BY(mutex_);
  std::string authority_ ABSL_GUARDED_BY(mutex_);  // what they were made of
  bool lookup_failed_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time file_read_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  ReviewCache<User> tokens_ ABSL_GUARDED_BY(mutex_){options_.token_cache_life, kMostCached};
  ReviewCache<AccessDecision> allowed_ ABSL_GUARDED_BY(mutex_){options_.allowed_cache_life,
                                                               kMostCached};
  ReviewCache<AccessDecision> denied_ ABSL_GUARDED_BY(mutex_){options_.denied_cache_life,
                                                              kMostCached};
};

// --- Client authorities -------------------------------------------------------------------------

absl::Status RequestAuthorizer::State::Start() {
  if (!options_.client_ca_file.empty()) return FollowFile();
  if (options_.skip_lookup) return absl::OkStatus();
  if (options_.authentication == nullptr) {
    options_.warn(
        "there is no --authentication-kubeconfig: the secure port knows neither client "
        "certificates nor tokens, and takes everyone for anonymous");
    return absl::OkStatus();
  }
  struct Waiting {
    Mutex mutex;
    CondVar changed;
    std::optional<absl::Status> status ABSL_GUARDED_BY(mutex);
  };
  auto waiting = std::make_shared<Waiting>();
  LookUp([waiting](absl::Status status) {
    MutexLock lock(waiting->mutex);
    waiting->status = std::move(status);
    waiting->changed.SignalAll();
  });
  MutexLock lock(waiting->mutex);
  while (!waiting->status.has_value()) waiting->changed.Wait(waiting->mutex);
  return options_.tolerate_lookup_failure ? absl::OkStatus() : *waiting->status;
}

// Read again at most once a second.
absl::Status RequestAuthorizer::State::FollowFile() {
  std::ifstream file(options_.client_ca_file);
  std::stringstream text;
  text << file.rdbuf();
  const std::string pem = text.str();
  MutexLock lock(mutex_);
  file_read_ = MonotonicNow();
  if (file && pem == authority_) return absl::OkStatus();
  absl::StatusOr<ClientAuthorities> parsed =
      file ? ClientAuthorities::Parse(pem) : absl::NotFoundError("cannot be read");
  authority_ = pem;
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("client authority ", options_.client_ca_file, " ", parsed.status().message()));
  }
  authorities_ = *std::move(parsed);
  return absl::OkStatus();
}

void RequestAuthorizer::State::LookUp(std::function<void(absl::Status)> then) {
  options_.authentication->Call({.target = kAuthenticationConfigMap, .timeout = options_.timeout},
                                [self = shared_from_this(), then = std::move(then)](
                                    const absl::StatusOr<ApiResponse>& response) {
                                  const absl::Status taken = self->TakeConfigMap(response);
                                  self->LookUpAgain(taken);
                                  then(taken);
                                });
}

absl::Status RequestAuthorizer::State::TakeConfigMap(const absl::StatusOr<ApiResponse>& response) {
  const absl::StatusOr<std::string> pem =
      response.ok() ? ReadClientAuthority(response->body) : response.status();
  absl::Status status = pem.status();
  {
    MutexLock lock(mutex_);
    if (pem.ok() && *pem != authority_) {
      authority_ = *pem;
      authorities_.reset();
      if (!pem->empty()) {
        absl::StatusOr<ClientAuthorities> parsed = ClientAuthorities::Parse(*pem);
        status = parsed.status();
        if (parsed.ok()) authorities_ = *std::move(parsed);
      }
    }
    const bool failed_before = std::exchange(lookup_failed_, !status.ok());
    if (status.ok() || failed_before || stopped_) return status;
  }
  options_.warn(absl::StrCat(
      "the authority of client certificates cannot be looked up, so the secure port takes clients "
      "for anonymous unless they have a token: ",
      status.message(),
      ". It is client-ca-file in the ConfigMap kube-system/extension-apiserver-authentication, "
      "which the Role extension-apiserver-authentication-reader lets a user read; --client-ca-file "
      "names another."));
  return status;
}

void RequestAuthorizer::State::LookUpAgain(const absl::Status& last) {
  {
    MutexLock lock(mutex_);
    if (stopped_ || absl::IsCancelled(last)) return;
  }
  const absl::Duration wait =
      last.ok() ? options_.lookup_interval : options_.failed_lookup_interval;
  options_.authentication->RunAt(MonotonicNow() + wait, [weak = weak_from_this()] {
    const std::shared_ptr<State> self = weak.lock();
    if (self != nullptr) self->LookUp([](const absl::Status&) {});
  });
}

std::optional<ClientAuthorities> RequestAuthorizer::State::Authorities() {
  bool is_due = false;
  {
    MutexLock lock(mutex_);
    is_due = !options_.client_ca_file.empty() && MonotonicNow() - file_read_ >= absl::Seconds(1);
  }
  if (is_due) {
    const absl::Status read = FollowFile();
    if (!read.ok()) options_.warn(absl::StrCat(read.message(), "; the one before is used still"));
  }
  MutexLock lock(mutex_);
  return authorities_;
}

// --- One request --------------------------------------------------------------------------------

void RequestAuthorizer::State::Check(const ServerRequest& request, Done done) {
  Question question{request.path, absl::AsciiStrToLower(request.method), std::move(done)};
  bool is_refused = false;
  if (!request.client_certificates.empty()) {
    const std::optional<ClientAuthorities> authorities = Authorities();
    if (authorities.has_value()) {
      absl::StatusOr<UserInfo> user = authorities->Verify(request.client_certificates);
      if (user.ok()) return Authorize(Authenticated(*std::move(user)), std::move(question));
      is_refused = absl::IsUnauthenticated(user.status());
    }
  }
  const std::string token = BearerToken(request);
  if (!token.empty() && options_.authentication != nullptr) {
    return AskAboutToken(token, std::move(question));
  }
  if (is_refused) return question.done(Unauthorized());
  Authorize(Anonymous(), std::move(question));
}

ApiRequest RequestAuthorizer::State::Post(const char* target, std::string body) const {
  return {.method = "POST",
          .target = target,
          .content_type = "application/json",
          .body = std::move(body),
          .timeout = options_.timeout};
}

void RequestAuthorizer::State::AskAboutToken(const std::string& token, Question question) {
  const std::string key = TokenDigest(token);  // tokens themselves are not kept
  std::optional<User> known;
  {
    MutexLock lock(mutex_);
    known = tokens_.Find(key, MonotonicNow());
  }
  const auto go_on = [](State& self, const User& user, Question asked) {
    if (!user.has_value()) return asked.done(Unauthorized());
    self.Authorize(Authenticated(*user), std::move(asked));
  };
  if (known.has_value()) return go_on(*this, *known, std::move(question));
  options_.authentication->Call(
      Post(kTokenReviews, TokenReviewBody(token)),
      [self = shared_from_this(), key, go_on,
       question = std::move(question)](absl::StatusOr<ApiResponse> response) {
        const absl::StatusOr<User> user =
            response.ok() ? ReadTokenReview(response->body) : response.status();
        if (!user.ok()) {
          self->options_.warn(
              absl::StrCat("a token cannot be reviewed: ", user.status().message()));
          return question.done(Unauthorized());
        }
        {
          MutexLock lock(self->mutex_);
          self->tokens_.Put(key, *user, MonotonicNow());
        }
        go_on(*self, *user, question);
      });
}

void RequestAuthorizer::State::Authorize(const UserInfo& user, Question question) {
  if (absl::c_linear_search(user.groups, kPrivilegedGroup) ||
      IsAllowedPath(options_.always_allow_paths, question.path)) {
    return question.done(std::nullopt);
  }
  if (options_.authorization == nullptr) {
    return question.done(Forbidden(user, question.verb, question.path, ""));
  }
  AskAboutAccess(user, std::move(question));
}

void RequestAuthorizer::State::AskAboutAccess(const UserInfo& user, Question question) {
  std::string body = SubjectAccessReviewBody(user, question.path, question.verb);
  std::optional<AccessDecision> known;
  {
    MutexLock lock(mutex_);
    known = allowed_.Find(body, MonotonicNow());
    if (!known.has_value()) known = denied_.Find(body, MonotonicNow());
  }
  const auto decide = [](const UserInfo& whose, const AccessDecision& decision,
                         const Question& asked) {
    if (decision.allowed) return asked.done(std::nullopt);
    asked.done(Forbidden(whose, asked.verb, asked.path, decision.reason));
  };
  if (known.has_value()) return decide(user, *known, question);
  options_.authorization->Call(
      Post(kSubjectAccessReviews, body),
      [self = shared_from_this(), user, body, decide,
       question = std::move(question)](absl::StatusOr<ApiResponse> response) {
        const absl::StatusOr<AccessDecision> decision =
            response.ok() ? ReadSubjectAccessReview(response->body) : response.status();
        if (!decision.ok()) {
          self->options_.warn(
              absl::StrCat("access cannot be reviewed: ", decision.status().message()));
          return question.done(ReviewFailed(question.path, decision.status()));
        }
        {
          MutexLock lock(self->mutex_);
          ReviewCache<AccessDecision>& cache = decision->allowed ? self->allowed_ : self->denied_;
          // A path of any length may be asked for.
          if (body.size() <= kMostCachedBytes) cache.Put(body, *decision, MonotonicNow());
        }
        decide(user, *decision, question);
      });
}

// --- The front ----------------------------------------------------------------------------------

absl::StatusOr<std::unique_ptr<RequestAuthorizer>> RequestAuthorizer::Create(
    RequestAuthorizerOptions options) {
  if (options.authorization == nullptr) {
    options.warn(
        "there is no --authorization-kubeconfig: the secure port shows others than members of "
        "system:masters nothing but the paths that are always allowed");
  }
  auto state = std::make_shared<State>(std::move(options));
  absl::Status started = state->Start();
  if (!started.ok()) return started;
  return std::unique_ptr<RequestAuthorizer>(new RequestAuthorizer(std::move(state)));
}

RequestAuthorizer::RequestAuthorizer(std::shared_ptr<State> state) : state_(std::move(state)) {}

RequestAuthorizer::~RequestAuthorizer() { state_->Stop(); }

AuthorizeRequest RequestAuthorizer::Check() const {
  return [state = state_](const ServerRequest& request, Done done) {
    state->Check(request, std::move(done));
  };
}

}  // namespace berth
