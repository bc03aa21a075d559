// SPDX-License-Identifier: Apache-2.0
// Implementation of yaml_lines.h.
#include "config/yaml_lines.h"

#include "absl/strings/str_cat.h"
#include "config/arguments/field_text.h"

namespace berth {

void Indent(Lines& lines, int by) {
  for (std::string& line : lines) line.insert(0, by, ' ');
}

std::string Scalar(Value value) {
  if (value.IsNull()) return "null";
  if (value.IsString()) return YamlScalar(value.text());
  return std::string(value.text());
}

Lines Block(Value value, const std::set<absl::string_view>& drop) {
  Lines lines;
  for (const Value::Item item : value.items()) {
    if (drop.contains(item.key)) continue;
    const std::string key = YamlScalar(item.key);
    const bool nests = (item.value.IsMap() || item.value.IsSequence()) && item.value.size() > 0;
    if (!nests) {
      lines.push_back(absl::StrCat(key, ": ",
                                   item.value.IsMap()        ? "{}"
                                   : item.value.IsSequence() ? "[]"
                                                             : Scalar(item.value)));
      continue;
    }
    lines.push_back(absl::StrCat(key, ":"));
    Lines inner = Block(item.value);
    if (item.value.IsMap()) Indent(inner, 2);
    lines.insert(lines.end(), inner.begin(), inner.end());
  }
  for (const Value element : value.elements()) {
    Lines inner = element.IsMap() || element.IsSequence() ? Block(element) : Lines{Scalar(element)};
    if (inner.empty()) inner = {element.IsMap() ? "{}" : "[]"};
    Indent(inner, 2);
    inner.front()[0] = '-';
    lines.insert(lines.end(), inner.begin(), inner.end());
  }
  return lines;
}

}  // namespace berth
