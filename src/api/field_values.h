// SPDX-License-Identifier: Apache-2.0
// What the API takes for the texts of fields that are enumerations, for the keys of maps of
// resources, and which fields it requires: the one table. Who reads a new field of that sort adds
// it there.
#ifndef BERTH_SRC_API_FIELD_VALUES_H_
#define BERTH_SRC_API_FIELD_VALUES_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace berth {

// Whose resources a map of quantities has.
enum class ResourceOwner : uint8_t { kContainer, kNode, kVolume, kGroup, kQuota };

struct FieldValues {
  absl::string_view message;  // the type that has the field: "Toleration"
  absl::string_view field;    // as documents spell it
  // With spaces between. The empty text is taken everywhere: it is the default, or required fields
  // are checked where they are read.
  absl::string_view values;
  absl::string_view not_read = "";  // values of the API that mean nothing here
  bool is_refused = true;           // any other, by an API server; else it only means nothing
};

struct ResourceField {
  absl::string_view message, field;
  ResourceOwner owner;
};

// A field without which the API takes no message of the type. Only those are listed without which a
// rule would silently mean nothing, or another.
struct RequiredField {
  absl::string_view message, field;
};

absl::Span<const FieldValues> EnumeratedFields();
absl::Span<const ResourceField> ResourceFields();
absl::Span<const RequiredField> RequiredFields();

// Null for a field that takes any text, or any key.
const FieldValues* FindFieldValues(absl::string_view message, absl::string_view field);
const ResourceField* FindResourceField(absl::string_view message, absl::string_view field);
bool IsRequiredField(absl::string_view message, absl::string_view field);

// What is wrong with a value, or with an entry of a map of resources.
struct ValueMistake {
  bool is_refused = true;  // by an API server; else it only means nothing
  std::string message;     // empty: nothing is wrong
};

ValueMistake CheckValue(absl::string_view text, const FieldValues& field);

// kubernetes v1.35 pkg/apis/core/validation validateContainerResourceName: a name without a slash
// must be one of Kubernetes' own. A node may list any, but no pod can request it; the same goes for
// the minimum of a group and for the lines of a quota (docs/quota.md, Lines).
ValueMistake CheckResourceName(absl::string_view name, ResourceOwner owner);
// kubernetes v1.35 ValidateResourceQuantityValue: what is counted, extended resources and pods, is
// counted in whole numbers. Empty if all is well. `amount` is a quantity that can be read.
std::string CheckResourceAmount(absl::string_view name, absl::string_view amount,
                                ResourceOwner owner);

}  // namespace berth

#endif  // BERTH_SRC_API_FIELD_VALUES_H_
