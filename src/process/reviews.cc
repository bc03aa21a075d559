// SPDX-License-Identifier: Apache-2.0
// Implementation of reviews.h.
#include "process/reviews.h"

#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "api/json.h"
#include "berth/api/value.h"

namespace berth {
namespace {

// Calls `read` with the document in `body` if it is the one object of that kind.
absl::Status ReadObject(absl::string_view body, absl::string_view kind,
                        absl::FunctionRef<absl::Status(Value)> read) {
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(body, "", problems);
  if (!problems.ok() || documents.size() != 1 ||
      documents[0].root().Find("kind").AsString() != kind) {
    return absl::InternalError(absl::StrCat("the API server did not answer with a ", kind));
  }
  return read(documents[0].root());
}

std::string Text(Value value) { return std::string(value.AsString().value_or("")); }

std::vector<std::string> Texts(Value list) {
  std::vector<std::string> texts;
  for (const Value value : list.elements()) texts.push_back(Text(value));
  return texts;
}

void BeginReview(JsonWriter& json, absl::string_view group, absl::string_view kind) {
  json.BeginObject();
  json.Key("apiVersion").String(absl::StrCat(group, "/v1"));
  json.Key("kind").String(kind);
  json.Key("spec").BeginObject();
}

std::string EndReview(JsonWriter& json) {
  json.EndObject().EndObject();
  return std::string(json.text());
}

}  // namespace

std::string TokenReviewBody(absl::string_view token) {
  JsonWriter json;
  BeginReview(json, "authentication.k8s.io", "TokenReview");
  json.Key("token").String(token);
  return EndReview(json);
}

absl::StatusOr<std::optional<UserInfo>> ReadTokenReview(absl::string_view body) {
  std::optional<UserInfo> user;
  absl::Status read = ReadObject(body, "TokenReview", [&](Value review) {
    const Value status = review.Find("status");
    if (!status.Find("authenticated").AsBool().value_or(false)) {
      const std::string error = Text(status.Find("error"));
      return error.empty() ? absl::OkStatus() : absl::UnauthenticatedError(error);
    }
    const Value given = status.Find("user");
    user.emplace();
    user->name = Text(given.Find("username"));
    user->uid = Text(given.Find("uid"));
    user->groups = Texts(given.Find("groups"));
    for (const Value::Item item : given.Find("extra").items()) {
      user->extra[std::string(item.key)] = Texts(item.value);
    }
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return user;
}

std::string SubjectAccessReviewBody(const UserInfo& user, absl::string_view path,
                                    absl::string_view verb) {
  JsonWriter json;
  BeginReview(json, "authorization.k8s.io", "SubjectAccessReview");
  json.Key("nonResourceAttributes").BeginObject();
  json.Key("path").String(path);
  json.Key("verb").String(verb);
  json.EndObject();
  json.Key("user").String(user.name);
  if (!user.uid.empty()) json.Key("uid").String(user.uid);
  if (!user.groups.empty()) json.Key("groups").StringArray(user.groups);
  if (!user.extra.empty()) {
    json.Key("extra").BeginObject();
    for (const auto& [key, values] : user.extra) json.Key(key).StringArray(values);
    json.EndObject();
  }
  return EndReview(json);
}

absl::StatusOr<AccessDecision> ReadSubjectAccessReview(absl::string_view body) {
  AccessDecision decision;
  absl::Status read = ReadObject(body, "SubjectAccessReview", [&](Value review) {
    const Value status = review.Find("status");
    const std::optional<bool> allowed = status.Find("allowed").AsBool();
    if (!allowed.has_value()) {
      return absl::InternalError(
          "the API server answered with a SubjectAccessReview without a "
          "status");
    }
    decision.allowed = *allowed && !status.Find("denied").AsBool().value_or(false);
    decision.reason = Text(status.Find("reason"));
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return decision;
}

absl::StatusOr<std::string> ReadClientAuthority(absl::string_view body) {
  std::string pem;
  absl::Status read = ReadObject(body, "ConfigMap", [&](Value config_map) {
    pem = Text(config_map.Find("data").Find("client-ca-file"));
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return pem;
}

}  // namespace berth
