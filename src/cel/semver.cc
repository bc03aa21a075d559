// SPDX-License-Identifier: Apache-2.0
#include "cel/semver.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace berth::cel {
namespace {

absl::Status Invalid(absl::string_view what, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(what, " \"", text, "\""));
}

bool IsNumeric(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

bool HasOnlyIdentifierCharacters(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '-'; });
}

absl::StatusOr<uint64_t> ParseNumber(absl::string_view text, absl::string_view which) {
  if (!IsNumeric(text)) {
    return Invalid(absl::StrCat("Invalid character(s) found in ", which, " number"), text);
  }
  if (text.size() > 1 && text[0] == '0') {
    std::string name(which);
    name[0] = absl::ascii_toupper(name[0]);
    return Invalid(absl::StrCat(name, " number must not contain leading zeroes"), text);
  }
  uint64_t number;
  if (text.empty() || !absl::SimpleAtoi(text, &number)) {
    return absl::InvalidArgumentError(
        absl::StrCat("strconv.ParseUint: parsing \"", text,
                     "\": ", text.empty() ? "invalid syntax" : "value out of range"));
  }
  return number;
}

// Cuts from the first `mark` on; what is behind the mark, if there is one.
std::optional<absl::string_view> CutFrom(absl::string_view& text, char mark) {
  const size_t at = text.find(mark);
  if (at == absl::string_view::npos) return std::nullopt;
  const absl::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

}  // namespace

absl::StatusOr<Semver> Semver::Parse(absl::string_view text) {
  if (text.empty()) return absl::InvalidArgumentError("Version string empty");
  std::vector<absl::string_view> parts = absl::StrSplit(text, absl::MaxSplits('.', 2));
  if (parts.size() != 3) {
    return absl::InvalidArgumentError("No Major.Minor.Patch elements found");
  }
  const std::optional<absl::string_view> build = CutFrom(parts[2], '+');
  const std::optional<absl::string_view> prerelease = CutFrom(parts[2], '-');

  Semver version;
  static constexpr absl::string_view kNames[] = {"major", "minor", "patch"};
  uint64_t* const numbers[] = {&version.major_, &version.minor_, &version.patch_};
  for (int i = 0; i < 3; ++i) {
    absl::StatusOr<uint64_t> number = ParseNumber(parts[i], kNames[i]);
    if (!number.ok()) return number.status();
    *numbers[i] = *number;
  }

  if (prerelease) {
    for (const absl::string_view part : absl::StrSplit(*prerelease, '.')) {
      if (part.empty()) return absl::InvalidArgumentError("Prerelease is empty");
      Identifier identifier;
      identifier.is_number = IsNumeric(part);
      if (identifier.is_number) {
        if (part.size() > 1 && part[0] == '0') {
          return Invalid("Numeric PreRelease version must not contain leading zeroes", part);
        }
        absl::StatusOr<uint64_t> number = ParseNumber(part, "prerelease");
        if (!number.ok()) return number.status();
        identifier.number = *number;
      } else if (!HasOnlyIdentifierCharacters(part)) {
        return Invalid("Invalid character(s) found in prerelease", part);
      } else {
        identifier.text = std::string(part);
      }
      version.prerelease_.push_back(std::move(identifier));
    }
  }
  if (build) {
    for (const absl::string_view part : absl::StrSplit(*build, '.')) {
      if (part.empty()) return absl::InvalidArgumentError("Build meta data is empty");
      if (!HasOnlyIdentifierCharacters(part)) {
        return Invalid("Invalid character(s) found in build meta data", part);
      }
    }
  }
  return version;
}

absl::StatusOr<Semver> Semver::ParseNormalized(absl::string_view text) {
  text = absl::StripPrefix(text, "v");
  std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('.', 2));
  for (std::string& part : parts) {
    if (part.size() <= 1) continue;
    part.erase(0, part.find_first_not_of('0'));  // npos: all of it
    if (part.empty() || !absl::ascii_isdigit(part[0])) part.insert(part.begin(), '0');
  }
  if (parts.size() < 3) {
    if (parts.back().find_first_of("+-") != std::string::npos) {
      return absl::InvalidArgumentError("short version cannot contain PreRelease/Build meta data");
    }
    parts.resize(3, "0");
  }
  return Parse(absl::StrJoin(parts, "."));
}

int Semver::Compare(const Identifier& a, const Identifier& b) {
  if (a.is_number != b.is_number) return a.is_number ? -1 : 1;
  if (a.is_number) return a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
  const int order = a.text.compare(b.text);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

int Semver::Compare(const Semver& other) const {
  const uint64_t mine[] = {major_, minor_, patch_};
  const uint64_t theirs[] = {other.major_, other.minor_, other.patch_};
  for (int i = 0; i < 3; ++i) {
    if (mine[i] != theirs[i]) return mine[i] < theirs[i] ? -1 : 1;
  }
  // A version is later than all that lead to it.
  if (prerelease_.empty() != other.prerelease_.empty()) return prerelease_.empty() ? 1 : -1;
  for (size_t i = 0; i < prerelease_.size() && i < other.prerelease_.size(); ++i) {
    if (const int order = Compare(prerelease_[i], other.prerelease_[i])) return order;
  }
  return prerelease_.size() < other.prerelease_.size()   ? -1
         : prerelease_.size() > other.prerelease_.size() ? 1
                                                         : 0;
}

}  // namespace berth::cel
