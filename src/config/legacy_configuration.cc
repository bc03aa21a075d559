// SPDX-License-Identifier: Apache-2.0
// Implementation of legacy_configuration.h.
#include "config/legacy_configuration.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "config/arguments/field_text.h"
#include "config/configuration_file.h"
#include "config/converted_file.h"
#include "config/policy_converter.h"
#include "config/version_converter.h"

namespace berth {
namespace {

// Whether it is a Policy. The first tutorials leave out its kind.
bool IsPolicy(Value root) {
  const absl::string_view kind = root.Find("kind").text();
  return kind == "Policy" || (kind.empty() && (root.Find("predicates") || root.Find("priorities")));
}

bool LooksLikeConfiguration(Value root) {
  return IsPolicy(root) || root.Find("kind").text() == kConfigurationKind;
}

}  // namespace

bool FindInConfigMap(Value config_map, std::string& text, std::string& key, Problems& problems) {
  std::vector<std::string> keys;
  for (const Value::Item item : config_map.Find("data").items()) {
    if (!item.value.IsString()) continue;
    Problems ignored;
    const std::vector<Document> documents = ReadDocuments(item.value.text(), "", ignored);
    if (documents.empty() || !LooksLikeConfiguration(documents.front().root())) continue;
    keys.emplace_back(item.key);
    text = std::string(item.value.text());
  }
  if (keys.size() == 1) {
    key = keys.front();
    return true;
  }
  problems.AddError(config_map.where(), "ConfigMap",
                    keys.empty()
                        ? "data has no KubeSchedulerConfiguration"
                        : absl::StrCat("data has ", keys.size(),
                                       " configurations; write the one you mean to a file"));
  return false;
}

ConvertedConfiguration ConvertConfiguration(absl::string_view text, const std::string& file) {
  ConvertedConfiguration converted;
  const std::vector<Document> documents = ReadDocuments(text, file, converted.problems);
  if (!converted.problems.ok()) return converted;
  if (documents.size() != 1) {
    converted.problems.AddError({.file = Symbol::Intern(file)}, "",
                                documents.empty() ? "is empty" : "has more than one document");
    return converted;
  }
  const Value root = documents.front().root();
  if (root.Find("kind").text() == "ConfigMap") {
    std::string inner, key;
    if (!FindInConfigMap(root, inner, key, converted.problems)) return converted;
    return ConvertConfiguration(inner, absl::StrCat(file, ", data.", key));
  }
  ConvertedFile result;
  std::string from = "a Policy";
  const absl::string_view kind = root.Find("kind").text();
  if (IsPolicy(root)) {
    ConvertPolicy(root, result);
  } else if (kind == kConfigurationKind) {
    const absl::string_view version = root.Find("apiVersion").text();
    from = absl::StrCat(kind, " ", version);
    ConvertVersion(root, version, result, converted.problems);
  } else {
    converted.problems.AddError(
        root.where(), "",
        absl::StrCat("kind ", kind.empty() ? "is missing" : YamlQuoted(kind),
                     "; a Policy, a KubeSchedulerConfiguration, or a ConfigMap "
                     "with one of them can be converted"));
  }
  if (!converted.problems.ok()) return converted;
  converted.yaml = result.ToYaml(from);
  converted.comments = result.comments();
  return converted;
}

}  // namespace berth
