// SPDX-License-Identifier: Apache-2.0
// Field tables as Markdown.
#include "config/reference.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "config/configuration_file.h"
#include "config/plugin_sets.h"

namespace berth {
namespace {

std::string Cell(absl::string_view text) { return absl::StrReplaceAll(text, {{"|", "\\|"}}); }

// Writes sections, each struct once.
class ReferenceWriter {
 public:
  void Text(absl::string_view text) { absl::StrAppend(&out_, text); }

  // The table of fields, then those of the structs in it that were not written before.
  void Struct(const FieldTable& table, absl::string_view heading) {
    if (!written_.insert(&table).second) return;
    absl::StrAppend(&out_, heading, " ", table.name(), "\n\n", table.doc(), "\n\n");
    absl::StrAppend(&out_,
                    "| Field | Type | Default | Allowed | Meaning |\n|---|---|---|---|---|\n");
    const std::shared_ptr<void> defaults = table.MakeDefault();
    for (const FieldTable::FieldSpec& field : table.fields()) {
      absl::StrAppend(&out_, "| `", field.name, "` | ", TypeText(field.type), " | ",
                      DefaultText(field, defaults.get()), " | ", Cell(field.check.text), " | ",
                      Cell(field.doc), " |\n");
    }
    absl::StrAppend(&out_, "\n");
    const std::string below =
        heading.size() < 4 ? absl::StrCat(heading, "#") : std::string(heading);
    for (const FieldTable::FieldSpec& field : table.fields()) {
      if (field.type.table != nullptr) Struct(*field.type.table, below);
    }
  }

  std::string Finish() && { return std::move(out_); }

 private:
  // With a link to the struct's section.
  static std::string TypeText(const FieldType& type) {
    if (type.table == nullptr) return type.name;
    const std::string& name = type.table->name();
    return absl::StrReplaceAll(
        type.name, {{name, absl::StrCat("[", name, "](#", absl::AsciiStrToLower(name), ")")}});
  }

  static std::string DefaultText(const FieldTable::FieldSpec& field, const void* object) {
    const std::string text = field.type.print(field.Of(object));
    if (text == "null" || text == "[]" || text == "{}" || text == "\"\"") return "";
    const FieldTable* table = field.type.table;
    if (table != nullptr && text == table->Print(table->MakeDefault().get())) return "";
    return absl::StrCat("`", Cell(text), "`");
  }

  std::string out_;
  std::set<const FieldTable*> written_;
};

void WriteDefaultPlugins(const Registry& registry, ReferenceWriter& writer) {
  writer.Text(
      "## Default plugins\n\nIn this order, as `multiPoint` of every profile. What a profile does "
      "not disable stays.\n\n| Plugin | Score weight |\n|---|---|\n");
  for (const PluginEntry& plugin : DefaultMultiPoint(registry).enabled) {
    writer.Text(absl::StrCat("| ", plugin.name, " | ",
                             plugin.weight == 0 ? "" : absl::StrCat(plugin.weight), " |\n"));
  }
  writer.Text("\n");
}

void WriteArguments(const Registry& registry, ReferenceWriter& writer) {
  writer.Text("## Plugin arguments\n\n");
  std::vector<std::string> without;
  for (const auto& [name, registration] : registry.plugins()) {
    if (registration.args == nullptr) without.push_back(name);
  }
  writer.Text(absl::StrCat("Plugins that take none: ", absl::StrJoin(without, ", "), ".\n\n"));
  for (const auto& [name, registration] : registry.plugins()) {
    if (registration.args != nullptr) writer.Struct(*registration.args, "###");
  }
}

}  // namespace

std::string ConfigurationReference(const Registry& registry) {
  ReferenceWriter writer;
  writer.Struct(ConfigurationFile::Fields(), "##");
  WriteDefaultPlugins(registry, writer);
  WriteArguments(registry, writer);
  return std::move(writer).Finish();
}

}  // namespace berth
