// SPDX-License-Identifier: Apache-2.0
// As apimachinery pkg/util/validation and kube-openapi pkg/validation/strfmt.
#include "cel/name_formats.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/civil_time.h"
#include "cel/regex.h"
#include "cel/url.h"

namespace berth::cel {
namespace {

using Texts = std::vector<std::string>;

constexpr char kLabel[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr char kSubdomain[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr char kLabel1035[] = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr char kQualifiedName[] = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr char kLabelValue[] = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

// Whether all of `text` matches. The patterns are literals of this file, each compiled once.
bool Matches(absl::string_view text, const char* pattern) {
  static const auto& compiled = *new std::vector<std::pair<const char*, Regex>>([] {
    std::vector<std::pair<const char*, Regex>> result;
    for (const char* p : {kLabel, kSubdomain, kLabel1035, kQualifiedName, kLabelValue}) {
      result.emplace_back(p, *Regex::Compile(absl::StrCat("^(?:", p, ")$")));
    }
    return result;
  }());
  const auto found = std::find_if(compiled.begin(), compiled.end(),
                                  [pattern](const auto& row) { return row.first == pattern; });
  return found->second.Matches(text);
}

// validation.RegexError
std::string RegexProblem(absl::string_view message, absl::string_view pattern,
                         std::initializer_list<absl::string_view> examples) {
  std::string text = absl::StrCat(message, " (e.g. ");
  absl::string_view separator;
  for (const absl::string_view example : examples) {
    absl::StrAppend(&text, separator, "'", example, "', ");
    separator = " or ";
  }
  return absl::StrCat(text, "regex used for validation is '", pattern, "')");
}

void CheckLength(absl::string_view text, size_t most, Texts& problems) {
  if (text.size() <= most) return;
  problems.push_back(absl::StrCat("must be no more than ", most, " characters"));
}

Texts Label(absl::string_view text) {
  Texts problems;
  CheckLength(text, 63, problems);
  if (Matches(text, kLabel)) return problems;
  if (Matches(text, kSubdomain)) {
    problems.push_back("must not contain dots");
  } else {
    problems.push_back(RegexProblem(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and end with an alphanumeric character",
        kLabel, {"my-name", "123-abc"}));
  }
  return problems;
}

Texts Subdomain(absl::string_view text) {
  Texts problems;
  CheckLength(text, 253, problems);
  if (!Matches(text, kSubdomain)) {
    problems.push_back(RegexProblem(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character",
        kSubdomain, {"example.com"}));
  }
  return problems;
}

Texts Label1035(absl::string_view text) {
  Texts problems;
  CheckLength(text, 63, problems);
  if (!Matches(text, kLabel1035)) {
    problems.push_back(RegexProblem(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
        "alphabetic character, and end with an alphanumeric character",
        kLabel1035, {"my-name", "abc-123"}));
  }
  return problems;
}

Texts LabelValue(absl::string_view text) {
  Texts problems;
  CheckLength(text, 63, problems);
  if (!Matches(text, kLabelValue)) {
    problems.push_back(RegexProblem(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character",
        kLabelValue, {"MyValue", "my_value", "12345"}));
  }
  return problems;
}

Texts QualifiedName(absl::string_view text) {
  const std::string problem = RegexProblem(
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
      "with an alphanumeric character",
      kQualifiedName, {"MyName", "my.name", "123-abc"});
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  if (parts.size() > 2) {
    return {absl::StrCat("a qualified name ", problem,
                         " with an optional DNS subdomain prefix and '/' (e.g. "
                         "'example.com/MyName')")};
  }
  Texts problems;
  if (parts.size() == 2) {
    if (parts[0].empty()) problems.push_back("prefix part must be non-empty");
    if (!parts[0].empty()) {
      for (const std::string& p : Subdomain(parts[0])) {
        problems.push_back(absl::StrCat("prefix part ", p));
      }
    }
  }
  const absl::string_view name = parts.back();
  if (name.empty()) {
    problems.push_back("name part must be non-empty");
  } else if (name.size() > 63) {
    problems.push_back("name part must be no more than 63 characters");
  }
  if (!Matches(name, kQualifiedName)) problems.push_back(absl::StrCat("name part ", problem));
  return problems;
}

// What a random suffix will follow may end with a dash.
template <Texts (*validate)(absl::string_view)>
Texts AsPrefix(absl::string_view text) {
  if (text.size() <= 1 || !absl::EndsWith(text, "-")) return validate(text);
  return validate(absl::StrCat(text.substr(0, text.size() - 2), "a"));
}

Texts OneIf(bool wrong, absl::string_view problem) {
  return wrong ? Texts{std::string(problem)} : Texts();
}

Texts Uri(absl::string_view text) {
  const absl::Status status = CheckRequestUri(text);
  return OneIf(!status.ok(), status.message());
}

Texts Uuid(absl::string_view text) {
  static const auto& regex = *new Regex(
      *Regex::Compile("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"));
  return OneIf(!regex.Matches(text), "does not match the UUID format");
}

Texts Byte(absl::string_view text) {
  static const auto& regex = *new Regex(*Regex::Compile(
      "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"));
  return OneIf(!regex.Matches(text), "invalid base64");
}

bool IsDate(absl::string_view text) {
  static const auto& regex = *new Regex(*Regex::Compile("^[0-9]{4}-[0-9]{2}-[0-9]{2}$"));
  if (!regex.Matches(text)) return false;
  const auto number = [text](size_t at, size_t width) {
    int n = 0;
    for (const char c : text.substr(at, width)) n = n * 10 + (c - '0');
    return n;
  };
  // A day that its month does not have becomes another.
  const absl::CivilDay day(number(0, 4), number(5, 2), number(8, 2));
  return day.year() == number(0, 4) && day.month() == number(5, 2) && day.day() == number(8, 2);
}

Texts Date(absl::string_view text) { return OneIf(!IsDate(text), "invalid date"); }

bool IsDateTime(absl::string_view text) {
  static const auto& regex = *new Regex(
      *Regex::Compile("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"));
  const std::string lower = absl::AsciiStrToLower(text);
  const std::vector<absl::string_view> parts = absl::StrSplit(lower, 't');
  if (parts.size() < 2 || !IsDate(parts[0]) || !regex.Matches(parts[1])) return false;
  const absl::string_view time = parts[1];
  return time.substr(0, 2) <= "23" && time.substr(3, 2) <= "59" && time.substr(6, 2) <= "59";
}

Texts DateTime(absl::string_view text) { return OneIf(!IsDateTime(text), "invalid datetime"); }

}  // namespace

absl::Span<const NameFormat> NameFormats() {
  static constexpr NameFormat kFormats[] = {
      {"dns1123Label", Label, 30},
      {"dns1123Subdomain", Subdomain, 60},
      {"dns1035Label", Label1035, 30},
      {"qualifiedName", QualifiedName, 60},
      {"dns1123LabelPrefix", AsPrefix<Label>, 30},
      {"dns1123SubdomainPrefix", AsPrefix<Subdomain>, 60},
      {"dns1035LabelPrefix", AsPrefix<Label1035>, 30},
      {"labelValue", LabelValue, 40},
      {"uri", Uri, 1103},
      {"uuid", Uuid, 70},
      {"byte", Byte, 84},
      {"date", Date, 71},
      {"datetime", DateTime, 71},
  };
  return kFormats;
}

}  // namespace berth::cel
