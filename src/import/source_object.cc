// SPDX-License-Identifier: Apache-2.0
// Implementation of source_object.h.
#include "import/source_object.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/duplicate_keys.h"
#include "api/json.h"
#include "berth/api/time.h"
#include "berth/quota/quota_line.h"

namespace berth {
namespace {

constexpr size_t kShown = 100;  // bytes of a value in a comment
constexpr absl::string_view kRivals[] = {"Kueue", "KAI", "Volcano", "YuniKorn", "Koordinator"};

struct Known {
  Rival rival;
  absl::string_view group, kind;
  bool is_namespaced;
  std::initializer_list<absl::string_view> versions;
};
// An ElasticQuota is scheduler-plugins', too: it is read the same way.
const Known kKnown[] = {
    {Rival::kKueue, "kueue.x-k8s.io", "ClusterQueue", false, {"v1beta1", "v1beta2"}},
    {Rival::kKueue, "kueue.x-k8s.io", "Cohort", false, {"v1alpha1", "v1beta1", "v1beta2"}},
    {Rival::kKueue, "kueue.x-k8s.io", "ResourceFlavor", false, {"v1beta1", "v1beta2"}},
    {Rival::kKueue, "kueue.x-k8s.io", "LocalQueue", true, {"v1beta1", "v1beta2"}},
    {Rival::kKai, "scheduling.run.ai", "Queue", false, {"v2"}},
    {Rival::kVolcano, "scheduling.volcano.sh", "Queue", false, {"v1beta1"}},
    {Rival::kKoordinator, "scheduling.sigs.k8s.io", "ElasticQuota", true, {"v1alpha1"}},
    {Rival::kKoordinator, "scheduling.x-k8s.io", "ElasticQuota", true, {"v1alpha1"}},
    {Rival::kKoordinator, "quota.koordinator.sh", "ElasticQuotaProfile", true, {"v1alpha1"}},
};

bool IsPrintable(absl::string_view text) {
  return absl::c_all_of(text, [](char c) { return c >= 0x20 && c < 0x7F; });
}

// A DNS subdomain, near enough: what the API server takes as names.
bool IsObjectName(absl::string_view text) {
  return absl::c_all_of(text, [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '.';
  });
}

class SourceReader {
 public:
  SourceReader(std::vector<Document>& documents, Problems& problems)
      : documents_(documents), problems_(problems) {}

  void Read(const ImportInput& input) {
    const size_t before = objects_.size();
    const int errors = problems_.errors();
    others_.clear();
    Documents(input.text, input.name);
    if (objects_.size() > before || problems_.errors() > errors) {
      for (const auto& [kind, count] : others_) {
        problems_.AddWarning(
            {Symbol::Intern(input.name)}, "",
            absl::StrCat("left out, as it says nothing of quotas: ", count, " ", kind));
      }
      return;
    }
    problems_.AddError(
        {Symbol::Intern(input.name), 1}, "",
        absl::StrCat(
            "has no queues of Kueue, KAI, Volcano or YuniKorn and no quotas of Koordinator",
            others_.empty() ? "" : "; it has ",
            absl::StrJoin(others_, ", ",
                          [](std::string* out, const auto& other) {
                            absl::StrAppend(out, other.second, " ", other.first);
                          }),
            ". Give what `kubectl get -o yaml` prints of them, or YuniKorn's queues.yaml"));
  }

  std::vector<SourceObject> Finish() { return std::move(objects_); }

 private:
  void Documents(absl::string_view text, absl::string_view name) {
    ReadDocuments(text, name, problems_, [this](Document document) {
      documents_.push_back(std::move(document));
      Visit(documents_.back().root(), 0);
    });
  }

  void Visit(Value value, int depth) {
    if (!value.IsMap()) {
      problems_.AddError(value.where(), "",
                         absl::StrCat("expected an object, found ", value.KindText()));
      return;
    }
    const std::string kind = TextOf(value.Find("kind"));
    const std::string api_version = TextOf(value.Find("apiVersion"));
    if (depth < 10 && absl::EndsWith(kind, "List") && value.Find("items").IsSequence()) {
      for (const Value item : value.Find("items").elements()) Visit(item, depth + 1);
      return;
    }
    if (kind == "ConfigMap" && api_version == "v1" && VisitConfigMap(value)) return;
    if (kind.empty() && value.Find("partitions").IsSequence()) {
      ReportDuplicateKeys(value, "YuniKorn partitions", 0);
      objects_.push_back({Rival::kYuniKorn, "partitions", value, "", ""});
      return;
    }
    const size_t slash = api_version.find('/');
    for (const Known& known : kKnown) {
      if (known.kind != kind || slash == std::string::npos ||
          api_version.substr(0, slash) != known.group) {
        continue;
      }
      return Add(known, api_version.substr(slash + 1), value);
    }
    ++others_[kind.empty() ? "document without a kind" : absl::StrCat(api_version, " ", kind)];
  }

