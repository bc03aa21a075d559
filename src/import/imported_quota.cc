// SPDX-License-Identifier: Apache-2.0
// Implementation of imported_quota.h.
#include "import/imported_quota.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "berth/api/labels.h"

namespace berth {
namespace {

constexpr size_t kMostName = 240;  // of 253; a number may follow
constexpr size_t kCommentWidth = 110;

// A DNS subdomain made of `text`.
std::string LegalName(absl::string_view text) {
  std::string name;
  for (const char c : text.substr(0, kMostName)) {
    const char lower = absl::ascii_tolower(c);
    name += absl::ascii_isalnum(lower) || lower == '.' ? lower : '-';
  }
  // Each part between points begins and ends with a letter or a digit.
  std::vector<std::string> parts;
  for (absl::string_view part : absl::StrSplit(name, '.')) {
    while (absl::ConsumePrefix(&part, "-")) {
    }
    while (absl::ConsumeSuffix(&part, "-")) {
    }
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts.empty() ? "quota" : absl::StrJoin(parts, ".");
}

void NameAll(std::vector<ImportedQuota>& quotas) {
  std::set<std::string> taken;
  for (ImportedQuota& quota : quotas) {
    const std::string legal = LegalName(quota.name);
    std::string name = legal;
    for (int i = 2; !taken.insert(name).second; ++i) name = absl::StrCat(legal, "-", i);
    if (name != quota.name) quota.Note("", absl::StrCat("is called ", quota.name, " there"));
    quota.name = name;
  }
}

// `parent` of the quota at an index, among the same quotas; -1 is the cluster.
template <class Cut>
void CutCycles(std::vector<int>& parents, const Cut& cut) {
  for (size_t i = 0; i < parents.size(); ++i) {
    int above = parents[i];
    for (size_t steps = 0; above >= 0 && steps < parents.size(); ++steps) {
      if (above == static_cast<int>(i)) {
        cut(i);
        parents[i] = -1;
        break;
      }
      above = parents[above];
    }
  }
}

void ParentAll(Imported& imported) {
  std::vector<ImportedQuota>& quotas = imported.quotas;
  std::map<std::string, int> by_key;
  for (size_t i = 0; i < quotas.size(); ++i) by_key.emplace(quotas[i].key, static_cast<int>(i));
  const auto detach = [&](ImportedQuota& quota, std::string why) {
    imported.problems.AddWarning(quota.where, quota.from, why);
    quota.Note("", std::move(why));
    quota.parent_key.clear();
  };
  std::vector<int> parents;
  for (ImportedQuota& quota : quotas) {
    const auto found = by_key.find(quota.parent_key);
    parents.push_back(found == by_key.end() ? -1 : found->second);
    if (found != by_key.end() || quota.parent_key.empty()) continue;
    const std::string name = quota.parent_key.substr(quota.parent_key.rfind('/') + 1);
    detach(quota, absl::StrCat("its parent ", name,
                               " is not in the files; it is right below the cluster here"));
  }
  CutCycles(parents, [&](size_t i) {
    detach(quotas[i], "is above itself through its parent; it is right below the cluster here");
  });
}

// A line that neither a quota nor one above it names is nobody's there, and not taken back from it.
// There it is: who is guaranteed nothing gives first. `quotas` have parents that are there.
void NameWhatIsGuaranteed(std::vector<ImportedQuota>& quotas) {
  std::map<std::string, const ImportedQuota*> by_key;
  std::set<std::string> lines, parents;
  for (const ImportedQuota& quota : quotas) {
    by_key.emplace(quota.key, &quota);
    parents.insert(quota.parent_key);
    if (!quota.gives_all_back) continue;
    for (const auto& [line, min] : quota.min) {
      if (!min.IsZero()) lines.insert(line);
    }
  }
  const auto takes_back = [](const ImportedQuota& quota) {
    return quota.reclaim_strategy != "Never" &&
           absl::c_any_of(quota.min, [](const auto& of_line) { return !of_line.second.IsZero(); });
  };
  for (ImportedQuota& quota : quotas) {
    if (!quota.gives_all_back || parents.contains(quota.key)) continue;
    bool any = false;
    for (const std::string& line : lines) {
      const ImportedQuota* above = &quota;
      while (above != nullptr && !above->min.contains(line) && !above->max.contains(line)) {
        const auto next = by_key.find(above->parent_key);
        above = next == by_key.end() ? nullptr : next->second;
      }
      if (above != nullptr) continue;
      quota.min[line] = Quantity();
      any = true;
    }
    if (!any) continue;
    const bool may_lose_it =
        quota.fence != "In" && absl::c_any_of(quotas, [&](const ImportedQuota& other) {
          return other.key != quota.key && takes_back(other);
        });
    quota.Note("min", may_lose_it
                          ? "0: others are guaranteed it, and may take it back from this one"
                          : "0: others are guaranteed it");
  }
}

// ElasticQuotas name their parent by a label: an ElasticQuota in whatever namespace, or a
// ClusterQuota.
constexpr absl::string_view kParentLabels[] = {"quota.scheduling.koordinator.sh/parent",
                                               "scheduling.berth.dev/parent"};
constexpr absl::string_view kRoots[] = {"", "root", "koordinator-root-quota"};

void ParentElasticQuotas(Imported& imported) {
  std::vector<ImportedElasticQuota>& quotas = imported.elastic_quotas;
  std::map<std::string, int> by_name;
  for (size_t i = 0; i < quotas.size(); ++i) by_name.emplace(quotas[i].name, static_cast<int>(i));
  const auto detach = [&](ImportedElasticQuota& quota, std::string why) {
    imported.problems.AddWarning(quota.where, absl::StrCat("ElasticQuota ", quota.name), why);
    quota.notes.push_back({"", std::move(why)});
    // An empty one is the cluster, and wins over none.
    for (const absl::string_view label : kParentLabels) quota.labels.erase(std::string(label));
    quota.labels[std::string(kParentLabels[0])] = "";
  };
  std::vector<int> parents;
  for (ImportedElasticQuota& quota : quotas) {
    std::string parent;
    for (const absl::string_view label : kParentLabels) {
      const auto found = quota.labels.find(std::string(label));
      if (found != quota.labels.end()) parent = found->second;
    }
    const auto found = by_name.find(parent);
    const bool is_root = absl::c_linear_search(kRoots, absl::string_view(parent));
    parents.push_back(is_root || found == by_name.end() ? -1 : found->second);
    if (parents.back() >= 0 || is_root) continue;
    if (absl::c_any_of(imported.quotas,
                       [&](const ImportedQuota& other) { return other.name == parent; })) {
      continue;
    }
    detach(quota, absl::StrCat("its parent ", parent,
                               " is not in the files; it is right below the cluster here"));
  }
  CutCycles(parents, [&](size_t i) {
    detach(quotas[i], "is above itself through its parent; it is right below the cluster here");
  });
}

template <class Quota>
void KeepMinBelowMax(Quota& quota) {
  for (auto& [line, min] : quota.min) {
    const auto max = quota.max.find(line);
    if (max == quota.max.end() || !(max->second < min)) continue;
    quota.notes.push_back(
        {"min", absl::StrCat(line, ": ", min.ToString(), " there, more than its limit")});
    min = max->second;
  }
}

class YamlWriter {
 public:
  explicit YamlWriter(const Imported& imported) {
    for (const ImportedQuota& quota : imported.quotas) names_.emplace(quota.key, quota.name);
  }
  std::string Write(const Imported& imported, absl::string_view inputs) {
    text_ = absl::StrCat("# Quotas for Berth, by `berth import` from:\n");
    Comment(0, inputs);
    absl::StrAppend(
        &text_, "# docs/quota.md says what each field means, docs/import.md what becomes what.\n");
    for (const std::string& remark : imported.remarks) {
      text_ += "#\n";
      Remark(0, remark);
    }
    text_ += "\n";
    bool first = true;
    for (const ImportedQuota& quota : imported.quotas) {
      if (!first) text_ += "---\n";
      first = false;
      Write(quota);
    }
    for (const ImportedElasticQuota& quota : imported.elastic_quotas) {
      if (!first) text_ += "---\n";
      first = false;
      Write(quota);
    }
    return std::move(text_);
  }
  int comments() const { return comments_; }

 private:
  void Write(const ImportedQuota& quota) {
    notes_ = quota.notes;
    Comment(0, absl::StrCat(quota.from, ", ", quota.where.ToString()));
    const size_t head = text_.size();
    text_ += "apiVersion: scheduling.berth.dev/v1alpha1\nkind: ClusterQuota\n";
    absl::StrAppend(&text_, "metadata: {name: ", Text(quota.name), "}\n");
    const size_t begin = text_.size();
    text_ += "spec:\n";
    const size_t body = text_.size();
    Field("parent", ParentOf(quota));
    if (!quota.namespaces.empty()) {
      NotesOf("namespaces");
      absl::StrAppend(&text_, "  namespaces: ", List(quota.namespaces), "\n");
    }
    if (quota.pod_selector.has_value()) Selector("podSelector", *quota.pod_selector);
    Amounts("min", quota.min);
    Amounts("max", quota.max);
    Amounts("borrowingLimit", quota.borrowing_limit);
    Amounts("lendingLimit", quota.lending_limit);
    if (quota.weight.has_value()) Field("weight", absl::StrCat(*quota.weight));
    Amounts("weights", quota.weights);
    if (quota.priority != 0) Field("priority", absl::StrCat(quota.priority));
    Pairs("reclaim", {{"strategy", quota.reclaim_strategy}, {"victims", quota.reclaim_victims}});
    Field("preemption", quota.preemption);
    Field("fence", quota.fence);
    Pairs("minRuntime",
          {{"reclaim", quota.reclaim_min_runtime}, {"preempt", quota.preempt_min_runtime}});
    Field("queueing", quota.queueing);
    if (text_.size() == body) text_.replace(begin, std::string::npos, "spec: {}\n");
    NotesAtHead(head);
  }

  void Write(const ImportedElasticQuota& quota) {
    notes_ = quota.notes;
    Comment(0, absl::StrCat("as it is at ", quota.where.ToString()));
    const size_t head = text_.size();
    absl::StrAppend(&text_, "apiVersion: ", Text(quota.api_version),
                    "\nkind: ElasticQuota\nmetadata:\n", "  name: ", Text(quota.name), "\n");
    if (!quota.namespace_name.empty()) {
      absl::StrAppend(&text_, "  namespace: ", Text(quota.namespace_name), "\n");
    }
    Texts("labels", quota.labels);
    Texts("annotations", quota.annotations);
    const size_t begin = text_.size();
    text_ += "spec:\n";
    const size_t body = text_.size();
    Amounts("min", quota.min);
    Amounts("max", quota.max);
    if (text_.size() == body) text_.replace(begin, std::string::npos, "spec: {}\n");
    NotesAtHead(head);
  }

  // Notes of what was not written stand above the object.
  void NotesAtHead(size_t head) {
    const std::string rest = text_.substr(head);
    text_.resize(head);
    for (const ImportedNote& note : notes_) {
      Remark(0, note.field.empty() ? note.text : absl::StrCat(note.field, ": ", note.text));
    }
    text_ += rest;
  }
  void NotesOf(absl::string_view field) {
    for (auto note = notes_.begin(); note != notes_.end();) {
      if (note->field != field) {
        ++note;
        continue;
      }
      Remark(2, note->text);
      note = notes_.erase(note);
    }
  }

  void Field(absl::string_view name, absl::string_view value) {
    if (value.empty()) return;
    NotesOf(name);
    absl::StrAppend(&text_, "  ", name, ": ", value, "\n");
  }
  void Pairs(absl::string_view name,
             const std::vector<std::pair<absl::string_view, std::string>>& pairs) {
    std::vector<std::string> written;
    for (const auto& [key, value] : pairs) {
      if (!value.empty()) written.push_back(absl::StrCat(key, ": ", value));
    }
    if (!written.empty()) Field(name, absl::StrCat("{", absl::StrJoin(written, ", "), "}"));
  }
  void Amounts(absl::string_view name, const ImportedAmounts& amounts) {
    if (amounts.empty()) return;
    NotesOf(name);
    absl::StrAppend(&text_, "  ", name, ":\n");
    for (const auto& [line, amount] : amounts) {
      absl::StrAppend(&text_, "    ", Text(line), ": ", amount.ToString(), "\n");
    }
  }
  void Texts(absl::string_view name, const std::map<std::string, std::string>& texts) {
    if (texts.empty()) return;
    NotesOf(name);
    absl::StrAppend(&text_, "  ", name, ":\n");
    for (const auto& [key, value] : texts) {
      absl::StrAppend(&text_, "    ", Text(key), ": ", JsonQuoted(value), "\n");
    }
  }
  void Selector(absl::string_view name, const ImportedSelector& selector) {
    NotesOf(name);
    std::vector<std::string> requirements;
    for (const ImportedSelector::Requirement& requirement : selector.requirements) {
      requirements.push_back(absl::StrCat(
          "{key: ", Text(requirement.key), ", operator: ", requirement.op,
          requirement.values.empty() ? "" : absl::StrCat(", values: ", List(requirement.values)),
          "}"));
    }
    absl::StrAppend(&text_, "  ", name, ": {matchExpressions: [", absl::StrJoin(requirements, ", "),
                    "]}\n");
  }

  void Remark(int indent, absl::string_view text) {
    ++comments_;
    Comment(indent, text);
  }
  // Only printable ASCII of what was in the files gets into a comment, so that it stays one.
  void Comment(int indent, absl::string_view text) {
    std::string line;
    const auto flush = [&] {
      absl::StrAppend(&text_, std::string(indent, ' '), "# ", line, "\n");
      line.clear();
    };
    std::string clean;
    for (const char c : text)
      clean += c >= 0x20 && c < 0x7F ? c : absl::ascii_isspace(c) ? ' ' : '?';
    for (const absl::string_view word : absl::StrSplit(clean, ' ', absl::SkipEmpty())) {
      if (!line.empty() && line.size() + word.size() + indent > kCommentWidth) flush();
      absl::StrAppend(&line, line.empty() ? "" : " ", word);
    }
    flush();
  }

  // A plain scalar where that is surely a string, else a quoted one.
  static std::string Text(absl::string_view text) {
    static const auto& kWords = *new std::set<absl::string_view>(
        {"y", "n", "yes", "no", "on", "off", "true", "false", "null"});
    const bool plain = !text.empty() && absl::ascii_islower(text[0]) && !kWords.contains(text) &&
                       absl::c_all_of(text, [](char c) {
                         return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' ||
                                c == '.' || c == '/';
                       });
    return plain ? std::string(text) : JsonQuoted(text);
  }
  static std::string List(const std::vector<std::string>& texts) {
    return absl::StrCat(
        "[",
        absl::StrJoin(texts, ", ",
                      [](std::string* out, const std::string& text) { out->append(Text(text)); }),
        "]");
  }
  std::string ParentOf(const ImportedQuota& quota) const {
    const auto found = names_.find(quota.parent_key);
    return found == names_.end() ? "" : Text(found->second);
  }

  std::map<std::string, std::string> names_;  // by key
  std::string text_;
  std::vector<ImportedNote> notes_;  // of the object at hand that are not written yet
  int comments_ = 0;
};

}  // namespace

std::string JsonQuoted(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"\"", "\\\""}}), "\"");
}

