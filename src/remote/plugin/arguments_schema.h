// SPDX-License-Identifier: Apache-2.0
// The part of JSON Schema by which a remote plugin says what arguments it takes.
#ifndef BERTH_SRC_REMOTE_PLUGIN_ARGUMENTS_SCHEMA_H_
#define BERTH_SRC_REMOTE_PLUGIN_ARGUMENTS_SCHEMA_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace berth {

// Error: InvalidArgument, if the schema is no JSON or has a keyword that is not understood: type,
// enum, properties, required, additionalProperties (true or false), items, minimum, maximum and
// minLength are; title, description, default, examples, $schema and $id check nothing.
absl::Status CheckArgumentsSchema(absl::string_view schema_json);

// Whether the arguments are as the schema says: InvalidArgument with every problem,
// "args.pools[0].size: ...". An empty schema means that there are no arguments.
absl::Status CheckArguments(absl::string_view schema_json, absl::string_view arguments_json);

}  // namespace berth

#endif  // BERTH_SRC_REMOTE_PLUGIN_ARGUMENTS_SCHEMA_H_