  // YuniKorn's has its configuration as the text of an entry: queues.yaml, or <policyGroup>.yaml.
  bool VisitConfigMap(Value map) {
    bool found = false;
    for (const Value::Item item : map.Find("data").items()) {
      if (!absl::EndsWith(item.key, ".yaml") || !item.value.IsString() ||
          !absl::StrContains(item.value.text(), "partitions:")) {
        continue;
      }
      found = true;
      // Lines are counted from where the text begins.
      const SourceLocation where = item.value.where();
      Documents(std::string(item.value.text()),
                absl::StrCat(where.file.view(), ":", where.line, ":data[", item.key, "]"));
    }
    return found;
  }

  // Of a key that is there twice it is not known which one is meant.
  void ReportDuplicateKeys(Value value, const std::string& subject, int depth) {
    constexpr int kDeepest = 100;
    if (depth > kDeepest) return;
    ForEachDuplicateKey(value, [&](const Value::Item& item, SourceLocation first) {
      problems_.AddError(item.where, subject,
                         absl::StrCat(item.key, ": appears a second time; first in line ",
                                      first.line, ". Leave one of them"));
    });
    for (const Value::Item item : value.items())
      ReportDuplicateKeys(item.value, subject, depth + 1);
    for (const Value element : value.elements()) ReportDuplicateKeys(element, subject, depth + 1);
  }

  void Add(const Known& known, const std::string& version, Value value) {
    SourceObject object{known.rival, std::string(known.kind), value, "", ""};
    const Value metadata = value.Find("metadata");
    for (const auto& [field, name] :
         {std::pair<absl::string_view, std::string*>("name", &object.name),
          {"namespace", &object.namespace_name}}) {
      const Value value = metadata.Find(field);
      *name = TextOf(value);
      if (IsObjectName(*name) && !value.IsMap() && !value.IsSequence()) continue;
      problems_.AddError(value.where(), object.subject(),
                         absl::StrCat("metadata.", field, ": is no name of an object"));
      return;
    }
    ReportDuplicateKeys(value, object.subject(), 0);
    const Value spec = object.spec();
    if (spec && !spec.IsNull() && !spec.IsMap()) {
      problems_.AddError(spec.where(), object.subject(),
                         absl::StrCat("spec: is ", spec.KindText(), ", not a map"));
      return;
    }
    if (object.name.empty()) {
      problems_.AddError(value.where(), object.subject(), "metadata.name: is required");
      return;
    }
    // As the API server: what names no namespace is in "default", and a cluster's own is in none.
    if (!known.is_namespaced) object.namespace_name.clear();
    if (known.is_namespaced && object.namespace_name.empty()) object.namespace_name = "default";
    if (!absl::c_linear_search(known.versions, absl::string_view(version))) {
      problems_.AddError(value.where(), object.subject(),
                         absl::StrCat("apiVersion: ", known.group, "/", version,
                                      " is not read, but ", absl::StrJoin(known.versions, " and "),
                                      "; ask the API server for one of these"));
      return;
    }
    const auto [other, is_new] = places_.try_emplace(
        std::tuple(known.rival, object.kind, object.namespace_name, object.name), value.where());
    if (!is_new) {
      problems_.AddError(value.where(), object.subject(),
                         absl::StrCat("is there twice, also at ", other->second.ToString()));
      return;
    }
    objects_.push_back(std::move(object));
  }

