// SPDX-License-Identifier: Apache-2.0
// Problems and their text: see problem.h.
#include "berth/api/problem.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace berth {

std::string SourceLocation::ToString() const {
  std::string text(file.view());
  if (line > 0) absl::StrAppend(&text, text.empty() ? "" : ":", line);
  if (line > 0 && column > 0) absl::StrAppend(&text, ":", column);
  return text;
}

std::string Problem::ToString() const {
  const std::string place = where.ToString();
  return absl::StrCat(place, place.empty() ? "" : ": ",
                      severity == Severity::kError ? "error: " : "warning: ", subject,
                      subject.empty() ? "" : ": ", message);
}

std::ostream& operator<<(std::ostream& out, const Problem& problem) {
  return out << problem.ToString();
}

void Problems::Add(Problem problem) {
  int& count = problem.severity == Severity::kError ? errors_ : warnings_;
  if (++count <= kMostListed) list_.push_back(std::move(problem));
}

void Problems::AddError(SourceLocation where, std::string subject, std::string message) {
  Add({where, std::move(subject), std::move(message), Severity::kError});
}

void Problems::AddWarning(SourceLocation where, std::string subject, std::string message) {
  Add({where, std::move(subject), std::move(message), Severity::kWarning});
}

void Problems::Append(Problems other) {
  const int errors = errors_ + other.errors_, warnings = warnings_ + other.warnings_;
  for (Problem& problem : other.list_) Add(std::move(problem));
  errors_ = errors;
  warnings_ = warnings;
}

void Problems::SortByLocation() {
  std::stable_sort(list_.begin(), list_.end(), [](const Problem& a, const Problem& b) {
    if (a.where.file != b.where.file) return a.where.file < b.where.file;
    return std::tie(a.where.line, a.where.column) < std::tie(b.where.line, b.where.column);
  });
}

std::string Problems::ToString() const {
  std::string text;
  for (const Problem& problem : list_) absl::StrAppend(&text, problem.ToString(), "\n");
  if (unlisted() > 0) absl::StrAppend(&text, "and ", unlisted(), " more\n");
  return text;
}

absl::Status Problems::ToStatus() const {
  if (ok()) return absl::OkStatus();
  std::string text;
  for (const Problem& problem : list_) {
    if (problem.severity != Severity::kError) continue;
    absl::StrAppend(&text, text.empty() ? "" : "\n", problem.ToString());
  }
  return absl::InvalidArgumentError(text);
}

}  // namespace berth
