// SPDX-License-Identifier: Apache-2.0
// Implementation of health_checks.h. The texts are those of apiserver's healthz.go.
#include "process/health_checks.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace berth {
namespace {

ServerResponse AnswerAll(const std::string& name, const std::vector<HealthCheck>& checks,
                         const ObserveHealth& observe, const ServerRequest& request) {
  const std::vector<std::string> excluded = QueryValues(request.query, "exclude");
  std::set<std::string> unknown(excluded.begin(), excluded.end());
  const std::set<std::string> left_out = unknown;
  std::string report;
  bool failed = false;
  for (const HealthCheck& check : checks) {
    if (left_out.contains(check.name)) {
      unknown.erase(check.name);
      absl::StrAppend(&report, "[+]", check.name, " excluded: ok\n");
      continue;
    }
    const bool passed = check.check().ok();
    if (observe != nullptr) observe(check.name, name, passed);
    if (passed) {
      absl::StrAppend(&report, "[+]", check.name, " ok\n");
    } else {
      failed = true;
      absl::StrAppend(&report, "[-]", check.name, " failed: reason withheld\n");
    }
  }
  if (!unknown.empty()) {
    absl::StrAppend(&report, "warn: some health checks cannot be excluded: no matches for ",
                    absl::StrJoin(unknown, ",",
                                  [](std::string* out, const std::string& check) {
                                    absl::StrAppend(out, "\"", check, "\"");
                                  }),
                    "\n");
  }
  if (failed) return PlainError(500, absl::StrCat(report, name, " check failed"));
  if (QueryValues(request.query, "verbose").empty()) return {.body = "ok"};
  return {.body = absl::StrCat(report, name, " check passed\n")};
}

ServerResponse AnswerOne(const HealthCheck& check) {
  const absl::Status status = check.check();
  if (status.ok()) return {.body = "ok"};
  return PlainError(500, absl::StrCat("internal server error: ", status.message()));
}

}  // namespace

void AddHealthEndpoints(const std::string& path, std::vector<HealthCheck> checks,
                        Endpoints& endpoints, ObserveHealth observe) {
  if (checks.empty()) checks.push_back({"ping", [] { return absl::OkStatus(); }});
  for (const HealthCheck& check : checks) {
    endpoints.Add(absl::StrCat(path, "/", check.name),
                  [check](const ServerRequest&) { return AnswerOne(check); });
  }
  const std::string name(absl::StripPrefix(path, "/"));
  endpoints.Add(path, [name, checks = std::move(checks),
                       observe = std::move(observe)](const ServerRequest& request) {
    return AnswerAll(name, checks, observe, request);
  });
}

}  // namespace berth
