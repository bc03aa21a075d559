// SPDX-License-Identifier: Apache-2.0
// Implementation of converted_file.h.
#include "config/converted_file.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "berth/api/time.h"
#include "config/arguments/field_text.h"
#include "config/configuration_file.h"
#include "config/legacy_names.h"

namespace berth {
namespace {

void AppendProfile(const ConvertedProfile& profile, std::string& out) {
  absl::StrAppend(&out, "- schedulerName: ", YamlScalar(profile.scheduler_name), "\n");
  for (const std::string& comment : profile.comments) absl::StrAppend(&out, "  # ", comment, "\n");
  if (!profile.percentage.empty()) {
    absl::StrAppend(&out, "  percentageOfNodesToScore: ", profile.percentage, "\n");
  }
  const bool any_point = absl::c_any_of(profile.points, [](const auto& point) {
    return !point.second.first.empty() || !point.second.second.empty();
  });
  if (any_point) absl::StrAppend(&out, "  plugins:\n");
  for (const auto& [point, lists] : profile.points) {
    if (lists.first.empty() && lists.second.empty()) continue;
    absl::StrAppend(&out, "    ", point, ":\n");
    if (!lists.first.empty()) absl::StrAppend(&out, "      enabled:\n");
    for (const ConvertedPlugin& plugin : lists.first) {
      absl::StrAppend(&out, "      - name: ", YamlScalar(plugin.name), "\n");
      if (!plugin.weight.empty()) absl::StrAppend(&out, "        weight: ", plugin.weight, "\n");
    }
    if (!lists.second.empty()) absl::StrAppend(&out, "      disabled:\n");
    for (const std::string& name : lists.second) {
      absl::StrAppend(&out, "      - name: ", YamlScalar(name), "\n");
    }
  }
  if (profile.args.empty()) return;
  absl::StrAppend(&out, "  pluginConfig:\n");
  for (const auto& [name, lines] : profile.args) {
    absl::StrAppend(&out, "  - name: ", YamlScalar(name), "\n    args:", lines.empty() ? " {}" : "",
                    "\n");
    for (const std::string& line : lines) absl::StrAppend(&out, "      ", line, "\n");
  }
}

// The strategy becomes part of NodeResourcesFit's arguments.
void Finish(ConvertedProfile& profile) {
  if (!profile.strategy.has_value()) return;
  Lines* args = profile.ArgsOf(kFit);
  if (args == nullptr) {
    profile.args.emplace_back(std::string(kFit), Lines());
    args = &profile.args.back().second;
  }
  Lines strategy = *profile.strategy;
  Indent(strategy, 2);
  if (absl::c_linear_search(*args, "scoringStrategy:")) return;  // the file has one of its own
  args->push_back("scoringStrategy:");
  args->insert(args->end(), strategy.begin(), strategy.end());
}

}  // namespace

std::string WeightOf(Value weight) {
  return weight.AsInt64().has_value() && *weight.AsInt64() != 0 ? std::string(weight.text()) : "";
}

std::string ConvertedFile::Comment(Value where, absl::string_view text) {
  ++comments_;
  std::string line = absl::StrCat(
      text, where.where().line > 0 ? absl::StrCat(" (line ", where.where().line, ")") : "");
  // Names of the input may have anything in them.
  absl::c_replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }, ' ');
  return line;
}

void ConvertedFile::CommentAtTop(Value where, absl::string_view text) {
  comments_at_top_.push_back(Comment(where, text));
}

void ConvertedFile::AddProfile(ConvertedProfile profile) {
  Finish(profile);
  profiles_.push_back(std::move(profile));
}

void ConvertedFile::SetStrategy(ConvertedProfile& profile, absl::string_view type, Value args,
                                Value where) {
  Lines strategy = {absl::StrCat("type: ", type)};
  const auto add = [&strategy](absl::string_view key, Value value, int indent) {
    if (!value.IsSequence() || value.size() == 0) return;
    Lines inner = Block(value);
    Indent(inner, indent);
    strategy.push_back(absl::StrCat(std::string(indent, ' '), key, ":"));
    strategy.insert(strategy.end(), inner.begin(), inner.end());
  };
  add("resources", args.Find("resources"), 0);
  if (type == "RequestedToCapacityRatio") {
    strategy.push_back("requestedToCapacityRatio:");
    add("shape", args.Find("shape"), 2);
    if (!args.Find("shape")) strategy.back() += " {}";
  }
  if (profile.strategy.has_value() && profile.strategy->front() != strategy.front()) {
    profile.comments.push_back(
        Comment(where, absl::StrCat("There is one scoringStrategy; no equal for another with \"",
                                    strategy.front(), "\"")));
    return;
  }
  profile.strategy = std::move(strategy);
}

