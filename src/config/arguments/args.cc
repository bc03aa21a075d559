// SPDX-License-Identifier: Apache-2.0
// Field tables at work: reading a struct from a Value, checking it, printing it.
#include "berth/framework/args.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "api/duplicate_keys.h"
#include "api/near_miss.h"
#include "berth/check.h"
#include "config/arguments/field_text.h"

namespace berth {

namespace {

// Whether `message` is about the field at `path` or one that it stands in.
bool IsOfFieldOrAbove(absl::string_view message, absl::string_view path) {
  const absl::string_view of = message.substr(0, message.find(": "));
  return absl::ConsumePrefix(&path, of) && (path.empty() || path[0] == '.' || path[0] == '[');
}

}  // namespace

// --- FieldProblems -------------------------------------------------------------------------------

void FieldProblems::AddAs(Severity severity, absl::string_view field, absl::string_view message) {
  const std::string below_root = JoinPath(relative_, field);
  const std::string path = JoinPath(root_path_, below_root);
  const SourceLocation where = Where(field);
  for (size_t i = reported_begin_; i < reported_end_; ++i) {
    const Problem& reported = problems_.list()[i];
    if (reported.where == where && IsOfFieldOrAbove(reported.message, path)) return;
  }
  problems_.Add({.where = where,
                 .message = absl::StrCat(path, path.empty() ? "" : ": ", message),
                 .severity = severity});
}

void FieldProblems::Add(absl::string_view field, absl::string_view message) {
  AddAs(Severity::kError, field, message);
}

void FieldProblems::AddWarning(absl::string_view field, absl::string_view message) {
  AddAs(Severity::kWarning, field, message);
}

void FieldProblems::Invalid(absl::string_view field, absl::string_view value,
                            absl::string_view detail) {
  Add(field, InvalidValue(value, detail));
}

void FieldProblems::Invalid(absl::string_view field, double value, absl::string_view detail) {
  Add(field, InvalidValue(value, detail));
}

void FieldProblems::Required(absl::string_view field, absl::string_view detail) {
  Add(field, RequiredValue(detail));
}

void FieldProblems::Duplicate(absl::string_view field, absl::string_view value) {
  Add(field, DuplicateValue(value));
}

FieldProblems FieldProblems::At(absl::string_view field) const {
  FieldProblems inner = *this;
  inner.relative_ = JoinPath(relative_, field);
  return inner;
}

SourceLocation FieldProblems::Where(absl::string_view field) const {
  return Locate(root_, JoinPath(relative_, field)).where();
}

void FieldProblems::DropReportedSince(size_t first) {
  reported_begin_ = first;
  reported_end_ = problems_.size();
}

// --- FieldTable ----------------------------------------------------------------------------------

namespace {

constexpr absl::string_view kGroupVersion = "kubescheduler.config.k8s.io/v1";

std::vector<std::string> FieldNames(const FieldTable& table) {
  std::vector<std::string> names;
  for (const FieldTable::FieldSpec& field : table.fields()) names.push_back(field.name);
  return names;
}

const FieldTable::FieldSpec* FindField(const FieldTable& table, absl::string_view name) {
  for (const FieldTable::FieldSpec& field : table.fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

}  // namespace

bool FieldTable::ReadTypeMeta(const Value::Item& item, const std::string& path,
                              Problems& problems) const {
  const bool is_kind = item.key == "kind";
  if (!is_kind && item.key != "apiVersion") return false;
  const absl::string_view want = is_kind ? absl::string_view(name_) : kGroupVersion;
  if (item.value.text() != want && !item.value.IsNull()) {
    problems.AddError(item.value.where(), "",
                      absl::StrCat(JoinPath(path, item.key), ": ",
                                   InvalidValue(item.value.text(),
                                                absl::StrCat("has to match plugin args: ", want))));
  }
  return true;
}

void FieldTable::ReadFields(Value value, const std::string& path, bool type_meta, void* out,
                            Problems& problems) const {
  if (value && !value.IsNull() && !value.IsMap()) {
    problems.AddError(value.where(), "",
                      absl::StrCat(path, ": is ", value.KindText(), ", not a map of fields"));
    return;
  }
  ForEachDuplicateKey(value, [&](const Value::Item& item, SourceLocation first) {
    problems.AddError(item.where, "",
                      absl::StrCat(JoinPath(path, item.key),
                                   ": appears a second time; first in line ", first.line));
  });
  for (const Value::Item item : value.items()) {
    const FieldSpec* field = FindField(*this, item.key);
    if (field == nullptr) {
      if (type_meta && ReadTypeMeta(item, path, problems)) continue;
      problems.AddError(item.where, "",
                        absl::StrCat(JoinPath(path, item.key), ": unknown field",
                                     DidYouMean(item.key, FieldNames(*this))));
      continue;
    }
    if (item.value.IsNull()) continue;
    field->type.read(item.value, JoinPath(path, field->name), field->member(out), problems);
  }
  for (const auto& complete : completions_) complete(out);
}

void FieldTable::Read(Value value, const std::string& path, void* out, Problems& problems) const {
  ReadFields(value, path, /*type_meta=*/false, out, problems);
}

void FieldTable::RunChecks(const void* object, FieldProblems& problems) const {
  for (const FieldSpec& field : fields_) {
    field.type.check(field.Of(object), field.check, field.name, problems);
  }
  for (const auto& check : checks_) check(object, problems);
}

void FieldTable::Decode(Value value, const std::string& path, void* out, Problems& problems) const {
  FieldProblems checks(value, path, problems);
  const size_t before = problems.size();
  ReadFields(value, path, /*type_meta=*/true, out, problems);
  checks.DropReportedSince(before);
  RunChecks(out, checks);
}

void FieldTable::Validate(Value value, const std::string& path, const void* object,
                          Problems& problems) const {
  FieldProblems checks(value, path, problems);
  RunChecks(object, checks);
}

std::string FieldTable::Print(const void* object) const {
  return absl::StrCat("{",
                      absl::StrJoin(fields_, ", ",
                                    [object](std::string* out, const FieldSpec& field) {
                                      absl::StrAppend(out, field.name, ": ",
                                                      field.type.print(field.Of(object)));
                                    }),
                      "}");
}

// --- PluginArgs ----------------------------------------------------------------------------------

PluginArgs PluginArgs::Defaults(const FieldTable* table) {
  if (table == nullptr) return PluginArgs();
  const std::shared_ptr<void> value = table->MakeDefault();
  Problems none;
  table->Read(Value(), "", value.get(), none);  // fills in what depends on other fields
  return PluginArgs(table, value);
}

absl::StatusOr<PluginArgs> PluginArgs::Parse(absl::string_view text, const FieldTable& table) {
  Problems problems;
  const std::vector<Document> documents = ReadDocuments(text, table.name(), problems);
  if (documents.size() > 1) {
    problems.AddError(documents[1].root().where(), "", "more than one document");
  }
  const std::shared_ptr<void> value = table.MakeDefault();
  table.Decode(documents.empty() ? Value() : documents[0].root(), "", value.get(), problems);
  if (!problems.ok()) return problems.ToStatus();
  return PluginArgs(&table, value);
}

PluginArgs PluginArgs::ReportingTo(const std::shared_ptr<std::string>& mismatch) const {
  PluginArgs args = *this;
  args.mismatch_ = mismatch;
  return args;
}

void PluginArgs::ReportMismatch(const FieldTable& wanted) const {
  const std::string text =
      absl::StrCat("it reads ", wanted.name(), ", but was registered with ",
                   table_ == nullptr ? "no table of arguments" : table_->name(),
                   "; give WithPlugin() or Registry::Builder::Add() ", wanted.name(), "::Fields()");
  const std::shared_ptr<std::string> mismatch = mismatch_.lock();
  BERTH_CHECK(mismatch != nullptr) << "a plugin was made with wrong arguments: " << text;
  *mismatch = text;
}

std::string PluginArgs::ToString() const {
  return table_ == nullptr ? "{}" : table_->Print(value_.get());
}

}  // namespace berth
