// SPDX-License-Identifier: Apache-2.0
// Objects of other schedulers as they are read: whose they are, and their fields.
#ifndef BERTH_SRC_IMPORT_SOURCE_OBJECT_H_
#define BERTH_SRC_IMPORT_SOURCE_OBJECT_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "berth/api/value.h"
#include "import/import.h"
#include "import/imported_quota.h"

namespace berth {

enum class Rival { kKueue, kKai, kVolcano, kYuniKorn, kKoordinator };

struct SourceObject {
  Rival rival;
  std::string kind;  // "ClusterQueue"; of YuniKorn "partitions"
  Value value;       // the object; of YuniKorn the map with partitions
  std::string name, namespace_name;

  Value spec() const { return value.Find("spec"); }
  SourceLocation where() const { return value.where(); }
  std::string subject() const;  // "Kueue ClusterQueue team-a"
};

// Those of one rival, in the order of the files.
std::vector<const SourceObject*> ObjectsOf(absl::Span<const SourceObject> objects, Rival rival,
                                           absl::string_view kind);

// Reads `inputs`; `documents` holds what the objects point to.
std::vector<SourceObject> ReadSources(absl::Span<const ImportInput> inputs,
                                      std::vector<Document>& documents, Problems& problems);

// --- Fields ---

// A scalar's text; empty for what is none or is not there.
std::string TextOf(Value value);
// The same as printable ASCII, which names, labels and resources are; an error and empty if not, or
// if it is a map or a list.
std::string NameOf(Value value, absl::string_view field, const std::string& subject,
                   Problems& problems);
// One line of JSON, cut when it is long: for comments.
std::string Show(Value value);
// Not negative; an error and nothing if it is, or is no quantity. Nothing if it is not there.
std::optional<Quantity> ReadAmount(Value value, absl::string_view field, const std::string& subject,
                                   Problems& problems);
// Whether a line of a quota may be called so; an error if not.
bool IsLine(const std::string& line, SourceLocation where, const std::string& subject,
            Problems& problems);
// `value` if it is a list; an error and nothing there if it is something else.
Value ListOf(Value value, absl::string_view field, const std::string& subject, Problems& problems);
// `value` if it is a map; an error and nothing there if it is something else.
Value MapOf(Value value, absl::string_view field, const std::string& subject, Problems& problems);
// A map of amounts by resource. "cpu" stands for `cpu_word`.
ImportedAmounts ReadAmounts(Value map, absl::string_view field, const std::string& subject,
                            Problems& problems, absl::string_view cpu_word = "cpu");
// A duration in Go's form; an error and empty if it is none.
std::string ReadDuration(Value value, absl::string_view field, const std::string& subject,
                         Problems& problems);
// A whole number; an error and nothing if it is none. Nothing if it is not there.
std::optional<int64_t> ReadInteger(Value value, absl::string_view field, const std::string& subject,
                                   Problems& problems);
// A note for each field of `map` that is none of `read`: its value, and that it is not read.
void NoteUnread(Value map, absl::string_view prefix, std::initializer_list<absl::string_view> read,
                std::vector<ImportedNote>& notes);

// --- The rivals ---

void ImportKueue(absl::Span<const SourceObject> objects, Imported& imported);
void ImportKai(absl::Span<const SourceObject> objects, Imported& imported);
void ImportVolcano(absl::Span<const SourceObject> objects, Imported& imported);
void ImportYuniKorn(absl::Span<const SourceObject> objects, Imported& imported);
void ImportKoordinator(absl::Span<const SourceObject> objects, Imported& imported);

}  // namespace berth

#endif  // BERTH_SRC_IMPORT_SOURCE_OBJECT_H_
