// SPDX-License-Identifier: Apache-2.0
// The v1 file that a configuration of an older Kubernetes becomes, while it is written.
#ifndef BERTH_SRC_CONFIG_CONVERTED_FILE_H_
#define BERTH_SRC_CONFIG_CONVERTED_FILE_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "berth/api/value.h"
#include "config/yaml_lines.h"

namespace berth {

struct ConvertedPlugin {
  std::string name;
  std::string weight;  // empty: none
};

struct ConvertedProfile {
  std::string scheduler_name;
  std::string percentage;
  Lines comments;
  // By extension point, in the order of the file.
  std::map<std::string, std::pair<std::vector<ConvertedPlugin>, std::vector<std::string>>> points;
  std::vector<std::pair<std::string, Lines>> args;  // by plugin
  std::optional<Lines> strategy;                    // scoringStrategy of NodeResourcesFit

  void Enable(const std::string& point, std::string name, std::string weight = "") {
    std::vector<ConvertedPlugin>& enabled = points[point].first;
    if (absl::c_none_of(enabled,
                        [&](const ConvertedPlugin& other) { return other.name == name; })) {
      enabled.push_back({std::move(name), std::move(weight)});
    }
  }
  void Disable(const std::string& point, const std::string& name) {
    std::vector<std::string>& disabled = points[point].second;
    if (!absl::c_linear_search(disabled, name)) disabled.push_back(name);
  }
  Lines* ArgsOf(absl::string_view plugin) {
    for (auto& [name, lines] : args) {
      if (name == plugin) return &lines;
    }
    return nullptr;
  }
};

// The weight of a plugin as it is written; "" for none, which is 0 in old files.
std::string WeightOf(Value weight);

class ConvertedFile {
 public:
  // A comment that ends with the line of `where`. Counts as one that is in the file.
  std::string Comment(Value where, absl::string_view text);
  void CommentAtTop(Value where, absl::string_view text);
  int comments() const { return comments_; }

  // The fields that v1 has, too. `dropped`: why others have no equal.
  void CopyFields(Value root, const std::map<absl::string_view, absl::string_view>& dropped);
  void CopyExtenders(Value extenders);
  void AddField(std::string line) { fields_.push_back(std::move(line)); }
  void AddProfile(ConvertedProfile profile);

  // For the old arguments `args`: LeastAllocated and MostAllocated have resources, the third shape
  // and resources, in a Policy in a map of its own.
  void SetStrategy(ConvertedProfile& profile, absl::string_view type, Value args, Value where);
  // Before v1beta3 some plugins had the weight 1.
  void AddOldDefaultWeights(ConvertedProfile& profile);
  static void AddSymmetricWeight(Value root, ConvertedProfile& profile);

  std::string ToYaml(absl::string_view from) const;

 private:
  void CopyField(const std::string& key, Value value);

  int comments_ = 0;
  Lines comments_at_top_, fields_;
  std::vector<ConvertedProfile> profiles_;
};

}  // namespace berth

#endif  // BERTH_SRC_CONFIG_CONVERTED_FILE_H_