  std::vector<Document>& documents_;
  Problems& problems_;
  std::vector<SourceObject> objects_;
  std::map<std::tuple<Rival, std::string, std::string, std::string>, SourceLocation> places_;
  std::map<std::string, int> others_;  // by kind, in the input at hand
};

}  // namespace

std::string SourceObject::subject() const {
  return absl::StrCat(kRivals[static_cast<int>(rival)], " ", kind, name.empty() ? "" : " ",
                      namespace_name.empty() ? "" : absl::StrCat(namespace_name, "/"), name);
}

std::vector<const SourceObject*> ObjectsOf(absl::Span<const SourceObject> objects, Rival rival,
                                           absl::string_view kind) {
  std::vector<const SourceObject*> found;
  for (const SourceObject& object : objects) {
    if (object.rival == rival && object.kind == kind) found.push_back(&object);
  }
  return found;
}

std::vector<SourceObject> ReadSources(absl::Span<const ImportInput> inputs,
                                      std::vector<Document>& documents, Problems& problems) {
  SourceReader reader(documents, problems);
  for (const ImportInput& input : inputs) reader.Read(input);
  return reader.Finish();
}

std::string TextOf(Value value) {
  return value.IsMap() || value.IsSequence() || value.IsNull() ? "" : std::string(value.text());
}

std::string NameOf(Value value, absl::string_view field, const std::string& subject,
                   Problems& problems) {
  std::string text = TextOf(value);
  const bool is_text = !value.IsMap() && !value.IsSequence();
  if (is_text && IsPrintable(text)) return text;
  problems.AddError(value.where(), subject,
                    is_text ? absl::StrCat(field, ": has characters that names do not have")
                            : absl::StrCat(field, ": is ", value.KindText(), ", not a text"));
  return "";
}

std::string Show(Value value) {
  JsonWriter out;
  WriteValue(value, out);
  std::string text(out.text());
  if (text.size() > kShown) text = absl::StrCat(text.substr(0, kShown), "...");
  return text;
}

std::optional<Quantity> ReadAmount(Value value, absl::string_view field, const std::string& subject,
                                   Problems& problems) {
  if (!value || value.IsNull()) return std::nullopt;
  const absl::StatusOr<Quantity> quantity = Quantity::Parse(TextOf(value));
  if (quantity.ok() && !quantity->IsNegative()) return *quantity;
  problems.AddError(
      value.where(), subject,
      absl::StrCat(field, ": ", Show(value), quantity.ok() ? " is negative" : " is no quantity"));
  return std::nullopt;
}

bool IsLine(const std::string& line, SourceLocation where, const std::string& subject,
            Problems& problems) {
  if (IsPrintable(line) && absl::c_count(line, '{') <= 1 && absl::c_count(line, '}') <= 1 &&
      QuotaLine::Parse(line).has_value()) {
    return true;
  }
  problems.AddError(where, subject, absl::StrCat("\"", line, "\" is no name of a resource"));
  return false;
}

Value ListOf(Value value, absl::string_view field, const std::string& subject, Problems& problems) {
  if (!value || value.IsNull() || value.IsSequence()) return value;
  problems.AddError(value.where(), subject,
                    absl::StrCat(field, ": is ", value.KindText(), ", not a list"));
  return Value();
}

Value MapOf(Value value, absl::string_view field, const std::string& subject, Problems& problems) {
  if (!value || value.IsNull() || value.IsMap()) return value;
  problems.AddError(value.where(), subject,
                    absl::StrCat(field, ": is ", value.KindText(), ", not a map"));
  return Value();
}

ImportedAmounts ReadAmounts(Value map, absl::string_view field, const std::string& subject,
                            Problems& problems, absl::string_view cpu_word) {
  ImportedAmounts amounts;
  for (const Value::Item item : MapOf(map, field, subject, problems).items()) {
    const std::string line = item.key == cpu_word ? "cpu" : std::string(item.key);
    const std::optional<Quantity> amount =
        ReadAmount(item.value, absl::StrCat(field, "[", item.key, "]"), subject, problems);
    if (!amount.has_value() || !IsLine(line, item.where, subject, problems)) continue;
    amounts[line] = *amount;
  }
  return amounts;
}

std::string ReadDuration(Value value, absl::string_view field, const std::string& subject,
                         Problems& problems) {
  if (!value || value.IsNull()) return "";
  const absl::StatusOr<absl::Duration> duration = ParseDuration(TextOf(value));
  if (duration.ok() && *duration >= absl::ZeroDuration()) return DurationToString(*duration);
  problems.AddError(value.where(), subject,
                    absl::StrCat(field, ": ", Show(value), " is no length of time, such as 90s"));
  return "";
}

std::optional<int64_t> ReadInteger(Value value, absl::string_view field, const std::string& subject,
                                   Problems& problems) {
  if (!value || value.IsNull()) return std::nullopt;
  const std::optional<int64_t> number = value.AsInt64();
  if (!number.has_value()) {
    problems.AddError(value.where(), subject,
                      absl::StrCat(field, ": ", Show(value), " is no whole number"));
  }
  return number;
}

void NoteUnread(Value map, absl::string_view prefix, std::initializer_list<absl::string_view> read,
                std::vector<ImportedNote>& notes) {
  // Null, empty and None say nothing.
  for (const Value::Item item : map.items()) {
    if (absl::c_linear_search(read, item.key) || item.value.IsNull()) continue;
    if (TextOf(item.value) == "None") continue;
    if ((item.value.IsMap() || item.value.IsSequence()) && item.value.size() == 0) continue;
    notes.push_back({"", absl::StrCat(prefix, item.key, ": ", Show(item.value),
                                      " has no equal and is left out")});
  }
}

}  // namespace berth
