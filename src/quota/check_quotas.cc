// SPDX-License-Identifier: Apache-2.0
// What contradicts itself in a set of quotas.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "berth/devices/extended_resource_classes.h"
#include "berth/quota/quota_spec.h"
#include "berth/quota/quota_tree.h"

namespace berth {
namespace {

// At most what 64 bits hold: sums of limits may be more.
std::string Text(const QuotaLine& line, __int128 amount) {
  constexpr __int128 kMost = std::numeric_limits<int64_t>::max();
  return line.QuantityOf(static_cast<int64_t>(std::min(amount, kMost))).ToString();
}

void CheckNames(absl::Span<const QuotaSpec> specs, Problems& problems) {
  std::map<absl::string_view, const QuotaSpec*> by_name;
  for (const QuotaSpec& spec : specs) by_name.emplace(spec.name, &spec);
  for (const QuotaSpec& spec : specs) {
    if (spec.parent.empty()) continue;
    if (!by_name.contains(spec.parent)) {
      problems.AddError(spec.where, spec.subject(),
                        absl::StrCat("there is no quota \"", spec.parent,
                                     "\", its parent; it is taken to be right below the cluster"));
      continue;
    }
    // A cycle is told of each quota in it.
    const QuotaSpec* above = &spec;
    for (size_t steps = 0; above != nullptr && steps <= specs.size(); ++steps) {
      const auto next = above->parent.empty() ? by_name.end() : by_name.find(above->parent);
      above = next == by_name.end() ? nullptr : next->second;
      if (above != &spec) continue;
      problems.AddError(spec.where, spec.subject(),
                        absl::StrCat("is above itself, through its parent \"", spec.parent, "\""));
      break;
    }
  }
}

// Two that select the same pods for sure: by a namespace that both name, where no selector of pods
// tells them apart, or by the same selectors.
void CheckSelectors(absl::Span<const QuotaSpec> specs, Problems& problems) {
  std::map<Symbol, std::vector<const QuotaSpec*>> by_namespace;
  std::vector<const QuotaSpec*> by_selectors;
  for (const QuotaSpec& spec : specs) {
    if (spec.namespace_selector.has_value() ||
        (spec.namespaces.empty() && spec.pod_selector.has_value())) {
      const auto same = absl::c_find_if(by_selectors, [&](const QuotaSpec* other) {
        return other->namespace_selector == spec.namespace_selector &&
               other->pod_selector == spec.pod_selector;
      });
      if (same != by_selectors.end()) {
        problems.AddError(
            spec.where, spec.subject(),
            absl::StrCat(
                spec.namespace_selector.has_value() ? "spec.namespaceSelector" : "spec.podSelector",
                " selects the pods that ", (*same)->subject(),
                " selects, which is older and has them"));
      }
      by_selectors.push_back(&spec);
    }
    const std::set<Symbol> names(spec.namespaces.begin(), spec.namespaces.end());
    for (const Symbol name : names) {
      for (const QuotaSpec* other : by_namespace[name]) {
        // An ElasticQuota has what no ClusterQuota selects.
        if (other->is_elastic_quota != spec.is_elastic_quota) continue;
        if (other->pod_selector != spec.pod_selector) continue;
        problems.AddError(spec.where, spec.subject(),
                          absl::StrCat("selects the pods of namespace ", name.view(), " as ",
                                       other->subject(), " does, which is older and has them"));
      }
      by_namespace[name].push_back(&spec);
    }
  }
}

// Quotas that select no pod which another one does not have before them: an older ClusterQuota with
// the same namespaces and no selector of pods, of an ElasticQuota any ClusterQuota.
void CheckWhatIsLeft(absl::Span<const QuotaSpec> specs, Problems& problems) {
  std::map<Symbol, const QuotaSpec*> by_namespace;  // who has all its pods
  std::vector<const QuotaSpec*> by_labels;          // who has all pods of the namespaces with them
  const auto holders_of = [&](const QuotaSpec& spec) {
    std::vector<std::string> holders;
    const auto add = [&](const QuotaSpec& holder) {
      if (!absl::c_linear_search(holders, holder.subject())) holders.push_back(holder.subject());
    };
    for (const Symbol name : spec.namespaces) {
      const auto found = by_namespace.find(name);
      if (found == by_namespace.end()) return std::vector<std::string>();
      add(*found->second);
    }
    if (spec.namespace_selector.has_value()) {
      const auto same = absl::c_find_if(by_labels, [&](const QuotaSpec* other) {
        return other->namespace_selector == spec.namespace_selector;
      });
      if (same == by_labels.end()) return std::vector<std::string>();
      add(**same);
    }
    return holders;
  };
  const auto tell = [&](const QuotaSpec& spec, bool by_age) {
    const std::vector<std::string> holders = holders_of(spec);
    if (holders.empty()) return;
    const bool one = holders.size() == 1;
    const absl::string_view older = !by_age ? "" : one ? ", which is older" : ", which are older";
    problems.AddWarning(spec.where, spec.subject(),
                        absl::StrCat("has only pods that name it: all that it selects are of ",
                                     absl::StrJoin(holders, " and "), older, "; narrow ",
                                     one ? "that one" : "those"));
  };
  for (const QuotaSpec& spec : specs) {
    if (spec.is_elastic_quota) continue;
    if (spec.pod_selector.has_value()) {
      tell(spec, true);
      continue;
    }
    for (const Symbol name : spec.namespaces) by_namespace.try_emplace(name, &spec);
    if (spec.namespace_selector.has_value()) by_labels.push_back(&spec);
  }
  for (const QuotaSpec& spec : specs) {
    if (spec.is_elastic_quota) tell(spec, false);
  }
}

void CheckAmounts(const QuotaTree& tree, const QuotaAmounts& capacity, Problems& problems) {
  const absl::Span<const QuotaLine> lines = tree.lines();
  for (QuotaId quota = 1; quota < tree.size(); ++quota) {
    const QuotaSpec& spec = tree.spec(quota);
    for (const auto& [line, min] : spec.min.entries()) {
      const std::optional<int64_t> max = spec.max.Find(line);
      if (max.has_value() && min > *max) {
        problems.AddError(spec.where, spec.subject(),
                          absl::StrCat("spec.min[", line.ToString(), "] is ", Text(line, min),
                                       ", more than spec.max, ", Text(line, *max)));
      }
      const std::optional<int64_t> lends = spec.lending_limit.Find(line);
      if (lends.has_value() && *lends > min) {
        problems.AddWarning(
            spec.where, spec.subject(),
            absl::StrCat("spec.lendingLimit[", line.ToString(), "] is ", Text(line, *lends),
                         ", more than spec.min, ", Text(line, min), ": it lends all of that"));
      }
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      const QuotaLine& line = lines[i];
      __int128 of_children = 0;
      for (const QuotaId child : tree.children(quota)) {
        of_children += tree.guarantee(child, static_cast<int>(i));
        const std::optional<int64_t> max = spec.max.Find(line);
        const std::optional<int64_t> of_child = tree.spec(child).max.Find(line);
        if (max.has_value() && of_child.has_value() && *of_child > *max) {
          problems.AddWarning(
              tree.spec(child).where, tree.spec(child).subject(),
              absl::StrCat("spec.max[", line.ToString(), "] is ", Text(line, *of_child),
                           ", more than its parent ", spec.name, " may have, ", Text(line, *max)));
        }
      }
      // Of two bounds the one that is hard.
      for (const auto& [field, amounts] :
           {std::pair{"spec.max", &spec.max}, std::pair{"spec.min", &spec.min}}) {
        const std::optional<int64_t> bound = amounts->Find(line);
        if (!bound.has_value() || of_children <= *bound) continue;
        problems.AddWarning(
            spec.where, spec.subject(),
            absl::StrCat("the quotas below it are guaranteed ", Text(line, of_children), " ",
                         line.ToString(), ", more than its ", field, ", ", Text(line, *bound)));
        break;
      }
    }
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    __int128 promised = 0;
    const QuotaSpec* first = nullptr;
    for (const QuotaId child : tree.children(QuotaTree::kCluster)) {
      const __int128 guarantee = tree.guarantee(child, static_cast<int>(i));
      if (guarantee > 0 && first == nullptr) first = &tree.spec(child);
      promised += guarantee;
    }
    const std::optional<int64_t> there = capacity.Find(lines[i]);
    if (first == nullptr || !there.has_value() || promised <= *there) continue;
    problems.AddWarning(
        first->where, first->subject(),
        absl::StrCat("all quotas together are guaranteed ", Text(lines[i], promised), " ",
                     lines[i].ToString(), "; the nodes have ", Text(lines[i], *there)));
  }
}

// Of which class the line counts devices; empty if of none.
absl::string_view ClassOf(const QuotaLine& line) {
  if (line.counts != QuotaLine::Counts::kResource) return "";
  absl::string_view name = ResourceName(line.resource);
  return absl::ConsumeSuffix(&name, kDevicesOfClass) ||
                 absl::ConsumePrefix(&name, kDeviceClassResourcePrefix)
             ? name
             : "";
}

}  // namespace

void CheckClassesOfLines(absl::Span<const QuotaSpec> specs, absl::Span<const std::string> classes,
                         Problems& problems) {
  if (classes.empty()) return;
  const std::set<absl::string_view> known(classes.begin(), classes.end());
  for (const QuotaSpec& spec : specs) {
    const std::pair<absl::string_view, const QuotaAmounts*> fields[] = {
        {"spec.min", &spec.min},
        {"spec.max", &spec.max},
        {"spec.borrowingLimit", &spec.borrowing_limit},
        {"spec.lendingLimit", &spec.lending_limit},
        {"spec.weights", &spec.weights}};
    for (const auto& [field, amounts] : fields) {
      for (const auto& [line, amount] : amounts->entries()) {
        const absl::string_view name = ClassOf(line);
        if (name.empty() || known.contains(name)) continue;
        problems.AddWarning(spec.where, spec.subject(),
                            absl::StrCat(field, "[", line.ToString(), "]: there is no DeviceClass ",
                                         name, ", so it counts nothing"));
      }
    }
  }
}

void CheckQuotas(absl::Span<const QuotaSpec> specs, const QuotaAmounts& capacity,
                 Problems& problems) {
  CheckNames(specs, problems);
  CheckSelectors(specs, problems);
  CheckWhatIsLeft(specs, problems);
  CheckAmounts(QuotaTree(std::vector<QuotaSpec>(specs.begin(), specs.end())), capacity, problems);
}

}  // namespace berth