void ConvertedFile::CopyFields(Value root,
                               const std::map<absl::string_view, absl::string_view>& dropped) {
  static const auto& copied = *new std::set<absl::string_view>{"parallelism",
                                                               "clientConnection",
                                                               "percentageOfNodesToScore",
                                                               "podInitialBackoffSeconds",
                                                               "podMaxBackoffSeconds",
                                                               "enableProfiling",
                                                               "enableContentionProfiling",
                                                               "delayCacheUntilActive"};
  static const auto& handled = *new std::set<absl::string_view>{"apiVersion",
                                                                "kind",
                                                                "metadata",
                                                                "profiles",
                                                                "extenders",
                                                                "leaderElection",
                                                                "schedulerName",
                                                                "plugins",
                                                                "pluginConfig",
                                                                "algorithmSource",
                                                                "hardPodAffinitySymmetricWeight",
                                                                "bindTimeoutSeconds",
                                                                "disablePreemption"};
  for (const Value::Item item : root.items()) {
    if (copied.contains(item.key)) {
      CopyField(std::string(item.key), item.value);
    } else if (const auto why = dropped.find(item.key); why != dropped.end()) {
      CommentAtTop(item.value, absl::StrCat(item.key, ": no equal: ", why->second));
    } else if (!handled.contains(item.key)) {
      CommentAtTop(item.value, absl::StrCat(item.key, ": no such field in any version; left out"));
    }
  }
}

void ConvertedFile::CopyField(const std::string& key, Value value) {
  if (!value.IsMap() && !value.IsSequence()) {
    fields_.push_back(absl::StrCat(key, ": ", Scalar(value)));
    return;
  }
  Lines inner = Block(value);
  if (inner.empty()) {
    fields_.push_back(absl::StrCat(key, ": ", value.IsMap() ? "{}" : "[]"));
    return;
  }
  if (value.IsMap()) Indent(inner, 2);
  fields_.push_back(absl::StrCat(key, ":"));
  fields_.insert(fields_.end(), inner.begin(), inner.end());
}

void ConvertedFile::AddOldDefaultWeights(ConvertedProfile& profile) {
  std::set<std::string> named;
  for (const ConvertedPlugin& plugin : profile.points["score"].first) named.insert(plugin.name);
  const std::vector<std::string>& disabled = profile.points["score"].second;
  if (absl::c_linear_search(disabled, "*")) return;
  bool any = false;
  for (const std::string plugin : {"TaintToleration", "NodeAffinity", "InterPodAffinity"}) {
    if (named.contains(plugin) || absl::c_linear_search(disabled, plugin)) continue;
    profile.Enable("score", plugin, "1");
    any = true;
  }
  if (any) {
    profile.comments.push_back(
        Comment(Value(), "The weights of score that are 1 were the defaults of that version"));
  }
}

void ConvertedFile::AddSymmetricWeight(Value root, ConvertedProfile& profile) {
  const Value weight = root.Find("hardPodAffinitySymmetricWeight");
  if (!weight.AsInt64().has_value()) return;
  if (profile.ArgsOf("InterPodAffinity") != nullptr) return;
  profile.args.emplace_back("InterPodAffinity",
                            Lines{absl::StrCat("hardPodAffinityWeight: ", weight.text())});
}

void ConvertedFile::CopyExtenders(Value extenders) {
  if (!extenders.IsSequence() || extenders.size() == 0) return;
  fields_.push_back("extenders:");
  for (const Value extender : extenders.elements()) {
    Lines lines;
    for (const Value::Item item : extender.items()) {
      if (item.key == "apiVersion") continue;  // of what is sent; there is one left
      std::string key(item.key);
      if (key == "enableHttps") key = "enableHTTPS";
      if (key == "BindVerb") key = "bindVerb";
      if (key == "httpTimeout" && item.value.AsInt64().has_value()) {  // nanoseconds
        lines.push_back(
            absl::StrCat(key, ": ", DurationToString(absl::Nanoseconds(*item.value.AsInt64()))));
      } else if ((item.value.IsMap() || item.value.IsSequence()) && item.value.size() > 0) {
        Lines inner = Block(item.value);
        if (item.value.IsMap()) Indent(inner, 2);
        lines.push_back(absl::StrCat(YamlScalar(key), ":"));
        lines.insert(lines.end(), inner.begin(), inner.end());
      } else {
        lines.push_back(absl::StrCat(YamlScalar(key), ": ",
                                     item.value.IsMap()        ? "{}"
                                     : item.value.IsSequence() ? "[]"
                                                               : Scalar(item.value)));
      }
    }
    if (lines.empty()) continue;
    Indent(lines, 2);
    lines.front()[0] = '-';
    fields_.insert(fields_.end(), lines.begin(), lines.end());
  }
  if (fields_.back() == "extenders:") fields_.back() = "extenders: []";
}

std::string ConvertedFile::ToYaml(absl::string_view from) const {
  std::string out = absl::StrCat("# Converted from ", from, ".\n");
  for (const std::string& comment : comments_at_top_) absl::StrAppend(&out, "# ", comment, "\n");
  absl::StrAppend(&out, "apiVersion: ", kConfigurationVersion, "\nkind: ", kConfigurationKind,
                  "\n");
  for (const std::string& line : fields_) absl::StrAppend(&out, line, "\n");
  absl::StrAppend(&out, "profiles:\n");
  for (const ConvertedProfile& profile : profiles_) AppendProfile(profile, out);
  return out;
}

}  // namespace berth