bool ImportedQuota::SelectByLabel(absl::string_view label, const std::vector<std::string>& values) {
  ImportedSelector::Requirement requirement{std::string(label), "In", {}};
  for (const std::string& value : values) {
    const absl::string_view one = value;
    if (LabelRequirement::Create(label, SelectorOperator::kIn, {&one, 1}).ok()) {
      requirement.values.push_back(value);
    } else {
      Note("", absl::StrCat("no label can have the value ", value,
                            "; give its pods the label scheduling.berth.dev/quota"));
    }
  }
  if (requirement.values.empty()) return false;
  pod_selector = ImportedSelector{{std::move(requirement)}};
  return true;
}

void Reconcile(Imported& imported) {
  NameAll(imported.quotas);
  ParentAll(imported);
  NameWhatIsGuaranteed(imported.quotas);
  ParentElasticQuotas(imported);
  for (ImportedQuota& quota : imported.quotas) {
    quota.priority = std::clamp<int64_t>(quota.priority, std::numeric_limits<int32_t>::min(),
                                         std::numeric_limits<int32_t>::max());
    KeepMinBelowMax(quota);
  }
  for (ImportedElasticQuota& quota : imported.elastic_quotas) KeepMinBelowMax(quota);
}

std::string WriteYaml(const Imported& imported, absl::string_view inputs, int& comments) {
  YamlWriter writer(imported);
  std::string text = writer.Write(imported, inputs);
  comments = writer.comments();
  return text;
}

}  // namespace berth
