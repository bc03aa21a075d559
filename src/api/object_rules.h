// SPDX-License-Identifier: Apache-2.0
// What rules about the fields of one object share: how they say what is wrong, and names.
#ifndef BERTH_SRC_API_OBJECT_RULES_H_
#define BERTH_SRC_API_OBJECT_RULES_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "berth/api/problem.h"
#include "berth/api/value.h"

namespace berth {

// Whether an API server has stored the object: it has a uid or a resourceVersion.
bool IsStored(Value object);

// A label of a DNS name as RFC 1123 has it: what names devices, requests and counters.
bool IsDnsLabel(absl::string_view text);
// Labels with dots between them, up to `longest` characters.
bool IsDnsSubdomain(absl::string_view text, size_t longest = 253);
// The domain of a driver, up to 63 characters; upper case counts as lower. `kNoDriver` goes on
// behind a text that is none.
bool IsDriverName(absl::string_view text);
inline constexpr absl::string_view kNoDriver =
    " is no driver; it is the name of a DNS domain, as gpu.example.com, of up to 63 characters";
// DNS domains with '/' between them, up to 253 characters; `kNoPool` goes on behind a text that is
// none.
bool IsPoolName(absl::string_view text);
inline constexpr absl::string_view kNoPool =
    " is no name of a pool; it has names of DNS domains with '/' between them, of up to 253 "
    "characters";
// `kNoDnsLabel` goes on behind a text that IsDnsLabel() is not true of, `kNoObjectName` behind one
// that is no DNS domain.
inline constexpr absl::string_view kNoDnsLabel =
    " is no name; it has lower case letters, digits and '-', up to 63, and begins and ends with a "
    "letter or digit";
inline constexpr absl::string_view kNoObjectName =
    " is no name of an object; it has lower case letters, digits, '-' and '.', up to 253, and "
    "begins "
    "and ends with a letter or digit";
// "NAME" or "DOMAIN/NAME", as attributes, capacities and their constraints are named.
bool IsQualifiedName(absl::string_view text);
// A key and a value of a label, as taints of devices have them, and their binding conditions.
bool IsLabelKey(absl::string_view text);
bool IsLabelValue(absl::string_view text);
// "1.2.3-rc.1+build.5", by semver.org 2.0.0.
bool IsSemanticVersion(absl::string_view text);

class ObjectRules {
 public:
  // `version`: "v1beta1".
  ObjectRules(absl::string_view version, bool is_stored, Problems& problems)
      : version_(version), is_stored_(is_stored), problems_(problems) {}

 protected:
  static absl::string_view Text(Value value) { return value.AsString().value_or(""); }
  static bool IsSet(Value value) { return value && !value.IsNull(); }
  static void ForEach(Value owner, absl::string_view field, const std::string& path,
                      absl::FunctionRef<void(Value, const std::string&)> visit);

  bool is_beta1() const { return version_ == "v1beta1"; }
  absl::string_view version() const { return version_; }

  // Of what no version of the API has: an error, at the place of `at`, or of `otherwise` if that is
  // not there.
  void Error(Value at, Value otherwise, std::string message);
  void Error(const SourceLocation& where, std::string message);
  // Of what an API server refuses: an error, or a warning in an object that one has stored:
  // it may be of a later version.
  void Refuse(Value at, Value otherwise, std::string message);
  void Refuse(const SourceLocation& where, std::string message);
  void Warn(Value at, Value otherwise, std::string message);
  void Warn(const SourceLocation& where, std::string message);
  void AtMost(Value owner, absl::string_view field, const std::string& path, size_t most);

 private:
  const absl::string_view version_;
  const bool is_stored_;
  Problems& problems_;
};

}  // namespace berth

#endif  // BERTH_SRC_API_OBJECT_RULES_H_
